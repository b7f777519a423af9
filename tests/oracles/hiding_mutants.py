"""Broken secure functions, and agents whose votes reveal rewards."""

import numpy as np
from refuted import refuted_by

from hushbandits.agents.azize2023 import AdaPTT
from hushbandits.agents.rio2023 import DPMASE
from hushbandits.best_arm import top_two
from hushbandits.best_arm.private_elimination import radii
from hushbandits.core import jit
from hushbandits.wrappers.secagg import SecAgg
from hushbandits.wrappers.shuffle import Shuffle

# -- secure functions ------------------------------------------------------------------------------------------------


@refuted_by("secure function", "blocks of fewer than 5 users")
@refuted_by("secure function", "rounds of fewer than 3 messages")
class SmallCohorts(SecAgg):
    """Opens sums of any size."""

    def reset(self, env, rng):
        self.min_cohort = 1
        super().reset(env, rng)


@refuted_by("secure function", "order, network")
class KeepsTheOrder(Shuffle):
    """Removes the names, but keeps the order."""

    def deliver(self, inbox, env):
        if env.setting != "network":
            return inbox
        return inbox._hide_senders(lambda: np.broadcast_to(np.arange(inbox.arrived.shape[2]), inbox.arrived.shape))


@refuted_by("secure function", "votes of fewer than 3 agents")
class BareWindows(SecAgg):
    """Opens single ballots."""

    def channel(self, env):
        channel = super().channel(env)
        if env.setting == "exploration":
            channel.batch_window = channel.min_cohort = 1
        return channel


# -- votes -----------------------------------------------------------------------------------------------------------


@jit
def _bare(state, r, n, p, arms, reward, uniforms, vote):
    for k in range(arms.size):
        if arms[k]:
            state.sums[r, n, k] += reward[k]
    state.pulls[r, n] += 1
    due = state.due[r, n]
    if state.pulls[r, n] < due:
        return False
    h, c = radii(arms.size, 1, p[0], p[1], due)
    for k in range(arms.size):
        if (state.sums[r, n].max() - state.sums[r, n, k]) / due > 2.0 * (h + c):
            vote[k] = True
    return True


class AtOne(DPMASE):
    """Base of agents with votes of ε = 1."""

    def __init__(self):
        super().__init__(epsilon=1.0)


@refuted_by("black box", "votes")
class BareVotes(AtOne):
    """Votes by exact means, and adds noise afterwards."""

    def routine(self, n_arms):
        return super().routine(n_arms)._replace(learn=_bare)


@refuted_by("black box", "votes", samples=6000)
class HalfVotes(AtOne):
    """Noise of 2ε."""

    def routine(self, n_arms):
        return super().routine(n_arms)._replace(params=(2 * self.epsilon, self.beta, 0.0))


# -- actions ---------------------------------------------------------------------------------------------------------


@jit
def _late(state, r, n, p, arms, reward, uniforms, vote):
    for k in range(arms.size):
        if arms[k] and state.open[r, n, k] >= 3.0:
            state.noise[r, n] = 0.5  # its quantile is 0
    return top_two._learn(state, r, n, p, arms, reward, uniforms, vote)


@refuted_by("black box", "among rewards 1")
class BareFromPhase4(AdaPTT):
    """AdaP-TT, whose means of four rewards and more have no noise."""

    def routine(self, n_arms):
        return super().routine(n_arms)._replace(learn=_late)
