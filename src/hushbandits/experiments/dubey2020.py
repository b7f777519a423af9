"""Dubey & Pentland 2020: private and Byzantine-proof cooperative decision-making.

The paper does not state, so we assume: horizons of figures 1a and 1b (10⁴), the law of the Bernoulli means (U[0, 1];
U[.3, .7] in the byzantine setting), ε = 1, v = 1.1, δ′ = e^−10 in figure 1a (the paper defers to Tossou & Dimitrakakis
2016), Q uniform on [0, 1], all agents byzantine, and how diameter/2 is rounded: figure 1a has both, and a sentence that
depends on it is read in either way.  Section 5 draws Bernoulli arms: claims about other laws are our own.
"""

from collections.abc import Callable
from functools import lru_cache, partial

import numpy as np

from hushbandits.agents import dubey2020_theory as theory
from hushbandits.bench.spec.claim import Claim, Ratio, Value, line
from hushbandits.bench.spec.experiment import Component, Figure
from hushbandits.core import Array, Params, UniformMeans
from hushbandits.experiments import _paper as paper
from hushbandits.registry import make_batched

SMALL = {"env.n_agents": 50, "env.edge_probability": 0.2}
#: Means are drawn i.i.d. over arms: nothing is left to shuffle.
RANDOM_GRAPH: Params = {
    "n_agents": 200, "n_arms": 5, "graph": "erdos-renyi", "edge_probability": 0.1, "permute_arms": False,
}  # fmt: skip
#: Messages live for half the diameter.
HALFWAY: Params = {**RANDOM_GRAPH, "means": UniformMeans(0.3, 0.7), "max_hops": "floor(diameter/2)"}
_INSTANCES = 15


@lru_cache(maxsize=1024)
def _cover(power: bytes, m: int) -> int:
    from hushbandits.envs.network.graphs import clique_cover

    # a cover of 200 agents takes a good part of a second; lines, panels and figures share their graphs
    return len(clique_cover(np.frombuffer(power, bool).reshape(m, m)))


def _median(bound: Callable[..., Array], env: Params, t: Array, epsilon: float) -> Array:
    """Return the median of `bound` over random instances of the env.

    The clique cover numbers χ̄ in the bound come from greedy covers of power graphs.
    """
    from hushbandits.envs.network.graphs import power_graph

    core = make_batched("CoopNetwork-v0", runs=_INSTANCES, **env)
    core.reset(0)
    distance, max_hops = core.distance, core.slots.max_hops
    powers = [power_graph(d, int(g)).astype(bool) for d, g in zip(distance, max_hops, strict=True)]
    covers = [_cover(p.tobytes(), core.n_agents) for p in powers]
    lines = [
        bound(gaps, t, core.n_agents, int(max_hops[r % len(max_hops)]), covers[r % len(covers)], epsilon)
        for r, gaps in enumerate(core.gaps)
    ]
    return np.median(lines, 0)


def private_bound(env: Params, agent: Params, x: Array) -> Array:
    """Return the paper's regret bound for Private-UCB at each time in `x`, as the median over instances.

    It is NaN for agents without `release_exponent`.
    """
    if "release_exponent" not in agent:
        return np.full(len(x), np.nan)
    return _median(theory.private_regret, env, x, agent["epsilon"])


def byzantine_bound(env: Params, agent: Params, x: Array) -> Array:
    """Return the paper's regret bound for Byzantine-UCB at each time in `x`, as the median over instances.

    It is NaN where it is infinite, and for agents whose `mean` is not ``"trimmed"``.
    """
    if agent.get("mean") != "trimmed":
        return np.full(len(x), np.nan)
    line = _median(theory.byzantine_regret, env, x, agent["epsilon"])
    return np.where(np.isfinite(line), line, np.nan)


#: The paper's version; the id alone, with ``own_feedback="private"``, is another algorithm.
PRIVATE = Component("Private-UCB", epsilon=1.0, release_exponent=1.1, own_feedback="true")
ALONE, PRIVATE_ALONE, OPEN = Component("UCB1"), Component("DP-UCB-INT", epsilon=1.0), Component("Multi-UCB")
BYZANTINE = Component("Byzantine-UCB", label="Byzantine-UCB", on="ByzantineNetwork-v0", epsilon=1e-3, mean="trimmed")
PLAIN = Component("Byzantine-UCB", label="plain mean, same radius", on="ByzantineNetwork-v0", epsilon=1e-3, mean="mean")
CLEAN = Component("Byzantine-UCB", label="Byzantine-UCB, no contamination", epsilon=0.0, mean="trimmed")
UNAWARE = Component(
    "Byzantine-UCB", label="Byzantine-UCB at ϵ = 0", on="ByzantineNetwork-v0", epsilon=0.0, mean="trimmed"
)


_panels = partial(Figure, y="regret", log="xy")
_declared = paper.declaring(
    "dubey2020", "Dubey & Pentland 2020", runs=100, metrics=("regret",), quick={"runs": 4, **SMALL}
)

ROUNDINGS = ("floor(diameter/2)", "ceil(diameter/2)")
#: Section 5 has Bernoulli arms; the other laws, which have tails to trim, are ours.
BERNOULLI, TAILED = {"env.rewards": ["bernoulli"]}, {"env.rewards": ["beta", "truncated-gaussian"]}
BETA = {"env.rewards": ["beta"]}


def _by_law(sentence: str, of: Component, over: Component, region: Params, others: Params = TAILED) -> list[Claim]:
    """Return the paper's claim for Bernoulli arms, and our additional claim for the reward laws `others`."""
    return [
        Claim(f"{sentence}, on Bernoulli arms.", Ratio("regret", of, over, at=BERNOULLI), **region),
        Claim(f"{sentence}, on {' and '.join(others['env.rewards'])} arms.", Ratio("regret", of, over, at=others),
              **region, origin="own"),
    ]  # fmt: skip


FIGURE_1A = _declared(
    "fig1a",
    "Private cooperation on random graphs",
    "figure 1a",
    env=Component("CoopNetwork-v0", **RANDOM_GRAPH, means=UniformMeans(0.0, 1.0), horizon=10_000),
    paired=("permute_arms",),
    agents=[PRIVATE, ALONE, PRIVATE_ALONE, OPEN],
    sweep={"env.max_hops": ROUNDINGS},
    metrics=("regret", "messages"),
    figures=(_panels(by="env.max_hops", bounds={"theorem, median instance": f"{__name__}:private_bound"}),),
    claims=[
        *(
            Claim(
                f"Private-UCB does significantly better than {alone.name} alone.",
                Ratio("regret", PRIVATE, alone),
                **paper.MUCH_LESS,
            )
            for alone in (ALONE, PRIVATE_ALONE)
        ),
        *(
            Claim(
                f"Private-UCB does worse than its non-private version, γ = {max_hops}.",
                Ratio("regret", PRIVATE, OPEN, at={"env.max_hops": [max_hops]}),
                **paper.MORE,
                origin="reading",
            )
            for max_hops in ROUNDINGS
        ),
    ],
    quick={"runs": 4, **SMALL, "env.horizon": 1000},
)

FIGURE_1B = _declared(
    "fig1b", "Byzantine-proof cooperation on random graphs, ϵ = 10⁻³", "figure 1b",
    env=Component("CoopNetwork-v0", **HALFWAY, horizon=10_000),
    agents=[BYZANTINE, ALONE, CLEAN, UNAWARE, PLAIN, Component("Multi-UCB", on="ByzantineNetwork-v0")],
    sweep={"env.rewards": ("bernoulli", "beta", "truncated-gaussian")},
    paired=("rewards", "permute_arms"),
    figures=(_panels(by="env.rewards", bounds={"theorem, median instance": f"{__name__}:byzantine_bound"}),),
    claims=[
        *_by_law("The byzantine-proof algorithm is a large improvement on UCB1", BYZANTINE, ALONE, paper.MUCH_LESS),
        *_by_law("Without contamination it does better", CLEAN, BYZANTINE, paper.LESS),
        Claim(
            "Much of that is the smaller radius: a plain mean under it, too, has less than half of UCB1's regret.",
            Ratio("regret", PLAIN, ALONE), **paper.MUCH_LESS, origin="own",
        ),
    ],
    quick={"runs": 4, **SMALL, "env.horizon": 1000},
)  # fmt: skip

OUTLIERS = _declared(
    "outliers", "Where trimming pays: one report in twenty is an outlier", "figure 1b",
    own=True,
    env=Component("ByzantineNetwork-v0", **HALFWAY, horizon=1000, rewards="beta", rate=0.05, law="constant"),
    agents=[
        Component("Byzantine-UCB", label="trimmed", epsilon=0.05, mean="trimmed"),
        Component("Byzantine-UCB", label="Lugosi–Mendelson", epsilon=0.05, mean="lugosi-mendelson"),
        Component("Byzantine-UCB", label="plain mean", epsilon=0.05, mean="mean"),
        ALONE,
    ],
    sweep={"env.location": (0.5, 1.0, 10.0)},
    paired=("location", "permute_arms"),
    runs=48,  # tails of one sample in ten take ten seconds a run; fewer runs give no interval at this level
    figures=(_panels(by="env.location"),),
    claims=[
        Claim("Far outliers ruin the plain mean, not the trimmed one.",
              Ratio("regret", "trimmed", "plain mean", at={"env.location": [10.0]}), **paper.MUCH_LESS),
    ],
    quick={"runs": 4, **SMALL, "env.horizon": 300},
)  # fmt: skip

CONTAMINATION, TOO_MUCH = 1e-3, (0.01, 0.05)


def _informed(epsilon: float) -> Component:
    return Component("Byzantine-UCB", label=f"told ϵ = {epsilon:g}", epsilon=epsilon, mean="trimmed")


OVERESTIMATE = _declared(
    "overestimate", "An overestimated contamination: ϵ = 10⁻³, and the algorithm is told more", "section 4",
    # At T = 1000 all runs take about ten minutes of a core.  On Bernoulli arms nothing is trimmed once both values
    # are frequent; Beta arms have tails to trim.
    env=Component("ByzantineNetwork-v0", **HALFWAY, horizon=1000, rate=CONTAMINATION),
    agents=[_informed(epsilon) for epsilon in (CONTAMINATION, *TOO_MUCH)],
    sweep={"env.rewards": ("bernoulli", "beta")},
    paired=("rewards", "permute_arms"),
    runs=64,
    figures=(_panels(by="env.rewards"),),
    claims=[
        claim
        for epsilon in TOO_MUCH
        for sentence, region in (
            ("the performance remains unchanged", paper.MATCHES),
            ("there is no degradation in performance", paper.NO_WORSE),
        )
        for claim in _by_law(f"If ϵ is overestimated {epsilon / CONTAMINATION:.0f} times, {sentence}",
                             _informed(epsilon), _informed(CONTAMINATION), region, BETA)
    ],
)  # fmt: skip


def _max_hops_claims(use: Component) -> list[Claim]:
    silent, near, far = (line(use, graph="erdos-renyi", max_hops=max_hops) for max_hops in (0, 1, 3))
    return [
        Claim(f"{use.name}: regret falls sharply from γ = 1 to the diameter.", Ratio("regret", far, near),
              **paper.MUCH_LESS),
        Claim(f"{use.name}: at the diameter it matches the optimal one, that of a complete graph.",
              Ratio("regret", far, line(use, graph="complete", max_hops=1)), **paper.MATCHES),
        Claim(f"{use.name}: without communication it is the worst.", Ratio("regret", silent, near), **paper.MORE,
              origin="own"),  # the paper begins at γ = 1
    ]  # fmt: skip


FIGURE_1C = _declared(
    "fig1c", "Regret after 1000 rounds against the life of messages", "figure 1c",
    # The diameter is almost always 3; γ = 0 is no communication.  On the complete graph all γ ≥ 1 are the same.
    env=Component(
        "CoopNetwork-v0", n_agents=200, n_arms=5, edge_probability=0.1, means=UniformMeans(0.0, 1.0), horizon=1000,
        permute_arms=False,
    ),
    agents=[PRIVATE, BYZANTINE, OPEN],
    sweep={"env.graph": ("erdos-renyi", "complete"), "env.max_hops": (0, 1, 2, 3)},
    paired=("graph", "max_hops", "permute_arms"),
    checkpoints=10,
    metrics=("regret", "messages"),
    figures=(Figure(y="regret", x="env.max_hops", log="y"),),
    claims=[*_max_hops_claims(PRIVATE), *_max_hops_claims(BYZANTINE)],
)  # fmt: skip

MEANS = (0.8, 0.6, 0.5, 0.4, 0.3)
#: Bounds of the theorems of sections 3.3 and 4.2 on the regret after 1000 rounds on the grid below, by γ.
MOST = {
    0: (25813.927228691726, 8330.962286344928),
    1: (13905.195473132737, 5123.081143172464),
    2: (7497.229595353243, 3078.140571586232),
    4: (3836.4485521424126, 1844.0624762605476),
}

BOUNDS = _declared(
    "bounds", "Regret under the theorems' bounds on a 6 × 6 grid", "theorems of sections 3.3 and 4.2",
    env=Component("CoopNetwork-v0", n_agents=36, graph="grid", means=MEANS, permute_arms=True, horizon=1000),
    agents=[PRIVATE, BYZANTINE],
    sweep={"env.max_hops": tuple(MOST)},
    figures=(_panels(by="env.max_hops", bounds={
        "theorem of section 3.3": f"{__name__}:private_bound",
        "theorem of section 4.2": f"{__name__}:byzantine_bound",
    }),),
    claims=[
        Claim(f"{use.name} at γ = {max_hops} stays under its bound of {most:.0f}.",
              Value("regret", line(use, max_hops=max_hops)), below=most)
        for max_hops, bounds in MOST.items()
        for use, most in zip((PRIVATE, BYZANTINE), bounds, strict=True)
    ],
    quick={"runs": 4},
)  # fmt: skip

EXPERIMENTS = (FIGURE_1A, FIGURE_1B, FIGURE_1C, OVERESTIMATE, OUTLIERS, BOUNDS)
