"""Names and import paths of the built-in envs, agents and wrappers, and the package of the experiments.

Adding one is one line here, or a file of experiments there.
"""

from pathlib import Path

from hushbandits.core.random.rewards import RepeatingMeans, UniformMeans
from hushbandits.core.utils import Spec
from hushbandits.policies.registry import POLICIES

#: The folder whose modules declare experiments, each its own `EXPERIMENTS`.
EXPERIMENTS = "hushbandits.experiments"

_EXPLORATION = "envs.exploration.env:Exploration"
_NETWORK = "envs.network.env:CoopNetwork"
_FEEDBACK = "envs.feedback.env:Feedback"
_LINEAR = "envs.linear.env:Linear"
_PRICED = "envs.network.priced:PricedNetwork"
_ROUTINES = ("Naive", "Median", "SE", "SER3", "SER4", "KL-Racing", "LUCB", "KL-LUCB", "UGapEc")
#: The experiments of Zhou & Chowdhury 2024 in small, with bounded rewards.
_SILOS = {
    "contexts": "sphere+1", "rewards": "bernoulli", "activity": "all", "n_agents": 20, "n_arms": 20, "n_features": 5
}  # fmt: skip
#: How players of a best-arm routine explore.
_ROUTINE = {"one_arm_per_step": True, "tolerance": 0.25, "require_confidence": True}
_TRAINED = Path(__file__).parent / "data" / "policies"
_POLICIES = (
    "ES-CoopNetwork", "ES-DPMASE", "ES-DistDP", "ES-DistDP-Tight", "MaskablePPO-DPMASE", "PPO-CoopNetwork", "PPO-DistDP"
)  # fmt: skip
_DRAWN = {"means": UniformMeans()}


def _at(entry: str, *wrappers: str, **defaults: object) -> Spec:
    """Return the registry entry of a built-in class, with `defaults` for its parameters and, for an env, `wrappers`."""
    return Spec(f"hushbandits.{entry}", defaults, wrappers)


def _in(module: str, *names: str) -> dict[str, Spec]:
    """Return the registry entries of `names` in `module`; the class of ``DP-SE`` is ``DPSE``."""
    return {name: _at(f"{module}:{name.replace('-', '')}") for name in names}


def _sum(*wrappers: str, **defaults: object) -> Spec:
    """Return the registry entry of a feedback env for learners, with discrete Laplace noise and secure aggregation."""
    return _at(_FEEDBACK, "DiscreteLaplace", *wrappers, "SecAgg", rewards="bernoulli", **_DRAWN, **defaults)


def _playing(entry: str, policy: str) -> Spec:
    """Return the registry entry of an agent that plays `policy`; the agent also takes the policy's parameters."""
    return Spec(f"hushbandits.{entry}", {"policy": policy}, rest=POLICIES[policy])


ENVS = {
    "DPMASE-v0": _at(_EXPLORATION),
    "CorruptedElimination-v0": _at(_EXPLORATION, "VoteCorruption", eta=0.9),
    "DecentralizedExploration-v0": _at(
        _EXPLORATION, eta=0.9, vote_rule=">=", inactive_agents="keep", termination="players", **_ROUTINE
    ),
    "CoopNetwork-v0": _at(_NETWORK),
    "HeavyTailedNetwork-v0": _at(_NETWORK, rewards="stable", means=RepeatingMeans((0.7, *[0.4] * 4))),
    "DuelingNetwork-v0": _at("envs.network.dueling:DuelingNetwork"),
    "FederatedNetwork-v0": _at("envs.network.federated:FederatedNetwork"),
    "LocalDPNetwork-v0": _at(_NETWORK, "LocalMechanism"),
    "PrivateNetwork-v0": _at(_NETWORK, "PrivateMeans"),
    "ByzantineNetwork-v0": _at(_NETWORK, "Huber", rate=1e-3),
    "CentralDP-v0": _at(_FEEDBACK, "CentralLaplace"),
    "DistDP-v0": _at(_FEEDBACK, "DiscreteLaplace", "SecAgg"),
    "DistRDP-v0": _at(_FEEDBACK, "Skellam", "SecAgg"),
    "DistCDP-v0": _at(_FEEDBACK, "DiscreteGaussian", "SecAgg"),
    "LocalDP-v0": _at(_FEEDBACK, "LocalDiscreteLaplace"),
    "LTR-v0": _at("envs.feedback.ltr:LTR"),
    "ShuffleDP-v0": _at(_FEEDBACK, "ShuffledNoise", "ShuffledSum"),
    "LinearBandit-v0": _at(_LINEAR, n_agents=1),
    "FedLinear-v0": _at(_LINEAR),
    "FedLinear-All-v0": _at(_LINEAR, activity="all"),
    "PrivateFedLinear-v0": _at(_LINEAR, "TreeGaussian", **_SILOS),
    "ShuffleFedLinear-v0": _at(_LINEAR, "ShuffledVectorSum", **_SILOS),
    # For learners: drawn instances, short episodes that can be won (docs/to-beat.md has reference scores).
    "DPMASE-Train-v0": _at(_EXPLORATION, n_arms=3, n_agents=4, threshold=1, horizon=200, **_DRAWN),
    "CoopNetwork-Train-v0": _at(_NETWORK, n_arms=5, n_agents=4, horizon=200, **_DRAWN),
    "DistDP-Train-v0": _sum(n_arms=3, horizon=2_000),
    "FedLinear-Train-v0": _at(
        _LINEAR, activity="all", n_agents=4, n_arms=5, n_features=5, horizon=200, contexts="pool"
    ),
    "PricedNetwork-v0": _at(_PRICED),
    "PricedNetwork-Train-v0": _at(_PRICED, "LaplaceFilter", n_arms=5, n_agents=16, graph="grid", horizon=100, **_DRAWN),
    # The same, hard to learn: far neighbours, lost reports, votes of the many or of those who seldom act, lost users.
    "DPMASE-Train-Wide-v0": _at(_EXPLORATION, n_arms=10, n_agents=8, threshold=3, horizon=1_000, **_DRAWN),
    "DPMASE-Train-Uneven-v0": _at(
        _EXPLORATION, n_arms=5, n_agents=16, threshold=7, agent_distribution="power", horizon=1_000, **_DRAWN
    ),
    "CoopNetwork-Train-Grid-v0": _at(
        _NETWORK, n_arms=10, n_agents=16, graph="grid", hop_delay=1, horizon=200, **_DRAWN
    ),
    "CoopNetwork-Train-Lossy-v0": _at(_NETWORK, "Loss", n_arms=10, n_agents=32, horizon=200, rate=0.3, **_DRAWN),
    "DistDP-Train-Lossy-v0": _sum("Loss", n_arms=5, n_agents=4, horizon=2_000, rate=0.2),
    "DistDP-Train-Tight-v0": _sum(n_arms=10, horizon=5_000, epsilon=0.1),
}

AGENTS = {
    **_in("baselines.sajed2019", "DP-SE"),
    **_in("agents.chowdhury2023", "Dist-DP-SE", "Dist-RDP-SE", "Dist-CDP-SE", "CDP-SE", "LDP-SE", "Shuffle-DP-SE"),
    **_in("baselines.tenenbaum2021", "VB-SDP-AE"),
    **_in("agents.azize2022", "AdaP-UCB", "AdaP-KLUCB"),
    **_in("agents.azize2023", "AdaP-TT"),
    "DP-SE-alone": _at("baselines.sajed2019:DPSEAlone"),
    **_in("agents.rio2023", "DP-MASE", "Corrupted-Elimination"),
    **_in("baselines.rio2023", "Central", "Independent"),
    **{f"Decentralized-{r}": _at("agents.feraud2019:Decentralized", routine=r) for r in _ROUTINES},
    **{f"0-Privacy-{r}": _at("baselines.feraud2019:ZeroPrivacy", routine=r) for r in _ROUTINES},
    **{f"1-Privacy-{r}": _at("baselines.feraud2019:OnePrivacy", routine=r) for r in _ROUTINES},
    **_in("baselines.dubey2020", "Multi-UCB"),
    **_in("agents.dubey2020", "Private-UCB", "Byzantine-UCB"),  # covers whole messages, which the paper's does not
    "Private-UCB-exact": _at("agents.dubey2020:PrivateUCB", own_feedback="true"),  # the paper's
    "DP-UCB-INT": _at("baselines.tossou2016:DPUCBInt"),
    **_in("baselines.independent", "Alone"),
    **_in("agents.howson2024", "QuACK"),
    **{f"QuACK-{policy}": _playing("agents.howson2024:QuACK", policy) for policy in POLICIES},
    **{policy: _playing("baselines.independent:Alone", policy) for policy in POLICIES},
    "coop-UCB": _at("baselines.landgren2016:CoopUCB"),
    **_in("baselines.dubey2020_heavy", "CMP-UCB"),
    "CMP-UCB-leaders": _at("baselines.dubey2020_heavy:CMPUCB", leaders=1),
    **_in("baselines.martinez2019", "DDUCB"),
    "DDUCB-rechoosing": _at("baselines.martinez2019:DDUCB", rechoose_on_stale=True),
    **_in("baselines.lalitha2021", "Dec-TS"),
    **_in("agents.chawla2020", "GosInE"),
    "GosInE-async": _at("agents.chawla2020:GosInE", slack=0.5),
    **_in("agents.zhu2023", "Resilient-UCB"),
    **_in("agents.shi2021", "Fed1-UCB"),
    **_in("agents.abbasi2011", "LinUCB", "LinTS"),
    "LinUCB-alone": _at("agents.abbasi2011:LinUCBAlone"),
    **_in("agents.he2022", "FedLinUCB"),
    **_in("agents.li2022", "Async-LinUCB"),
    **_in("agents.wang2020", "DisLinUCB", "Batch-LinUCB"),
    **_in("agents.zhou2024", "Private-FedLinUCB"),
    **_in("agents.shariff2018", "LinUCB-JDP"),
    **_in("agents.dubey2020_linear", "FedUCB"),
    **_in("agents.demirel2022", "Fed-MoM-UCB"),
    # Short rules of our own, for short runs.
    **_in("baselines.index_ts", "Index-TS"),
    **_in("baselines.gap_vote", "Gap-Vote"),
    **_in("baselines.noisy_vote", "Noisy-Vote"),
    **_in("baselines.commit_blocks", "Commit-Blocks"),
    # Trained by the commands in their ``card.json``; docs/learning.md has their scores.
    **{name: _at("baselines.sb3:Trained", source=str(_TRAINED / name.lower())) for name in _POLICIES},
    **_in("baselines.uniform", "Random"),
}

WRAPPERS = {
    **_in("wrappers.central_dp", "CentralLaplace"),
    **_in("wrappers.distributed_dp", "DiscreteGaussian", "DiscreteLaplace", "Skellam"),
    **_in("wrappers.local_dp", "LocalDiscreteLaplace", "LocalTruncated"),
    **_in("wrappers.shuffle_dp", "ShuffledNoise"),
    **_in("wrappers.local_bernoulli", "LocalBernoulli"),
    **_in("wrappers.local_laplace", "LocalLaplace"),
    **_in("wrappers.laplace_filter", "LaplaceFilter"),
    **_in("wrappers.private_means", "PrivateMeans"),
    "LocalMechanism": _at("wrappers.local_bernoulli:local_mechanism"),
    **_in("wrappers.secagg", "SecAgg"),
    **_in("wrappers.shuffle", "Shuffle"),
    **_in("wrappers.shuffled_sum", "ShuffledSum"),
    **_in("wrappers.false_means", "FalseMeans"),
    **_in("wrappers.huber", "Huber"),
    **_in("wrappers.loss", "Loss", "VoteCorruption"),
    **_in("wrappers.tree", "TreeGaussian"),
    **_in("wrappers.vector_sum", "ShuffledVectorSum"),
}
