"""Howson, Filippi & Pike-Burke 2024: QuACK, which runs any single-agent algorithm on a network.

The paper does not state, so we assume: the horizon (10⁴; 5000 with heavy tails, where the paper says "fewer rounds"),
the sizes of figures 3–6 but the largest, the γ that give CMP-UCB its leaders, and u and e of the robust means.  So
coop-UCB's published ε_c is played at more sizes, and CMP-UCB at all γ that give two leaders.  Arms are permuted in
every run: the best one is the first, which tie rules would favour.  The regret includes the first pulls of coop-UCB
and DDUCB, one of each arm.
"""

from functools import partial

import numpy as np

from hushbandits.agents import howson2024_theory as theory
from hushbandits.bench.spec.claim import Claim, Difference, Origin, Ratio, Slope, Value, line
from hushbandits.bench.spec.experiment import Component, Experiment, Figure
from hushbandits.core import Array, Params
from hushbandits.experiments import _paper as paper

PAPER = "Howson et al. 2024"
GRAPHS, SIZES, LARGEST, HORIZON = ("cycle", "grid", "star"), (16, 64, 100, 144), 196, 10_000
MEANS = (0.5, *[0.45] * 9)
GAPS = tuple(0.5 - mean for mean in MEANS)
SIGMA = 0.5
#: Bound of theorem 1, with corollary 1, on the regret of QuACK-UCB after HORIZON rounds: by graph, SIZES and LARGEST.
MOST = {
    "cycle": (8715.46, 11009.59, 13323.52, 17209.46, 23398.44),
    "grid": (8672.26, 9972.79, 10623.52, 11377.46, 12285.24),
    "star": (8649.31, 9712.24, 10082.17, 10404.11, 10696.29),
}


def theorem_1(env: Params, agent: Params, x: Array) -> Array:
    """Return theorem 1's regret bound for QuACK-UCB at each time in `x`; NaN for agents without `sigma`."""
    from hushbandits.envs.network.graphs import adjacency, hop_distances

    if "sigma" not in agent:
        return np.full(np.shape(x), np.nan)
    gaps, n_agents = np.asarray(GAPS), env["n_agents"]
    alone = theory.ucb_regret(gaps, n_agents * np.asarray(x, float), SIGMA)
    return theory.quack_regret(alone, gaps, theory.reach(hop_distances(adjacency(env["graph"], n_agents))))


def theorem_1_sizes(env: Params, agent: Params, x: Array) -> Array:
    """Return theorem 1's regret bound for QuACK-UCB with M agents at the horizon, for each M in `x`.

    It is NaN for agents without `sigma`.
    """
    return np.array([theorem_1({**env, "n_agents": int(m)}, agent, env["horizon"]) for m in x])


QUACK, TS = Component("QuACK-UCB", sigma=SIGMA), Component("QuACK-TS")
# ε_c is given, so that no cell shares its key with an older one, for which coop-UCB had "published".
COOP = Component("coop-UCB", label="coop-UCB", constant="smallest")
PUBLISHED = Component("coop-UCB", label="coop-UCB, published ε_c", constant="published")
DDUCB, RECHOOSING, DEC_TS = Component("DDUCB"), Component("DDUCB-rechoosing"), Component("Dec-TS")
# coop-UCB with our ε_c and DDUCB as in its authors' code are our own lines.
PEERS, OURS = (COOP, PUBLISHED, DDUCB, RECHOOSING), (COOP, RECHOOSING)
AGENTS = (QUACK, *PEERS, TS, DEC_TS)


def _whose(peer: Component) -> Origin:
    """Return ``"own"`` for a claim about a line that the paper's figures lack, else ``"paper"``."""
    return "own" if peer in OURS else "paper"


def _under(graph: str, n_agents: int, at: Params) -> Claim:
    most = MOST[graph][(*SIZES, LARGEST).index(n_agents)]
    sentence = f"QuACK-UCB on a {graph} of {n_agents} stays under theorem 1's bound of {most:.0f}."
    source = f"{PAPER}, theorem 1 with corollary 1"
    return Claim(sentence, Value("regret", of=QUACK, at=at), below=most, source=source)


_panels = partial(
    Figure, y="regret", log="xy", band="quantiles", bounds={"theorem 1, QuACK-UCB": f"{__name__}:theorem_1"}
)
_delayed = partial(Component, "CoopNetwork-v0", means=MEANS, horizon=HORIZON, permute_arms=True)
_declared = paper.declaring(
    "howson2024", PAPER,
    agents=AGENTS,
    runs=100,
    metrics=("regret", "messages"),
    quick={"runs": 10, "env.horizon": 500},
)  # fmt: skip


def _thompson(graph: str, source: str) -> list[Claim]:
    if graph != "star":
        return [Claim(f"On a {graph} QuACK-TS is competitive with Dec-TS at all sizes.", Ratio("regret", TS, DEC_TS),
                      **paper.NO_WORSE, source=source)]  # fmt: skip
    smallest, *larger = SIZES
    return [
        Claim("QuACK-TS is competitive with Dec-TS on the smallest star.",
              Ratio("regret", TS, DEC_TS, at={"env.n_agents": [smallest]}), **paper.NO_WORSE, source=source),
        Claim("On larger stars QuACK-TS achieves smaller group regret than Dec-TS.",
              Ratio("regret", TS, DEC_TS, at={"env.n_agents": larger}), **paper.LESS, source=source),
    ]  # fmt: skip


def _sizes(number: int, graph: str) -> Experiment:
    source = f"{PAPER}, figure {number}"
    return _declared(
        f"fig{number}", f"Group regret on {graph}s of growing size", f"figure {number}", env=_delayed(graph=graph),
        sweep={"env.n_agents": SIZES},
        figures=(_panels(by="env.n_agents"),),
        claims=[
            *(Claim(f"On a {graph} QuACK-UCB outperforms {peer.called} at all sizes.", Ratio("regret", QUACK, peer),
                    **paper.LESS, origin=_whose(peer)) for peer in PEERS if peer is not PUBLISHED),
            Claim(f"On a {graph} QuACK-UCB outperforms {PUBLISHED.called} from 64 agents on.",
                  Ratio("regret", QUACK, PUBLISHED, at={"env.n_agents": SIZES[1:]}), **paper.LESS),
            *(Claim(f"On a cycle the gap between QuACK-UCB and {peer.called} increases with M.",
                    Slope("regret", of=peer, over=QUACK, along="env.n_agents"), above=0, origin=_whose(peer))
              for peer in PEERS if graph == "cycle"),
            *_thompson(graph, source),
            # Judged here and not in figure 6, whose cells are these and those of figure 2: they would be played twice.
            # On cycles figure 3 says the same of QuACK-UCB, as a gap that increases.
            *(Claim(f"On a {graph} {of.name} scales better with M than {over.called}.",
                    Slope("regret", of=of, over=over, along="env.n_agents"), below=0, source=f"{PAPER}, figure 6",
                    origin=_whose(over))
              for of in (TS, DEC_TS, *([] if graph == "cycle" else [QUACK])) for over in (COOP, PUBLISHED, DDUCB)),
            *(_under(graph, m, {"env.n_agents": [m]}) for m in SIZES),
        ],
        quick={"runs": 10, "env.n_agents": (16, 64), "env.horizon": 500},
    )  # fmt: skip


FIGURE_2 = _declared(
    "fig2", "Group regret of 196 agents", "figure 2", env=_delayed(n_agents=LARGEST),
    sweep={"env.graph": GRAPHS},
    figures=(_panels(by="env.graph"),),
    claims=[
        *(Claim(f"On the {graph} of 196 agents QuACK-UCB significantly outperforms {peer.called}.",
                Ratio("regret", line(QUACK, graph=graph), line(peer, graph=graph)), **paper.MUCH_LESS,
                origin=_whose(peer))
          for graph in GRAPHS for peer in PEERS),
        *(Claim(f"On the {graph} of 196 agents QuACK-TS is competitive with Dec-TS.",
                Ratio("regret", line(TS, graph=graph), line(DEC_TS, graph=graph)), **paper.NO_WORSE)
          for graph in ("cycle", "grid")),
        Claim("On the star of 196 agents QuACK-TS performs significantly better than Dec-TS.",
              Ratio("regret", line(TS, graph="star"), line(DEC_TS, graph="star")), **paper.MUCH_LESS),
        *(_under(graph, LARGEST, {"env.graph": [graph]}) for graph in GRAPHS),
    ],
)  # fmt: skip

#: The paper shows "all network sizes" and names the largest: from which size on is QuACK-UCB ahead?
FEW = (16, 25, 36)

SMALLER = _declared(
    "small", "QuACK-UCB and coop-UCB with its published ε_c on small cycles and grids", "figures 3 and 4",
    env=_delayed(),
    agents=(QUACK, PUBLISHED),
    sweep={"env.graph": ("cycle", "grid"), "env.n_agents": FEW},
    figures=(_panels(by="env.graph", x="env.n_agents", bounds={}),),
    claims=[
        Claim(f"On a {graph} of {m} QuACK-UCB outperforms {PUBLISHED.called}.",
              Ratio("regret", QUACK, PUBLISHED, at={"env.graph": [graph], "env.n_agents": [m]}), **paper.LESS,
              origin="reading")
        for graph in ("cycle", "grid") for m in FEW
    ],
)  # fmt: skip

FIGURE_6 = _declared(
    "fig6", "Regret after the last round against the size of the network", "figure 6", env=_delayed(),
    sweep={"env.n_agents": (*SIZES, LARGEST), "env.graph": GRAPHS},
    figures=(
        _panels(x="env.n_agents", by="env.graph", bounds={"theorem 1, QuACK-UCB": f"{__name__}:theorem_1_sizes"}),
    ),
    quick={"runs": 10, "env.n_agents": (16, 64), "env.horizon": 500},
)  # fmt: skip

# Among exponents 1 + e < α, the one that needs fewest pulls to leave an arm; u ≥ E|X|^(1+e) of the arm at .7.
EXCESS, LOCATIONS = 0.8, (0.7, *[0.4] * 4)
MOMENT = 3.7666
ROBUST = Component("QuACK-Robust-UCB", moment=MOMENT, excess=EXCESS)


def _led(leaders: int) -> Component:
    label = f"CMP-UCB, {leaders} leader" + "s" * (leaders > 1)
    return Component("CMP-UCB-leaders", label=label, leaders=leaders, moment=MOMENT, excess=EXCESS)


FIGURE_7 = _declared(
    "fig7", "Heavy tails: α = 1.9", "figure 7",
    env=Component("HeavyTailedNetwork-v0", means=LOCATIONS, horizon=5000, permute_arms=True),
    agents=[ROBUST, *map(_led, (1, 2, 4))],
    sweep={"env.n_agents": (16, 36, 64), "env.graph": ("cycle", "grid")},
    figures=tuple(
        Figure(y="regret", log="", band="quantiles", by="env.n_agents", at={"env.graph": graph}, title=graph)
        for graph in ("cycle", "grid")
    ),
    claims=[
        claim
        for graph in ("cycle", "grid")
        for claim in (
            Claim(f"Heavy tails, {graph}: with one leader CMP-UCB outperforms QuACK.",
                  Ratio("regret", _led(1), ROBUST, at={"env.graph": [graph]}), **paper.LESS),
            # At the largest such γ, at which a leader hears most.
            Claim(f"Heavy tails, {graph}: QuACK performs better than {_led(2).label}.",
                  Ratio("regret", ROBUST, _led(2), at={"env.graph": [graph]}), **paper.LESS, origin="reading"),
            Claim(f"Heavy tails, {graph}: QuACK performs better than {_led(4).label}.",
                  Ratio("regret", ROBUST, _led(4), at={"env.graph": [graph]}), **paper.LESS),
        )
    ],
    quick={"runs": 10, "env.n_agents": (16,), "env.horizon": 500},
)  # fmt: skip

#: All γ at which 𝒢_γ has two leaders, by graph and size.
TWO_LEADERS = {
    ("cycle", 16): range(5, 8), ("cycle", 36): range(12, 18), ("cycle", 64): range(21, 32),
    ("grid", 16): range(4, 6), ("grid", 36): range(6, 10), ("grid", 64): range(9, 14),
}  # fmt: skip
LED = Component("CMP-UCB", label="CMP-UCB, 2 leaders", moment=MOMENT, excess=EXCESS)


def _two_leaders(graph: str, m: int, gammas: range) -> Experiment:
    """Return an experiment with QuACK and CMP-UCB, at the values `gammas` of γ that give CMP-UCB two leaders."""
    return _declared(
        f"two-leaders-{graph}-{m}", f"Heavy tails: every γ that gives CMP-UCB two leaders, {graph} of {m}", "figure 7",
        env=FIGURE_7.env.having(n_agents=m, graph=graph),
        agents=[ROBUST, LED],
        sweep={"CMP-UCB.gamma": tuple(gammas)},
        figures=(Figure(y="regret", x="CMP-UCB.gamma"),),
        claims=[
            Claim(f"Heavy tails, {graph} of {m}: QuACK performs better than {LED.label}, {which} γ that gives two.",
                  Ratio("regret", ROBUST, LED, at=at), **paper.LESS, origin="reading")
            for which, at in (("at every", {}), ("at the smallest", {"CMP-UCB.gamma": [gammas[0]]}))
        ],
    )  # fmt: skip


GAMMA = 1.01
AS_COOP = Component("QuACK-UCB", label="QuACK-UCB, radius of coop-UCB", sigma=SIGMA, delta=HORIZON**-GAMMA)
EXPLORED = 2.602059991327962  # 2 ln(16n)/ln n
AS_QUACK, PUBLISHED_AS_QUACK = (
    Component("coop-UCB", label=f"{coop.called}, radius of QuACK-UCB", gamma=EXPLORED, **coop.params)
    for coop in (COOP, PUBLISHED)
)

RADIUS = _declared(
    "radius", "Why correct coop-UCB may win: the same algorithms under each other's radius, 16 agents",
    "figures 3–5", own=True,
    # QuACK's is σ√(4 ln(Mn)/N) over all N pulls, coop-UCB's about σ√(2.02 ln t/N).
    env=_delayed(n_agents=16),
    agents=(QUACK, AS_COOP, COOP, AS_QUACK, PUBLISHED, PUBLISHED_AS_QUACK),
    sweep={"env.graph": GRAPHS},
    figures=(_panels(by="env.graph", bounds={}),),
    claims=[
        *(Claim(f"Under the radius of coop-UCB, QuACK-UCB has less regret than {coop.called}.",
                Ratio("regret", AS_COOP, coop), **paper.LESS) for coop in (COOP, PUBLISHED)),
        *(Claim(f"Under the radius of QuACK-UCB, {coop.called} has more regret than QuACK-UCB.",
                Ratio("regret", under, QUACK), **paper.MORE)
          for coop, under in ((COOP, AS_QUACK), (PUBLISHED, PUBLISHED_AS_QUACK))),
        Claim("The smaller radius alone takes a considerable part of QuACK-UCB's regret.",
              Ratio("regret", AS_COOP, QUACK), **paper.CONSIDERABLY_LESS),
    ],
)  # fmt: skip

SHORT, SMALL = 500, 16
POLICIES = ("UCB", "UCB1", "KL-UCB", "MOSS", "TS", "IMED", "epsilon-greedy", "EXP3")
EXTRA = 3 * 64 * sum(GAPS)  # Σ d of a cycle of 16 is 64

THEOREM_1 = _declared(
    "theorem1", "Theorem 1 with S_π measured: 16 agents for 500 rounds, and π alone for 8000", "theorem 1",
    # A network of one agent is π alone, and S_π(Mn) is its regret after Mn rounds.
    env=Component("CoopNetwork-v0", means=MEANS, graph="cycle", permute_arms=True),
    agents=[Component(f"QuACK-{policy}") for policy in POLICIES],
    sweep={"env.n_agents": (1, SMALL), "env.horizon": (SHORT, SMALL * SHORT)},
    checkpoints=10,
    metrics=("regret",),
    figures=(_panels(by="env.n_agents", at={"env.horizon": SMALL * SHORT}, bounds={}),),
    claims=[
        Claim(f"QuACK-{policy}: R ≤ S_π(Mn) + 3 Σ d Σ Δ, which is S_π(Mn) + {EXTRA:.1f} here.",
              Difference("regret", of=line(Component(f"QuACK-{policy}"), n_agents=SMALL, horizon=SHORT),
                         over=line(Component(f"QuACK-{policy}"), n_agents=1, horizon=SMALL * SHORT)), below=EXTRA)
        for policy in POLICIES
    ],
    quick={"runs": 10},
)  # fmt: skip

ROUTED = Component("QuACK-UCB", sigma=SIGMA, routing="tree")
#: Diameters, in hops, of the graphs of 196 agents.
DIAMETERS = {"cycle": 98, "grid": 26, "star": 2}

MESSAGES = _declared(
    "messages", "What the busiest agent sends in a round, along a shortest-path tree: 196 agents",
    "section 3.1",
    # Section 3.1 gives every agent a message to each child and one to its parent.  They are the same in every round.
    env=_delayed(n_agents=LARGEST, horizon=SHORT),
    agents=[ROUTED],
    sweep={"env.graph": GRAPHS},
    checkpoints=(),
    metrics=("messages_most", "messages"),
    figures=(Figure(y="messages_most", x="env.graph"),),
    claims=[
        Claim(f"On the {graph} of 196 agents nobody sends more messages in a round than the diameter, {diameter}.",
              Value("messages_most", of=ROUTED, at={"env.graph": [graph]}), below=diameter + 0.5)
        for graph, diameter in DIAMETERS.items()
    ],
    quick={"runs": 10},
)  # fmt: skip

# Regret cannot show that it is ε-LDP: `hushbandits audit LocalDPNetwork-v0` tries to refute it.
PRIVATE = _declared(
    "private", "Local privacy, ε = 1: QuACK over LDP-UCB-L, and every agent alone",
    "section 4.4", own=True,
    # gaps that are visible under noise of scale 1
    env=Component(
        "LocalDPNetwork-v0", epsilon=1.0, means=(0.8, *[0.4] * 4), graph="cycle", horizon=HORIZON, permute_arms=True
    ),
    agents=[Component("QuACK-LDP-UCB-L", epsilon=1.0), Component("LDP-UCB-L", epsilon=1.0)],
    sweep={"env.n_agents": (16, 64)},
    figures=(_panels(by="env.n_agents", bounds={}),),
    claims=[Claim("QuACK over LDP-UCB-L has far less regret than the agents alone.",
                  Ratio("regret", "QuACK-LDP-UCB-L", "LDP-UCB-L"), **paper.MUCH_LESS)],
    quick={"runs": 10, "env.n_agents": (16,), "env.horizon": 500},
)  # fmt: skip

DUELS = _declared(
    "dueling", "Duels: QuACK over relative UCB, and every agent alone", "section 4.3", own=True,
    env=Component("DuelingNetwork-v0", graph="cycle", horizon=2000, permute_arms=True),
    agents=[Component("QuACK-RUCB"), Component("RUCB")],
    sweep={"env.n_agents": (16, 64)},
    figures=(_panels(by="env.n_agents", bounds={}),),
    claims=[Claim("QuACK over relative UCB has far less regret than the agents alone.",
                  Ratio("regret", "QuACK-RUCB", "RUCB"), **paper.MUCH_LESS)],
    quick={"runs": 10, "env.n_agents": (16,), "env.horizon": 300},
)  # fmt: skip

EXPERIMENTS = (
    FIGURE_2, _sizes(3, "cycle"), _sizes(4, "grid"), _sizes(5, "star"), SMALLER, FIGURE_6, FIGURE_7,
    *(_two_leaders(*where, gammas) for where, gammas in TWO_LEADERS.items()),
    RADIUS, THEOREM_1, MESSAGES, PRIVATE, DUELS,
)  # fmt: skip
