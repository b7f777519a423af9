"""What ships: the names of envs, agents and wrappers, and where each is written; and where experiments are.

Adding one is one line here, or a file of experiments there.
"""

from __future__ import annotations

from pathlib import Path

from hushbandits.core.luck.rewards import RepeatingMeans, UniformMeans
from hushbandits.core.utils import Spec
from hushbandits.policies.shelf import POLICIES

#: The folder whose modules declare experiments, each its own `EXPERIMENTS`.
EXPERIMENTS = "hushbandits.experiments"

_EXPLORATION = "envs.exploration.env:Exploration"
_NETWORK = "envs.network.env:CoopNetwork"
_FEEDBACK = "envs.feedback.env:Feedback"
_ROUTINES = ("Naive", "Median", "SE", "SER3", "SER4", "KL-Racing", "LUCB", "KL-LUCB", "UGapEc")


def _at(entry: str, *wrappers: str, **defaults: object) -> Spec:
    """A class of this package, with the wrappers that an env brings, and what differs from its own defaults."""
    return Spec(f"hushbandits.{entry}", defaults, wrappers)


def _trained(folder: str) -> Spec:
    return _at("baselines.sb3:Trained", source=str(Path(__file__).parent / "data" / "policies" / folder))


def _playing(entry: str, policy: str) -> Spec:
    """An agent around a policy, which takes what of its parameters are the policy's."""
    return Spec(f"hushbandits.{entry}", {"policy": policy}, rest=POLICIES[policy])


ENVS = {
    "DPMASE-v0": _at(_EXPLORATION),
    "CorruptedElimination-v0": _at(_EXPLORATION, "VoteCorruption", eta=0.9),
    "DecentralizedExploration-v0": _at(
        _EXPLORATION, eta=0.9, comparison=">=", idle="stays", stop="players", single=True, precision=0.25, strict=True
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
    # For learners: drawn instances, short episodes that can be won (docs/to-beat.md has reference scores).
    "DPMASE-Train-v0": _at(_EXPLORATION, means=UniformMeans(), n_arms=3, n_agents=4, threshold=1, horizon=200),
    "CoopNetwork-Train-v0": _at(_NETWORK, means=UniformMeans(), n_arms=5, n_agents=4, horizon=200),
    "DistDP-Train-v0": _at(
        _FEEDBACK, "DiscreteLaplace", "SecAgg", means=UniformMeans(), n_arms=3, horizon=2_000, rewards="bernoulli"
    ),
    # The same, hard to learn: far neighbours, lost reports, votes of the many or of those who seldom act, lost users.
    "DPMASE-Train-Wide-v0": _at(_EXPLORATION, means=UniformMeans(), n_arms=10, n_agents=8, threshold=3, horizon=1_000),
    "DPMASE-Train-Uneven-v0": _at(
        _EXPLORATION,
        means=UniformMeans(),
        n_arms=5,
        n_agents=16,
        threshold=7,
        agent_distribution="power",
        horizon=1_000,
    ),
    "CoopNetwork-Train-Grid-v0": _at(
        _NETWORK, means=UniformMeans(), n_arms=10, n_agents=16, graph="grid", extra_delay=1, horizon=200
    ),
    "CoopNetwork-Train-Lossy-v0": _at(
        _NETWORK, "Loss", means=UniformMeans(), n_arms=10, n_agents=32, horizon=200, rate=0.3
    ),
    "DistDP-Train-Lossy-v0": _at(
        _FEEDBACK,
        "DiscreteLaplace",
        "Loss",
        "SecAgg",
        means=UniformMeans(),
        n_arms=5,
        n_agents=4,
        horizon=2_000,
        rewards="bernoulli",
        rate=0.2,
    ),
    "DistDP-Train-Tight-v0": _at(
        _FEEDBACK,
        "DiscreteLaplace",
        "SecAgg",
        means=UniformMeans(),
        n_arms=10,
        horizon=5_000,
        rewards="bernoulli",
        epsilon=0.1,
    ),
}

AGENTS = {
    "DP-SE": _at("baselines.sajed2019:DPSE"),
    "Dist-DP-SE": _at("agents.chowdhury2023:DistDPSE"),
    "Dist-RDP-SE": _at("agents.chowdhury2023:DistRDPSE"),
    "Dist-CDP-SE": _at("agents.chowdhury2023:DistCDPSE"),
    "CDP-SE": _at("agents.chowdhury2023:CDPSE"),
    "LDP-SE": _at("agents.chowdhury2023:LDPSE"),
    "Shuffle-DP-SE": _at("agents.chowdhury2023:ShuffleDPSE"),
    "VB-SDP-AE": _at("baselines.tenenbaum2021:VBSDPAE"),
    "AdaP-UCB": _at("agents.azize2022:AdaPUCB"),
    "AdaP-KLUCB": _at("agents.azize2022:AdaPKLUCB"),
    "AdaP-TT": _at("agents.azize2023:AdaPTT"),
    "DP-SE-alone": _at("baselines.sajed2019:DPSEAlone"),
    "DP-MASE": _at("agents.rio2023:DPMASE"),
    "Corrupted-Elimination": _at("agents.rio2023:CorruptedElimination"),
    "Central": _at("baselines.rio2023:Central"),
    "Independent": _at("baselines.rio2023:Independent"),
    **{f"Decentralized-{r}": _at("agents.feraud2019:Decentralized", routine=r) for r in _ROUTINES},
    **{f"0-Privacy-{r}": _at("baselines.feraud2019:ZeroPrivacy", routine=r) for r in _ROUTINES},
    **{f"1-Privacy-{r}": _at("baselines.feraud2019:OnePrivacy", routine=r) for r in _ROUTINES},
    "Multi-UCB": _at("baselines.dubey2020:MultiUCB"),
    "Private-UCB": _at("agents.dubey2020:PrivateUCB"),  # covers whole messages, which the paper's does not
    "Private-UCB-exact": _at("agents.dubey2020:PrivateUCB", own="exact"),  # the paper's
    "Byzantine-UCB": _at("agents.dubey2020:ByzantineUCB"),
    "DP-UCB-INT": _at("baselines.tossou2016:DPUCBInt"),
    "Alone": _at("baselines.alone:Alone"),
    "QuACK": _at("agents.howson2024:QuACK"),
    **{f"QuACK-{policy}": _playing("agents.howson2024:QuACK", policy) for policy in POLICIES},
    **{policy: _playing("baselines.alone:Alone", policy) for policy in POLICIES},
    "coop-UCB": _at("baselines.landgren2016:CoopUCB"),
    "CMP-UCB": _at("baselines.dubey2020_heavy:CMPUCB"),
    "CMP-UCB-leaders": _at("baselines.dubey2020_heavy:CMPUCB", leaders=1),
    "DDUCB": _at("baselines.martinez2019:DDUCB"),
    "DDUCB-rechoosing": _at("baselines.martinez2019:DDUCB", rechoose=True),
    "Dec-TS": _at("baselines.lalitha2021:DecTS"),
    "GosInE": _at("agents.chawla2020:GosInE"),
    "GosInE-async": _at("agents.chawla2020:GosInE", slack=0.5),
    "Resilient-UCB": _at("agents.zhu2023:ResilientUCB"),
    "Fed1-UCB": _at("agents.shi2021:Fed1UCB"),
    "Fed-MoM-UCB": _at("agents.demirel2022:FedMoMUCB"),
    # Short rules of our own, for short runs.
    "Index-TS": _at("baselines.index_ts:IndexTS"),
    "Gap-Vote": _at("baselines.gap_vote:GapVote"),
    "Commit-Blocks": _at("baselines.commit_blocks:CommitBlocks"),
    # Trained by the commands in their ``card.json``; docs/learning.md has their scores.
    "ES-CoopNetwork": _trained("es-coopnetwork"),
    "ES-DPMASE": _trained("es-dpmase"),
    "ES-DistDP": _trained("es-distdp"),
    "ES-DistDP-Tight": _trained("es-distdp-tight"),
    "PPO-CoopNetwork": _trained("ppo-coopnetwork"),
    "MaskablePPO-DPMASE": _trained("maskable-ppo-dpmase"),
    "PPO-DistDP": _trained("ppo-distdp"),
    "Random": _at("baselines.uniform:Random"),
}

WRAPPERS = {
    "CentralLaplace": _at("wrappers.central_dp:CentralLaplace"),
    "DiscreteGaussian": _at("wrappers.distributed_dp:DiscreteGaussian"),
    "LocalDiscreteLaplace": _at("wrappers.local_dp:LocalDiscreteLaplace"),
    "ShuffledNoise": _at("wrappers.shuffle_dp:shuffled_noise"),
    "ShuffledSum": _at("wrappers.shuffle_dp:ShuffledSum"),
    "Skellam": _at("wrappers.distributed_dp:Skellam"),
    "DiscreteLaplace": _at("wrappers.distributed_dp:DiscreteLaplace"),
    "SecAgg": _at("wrappers.secagg:SecAgg"),
    "Huber": _at("wrappers.huber:Huber"),
    "FalseMeans": _at("wrappers.false_means:FalseMeans"),
    "LocalTruncated": _at("wrappers.local_dp:LocalTruncated"),
    "LocalLaplace": _at("wrappers.local_noise:LocalLaplace"),
    "LocalBernoulli": _at("wrappers.local_noise:LocalBernoulli"),
    "LocalMechanism": _at("wrappers.local_noise:local_mechanism"),
    "Loss": _at("wrappers.loss:Loss"),
    "VoteCorruption": _at("wrappers.loss:VoteCorruption"),
    "Shuffle": _at("wrappers.shuffle:Shuffle"),
    "PrivateMeans": _at("wrappers.private_means:PrivateMeans"),
}
