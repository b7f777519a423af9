"""Agents with a fault, and a small run."""

import hushbandits as hb

SMALL = {"n_agents": 4, "horizon": 20}


class Still:
    """An agent that plays arm 0."""

    blind = True

    def __init__(self, m, rng):
        pass

    def act(self, t):
        return 0


class Breaks(Still):
    """An agent that raises in round 3."""

    def act(self, t):
        if t == 3:
            raise ArithmeticError("boom")
        return 0


def played():
    """Return results of one run."""
    return hb.evaluate("CoopNetwork-v0", "UCB1", runs=1, env=SMALL)
