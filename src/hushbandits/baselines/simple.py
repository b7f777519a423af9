"""Rules of a few numbers, one per setting, that a learner should beat: our own, tuned on the ids for training.

They prove nothing and promise nothing.  `hushbandits.baselines.simple` is what is left of a problem once its guarantees
are: how good is a guess that anybody would make?
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from hushbandits.baselines.alone import each_alone
from hushbandits.baselines.dubey2020 import pool
from hushbandits.core.ground.jit import jit
from hushbandits.core.ground.types import Array, Seeds
from hushbandits.core.ground.validate import integer, real
from hushbandits.core.luck.tapes import streams
from hushbandits.core.messages import Inbox
from hushbandits.core.obs import Obs
from hushbandits.core.team import Team
from hushbandits.core.world import World
from hushbandits.envs.exploration.voting import VotingTeam
from hushbandits.envs.network.episode import NetworkTeam
from hushbandits.policies.luck import words
from hushbandits.policies.thompson import GaussianTS
from hushbandits.routines.elimination import epochs, follow_all, plan_all
from hushbandits.routines.routine import SILENT, VOTES, Routine

__all__ = ["CommitBlocks", "GapVote", "IndexTS"]


class IndexTS(NetworkTeam):
    """Gaussian Thompson sampling on everything an agent has heard; our own, to compare with.

    Each agent plays ``argmax_k`` of draws from ``N((s_k + wμ)/(n_k + w), σ²/(n_k + w))`` with n_k, s_k over own and
    received pulls, as `Multi-UCB` counts them.

    Parameters
    ----------
    sigma : float
        σ, > 0.
    prior : float
        μ, the mean that an arm is thought to have before anything is known.
    weight : float
        w > 0, how many pulls that thought is worth.
    """

    name = "Index-TS"
    hears = ("tally",)
    rules = each_alone(GaussianTS.choose, GaussianTS.update, jit)._replace(hear=pool, takes="tally")

    def __init__(self, sigma: float = 0.2, prior: float = 1.0, weight: float = 1.0):
        self.sigma = real("sigma", sigma, 0)
        self.prior = real("prior", prior)
        self.weight = real("weight", weight, 0)

    def begin(self, env: World, seeds: Seeds) -> NamedTuple:
        luck = words(streams(seeds, f"agent/{self.name}"), env.n_agents)
        state = GaussianTS(self.sigma).state(len(seeds) * env.n_agents, env.n_arms, env.horizon, luck)
        state.n[:] = self.weight - 1.0  # the policy counts one pull that gave nothing
        state.s[:] = self.weight * self.prior
        return state


@jit
def _learn(state, r, n, p, arms, reward, luck, vote):
    scale, least = p
    sums, local = state.sums[r, n], state.local[r, n]
    best, worst, low = -math.inf, -1, math.inf
    for k in range(arms.size):
        if arms[k]:
            sums[k] += reward[k]
            best = max(best, sums[k])
            if sums[k] <= low:
                worst, low = k, sums[k]
    state.pulls[r, n] += 1
    t = state.pulls[r, n]
    if t < least or best - low <= scale * math.sqrt(t):  # of sums: the means differ by more than scale/√t
        return SILENT
    vote[worst], local[worst] = True, False
    return VOTES


class GapVote(VotingTeam):
    """Vote the worst arm out as soon as its mean is ``c/√n`` below the best; our own, to compare with.

    An agent pulls all arms that are left, n times so far, and votes from n = `least` on, one arm at a time.

    Parameters
    ----------
    scale : float
        c ≥ 0.
    least : int
        Fewest activations before a vote.
    """

    name = "Gap-Vote"

    def __init__(self, scale: float = 0.5, least: int = 5):
        self.scale = real("scale", scale, 0, closed="low")
        self.least = integer("least", least, 1)

    def routine(self, n_arms: int) -> Routine:
        return Routine(epochs, (self.scale, float(self.least)), plan_all, _learn, follow_all, several=True)


class CommitBlocks(Team):
    """Give each arm a few blocks of users, then the best arm all others; our own, to compare with.

    The best arm is that of the largest mean of what the protocol decoded, the lowest index on ties.

    Parameters
    ----------
    block : int
        Users per block.
    passes : int
        Blocks per arm.
    """

    name = "Commit-Blocks"
    setting = "feedback"
    hears = ("reward", "n")
    told = ()

    def __init__(self, block: int = 32, passes: int = 1):
        self.block = integer("block", block, 1)
        self.passes = integer("passes", passes, 1)

    def reset(self, env: World, seeds: Seeds) -> None:
        shape = (len(seeds), env.n_agents)
        self._horizon, self._n_arms = env.horizon, env.n_arms
        self._turn = 0  # all servers are in the same block
        self._n, self._s = np.zeros((*shape, env.n_arms)), np.zeros((*shape, env.n_arms))
        self._arm = np.zeros(shape, np.int64)

    def act(self, obs: Obs) -> tuple[Array, Array]:
        if self._turn < self.passes * self._n_arms:
            self._arm[:] = self._turn % self._n_arms
            return self._arm, np.full(self._arm.shape, self.block)
        mean = np.divide(self._s, self._n, out=np.full(self._s.shape, -math.inf), where=self._n > 0)
        self._arm = mean.argmax(2)
        return self._arm, np.full(self._arm.shape, self._horizon)  # the env cuts where users end

    def hear(self, inbox: Inbox) -> None:
        seat = (*np.indices(self._arm.shape), self._arm)
        if self._turn < self.passes * self._n_arms:
            self._n[seat] += inbox.total("n")
            self._s[seat] += inbox.total("reward")
        self._turn += 1
