"""Broken mechanisms on blocks of users: faults at some sizes, arms or ends, under loss, in tails, in declarations."""

import dataclasses

import numpy as np
from mutants import Sometimes
from refuted import refuted_by

from hushbandits.core.guarantee import Adjacency
from hushbandits.core.random.philox import STEP
from hushbandits.core.random.streams import generator_at
from hushbandits.privacy.divergence import pure_profile
from hushbandits.privacy.noise import NoiseLaw
from hushbandits.privacy.samplers import PolyaDifference
from hushbandits.wrappers.central_dp import CentralLaplace
from hushbandits.wrappers.distributed_dp import DiscreteLaplace, Skellam
from hushbandits.wrappers.local_dp import LocalDiscreteLaplace

# -- fresh kinds: sizes, servers, arms, ε, the ends of a run -----------------------------------------------------------


@refuted_by("white box", "5 sizes from 1000 to 10,000,000")
class LargeBlocks(DiscreteLaplace):
    """Noise of at most 32 steps of the grid, however fine it is: ε = 9.9 for 10⁵ users."""

    def plan(self, n):
        plan = super().plan(n)
        return dataclasses.replace(plan, noise=PolyaDifference(1 / self.sure(n), min(plan.noise.b, 32.0)))

    def seen(self, n, survivors):
        return pure_profile(self.epsilon)


@refuted_by("drawn law", "pooled, up to n = 100000: noise that is too narrow")
class LargeDraws(DiscreteLaplace):
    """Half the planned noise in blocks of 10⁴ users and more."""

    def _law(self, law):
        return PolyaDifference(law.r, law.b / 2) if law.r < 1.5e-4 else law


@refuted_by("drawn law", "noise that is too narrow", runs=40)
class AtFour(DiscreteLaplace):
    """Two thirds of the planned noise at ε = 4."""

    def _law(self, law):
        return PolyaDifference(law.r, law.b / 1.5) if self.epsilon == 4 else law


@refuted_by("drawn law", "server 1")
class BareServer(DiscreteLaplace):
    """The second server's users add nothing."""

    def _noised(self, message):
        noised, bare = super()._noised(message)["reward"], message["reward"]
        if hasattr(noised, "_x") and noised._x.shape[1] > 1:
            noised._x[:, 1] = bare._x[:, 1]
        return message.with_fields(reward=noised)


@refuted_by("drawn law", "place in the run 7")
class LastBlock(Sometimes):
    """No noise in the block that ends the run."""

    def send(self, message, env):
        self._over = not env.running.any()
        return super().send(message, env)

    def _missing(self, crowd):
        return self._over


@refuted_by("drawn law", "arm 1")
class ArmThree(Sometimes):
    """No noise for one arm."""

    def send(self, message, env):
        self._at = env._arm.max()
        return super().send(message, env)

    def _missing(self, crowd):
        return self._at == 2


# -- fresh kinds: losses, tails, grids, dependence ---------------------------------------------------------------------


@dataclasses.dataclass(frozen=True)
class Changed:
    """A law with transformed draws."""

    law: NoiseLaw
    change: object
    integer: bool = True

    def draw(self, rng, size):
        return self.change(self.law.draw(rng, size))

    def total(self, rng, n):
        return self.draw(rng, n).sum()


@refuted_by("drawn law", "what two rewards tell", runs=24)
class ClippedTails(CentralLaplace):
    """Noise is cut off at five scales."""

    def _law(self, law):
        return Changed(law, lambda x: np.clip(x, -5 * law.b, 5 * law.b), False)


class CutAtEight(CentralLaplace):
    """Noise is cut off at eight scales."""

    def _law(self, law):
        return Changed(law, lambda x: np.clip(x, -8 * law.b, 8 * law.b), False)


@refuted_by("drawn law", "value seen before")
class Rounded(CentralLaplace):
    """Noise is rounded to thousandths of its scale."""

    def _law(self, law):
        return Changed(law, lambda x: np.round(x / law.b, 3) * law.b, False)


@refuted_by("drawn law", "multiple of 2")
class EvenSteps(LocalDiscreteLaplace):
    """Every user's noise is an even number of steps."""

    def _law(self, law):
        return Changed(law, lambda x: x // 2 * 2)


@refuted_by("black box", "beyond [0, 1]")
class Unclipped(CentralLaplace):
    """Users' messages are added without noise."""

    def send(self, message, env):
        self._sizes = message["reward"].planned
        return message


@refuted_by("drawn law", "users lost before the mechanism: noise that is missing")
class AllAtTheFirst(DiscreteLaplace):
    """The first user adds all of the noise."""

    def _law(self, law):
        whole = PolyaDifference(1.0, law.b)
        return Changed(whole, lambda x: np.append(x[:1], np.zeros(len(x) - 1, np.int64)))


@refuted_by("drawn law", "users lost before the mechanism: noise that is too narrow")
class ScaledBySurvivors(DiscreteLaplace):
    """Every user adds less noise if fewer survive."""

    def _noised(self, message):
        crowd = message["reward"]
        self._left = np.mean(crowd.n / np.maximum(crowd.planned, 1))
        return super()._noised(message)

    def _law(self, law):
        return PolyaDifference(law.r, max(law.b * self._left**2, 0.1))


@refuted_by("drawn law", "noise that knows a later reward")
class RewardStream(DiscreteLaplace):
    """Noise uses the stream of the next block's rewards."""

    def send(self, message, env):
        self._of_rewards = env._blocks[:, 0].copy()
        self._of_rewards[:, STEP] += np.uint64(env.n_agents)
        return super().send(message, env)

    def _noised(self, message):
        self._rngs = [generator_at(cursor) for cursor in self._of_rewards]
        return super()._noised(message)


@refuted_by("drawn law", "5 later, 0 runs on")
class FiveBlocksLater(DiscreteLaplace):
    """Every block reuses the noise of the fifth before it, with a new draw now and then."""

    def reset(self, env, rng):
        super().reset(env, rng)
        self._block = -1

    def _noised(self, message):
        self._block += 1
        self._rngs = [np.random.default_rng([id(self) % 1000, r, self._block // 10, self._block % 5])
                       for r in range(len(self._rngs))]  # fmt: skip
        return super()._noised(message)


@refuted_by("drawn law", "what two rewards tell")
class Antithetic(CentralLaplace):
    """Every second draw mirrors the one before it."""

    _last = None

    def _law(self, law):
        return Changed(law, self._turn, False)

    def _turn(self, x):
        found, self._last = (-self._last, None) if self._last is not None else (x, x)
        return found


@refuted_by("drawn law", "decoded out of range")
class WrongDecode(DiscreteLaplace):
    """The analyzer treats every sum above the rewards as an underflow."""

    def plan(self, n):
        plan = super().plan(n)

        class Wrong(type(plan)):
            def decode(self, y, survivors):
                return ((y - self.modulus) if y > survivors * self.g else y) / self.g

        return Wrong(plan.n, plan.g, plan.tau, plan.noise)


# -- fresh kinds: words ------------------------------------------------------------------------------------------------


@refuted_by("black box", "all rewards of a user")
class AllRewards(DiscreteLaplace):
    """Claims for all rewards of a returning user the guarantee of one reward."""

    def claimed_guarantees(self, env):
        every = Adjacency("all rewards of a user replaced", "participant")
        return tuple(dataclasses.replace(g, adjacency=every, run=None) for g in super().claimed_guarantees(env))


@refuted_by("white box", "promise")
class SmallDelta(Skellam):
    """Claims its ε at a thousandth of the δ."""

    def claimed_guarantees(self, env):
        return tuple(
            dataclasses.replace(g, epsilon=0.8 * g.epsilon, delta=g.delta / 1000)
            for g in super().claimed_guarantees(env)
        )

    def seen(self, n, survivors):
        return pure_profile(0.0)


@refuted_by("black box", "a reward, n = 64")
class WhoIsSilent(DiscreteLaplace):
    """The first user is silent if its reward is 1."""

    def send(self, message, env):
        if not hasattr(message["reward"], "_x"):
            return super().send(message, env)
        first = message["reward"]._x[:, :, 0] > 0
        message = super().send(message, env)
        message["reward"]._present[:, :, 0] &= ~first
        message["reward"].n = message["reward"]._present.sum(2)
        return message
