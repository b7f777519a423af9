"""Baselines of Rio et al. 2023, in which agents share all samples or none."""

from hushbandits.best_arm.elimination import successive_elimination
from hushbandits.best_arm.routine import Routine
from hushbandits.core import Requirements, real
from hushbandits.envs.exploration.voting import VotingTeam


class _Compared(VotingTeam):
    """Base of `Central` and `Independent`: successive elimination without privacy (Rio et al. 2023).

    Parameters
    ----------
    delta : float
        δ: failure probability of a learner.
    """

    def __init__(self, delta: float = 0.05):
        self.delta = real("delta", delta, 0, 1)

    def routine(self, n_arms: int) -> Routine:
        return successive_elimination(self.delta)


class Central(_Compared):
    """Non-private successive elimination on the samples of all agents, at confidence 1 − δ.

    Each round's samples go to the centre: one message a round.  Rio et al. 2023 compare with it.
    """

    shared = True

    def requirements(self, settings: dict[str, object]) -> Requirements:
        """Require that one vote removes an arm."""
        costs = {"vote_cost": 0, "round_cost": 1}
        return Requirements(env={"threshold": 0, "vote_rule": ">", "inactive_agents": "drop", **costs})


class Independent(_Compared):
    """Successive elimination by each agent alone, at confidence 1 − δ, without messages.

    A run is correct when every agent is right.  Rio et al. 2023 compare with it.
    """

    def requirements(self, settings: dict[str, object]) -> Requirements:
        """Require that votes remove no arm and cost nothing."""
        return Requirements(env={"termination_by": "everyone", "inactive_agents": "drop", "vote_cost": 0})
