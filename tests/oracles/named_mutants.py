"""Broken mechanisms with draws that are shared, seeded or scaled by rewards, or with too strong declarations."""

import dataclasses

import numpy as np
from canary_mutants import OwnDraws, Point, claim
from graph_mutants import Reports
from refuted import refuted_by

import hushbandits as hb
from hushbandits.core import Streams
from hushbandits.core.guarantee import Run
from hushbandits.envs.feedback.env import Feedback
from hushbandits.privacy.samplers import Skellam
from hushbandits.wrappers.central_dp import CentralLaplace
from hushbandits.wrappers.distributed_dp import DiscreteLaplace
from hushbandits.wrappers.local_laplace import LocalLaplace
from hushbandits.wrappers.private_means import PrivateMeans
from hushbandits.wrappers.secagg import SecAgg
from hushbandits.wrappers.shuffle import Shuffle

# -- draws that are shared -------------------------------------------------------------------------------------------


class ByArm(Reports):
    """Base of mutants whose draw depends on the arm."""

    def alter_own_reward(self, reward, env):
        return self._noise.onto(np.clip(reward, 0.0, 1.0), self._turned(self._stream.next(), env._arm))


@refuted_by("drawn law", "what two rewards tell")
class PairOfArms(ByArm):
    """An agent's pull of the second arm has the noise of its last pull of the first one."""

    def _turned(self, u, arm):
        last = getattr(self, "_last", None)
        last = u.copy() if last is None or last.shape != u.shape else last
        found = np.where(arm == 1, last, u)
        self._last = np.where(arm == 0, u, last)
        return found


@refuted_by("drawn law", "what two rewards tell")
class SeededByArm(ByArm):
    """An arm has one draw for each agent and run."""

    def reset(self, env, rng):
        super().reset(env, rng)
        self._once = np.array([its.random((env.n_agents, env.n_arms)) for its in rng.generators()])

    def _turned(self, u, arm):
        return np.take_along_axis(self._once, arm[..., None], 2)[..., 0]


@refuted_by("drawn law", "what two rewards tell")
class TwoServers(DiscreteLaplace):
    """The second server's users reuse the draws of the first server's."""

    def _noised(self, message):
        noised, bare = super()._noised(message), message["reward"]
        x = getattr(noised["reward"], "_x", None)
        if x is not None and x.shape[1] > 1:
            x[:, 1] = bare._x[:, 1] + x[:, 0] - bare._x[:, 0]
        return noised


@refuted_by("drawn law", "noise that is missing")
class SignFlipped(DiscreteLaplace):
    """The second half of a block's users add the negative noise of the first half."""

    def _noised(self, message):
        noised, bare = super()._noised(message), message["reward"]
        if hasattr(bare, "_x"):
            noise, half = noised["reward"]._x - bare._x, bare._x.shape[2] // 2
            noise[..., half : 2 * half] = -noise[..., :half]
            noised["reward"]._x[:] = bare._x + noise
        return noised


@refuted_by("drawn law", "noise that knows a later reward")
class NextReward(Reports):
    """Noise is the uniform of the next reward; the message is clipped to [0, 1]."""

    def reset(self, env, rng):
        super().reset(env, rng)
        self._stream = Streams(env.seeds).reader((env.n_agents,), "reward")
        self._stream.next()

    def alter_own_reward(self, reward, env):
        return np.clip(super().alter_own_reward(reward, env), 0.0, 1.0)


# -- noise that depends on what it hides -----------------------------------------------------------------------------


@refuted_by("drawn law", "what two rewards tell", runs=24)
class SkellamForPure(DiscreteLaplace):
    """Noise of the planned variance, whose tails are those of a Gaussian."""

    def _law(self, law):
        return Skellam(law.variance)


@refuted_by("drawn law", "what two rewards tell")
class DataClip(CentralLaplace):
    """The release lies within two of the true sum."""

    def deliver(self, inbox, env):
        y = inbox.total("reward")
        noised = super().deliver(inbox, env)
        return noised.decoded(np.clip(noised.total("reward"), y - 2, y + 2))


@refuted_by("drawn law", "what two rewards tell")
class ParityLeak(DiscreteLaplace):
    """The released integer is even if the first user's reward is 0."""

    def send(self, message, env):
        x = getattr(message["reward"], "_x", None)
        self._first = None if x is None else x[:, :, 0] > 0
        return super().send(message, env)

    def deliver(self, inbox, env):
        inbox = super().deliver(inbox, env)
        if self._first is None:
            return inbox
        g = self._blocks[0]
        z = np.rint(inbox.total("reward") * g).astype(int)
        return inbox.decoded((z + (z + self._first) % 2) / g)


@refuted_by("drawn law", "what two rewards tell")
class WrappedSum(CentralLaplace):
    """Noise is added to the sum modulo the number of users."""

    def __init__(self, epsilon=1.0):
        super().__init__(epsilon, discrete=True)

    def deliver(self, inbox, env):
        y, n = inbox.total("reward"), inbox.total("n")
        return super().deliver(inbox.decoded(y % np.maximum(n * self._blocks[0], 1)), env)


@refuted_by("drawn law", "what two rewards tell")
class ScaledByMean(CentralLaplace):
    """Noise is proportional to the mean."""

    def deliver(self, inbox, env):
        y, n = inbox.total("reward"), np.maximum(inbox.total("n"), 1)
        noised = super().deliver(inbox, env)
        return noised.decoded(y + (noised.total("reward") - y) * y / n)


# -- what is beside, and words ---------------------------------------------------------------------------------------


@refuted_by("black box", "all rewards of agent 0, 16 rounds")
class ArmsForRounds(LocalLaplace):
    """A run is claimed to have as many reports as arms."""

    def claimed_guarantees(self, env):
        run = Run(int(env.n_arms), "an agent's rewards")
        return tuple(dataclasses.replace(g, run=run) for g in super().claimed_guarantees(env))


@refuted_by("one run", "a reward")
@refuted_by("black box", "black box")
class AddRemove(OwnDraws):
    """Rewards in [−1, 1], with noise for one added or removed reward."""

    def send(self, message, env):
        return message.map(lambda x: np.clip(x, -1, 1)).add(lambda n: Point(1 / self.epsilon), self._stream)

    def claimed_guarantees(self, env):
        either = hb.Adjacency("one reward replaced by any other in [-1, 1]", "reward", -1.0, 1.0)
        return tuple(dataclasses.replace(g, adjacency=either) for g in claim(self.epsilon, single_release=True))


@refuted_by("black box", "count")
class TimedReleases(PrivateMeans):
    """No release for an arm without a reward."""

    def send(self, message, env):
        message = super().send(message, env)
        some = self._own.s > 0
        return message.with_fields(mean=np.where(some, message["mean"], 0.0), count=np.where(some, message["count"], 0))


@refuted_by("secure function", "order, network")
class WithinHalves(Shuffle):
    """Each half of the messages is shuffled separately."""

    def deliver(self, inbox, env):
        if env.setting != "network":
            return inbox
        shape = inbox.arrived.shape
        rng, half = np.random.default_rng(env.t.sum()), shape[2] // 2
        keys = rng.random(shape) + (np.arange(shape[2]) >= half)
        return inbox._hide_senders(lambda: np.argsort(keys, axis=2))


@refuted_by("black box", "message's best")
class OwnField(Feedback):
    """An env that publishes the largest reward of a block beside its private sum."""

    def __init__(self, *, wrappers=(), runs=1, **settings):
        inner = [] if any(w.name == "DiscreteLaplace" for w in wrappers) else [DiscreteLaplace(1.0), SecAgg()]
        super().__init__(wrappers=[*wrappers, *inner], runs=runs, **{"simulate_users": "individual", **settings})

    @property
    def report(self):
        return {**super().report, "best": hb.Field()}

    def _report(self):
        message = super()._report()
        return {**message, "best": np.nanmax(message["reward"].values(), axis=2)}
