"""Dubey & Pentland 2020: private and Byzantine-proof cooperative decision-making.

Not stated in the paper, hence assumed: horizons of figures 1a and 1b (10⁴), the law of the Bernoulli means
(U[0, 1]; U[.3, .7] in the byzantine setting), ε = 1, v = 1.1, δ′ = e^−10 in figure 1a (the paper defers to Tossou &
Dimitrakakis 2016), Q uniform on [0, 1], all agents byzantine, and how diameter/2 is rounded (both are played).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np

from hushbandits.agents import dubey2020_theory as theory
from hushbandits.bench.declare import words
from hushbandits.bench.declare.claim import Claim
from hushbandits.bench.declare.spec import Experiment, Figure, Use
from hushbandits.core.rewards import UniformMeans
from hushbandits.core.types import Array, Params
from hushbandits.envs.network.graphs import adjacency, clique_cover, hop_distances, power_graph
from hushbandits.registry import make_core

__all__ = ["EXPERIMENTS", "byzantine_bound", "private_bound"]

SMALL = {"env.n_agents": 50, "env.edge_probability": 0.2}
RANDOM_GRAPH: Params = {"n_agents": 200, "n_arms": 5, "graph": "erdos-renyi", "edge_probability": 0.1}
_INSTANCES = 15


@lru_cache(maxsize=1024)
def _cover(power: bytes, m: int) -> int:
    # a cover of 200 agents takes a good part of a second, and lines, panels and pictures share their graphs
    return len(clique_cover(np.frombuffer(power, bool).reshape(m, m)))


def _median(bound: Callable[..., Array], env: Params, t: Array, epsilon: float) -> Array:
    """Median of a bound over instances drawn as the env draws them; χ̄ from a greedy cover of each power graph."""
    core = make_core("CoopNetwork-v0", runs=_INSTANCES, **env)
    core.reset(0)
    distance, life = core.distance, core.slots.life
    powers = [power_graph(d, int(g)).astype(bool) for d, g in zip(distance, life, strict=True)]
    covers = [_cover(p.tobytes(), core.n_agents) for p in powers]
    lines = [
        bound(gaps, t, core.n_agents, int(life[r % len(life)]), covers[r % len(covers)], epsilon)
        for r, gaps in enumerate(core.gaps)
    ]
    return np.median(lines, 0)


def private_bound(env: Params, agent: Params, x: Array) -> Array:
    """Dashed line of Private-UCB (the agents with a v) against time."""
    if "v" not in agent:
        return np.full(len(x), np.nan)
    return _median(theory.private_regret, env, x, agent["epsilon"])


def byzantine_bound(env: Params, agent: Params, x: Array) -> Array:
    """Dashed line of Byzantine-UCB with the trimmed mean against time; NaN where it is infinite."""
    if agent.get("mean") != "trimmed":
        return np.full(len(x), np.nan)
    line = _median(theory.byzantine_regret, env, x, agent["epsilon"])
    return np.where(np.isfinite(line), line, np.nan)


BOUND = "hushbandits.experiments.dubey2020:"
PRIVATE = Use("Private-UCB", epsilon=1.0, v=1.1)
ALONE, PRIVATE_ALONE, OPEN = Use("UCB1"), Use("DP-UCB-INT", epsilon=1.0), Use("Multi-UCB")
BYZANTINE = Use("Byzantine-UCB", label="Byzantine-UCB", on="ByzantineNetwork-v0", epsilon=1e-3, mean="trimmed")
PLAIN = Use("Byzantine-UCB", label="plain mean, same radius", on="ByzantineNetwork-v0", epsilon=1e-3, mean="mean")
CLEAN = Use("Byzantine-UCB", label="Byzantine-UCB, no contamination", epsilon=0.0, mean="trimmed")
UNAWARE = Use("Byzantine-UCB", label="Byzantine-UCB at ϵ = 0", on="ByzantineNetwork-v0", epsilon=0.0, mean="trimmed")


def _ratio(sentence: str, of: Any, over: Any, **region: Any) -> Claim:
    return Claim(sentence=sentence, metric="regret", effect="ratio", of=of, over=over, **region)


def _at(line: Use, **point: Any) -> Params:
    return {"agent": line.label or line.name, **{f"env.{k}": v for k, v in point.items()}}


FIGURE_1A = Experiment(
    name="dubey2020-fig1a",
    title="Private cooperation on random graphs",
    source="Dubey & Pentland 2020, figure 1a",
    env=Use("CoopNetwork-v0", **RANDOM_GRAPH, means=UniformMeans(0.0, 1.0), horizon=10_000),
    agents=[PRIVATE, ALONE, PRIVATE_ALONE, OPEN],
    sweep={"env.life": ("floor(diameter/2)", "ceil(diameter/2)")},
    runs=100,
    metrics=("regret", "messages"),
    figures=(
        Figure(y="regret", log="xy", by="env.life", bounds={"theorem, median instance": f"{BOUND}private_bound"}),
    ),
    claims=[
        *(
            _ratio(
                f"Private-UCB does significantly better than {alone} alone.", "Private-UCB", alone, **words.MUCH_LESS
            )
            for alone in ("UCB1", "DP-UCB-INT")
        ),
        _ratio("Private-UCB does worse than its non-private version.", "Private-UCB", "Multi-UCB", **words.MORE),
    ],
    quick={"runs": 10, **SMALL, "env.horizon": 1000},
)

FIGURE_1B = Experiment(
    name="dubey2020-fig1b",
    title="Byzantine-proof cooperation on random graphs, ϵ = 10⁻³",
    source="Dubey & Pentland 2020, figure 1b",
    env=Use(
        "CoopNetwork-v0", **RANDOM_GRAPH, means=UniformMeans(0.3, 0.7), horizon=10_000, life="floor(diameter/2)",
    ),
    agents=[BYZANTINE, ALONE, CLEAN, UNAWARE, PLAIN, Use("Multi-UCB", on="ByzantineNetwork-v0")],
    sweep={"env.rewards": ("bernoulli", "beta", "truncated-gaussian")},
    paired=("rewards",),
    runs=100,
    metrics=("regret",),
    figures=(
        Figure(y="regret", log="xy", by="env.rewards",
               bounds={"theorem, median instance": f"{BOUND}byzantine_bound"}),
    ),
    claims=[
        _ratio("The byzantine-proof algorithm is a large improvement on UCB1.", "Byzantine-UCB", "UCB1",
               **words.MUCH_LESS),
        _ratio("Without contamination it does better.", CLEAN.label, "Byzantine-UCB", **words.LESS),
        _ratio(
            "Much of that is the smaller radius: a plain mean under it, too, has less than half of UCB1's regret.",
            PLAIN.label, "UCB1", source="own addition", **words.MUCH_LESS,
        ),
    ],
    quick={"runs": 10, **SMALL, "env.horizon": 1000},
)  # fmt: skip

OUTLIERS = Experiment(
    name="dubey2020-outliers",
    title="Where trimming pays: one report in twenty is an outlier",
    source="own addition to Dubey & Pentland 2020, figure 1b",
    env=Use(
        "ByzantineNetwork-v0", **RANDOM_GRAPH, means=UniformMeans(0.3, 0.7), horizon=1000, life="floor(diameter/2)",
        rewards="beta", rate=0.05, law="constant",
    ),
    agents=[
        Use("Byzantine-UCB", label="trimmed", epsilon=0.05, mean="trimmed"),
        Use("Byzantine-UCB", label="Lugosi–Mendelson", epsilon=0.05, mean="lugosi-mendelson"),
        Use("Byzantine-UCB", label="plain mean", epsilon=0.05, mean="mean"),
        ALONE,
    ],
    sweep={"env.location": (0.5, 1.0, 10.0)},
    paired=("location",),
    runs=48,  # tails of one sample in ten take ten seconds a run; fewer runs have no interval at this level
    metrics=("regret",),
    figures=(Figure(y="regret", log="xy", by="env.location"),),
    claims=[
        _ratio("Far outliers ruin the plain mean, not the trimmed one.", "trimmed", "plain mean",
               at={"env.location": [10.0]}, **words.MUCH_LESS),
    ],
    quick={"runs": 10, **SMALL},
)  # fmt: skip

CONTAMINATION, TOO_MUCH = 1e-3, (0.01, 0.05)

OVERESTIMATE = Experiment(
    name="dubey2020-overestimate",
    title="An overestimated contamination: ϵ = 10⁻³, and the algorithm is told more",
    source="Dubey & Pentland 2020, section 4",
    # At T = 1000 all of it takes about ten minutes of a core.  On Bernoulli arms nothing is trimmed once both values
    # are frequent; Beta arms have tails to trim.
    env=Use(
        "ByzantineNetwork-v0", **RANDOM_GRAPH, means=UniformMeans(0.3, 0.7), horizon=1000, life="floor(diameter/2)",
        rate=CONTAMINATION,
    ),
    agents=[
        Use("Byzantine-UCB", label=f"told ϵ = {told:g}", epsilon=told, mean="trimmed")
        for told in (CONTAMINATION, *TOO_MUCH)
    ],
    sweep={"env.rewards": ("bernoulli", "beta")},
    paired=("rewards",),
    runs=64,
    metrics=("regret",),
    figures=(Figure(y="regret", log="xy", by="env.rewards"),),
    claims=[
        _ratio(f"If ϵ is overestimated {told / CONTAMINATION:.0f} times, {sentence}", f"told ϵ = {told:g}",
               f"told ϵ = {CONTAMINATION:g}", **region)
        for told in TOO_MUCH
        for sentence, region in (
            ("the performance remains unchanged.", words.MATCHES),
            ("there is no degradation in performance.", words.NO_WORSE),
        )
    ],
    quick={"runs": 10, **SMALL},
)  # fmt: skip

FIGURE_1C = Experiment(
    name="dubey2020-fig1c",
    title="Regret after 1000 rounds against the life of messages",
    source="Dubey & Pentland 2020, figure 1c",
    # The diameter is almost always 3; γ = 0 is no communication.  On the complete graph all γ ≥ 1 are the same.
    env=Use("CoopNetwork-v0", n_agents=200, n_arms=5, edge_probability=0.1, means=UniformMeans(0.0, 1.0), horizon=1000),
    agents=[PRIVATE, BYZANTINE, OPEN],
    sweep={"env.graph": ("erdos-renyi", "complete"), "env.life": (0, 1, 2, 3)},
    paired=("graph", "life"),
    runs=100,
    checkpoints=10,
    metrics=("regret", "messages"),
    figures=(Figure(y="regret", x="env.life", log="y"),),
    claims=[
        claim
        for line in (PRIVATE, BYZANTINE)
        for claim in (
            _ratio(
                f"{line.name}: regret falls sharply from γ = 1 to the diameter.",
                _at(line, graph="erdos-renyi", life=3), _at(line, graph="erdos-renyi", life=1), **words.MUCH_LESS,
            ),
            _ratio(
                f"{line.name}: at the diameter it matches the optimal one, that of a complete graph.",
                _at(line, graph="erdos-renyi", life=3), _at(line, graph="complete", life=1), **words.MATCHES,
            ),
            _ratio(
                f"{line.name}: without communication it is the worst.",
                _at(line, graph="erdos-renyi", life=0), _at(line, graph="erdos-renyi", life=1), **words.MORE,
            ),
        )
    ],
    quick={"runs": 10, **SMALL},
)  # fmt: skip

MEANS, GRID_LIVES = (0.8, 0.6, 0.5, 0.4, 0.3), (0, 1, 2, 4)


def _under_the_bounds() -> list[Claim]:
    gaps, distance = max(MEANS) - np.array(MEANS), hop_distances(adjacency("grid", 36))
    claims = []
    for life in GRID_LIVES:
        size = 36, life, len(clique_cover(power_graph(distance, life)))
        for line, bound in ((PRIVATE, theory.private_regret), (BYZANTINE, theory.byzantine_regret)):
            most = float(bound(gaps, np.array(1000.0), *size, line.params["epsilon"]))
            sentence = f"{line.name} at γ = {life} stays under its bound of {most:.0f}."
            claims.append(Claim(sentence=sentence, metric="regret", of=_at(line, life=life), below=most))
    return claims


BOUNDS = Experiment(
    name="dubey2020-bounds",
    title="Regret under the theorems' bounds on a 6 × 6 grid",
    source="Dubey & Pentland 2020, theorems of sections 3.3 and 4.2",
    env=Use("CoopNetwork-v0", n_agents=36, graph="grid", means=MEANS, permute_arms=True, horizon=1000),
    agents=[PRIVATE, BYZANTINE],
    sweep={"env.life": GRID_LIVES},
    runs=100,
    metrics=("regret",),
    figures=(
        Figure(y="regret", log="xy", by="env.life", bounds={
            "theorem of section 3.3": f"{BOUND}private_bound", "theorem of section 4.2": f"{BOUND}byzantine_bound",
        }),
    ),
    claims=_under_the_bounds(),
    quick={"runs": 20},
)  # fmt: skip

EXPERIMENTS = (FIGURE_1A, FIGURE_1B, FIGURE_1C, OVERESTIMATE, OUTLIERS, BOUNDS)
