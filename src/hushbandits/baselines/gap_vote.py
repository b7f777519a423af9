"""Gap-Vote, a baseline of this package that votes out arms with a large empirical gap."""

import math

from hushbandits.best_arm.elimination import drop_outsiders, epochs, plan_all
from hushbandits.best_arm.routine import Routine
from hushbandits.core import Requirements, integer, jit, real
from hushbandits.envs.exploration.voting import VotingTeam


@jit
def _learn(state, r, n, p, arms, reward, uniforms, vote):
    best, worst, lowest = -math.inf, -1, math.inf
    for k in range(arms.size):
        if arms[k]:
            state.sums[r, n, k] += reward[k]
            best = max(best, state.sums[r, n, k])
            if state.sums[r, n, k] < lowest:
                worst, lowest = k, state.sums[r, n, k]
    state.pulls[r, n] += 1
    t = state.pulls[r, n]
    if t >= p[1] and best - lowest > p[0] * math.sqrt(t):  # sums instead of means
        vote[worst] = True
        state.local[r, n, worst] = False
    return True


class GapVote(VotingTeam):
    """Agents that, at activation t, vote out the worst arm if its mean is more than ``c/√t`` below the best mean.

    An agent pulls every arm of 𝒦 that it has not voted out, so t, its activations, is the pulls of each of them.  It
    has no confidence level: nothing bounds how often it is wrong.  Source: own.  The defaults were tuned on
    `DPMASE-Train-v0`; docs/to-beat.md says how.

    Parameters
    ----------
    c : float
        c of the rule, above 0.
    min_pulls : int
        Activations before the first vote.
    """

    name = "Gap-Vote"

    def __init__(self, c: float = 0.5, min_pulls: int = 4):
        self.c, self.min_pulls = real("c", c, 0), integer("min_pulls", min_pulls, 1)

    def requirements(self, settings: dict[str, object]) -> Requirements:
        """Require an env that drops finished agents."""
        return Requirements(env={"inactive_agents": "drop"})

    def routine(self, n_arms: int) -> Routine:
        return Routine(epochs, (self.c, float(self.min_pulls)), plan_all, _learn, drop_outsiders, several=True)
