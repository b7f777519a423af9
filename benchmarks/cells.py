"""Cells of the table: small runs of each setting, with their agents."""

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import hushbandits as hb
from benchmarks.loops import MEANS, by_hand, least_of_dp_mase
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


def hand(agent, m, horizon, runs, compile=True):
    """Return the cell of a hand-written loop, UCB1 or Multi-UCB."""

    def play():
        by_hand(agent, GRAPHS[m], m, horizon, runs, compile)
        return float(runs * m * horizon)

    return play


def loop(agent, m):
    """Return the name of a compiled hand-written loop."""
    return f"{agent}, M = {m}, by hand"


UNIT, VOTELESS = loop("UCB1", 16), "DP-MASE by hand, without votes and random streams"
#: By number of agents: graph, rounds and runs.
GRAPHS = {16: "cycle", 196: "grid"}
SIZES = {16: (1000, 16), 196: (250, 4)}


def network(env_id, agent, m, horizon, runs, shown="", unit=UNIT, by_phases=False, **env):
    """Return a cell of the network setting."""
    env = {"n_agents": m, "graph": GRAPHS[m], "means": MEANS, "permute_arms": False, "horizon": horizon} | env
    return Cell(f"{agent}, M = {m}{shown}", partial(package, env_id, agent, runs, env, by_phases), unit)


def exploration(env_id, agent, runs, shown="", unit=UNIT, by_phases=False, n_agents=None, **params):
    """Return a cell of exploration."""
    env = {} if n_agents is None else {"n_agents": n_agents}
    return Cell(f"{agent}{shown}", partial(package, env_id, agent, runs, env, by_phases, **params), unit)


def feedback(env_id, agent):
    """Return a cell of feedback."""
    return Cell(agent, partial(package, env_id, agent, 4, {"horizon": 100_000}), UNIT)


BY_HAND = ("UCB1", "Multi-UCB")
CELLS = (
    *(Cell(loop(a, m), partial(hand, a, m, *SIZES[m]), loop(a, m)) for m in SIZES for a in BY_HAND),
    *(Cell(f"{a}, M = 16, by hand in Python", partial(hand, a, 16, 100, 4, False), loop(a, 16)) for a in BY_HAND),
    *(network("CoopNetwork-v0", a, m, *SIZES[m], unit=loop(a, m)) for m in SIZES for a in BY_HAND),
    network("CoopNetwork-v0", "Multi-UCB", 16, 50, 16, ", by phases", loop("Multi-UCB", 16), by_phases=True),
    *(
        network("CoopNetwork-v0", agent, m, *SIZES[m])
        for agent in ("QuACK-UCB", "QuACK-TS", "coop-UCB", "DDUCB", "Dec-TS")
        for m in SIZES
    ),
    *(network("PrivateNetwork-v0", "Private-UCB", m, horizon, 1) for m, horizon in ((16, 1000), (196, 100))),
    *(network("ByzantineNetwork-v0", "Byzantine-UCB", m, horizon, 1) for m, horizon in ((16, 1000), (196, 50))),
    # two arms: enough pulls of each to fill the tables of the law
    network("ByzantineNetwork-v0", "Byzantine-UCB", 16, 2500, 1, ", beta", rewards="beta", means=(0.7, 0.5)),
    Cell(VOTELESS, lambda: lambda: least_of_dp_mase(0, 64), VOTELESS),
    exploration("DPMASE-v0", "DP-MASE", 2, unit=VOTELESS, n_agents=64, epsilon=0.05),
    exploration("DPMASE-v0", "DP-MASE", 1, ", by phases", VOTELESS, by_phases=True, n_agents=8, epsilon=0.5),
    exploration("DecentralizedExploration-v0", "Decentralized-SER3", 2),
    exploration("DecentralizedExploration-v0", "Decentralized-Median", 1, epsilon=0.9),
    feedback("DistDP-v0", "Dist-DP-SE"),
    feedback("CentralDP-v0", "CDP-SE"),
    feedback("ShuffleDP-v0", "Shuffle-DP-SE"),
)
