"""Féraud, Alami & Laroche 2019: decentralized exploration by votes of low confidence."""

from functools import partial

import numpy as np

from hushbandits.agents import feraud2019_theory as theory
from hushbandits.bench.spec.claim import Claim, Origin, Ratio, Slope, Value, line
from hushbandits.bench.spec.experiment import Component, Figure
from hushbandits.core import Array, Params
from hushbandits.experiments import _paper as paper
from hushbandits.experiments.rio2023 import arm_gaps, vote_rounds

ID = "DecentralizedExploration-v0"
# The paper does not state its grid; δ ≥ η^N needs 29 players.
PLAYERS = (32, 64, 128, 256, 512, 1024)
EPSILON, DELTA, ETA = 0.25, 0.05, 0.9
UNEQUAL = "50/80"
EVERYWHERE: Params = {}


def decentralized(routine: str) -> Component:
    """Return the component Decentralized Elimination with `routine`, at ε = .25, δ = .05 and η = .9."""
    return Component(f"Decentralized-{routine}", epsilon=EPSILON, delta=DELTA, eta=ETA)


def baseline(level: int, routine: str) -> Component:
    """Return the component of the baseline `level`-Privacy (0 or 1) with `routine`, at ε = .25 and δ = .05."""
    return Component(f"{level}-Privacy-{routine}", epsilon=EPSILON, delta=DELTA)


ROUTINES = ("SER3", "UGapEc")
SHARED, OWN = ([baseline(level, r) for r in ROUTINES] for level in (0, 1))
AGENTS = [*map(decentralized, ROUTINES), *SHARED, *OWN]


def corollary_1(env: Params, agent: Params, x: Array) -> Array:
    """Return corollary 1's bound on the rounds of Decentralized Median with N agents, for each N in `x`.

    It is NaN for agents without `eta`.
    """
    return _dashed(theory.median_samples(10, ETA, EPSILON), env, agent, x)


def corollary_2(env: Params, agent: Params, x: Array) -> Array:
    """Return corollary 2's bound on the rounds of Decentralized SE or SER3 with N agents, for each N in `x`.

    It is NaN for agents without `eta`.
    """
    return _dashed(theory.elimination_samples(arm_gaps(env), ETA, EPSILON), env, agent, x)


def _dashed(own: int, env: Params, agent: Params, x: Array) -> Array:
    return vote_rounds(own, env, DELTA, ETA, x) if "eta" in agent else np.full(len(x), np.nan)


def theorem_1(env: Params, agent: Params, x: Array) -> Array:
    """Return theorem 1's bound on the number of messages of Decentralized Elimination, for each N in `x`.

    It does not depend on N, and is NaN for agents without `eta`.
    """
    return np.full(len(x), theory.message_bound(DELTA, ETA, 10) if "eta" in agent else np.nan)


def _faster(one: Component, other: Component, at: str, origin: Origin = "paper") -> Claim:
    sentence = f"{one.name} needs fewer samples than {other.name}{at}."
    return Claim(sentence, Ratio("rounds", one, other), **paper.LESS, origin=origin)


def _superlinear(where: str, at: Params = EVERYWHERE) -> list[Claim]:
    """Return the claims that the rounds of the 1-Privacy baselines grow superlinearly in the number of agents."""
    slopes = {use.name: Slope("rounds", use, along="env.n_agents", at=at) for use in OWN}
    return [Claim(f"{where} {name} grows superlinearly in N.", slope, above=1) for name, slope in slopes.items()]


def _clearly(one: Component, other: Component, where: str, at: Params = EVERYWHERE) -> Claim:
    sentence = f"{where} {one.name} clearly outperforms {other.name}."
    return Claim(sentence, Ratio("rounds", one, other, at=at), **paper.CLEARLY_LESS)


def _order_claims(where: str, at: Params = EVERYWHERE) -> list[Claim]:
    """Return the claims that compare the two routines, in 1-Privacy and in Decentralized Elimination."""
    alone, better = OWN
    vote, worse = (decentralized(r) for r in ROUTINES)
    gain = f"{where} the gain of {better.name} over {alone.name} increases with N."
    return [
        _clearly(better, alone, where, at),
        Claim(gain, Slope("rounds", alone, better, along="env.n_agents", at=at), above=0),
        _clearly(vote, worse, where, at),
    ]  # fmt: skip


def _message_claims() -> list[Claim]:
    # Of these numbers the paper has M = 28 (section 5.2) and the orders of magnitude, for no N in particular.
    vote, share = decentralized("SER3"), baseline(0, "SER3")
    return [
        Claim("Decentralized SER3 sends at most MK − 1 = 279 messages.", Value("messages", of=vote), below=279.5,
              source="Féraud et al. 2019, theorem 1"),
        Claim("It usually sends 9·28 = 252 of them.", Value("messages", of=vote, statistic="median"),
              above=251.5, below=252.5, origin="own"),
        Claim(
            "Decentralized SER3 needs three to four orders of magnitude fewer messages than 0-Privacy-SER3 at every N.",
            Ratio("messages", share, vote), above=1e3,
        ),
        Claim(
            "Decentralized SER3 needs three orders of magnitude fewer messages from N = 512 on.",
            Ratio("messages", share, vote, at={"env.n_agents": [512, 1024]}), above=1e3,
            origin="reading",
        ),
    ]  # fmt: skip


def _unequal_claims() -> list[Claim]:
    # The performance of 1-Privacy "decreases", that of Decentralized Elimination "increases".  For 32 players the
    # paper says that votes "wait for infrequent players", and that with 64 "this issue disappears".
    large = {"env.n_agents": [n for n in PLAYERS if n >= 64]}
    unequal = {"env.agent_distribution": [UNEQUAL]}
    claims = [*_superlinear("On problem 2", at=unequal), *_order_claims("On problem 2", at=unequal)]
    for r in ROUTINES:
        vote, alone = decentralized(r), baseline(1, r)
        votes, evenly = (line(vote, agent_distribution=p) for p in (UNEQUAL, "uniform"))
        lonely, alike = (line(alone, agent_distribution=p) for p in (UNEQUAL, "uniform"))
        claims += [
            Claim(f"{vote.name} needs fewer samples with 64 players than with 32.",
                  Ratio("rounds", {**votes, "env.n_agents": 64}, {**votes, "env.n_agents": 32}), **paper.LESS),
            Claim(f"{vote.name} then grows linearly with N.", Slope("rounds", votes, along="env.n_agents", at=large),
                  **paper.LINEARLY),
            Claim(f"From 64 players on, the imbalance helps {vote.name}: fewer samples.",
                  Ratio("rounds", votes, evenly, at=large), **paper.LESS),
            Claim(f"The imbalance helps {vote.name}: fewer samples.", Ratio("rounds", votes, evenly), **paper.LESS,
                  origin="reading"),  # at every N
            Claim(f"The imbalance hurts {alone.name}: more samples.", Ratio("rounds", lonely, alike), **paper.MORE),
        ]  # fmt: skip
    return claims


_declared = paper.declaring(
    "feraud2019", "Féraud et al. 2019",
    env=Component(ID, problem="P1", permute_arms=True),
    agents=AGENTS,
    sweep={"env.n_agents": PLAYERS},
    runs=80,  # the paper's 20 leave claims undecided
    metrics=("rounds", "messages", "correct"),
    figures=(Figure(y="rounds", x="env.n_agents", log="xy"),),
    quick={"runs": 5, "env.n_agents": (32, 64, 128)},
)  # fmt: skip

_switching = partial(
    _declared,
    env=Component(ID, n_agents=32, horizon=400_000, n_change_points=1, permute_arms=True),
    sweep={},
    metrics=("regret", "messages", "correct"),
    quick={"runs": 5, "env.horizon": 100_000},
)


def _dser4(phi: float) -> Component:
    return Component("Decentralized-SER4", label=f"DSER4 φ = {phi:g}", epsilon=EPSILON, delta=DELTA, eta=ETA, phi=phi)


EXPERIMENTS = (
    _declared(
        "fig1a", "Problem 1: samples against the number of players", "figure 1a",
        figures=(Figure(y="rounds", x="env.n_agents", log="xy", bounds={"corollary 2": f"{__name__}:corollary_2"}),),
        claims=[
            *_superlinear("On problem 1"),
            # The paper calls 1-Privacy's samples horrendous, without a comparison.
            *(_faster(decentralized(r), baseline(1, r), " at every N", "own") for r in ROUTINES),
            *_order_claims("On problem 1"),
        ],
    ),
    _declared(
        "fig1b", "Problem 1: messages against the number of players", "figure 1b",
        agents=[use for use in AGENTS if not use.name.startswith("1")],
        figures=(Figure(y="messages", x="env.n_agents", log="xy", bounds={"MK − 1": f"{__name__}:theorem_1"}),),
        claims=_message_claims(),
    ),
    _declared(
        "shared", "Problem 1: samples of one player who sees everything, in more runs", "figure 1",
        agents=SHARED,
        # The caption of figure 1: "The sample complexities of 0-PRIVACY baselines are the same: 800."
        claims=[
            *(Claim(f"{use.name} needs 800 samples whatever N.", Value("rounds", of=use), **paper.about(800))
              for use in SHARED),
            Claim("Both 0-Privacy baselines need the same.", Ratio("rounds", *SHARED), **paper.MATCHES),
        ],
        # 80 runs do not separate SER3's mean from the region's end.  Figure 1's runs are judged: these are other runs.
        runs=1000,
        seed_group="shared",
        quick={"runs": 50, "env.n_agents": (32, 64)},
    ),
    _declared(
        "fig2a", "Problem 2: 50 % of the players make 80 % of the events", "figure 2a",
        agents=[use for use in AGENTS if not use.name.startswith("0")],
        sweep={"env.agent_distribution": (UNEQUAL, "uniform"), "env.n_agents": PLAYERS},
        claims=_unequal_claims(),
    ),
    _declared(
        "fig2b", "Problem 3: the means of suboptimal arms fall", "figure 2b",
        env=Component(ID, problem="P3", permute_arms=True),
        claims=[
            _faster(one, other, " on problem 3, at every N")
            for one, other in (map(decentralized, ROUTINES), OWN)
        ],
    ),
    _declared(
        "median", "Problem 1: median elimination as the routine", "appendix",
        agents=[decentralized("Median"), baseline(0, "Median"), decentralized("SER3")],
        figures=(Figure(y="rounds", x="env.n_agents", log="xy", lines=("Decentralized-M", "0"),
                        bounds={"corollary 1": f"{__name__}:corollary_1"}),),
        claims=[Claim("Median elimination needs so many samples that it would flatten all other differences: more than "
                      "ten times those of SER3.", Ratio("rounds", decentralized("Median"), decentralized("SER3")),
                      above=10, origin="reading", source="Féraud et al. 2019, footnote 3")],
        runs=56,  # slow; fewer runs give no interval at the level of all claims together
        quick={"runs": 2, "env.n_agents": (32, 64)},
    ),
    _declared(
        "median-alone", "Median elimination alone, which is slow: few players, few runs", "appendix",
        agents=[baseline(1, "Median")],
        sweep={"env.n_agents": (32, 64)},
        runs=3,
        quick={"runs": 1, "env.n_agents": (32,)},
    ),
    _switching(
        "dser4", "A switch of the best arm after 200,000 of 400,000 activations, 32 players", "section 4",
        agents=[_dser4(phi) for phi in (0, 3e-6, 1e-5, 3e-5)],
        runs=20,
        figures=(Figure(y="regret", log=""),),
    ),
    _switching(
        "dser4-end", "The same in more runs: regret at the end", "section 4",
        agents=[_dser4(phi) for phi in (0, 1e-5)],
        checkpoints=(),  # curves need round-by-round play, which is forty times slower
        figures=(Figure(y="regret", x="runs", log=""),),
        claims=[Claim("DSER4 with resets recovers from the switch: less regret than without.",
                      Ratio("regret", _dser4(1e-5), _dser4(0)), **paper.LESS, origin="own")],
    ),
    _declared(
        "privacy", "What an observer of one player's votes can name, where .1 is allowed", "theorem 1",
        env=Component(ID, n_agents=64, permute_arms=True),
        agents=[decentralized(r) for r in ("SER3", "UGapEc", "Median")],
        sweep={},
        runs=100,
        metrics=("named", "named_most", "rounds"),
        figures=(Figure(y="named", x="runs", log=""), Figure(y="named_most", x="runs", log="")),
        claims=[
            Claim(f"{use.name}: an observer of one player names an ε-optimal arm with probability at most 1 − η.",
                  Value("named", of=use), below=0.1)
            for use in (decentralized("SER3"), decentralized("UGapEc"))
        ],
        quick={"runs": 5},
    ),
    _declared(
        "failure", "How often somebody ends with an arm that is not ε-optimal, at δ = .05", "theorem 1",
        env=Component(ID, n_agents=64, permute_arms=True),
        agents=[decentralized(r) for r in ROUTINES],
        sweep={},
        runs=1000,
        metrics=("correct", "inconclusive", "rounds"),
        figures=(Figure(y="rounds", x="runs", log="x"),),
        claims=[
            Claim(f"{use.name} fails in at most δ of the runs.", Value("correct", of=use), above=0.95)
            for use in (decentralized(r) for r in ROUTINES)
        ],
        quick={"runs": 40},
    ),
)  # fmt: skip
