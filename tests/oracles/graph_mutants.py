"""Broken mechanisms on messages of agents on a graph."""

import dataclasses
import math

import numpy as np
from refuted import refuted_by

from hushbandits.core import Streams
from hushbandits.core.guarantee import Adjacency, Run
from hushbandits.core.messages import Field
from hushbandits.wrappers.local_bernoulli import LocalBernoulli
from hushbandits.wrappers.local_laplace import LocalLaplace
from hushbandits.wrappers.private_means import PrivateMeans

# -- messages on a graph ---------------------------------------------------------------------------------------------


@refuted_by("drawn law", "what two rewards tell")
class ReusedReleases(PrivateMeans):
    """One draw per agent, used for every release."""

    def reset(self, env, rng):
        super().reset(env, rng)
        self._stream = Frozen(self._stream)


@refuted_by("drawn law", "agent 1")
@refuted_by("black box", "agent 1's first reward")
class OneAgentBare(LocalLaplace):
    """The second agent adds no noise."""

    def alter_own_reward(self, reward, env):
        noised = super().alter_own_reward(reward, env)
        noised[:, 1] = reward[:, 1]
        return noised


class OneStream:
    """One stream of noise for all agents."""

    def reset(self, env, rng):
        super().reset(env, rng)
        self._stream = Shared(self._stream)


@refuted_by("drawn law", "0 later, 0 runs on")
class SameForAll(OneStream, LocalLaplace):
    """All agents of a round share one draw."""


class Frozen:
    def __init__(self, stream):
        self._row = stream.next().copy()

    def next(self):
        return self._row


class Shared:
    def __init__(self, stream):
        self._inner = stream

    def next(self):
        row = self._inner.next().copy()
        row[:] = row[:, :1]
        return row


# -- replacement by a coin -------------------------------------------------------------------------------------------


@refuted_by("drawn law", "what two rewards tell")
class Timid(LocalBernoulli):
    """Claims ε, with a coin biased by 2ε."""

    def alter_own_reward(self, reward, env):
        lean = math.exp(-2 * self.epsilon)
        return np.less(self._stream.next(), (reward * (1.0 - lean) + lean) / (1.0 + lean)).astype(float)


@refuted_by("white box", "coins of any two rewards")
@refuted_by("drawn law", "what two rewards tell")
class Bold(LocalBernoulli):
    """Claims ε, with a coin biased by 1.5ε, planned and drawn."""

    def chance(self, reward):
        lean = math.exp(-1.5 * self.epsilon)
        return (reward * (1.0 - lean) + lean) / (1.0 + lean)


@refuted_by("drawn law", "what two rewards tell")
class Bolder(Bold):
    """The same, with a correct plan."""

    def alter_own_reward(self, reward, env):
        return np.less(self._stream.next(), super().chance(reward)).astype(float)

    chance = LocalBernoulli.chance


@refuted_by("drawn law", "0 later, 0 runs on")
class OneCoin(OneStream, LocalBernoulli):
    """All agents of a round share one draw."""


@refuted_by("drawn law", "noise that is too narrow")
class LoudReports(LocalLaplace):
    """Noise for 1.5ε."""

    def __init__(self):
        super().__init__(1.0, own_feedback="private")

    @property
    def _noise(self):
        return LocalLaplace(1.5)._noise


# -- fresh kinds: promises about a run ---------------------------------------------------------------------------------


@refuted_by("black box", "agent 0's first reward")
class ReleasedMeansOnly(PrivateMeans):
    """Agents use exact rewards; a run's ε is claimed for the released means."""

    def __init__(self):
        super().__init__(own_feedback="true")

    def claimed_guarantees(self, env):
        whole, *_ = PrivateMeans().claimed_guarantees(env)
        return (dataclasses.replace(whole, view="any receiver: the released means only"),)


@refuted_by("black box", "arm 0 of round 2")
class NoisedRewardsOnly(LocalLaplace):
    """Agents use exact rewards; ε over a run is claimed for the noised ones."""

    def __init__(self):
        super().__init__(own_feedback="true")

    def claimed_guarantees(self, env):
        return LocalLaplace(self.epsilon).claimed_guarantees(env)


@refuted_by("white box", "3 releases")
class SingleRelease(PrivateMeans):
    """A run's guarantee is that of one release."""

    def claimed_guarantees(self, env):
        return tuple(dataclasses.replace(g, epsilon=0.6, delta=0.0) for g in super().claimed_guarantees(env)[:1])


@refuted_by("white box", "16 releases")
class ShortHorizon(PrivateMeans):
    """Accounts for three rounds, for any horizon."""

    def claimed_guarantees(self, env):
        return tuple(dataclasses.replace(g, epsilon=2.23, delta=0.0) for g in super().claimed_guarantees(env)[:1])


@refuted_by("black box", "all rewards of agent 0, 16 rounds")
class OneOfARun(LocalLaplace):
    """Claims that an agent reports once."""

    def claimed_guarantees(self, env):
        return tuple(dataclasses.replace(g, run=Run(1, "an agent's rewards")) for g in super().claimed_guarantees(env))


@refuted_by("black box", "all rewards of agent 0, 16 rounds")
class AllOfAnAgent(LocalLaplace):
    """Claims for all rewards of an agent the guarantee of one reward."""

    def claimed_guarantees(self, env):
        every = Adjacency("all rewards of an agent replaced", "participant")
        return tuple(dataclasses.replace(g, adjacency=every, run=None) for g in super().claimed_guarantees(env))


class OnGraph:
    """For agents only."""

    def message_fields(self, fields, env):
        if not env.message_class.identified_senders:
            raise ValueError("agents alone")
        return super().message_fields(fields, env)


class Reports(OnGraph, LocalLaplace):
    """Base of mutants for agents only."""


# -- published own rewards and extra fields ----------------------------------------------------------------------------


class Exact(Reports):
    """Base of mutants that know the exact reward."""

    def alter_own_reward(self, reward, env):
        self._exact = np.array(reward)
        return super().alter_own_reward(reward, env)


@refuted_by("black box", "all together", samples=6000)
class ReturnedAndReported(Exact):
    """One draw is published to the agent itself, another one to others."""

    def reset(self, env, rng):
        super().reset(env, rng)
        self._second = rng.reader((env.n_agents,), "second")

    def send(self, message, env):
        return message.with_fields(reward=self._noise.onto(self._exact.clip(0.0, 1.0), self._second.next()))


@refuted_by("black box", "published mean")
class ReturnedBeforeNoise(PrivateMeans):
    """The exact means of released values are published to the agents themselves."""

    def published(self, env):
        return {**super().published(env), "mean": self._own.s / np.maximum(self._own.n, 1)}


@refuted_by("black box", "quality 0 of round 1")
class SideField(Exact):
    """The exact reward in an extra field."""

    def message_fields(self, fields, env):
        return {**super().message_fields(fields, env), "quality": Field()}

    def send(self, message, env):
        return super().send(message, env).with_fields(quality=self._exact)


@refuted_by("black box", "-1e+09")
class WhoIsSilent(Exact):
    """No message if the reward is 0."""

    def send(self, message, env):
        return super().send(message, env).with_fields(sent=message["sent"] & (self._exact > 0))


@refuted_by("black box", "beyond [0, 1]")
class Unclipped(Reports):
    """A reward outside [0, 1] gets the same noise."""

    def alter_own_reward(self, reward, env):
        return self._noise.onto(reward, self._stream.next())


# -- fresh kinds: draws ------------------------------------------------------------------------------------------------


class Onto:
    """Transformed noise."""

    integer = False

    def __init__(self, noise, change):
        self.noise, self.change = noise, change

    def onto(self, x, u):
        return x + self.change(self.noise.onto(np.zeros(x.shape), u))


@refuted_by("drawn law", "what two rewards tell")
class ClippedTails(Reports):
    """Noise is cut off at five scales."""

    @property
    def _noise(self):
        return Onto(super()._noise, lambda x: np.clip(x, -5 / self.epsilon, 5 / self.epsilon))


@refuted_by("drawn law", "long runs: what two rewards tell")
class Rounded(Reports):
    """Noise is rounded to hundredths."""

    @property
    def _noise(self):
        return Onto(super()._noise, lambda x: np.round(x, 2))


@refuted_by("drawn law", "own rewards: what two rewards tell")
class RewardStream(Reports):
    """Noise uses the uniforms of the rewards."""

    def reset(self, env, rng):
        super().reset(env, rng)
        self._stream = Streams(env.seeds).reader((env.n_agents,), "reward")


@refuted_by("drawn law", "7 later, 0 runs on")
class SevenRoundsLater(Reports):
    """Every draw is reused seven rounds later."""

    def reset(self, env, rng):
        super().reset(env, rng)
        self._inner, self._kept = self._stream, []
        self._stream = self

    def next(self):
        again = len(self._kept) % 14 >= 7
        self._kept.append(self._kept[-7] if again else self._inner.next().copy())
        return self._kept[-1]


@refuted_by("drawn law", "long runs: noise that is missing")
class LateReleases(PrivateMeans):
    """No noise from the two-hundredth pull of an arm on."""

    def send(self, message, env):
        message = super().send(message, env)
        exact = self._own.s / np.maximum(self._own.n, 1)
        self._own.mean[:] = np.where(self._own.n >= 200, exact, self._own.mean)
        return message.with_fields(mean=self._own.mean.copy())


@refuted_by("drawn law", "round 5")
class LastRound(Reports):
    """No noise in the last round."""

    def alter_own_reward(self, reward, env):
        noised = super().alter_own_reward(reward, env)
        return reward if (env.t + 1 >= env.horizon).all() else noised


@refuted_by("drawn law", "arm 2")
class ThirdArm(Reports):
    """No noise for one arm."""

    def alter_own_reward(self, reward, env):
        return (
            np.where(env._arm == 2, reward, super().alter_own_reward(reward, env)) if hasattr(env, "_arm") else reward
        )


@refuted_by("drawn law", "own rewards: what two rewards tell")
class GentleOnes(Reports):
    """Four fifths of the noise if the reward is 1."""

    def alter_own_reward(self, reward, env):
        return reward + np.where(reward == 1, 0.8, 1.0) * (
            super().alter_own_reward(reward, env) - np.clip(reward, 0, 1)
        )


@refuted_by("drawn law", "noise that is too narrow")
class HalfMeans(PrivateMeans):
    """Noise of half the scale."""

    def reset(self, env, rng):
        super().reset(env, rng)
        self._own = self._own._replace(scale=self._own.scale / 2)


@refuted_by("drawn law", "what two rewards tell")
class CarriedOn(PrivateMeans):
    """The exact mean in the third decimal beside the noised one."""

    def send(self, message, env):
        message = super().send(message, env)
        exact = self._own.s / np.maximum(self._own.n, 1)
        return message.with_fields(mean=np.round(message["mean"], 2) + exact / 1000)
