"""Broken mechanisms on blocks of users, of every kind that we found."""

import dataclasses
import math

import numpy as np
from refuted import refuted_by
from scipy import stats

from hushbandits.privacy.divergence import pure_profile
from hushbandits.privacy.ledger import Spent
from hushbandits.privacy.noise import NoiseLaw
from hushbandits.privacy.plans import distributed_pure
from hushbandits.privacy.samplers import PolyaDifference
from hushbandits.wrappers.distributed_dp import DiscreteLaplace
from hushbandits.wrappers.shuffle_dp import ShuffledNoise

# -- plans whose law is too weak -------------------------------------------------------------------------------------


@refuted_by("white box", "promise")
class GammaScale(DiscreteLaplace):
    """The released sampler, whose gamma scale is (1−p)/p for p = e^(−ε/g): β and 1 − β swapped."""

    def plan(self, n):
        plan = super().plan(n)
        wrong = -1 / math.log(1 - math.exp(-1 / plan.noise.b))
        return dataclasses.replace(plan, noise=PolyaDifference(1 / n, wrong))


@refuted_by("white box", "promise")
class ForgottenPrecision(DiscreteLaplace):
    """Scale 1/ε on an integer sum of sensitivity g."""

    def plan(self, n):
        return dataclasses.replace(super().plan(n), noise=PolyaDifference(1 / n, 1 / self.epsilon))


@dataclasses.dataclass(frozen=True)
class OneSidedLaw(NoiseLaw):
    r: float
    b: float

    def draw(self, rng, size):
        return rng.negative_binomial(self.r, -math.expm1(-1 / self.b), size)

    def line(self, n):
        return stats.nbinom.pmf(np.arange(math.ceil(60 * self.b) + 1), n * self.r, -math.expm1(-1 / self.b))


@refuted_by("white box", "promise")
class OneSided(DiscreteLaplace):
    """γ⁺ alone."""

    def plan(self, n):
        plan = super().plan(n)
        return dataclasses.replace(plan, noise=OneSidedLaw(1 / n, plan.noise.b), tau=2 * plan.tau)

    def price(self, n, survivors):
        return Spent(self.epsilon)


@refuted_by("white box", "promise")
class AsPrinted(ShuffledNoise):
    """Theorem 3 with e^(−ε/g) at the cost of ε′ = ε/2."""

    def __init__(self):
        super().__init__(1.0, shuffle="pure")

    def plan(self, n):
        return distributed_pure(n, self.epsilon, self._p)


@refuted_by("white box", "promise")
class NoNoise(DiscreteLaplace):
    """Nobody adds anything."""

    def plan(self, n):
        return dataclasses.replace(super().plan(n), noise=None)

    def _noised(self, crowd):
        return crowd

    def price(self, n, survivors):
        return Spent(self.epsilon)


# -- words that are larger than the law ------------------------------------------------------------------------------


@refuted_by("white box", "left: price")
class Dropouts(DiscreteLaplace):
    """The cost of a block is ε for any number of survivors."""

    def price(self, n, survivors):
        return Spent(self.epsilon)


@refuted_by("white box", "promise")
@refuted_by("white box", "profile")
class Boast(DiscreteLaplace):
    """Claims half of the ε of its noise, and that an observer sees nothing."""

    def claimed_guarantees(self, env):
        return tuple(dataclasses.replace(g, epsilon=g.epsilon / 2) for g in super().claimed_guarantees(env))

    def seen(self, n, survivors):
        return pure_profile(self.epsilon / 2)


@refuted_by("white box", "ledger, 3 blocks")
class CheapLedger(DiscreteLaplace):
    """A correct cost, with a Rényi curve of half of it."""

    def price(self, n, survivors):
        spent = super().price(n, survivors)
        return Spent(spent.epsilon, 0.0, lambda alpha: spent.curve(alpha) / 4)


# -- noise that is not what the plan says ----------------------------------------------------------------------------


@refuted_by("black box", "black box")
class Half(DiscreteLaplace):
    """Draws noise of half the planned scale."""

    def _law(self, law):
        return PolyaDifference(law.r, law.b / 2)


@refuted_by("drawn law", "noise that is too narrow")
class HalfAtATenth(Half):
    def __init__(self):
        super().__init__(0.1)


@refuted_by("drawn law", "noise that is too narrow")
class HalfAtTen(Half):
    def __init__(self):
        super().__init__(10.0)


@refuted_by("drawn law", "what two rewards tell")
@refuted_by("black box", "change of reward")
class ReusedSeed(DiscreteLaplace):
    """The same noise for every block."""

    def reset(self, env, rng):
        super().reset(env, rng)
        self._again = rng.below("again")

    def _noised(self, message):
        self._rngs = self._again.generators()
        return super()._noised(message)


@refuted_by("drawn law", "1 later, 0 runs on")
class ReusedPairs(DiscreteLaplace):
    """Every second block reuses the noise of the one before it."""

    _block = 0

    def _noised(self, crowd):
        if self._block % 2:
            for rng, state in zip(self._rngs, self._states, strict=True):
                rng.bit_generator.state = state
        self._states = [rng.bit_generator.state for rng in self._rngs]
        self._block += 1
        return super()._noised(crowd)


@refuted_by("drawn law", "0 later, 1 runs on")
class ReusedRuns(DiscreteLaplace):
    """Every run reuses the noise of the first."""

    def reset(self, env, rng):
        super().reset(env, rng)
        self._alike = [np.random.default_rng(7) for _ in range(len(rng))]

    def _noised(self, message):
        self._rngs = self._alike
        return super()._noised(message)


class Sometimes(DiscreteLaplace):
    """Base of mutants that omit the noise now and then."""

    _block = -1

    def _noised(self, message):
        self._block += 1
        noised = super()._noised(message)
        return message if self._missing(message["reward"]) else noised

    def _missing(self, crowd):
        raise NotImplementedError


@refuted_by("drawn law", "third of what others may earn 2")
class DependsOnTheSum(Sometimes):
    """No noise if more than half of all rewards are 1."""

    def _missing(self, crowd):
        return hasattr(crowd, "_x") and crowd._x.sum() > 0.75 * crowd._x.size * crowd._x.max()


@refuted_by("drawn law", "what two rewards tell")
@refuted_by("black box", "black box")
class LastUser(Sometimes):
    """No noise if only the last user's reward is 1."""

    def _missing(self, crowd):
        return hasattr(crowd, "_x") and crowd._x[0, 0, -1] > 0 and crowd._x[0, 0, :-1].sum() == 0


class OnePercent(Sometimes):
    """No noise in one block of a hundred."""

    def _missing(self, crowd):
        return np.random.default_rng(self._block).random() < 0.01


@refuted_by("drawn law", "noise that is missing (size 77)")
class UnusualSize(Sometimes):
    """No noise in blocks of 77."""

    def _missing(self, crowd):
        return crowd.planned[0, 0] == 77


@refuted_by("drawn law", "stretch of the run")
class AfterBlock1000(Sometimes):
    """No noise from block 1000 on."""

    def _missing(self, crowd):
        return self._block >= 1000


# -- leaks beside the sum --------------------------------------------------------------------------------------------


@refuted_by("black box", " n")
class LeakInN(DiscreteLaplace):
    """One user less if the first one's reward is 1."""

    def send(self, message, env):
        first = message["reward"]._x[:, :, 0] > 0
        message = super().send(message, env)
        message["reward"].n = message["reward"].n - first
        return message


@refuted_by("black box", "bits")
class LeakInBits(DiscreteLaplace):
    """One bit more if the last user's reward is 1."""

    def send(self, message, env):
        last = message["reward"]._x[:, :, -1] > 0
        message = super().send(message, env)
        return {**message, "bits": message["bits"] + last}


@refuted_by("black box", "sums off the grid")
class FloatBits(DiscreteLaplace):
    """The last user's reward in the last bits of the decoded sum."""

    def send(self, message, env):
        self._last = message["reward"]._x[:, :, -1]
        return super().send(message, env)

    def deliver(self, inbox, env):
        inbox = super().deliver(inbox, env)
        return inbox.decoded(inbox.total("reward") + 2.0**-30 * self._last)


# -- what no black box can see ---------------------------------------------------------------------------------------


class NeverPlayed(Sometimes):
    """No noise in blocks of 100,003."""

    def _missing(self, crowd):
        return crowd.planned[0, 0] == 100_003


class Secret(Sometimes):
    """No noise if the first nine rewards equal a secret sequence."""

    def _missing(self, crowd):
        word = np.array([1, 1, 0, 1, 0, 0, 1, 1, 1])
        x = getattr(crowd, "_x", np.zeros((1, 1, 0)))[0, 0]
        return len(x) >= 9 and (np.sign(x[:9]) == word).all()
