"""Laplace noise on every message, correct or with half of the scale, in all kinds of parts with guarantees."""

import dataclasses
from typing import ClassVar

import numpy as np
from graph_mutants import OnGraph
from refuted import refuted_by

import hushbandits as hb
from hushbandits.privacy.samplers import DiscreteLaplace, Laplace
from hushbandits.wrappers.local_dp import LocalDiscreteLaplace


def claim(epsilon, **more):
    """One reward replaced, without further declarations."""
    adjacency = hb.Adjacency("one reward replaced by any other in [0, 1]", "reward")
    return (hb.Guarantee("Laplace noise", epsilon, 0.0, adjacency, "everyone else", ("seeded",), "Dwork 2006", **more),)


class Point:
    """Laplace noise of scale b, for named senders and for users of a block."""

    integer = False

    def __init__(self, b):
        self.law = Laplace(b)

    def onto(self, x, u):
        far = np.clip(u, 2.0**-54, 1 - 2.0**-53) - 0.5
        return x - self.law.b * np.sign(far) * np.log1p(-2 * np.abs(far))

    def draw(self, rng, size):
        return self.law.draw(rng, size)

    def total(self, rng, n):
        return self.law.total(rng, n)


class OwnNoise(hb.Wrapper):
    """A user-defined wrapper with a guarantee about one message."""

    operations = ("map", "add")
    share = 1.0

    def __init__(self, epsilon=1.0, *, name=None):
        super().__init__(name=name)
        self.epsilon = epsilon

    def message_fields(self, fields, env):
        return {**fields, "reward": hb.Field()}

    def reset(self, env, rng):
        self._stream = env.message_class.stream("add", env, rng)

    def send(self, message, env):
        return message.clip().add(lambda n: Point(self.share / self.epsilon), self._stream)

    def claimed_guarantees(self, env):
        return claim(self.epsilon, single_release=True)


class OwnDraws(OwnNoise):
    """The same, with the declaration that each message has separate random numbers."""

    preserves_guarantees = True


@refuted_by("one run", "a reward, 24,000 canaries", samples=6000)
class HalfNoise(OwnNoise):
    """Half of the guaranteed noise."""

    share = 0.5


@refuted_by("one run", "a reward,")
class HalfDraws(OwnDraws):
    """Half of the guaranteed noise, with separate random numbers for each message."""

    share = 0.5


@refuted_by("one run", "a reward beyond [0, 1]")
class OwnUnclipped(OwnDraws):
    """A reward outside [0, 1] gets the same noise."""

    def send(self, message, env):
        return message.add(lambda n: Point(1 / self.epsilon), self._stream)


class OneDraw(OnGraph, OwnNoise):
    """All messages of a run share one draw: each alone keeps the guarantee, and two do not."""

    def reset(self, env, rng):
        super().reset(env, rng)
        self._once = np.array([its.laplace(0, 1 / self.epsilon) for its in rng.generators()])

    def send(self, message, env):
        return message.with_fields(reward=np.clip(message["reward"], 0, 1) + self._once[:, None])


class OwnAgent(hb.Team):
    """An agent that adds noise to its messages, and plays fixed arms."""

    setting = "network"
    fields: ClassVar = {"arm": hb.Field(dtype="i8"), "reward": hb.Field()}
    share = 1.0

    def __init__(self, epsilon=1.0):
        self.epsilon = epsilon

    def reset(self, env, rng):
        self._rngs, self._turn = rng.generators(), 0

    def act(self, obs):
        self._arm = np.full(obs.active_agents.shape, self._turn % 2)
        self._turn += 1
        return self._arm

    def compose(self, reward):
        noise = [rng.laplace(0, self.share / self.epsilon, reward.shape[1]) for rng in self._rngs]
        return {"arm": self._arm, "reward": np.clip(reward, 0, 1) + np.array(noise)}

    def claimed_guarantees(self, env):
        return claim(self.epsilon)


@refuted_by("one run", "a reward,")
@refuted_by("black box", "agent 0's first reward")
class HalfAgent(OwnAgent):
    """Half of the guaranteed noise."""

    share = 0.5


@refuted_by("black box", "arm 0 of round 2")
class FollowingAgent(OwnAgent):
    """Its arms depend on rewards that it never published."""

    def act(self, obs):
        return super().act(obs) if self._turn == 0 else np.array(self._arm)

    def compose(self, reward):
        said = super().compose(reward)
        self._arm = (reward > 0.5).astype(int)
        return said


@refuted_by("one run", "a reward,")
class Loud(LocalDiscreteLaplace):
    """A mechanism whose users add half of the noise."""

    def plan(self, n):
        plan = super().plan(n)
        return dataclasses.replace(plan, noise=DiscreteLaplace(plan.noise.b / 2))
