"""Agents with a fault, and a small run."""

import hushbandits as hb

SMALL = {"n_agents": 4, "horizon": 20}


class Breaks:
    """An agent that raises in round 3."""

    blind = True

    def __init__(self, m, rng):
        pass

    def act(self, t):
        """Play arm 0, twice."""
        if t == 3:
            raise ArithmeticError("boom")
        return 0


def played():
    """Return results of one run."""
    return hb.evaluate("CoopNetwork-v0", "UCB1", runs=1, env=SMALL)
