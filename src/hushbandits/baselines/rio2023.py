"""What Rio et al. 2023 compare with: everything shared, and nothing shared."""

from __future__ import annotations

from hushbandits.core.ground.validate import real
from hushbandits.core.team import Protocol
from hushbandits.envs.exploration.voting import VotingTeam
from hushbandits.routines.elimination import successive_elimination
from hushbandits.routines.routine import Routine

__all__ = ["Central", "Independent"]


class Central(VotingTeam):
    """One successive elimination over everybody's samples, at confidence 1 − δ; no privacy.

    Each round's samples go to the centre: one message a round.  Rio et al. 2023 compare with it.

    Parameters
    ----------
    delta : float
        δ: failure probability.

    Examples
    --------
    >>> import hushbandits as hb
    >>> hb.evaluate("DPMASE-v0", "Central", runs=2).final("rounds").shape
    (2,)
    """

    shared = True

    def __init__(self, delta: float = 0.05):
        self.delta = real("delta", delta, 0, 1)

    def protocol(self, settings: dict[str, object]) -> Protocol:
        """The centre's word is final: one vote removes an arm."""
        costs = {"vote_cost": 0, "round_cost": 1}
        return Protocol(env={"threshold": 0, "comparison": ">", "idle": "leaves", **costs})

    def routine(self, n_arms: int) -> Routine:
        """Successive elimination, one for all."""
        return successive_elimination(self.delta)


class Independent(VotingTeam):
    """Every agent alone, at confidence 1 − δ, until all have stopped; no messages.

    A run is correct when every agent is right.  Rio et al. 2023 compare with it.

    Parameters
    ----------
    delta : float
        δ: failure probability of each.

    Examples
    --------
    >>> import hushbandits as hb
    >>> hb.evaluate("DPMASE-v0", "Independent", runs=2, env={"n_agents": 4}).final("correct").shape
    (2,)
    """

    def __init__(self, delta: float = 0.05):
        self.delta = real("delta", delta, 0, 1)

    def protocol(self, settings: dict[str, object]) -> Protocol:
        """Votes are notes that the agents keep: they remove nothing and cost nothing."""
        return Protocol(env={"judge": "everyone", "idle": "leaves", "vote_cost": 0})

    def routine(self, n_arms: int) -> Routine:
        """Successive elimination on own samples."""
        return successive_elimination(self.delta)
