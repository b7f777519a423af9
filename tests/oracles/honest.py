"""Correct variants with another law than planned: with postprocessing of the noise, or with more noise."""

import numpy as np
from graph_mutants import Reports
from hiding_mutants import AtOne

from hushbandits.privacy.samplers import DiscreteLaplace as Discrete
from hushbandits.privacy.samplers import Laplace, PolyaDifference
from hushbandits.wrappers.central_dp import CentralLaplace
from hushbandits.wrappers.distributed_dp import DiscreteLaplace
from hushbandits.wrappers.local_bernoulli import LocalBernoulli
from hushbandits.wrappers.local_dp import LocalDiscreteLaplace
from hushbandits.wrappers.private_means import PrivateMeans

HONEST = []


def honest(cls):
    HONEST.append(cls)
    return cls


class After:
    """Change of a mechanism's release."""

    def deliver(self, inbox, env):
        n = inbox.total("n")
        inbox = super().deliver(inbox, env)
        return inbox.decoded(self._after(inbox.total("reward"), n))


@honest
class RoundedSum(After, CentralLaplace):
    """The noised sum, rounded to integers."""

    def _after(self, z, n):
        return np.rint(z)


@honest
class FineSum(After, CentralLaplace):
    """The noised sum, rounded to thousandths."""

    def _after(self, z, n):
        return np.round(z, 3)


class ClippedToUsers(After):
    """Clipped to [0, n]."""

    def _after(self, z, n):
        return np.clip(z, 0, n)


@honest
class ClippedSum(ClippedToUsers, CentralLaplace):
    """The noised sum, clipped to [0, n]."""


@honest
class ShrunkSum(After, CentralLaplace):
    """The noised sum, a tenth closer to the middle."""

    def _after(self, z, n):
        return n / 2 + 0.9 * (z - n / 2)


@honest
class SometimesNothing(After, CentralLaplace):
    """One block in fifty releases 0."""

    _stream = np.random.default_rng(0)

    def _after(self, z, n):
        return np.where(self._stream.random(z.shape) < 0.02, 0.0, z)


@honest
class MoreNoise(CentralLaplace):
    """A quarter more noise than guaranteed."""

    def _law(self, law):
        return Laplace(1.25 * law.b)


@honest
class MoreShares(DiscreteLaplace):
    """Every user adds a quarter more than is promised."""

    def _law(self, law):
        return PolyaDifference(law.r, 1.25 * law.b)


@honest
class ClippedShares(ClippedToUsers, DiscreteLaplace):
    """The decoded sum, clipped to [0, n]."""


@honest
class EvenSum(After, DiscreteLaplace):
    """The decoded sum in steps of two."""

    def _after(self, z, n):
        return np.rint(z * self._blocks[0]) // 2 * 2 / self._blocks[0]


@honest
class LoudUsers(LocalDiscreteLaplace):
    """Messages with 1.5 times the noise."""

    def _law(self, law):
        return Discrete(1.5 * law.b)


@honest
class TwiceForHalf(Reports):
    """Every second agent has twice the noise."""

    def alter_own_reward(self, reward, env):
        x = np.clip(reward, 0.0, 1.0)
        return x + (super().alter_own_reward(reward, env) - x) * (1 + np.arange(x.shape[1]) % 2)


@honest
class ClippedReports(Reports):
    """Noised rewards, clipped to [0, 1]."""

    def alter_own_reward(self, reward, env):
        return np.clip(super().alter_own_reward(reward, env), 0.0, 1.0)


@honest
class TenthsReports(Reports):
    """Noised rewards, rounded to tenths."""

    def alter_own_reward(self, reward, env):
        return np.round(super().alter_own_reward(reward, env), 1)


@honest
class WiderByReward(Reports):
    """Twice the noise from the hundredth round on."""

    def alter_own_reward(self, reward, env):
        noise = super()._noise.onto(np.zeros(reward.shape), self._stream.next())
        return np.clip(reward, 0, 1) + noise * (2 if (env.t >= 100).any() else 1)


@honest
class ClippedMeans(PrivateMeans):
    """Released means, clipped to [0, 1] and published to the agents themselves."""

    def send(self, message, env):
        message = super().send(message, env)
        return message.with_fields(mean=np.clip(message["mean"], 0.0, 1.0))


@honest
class Shyer(LocalBernoulli):
    """A coin biased by half of ε."""

    def alter_own_reward(self, reward, env):
        return np.less(self._stream.next(), LocalBernoulli(self.epsilon / 2).chance(np.clip(reward, 0, 1))).astype(
            float
        )


@honest
class LoudVotes(AtOne):
    """Noise of ε/2."""

    def routine(self, n_arms):
        return super().routine(n_arms)._replace(params=(self.epsilon / 2, self.beta, 0.0))
