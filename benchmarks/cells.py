"""Cells of the table: small runs of each setting, with their agents."""

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import hushbandits as hb
from benchmarks.loops import dubey, exploration, feedback, gossip, quack, ucb
from benchmarks.loops.world import MEANS
from hushbandits.registry import assemble


class Cell(NamedTuple):
    """A small run with its agents."""

    name: str
    #: Builds the run; the returned function plays it from its start and returns the number of pulls.
    made: Callable[[], Callable[[], float]]
    #: The cell whose pull is the unit of the ratio.
    unit: str


def package(env_id, agent, runs, env, by_phases=False, **params):
    """Return a function that plays an agent of the package, by compiled rounds or by phases."""
    team = hb.make_team(agent, **params)
    if by_phases:
        team.episode = lambda *_: False
    core = assemble(env_id, team, runs=runs, env=env)

    def play():
        final = hb.rollout(core, team, 0)
        for counted in ("rounds", "users"):  # activations of exploration, users of feedback
            if counted in final:
                return float(final[counted].sum())
        return float(runs * core.n_agents * core.horizon)

    return play


def hand(agent, m, horizon, runs, **more):
    """Return a function that plays the hand-written loop of a network agent."""

    def play():
        LOOPS[agent](agent, GRAPHS[m], m, horizon, runs, **more)
        return float(runs * m * horizon)

    return play


def by_hand(shown):
    """Return the name of a hand-written loop."""
    return f"{shown}, by hand"


LOOPS = (
    dict.fromkeys(("UCB1", "Multi-UCB"), ucb.by_hand)
    | dict.fromkeys(("QuACK-UCB", "QuACK-TS"), quack.by_hand)
    | dict.fromkeys(("coop-UCB", "DDUCB", "Dec-TS"), gossip.by_hand)
    | dict.fromkeys(("Private-UCB", "Byzantine-UCB"), dubey.by_hand)
)
#: By number of agents: graph, rounds and runs.
GRAPHS = {16: "cycle", 196: "grid"}
SIZES = {16: (1000, 16), 196: (1000, 4)}


def network(env_id, agent, m, horizon, runs, shown="", **more):
    """Return a cell of the network setting, and the cell of its loop; `more` goes to env and loop."""
    env = {"n_agents": m, "graph": GRAPHS[m], "means": MEANS, "permute_arms": False, "horizon": horizon} | more
    name = f"{agent}, M = {m}{shown}"
    yield Cell(by_hand(name), partial(hand, agent, m, horizon, runs, **more), by_hand(name))
    yield Cell(name, partial(package, env_id, agent, runs, env), by_hand(name))


def explored(agent, **params):
    """Return a cell of exploration, and the cell of its loop."""
    made = partial(exploration.by_hand, agent, range(2), **params)
    yield Cell(by_hand(agent), lambda: lambda: float(made().sum()), by_hand(agent))
    yield Cell(agent, partial(package, "DecentralizedExploration-v0", agent, 2, {}, **params), by_hand(agent))


def voted(runs, n_agents, epsilon, shown="", by_phases=False):
    """Return a cell of DP-MASE."""
    made = partial(package, "DPMASE-v0", "DP-MASE", runs, {"n_agents": n_agents}, by_phases, epsilon=epsilon)
    return Cell(f"DP-MASE{shown}", made, VOTELESS)


def served(env_id, agent, runs=100, horizon=1_000_000):
    """Return a cell of feedback, and the cell of its loop."""

    def play():
        feedback.by_hand(agent, runs, horizon)
        return float(runs * horizon)

    yield Cell(by_hand(agent), lambda: play, by_hand(agent))
    yield Cell(agent, partial(package, env_id, agent, runs, {"horizon": horizon}), by_hand(agent))


VOTELESS = "DP-MASE by hand, without votes and random streams"
IN_PYTHON = ("UCB1", "Multi-UCB")
_PHASES = {"n_agents": 16, "graph": "cycle", "means": MEANS, "permute_arms": False, "horizon": 50}
CELLS = (
    *(
        Cell(f"{a}, M = 16, by hand in Python", partial(hand, a, 16, 100, 4, compile=False), by_hand(f"{a}, M = 16"))
        for a in IN_PYTHON
    ),
    *(
        cell
        for agent in ("UCB1", "Multi-UCB", "QuACK-UCB", "QuACK-TS", "coop-UCB", "DDUCB", "Dec-TS")
        for m in SIZES
        for cell in network("CoopNetwork-v0", agent, m, *SIZES[m])
    ),
    Cell(
        "Multi-UCB, M = 16, by phases", partial(package, "CoopNetwork-v0", "Multi-UCB", 16, _PHASES, True),
        by_hand("Multi-UCB, M = 16"),
    ),
    *network("PrivateNetwork-v0", "Private-UCB", 16, *SIZES[16]),
    *network("PrivateNetwork-v0", "Private-UCB", 196, 1000, 1),
    *network("ByzantineNetwork-v0", "Byzantine-UCB", 16, 1000, 1),
    *network("ByzantineNetwork-v0", "Byzantine-UCB", 196, 50, 1),
    # two arms: enough pulls of each to fill the tables of the law
    *network("ByzantineNetwork-v0", "Byzantine-UCB", 16, 2500, 1, ", beta", rewards="beta", means=(0.7, 0.5)),
    Cell(VOTELESS, lambda: lambda: exploration.least_of_dp_mase(0, 64), VOTELESS),
    voted(2, 64, 0.05),
    voted(1, 8, 0.5, ", by phases", True),
    *explored("Decentralized-SER3"),
    *explored("Decentralized-Median", epsilon=0.9),
    *served("DistDP-v0", "Dist-DP-SE"),
    *served("CentralDP-v0", "CDP-SE"),
    *served("ShuffleDP-v0", "Shuffle-DP-SE"),
)  # fmt: skip
