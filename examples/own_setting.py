"""A user-defined setting on `hb.Env` itself: agents act in turn, and each reads the note of the previous one.

It has four parts, all in this file: the env, its inbox, the operations of wrappers on messages, and the task of a
learner.  The first two are enough for agents; nothing is registered.
"""

from typing import ClassVar

import numpy as np
from gymnasium import spaces

import hushbandits as hb
from hushbandits.core import Arms, Payload, RLTask


class Note(hb.Inbox):
    """An inbox with one slot: the note of the previous agent."""

    def __init__(self, message):
        self._message = message
        self.fields = tuple(name for name in message if name != "sent")

    @property
    def arrived(self):
        return self._message["sent"][..., None]

    def __getitem__(self, field):
        return np.where(self._message["sent"], self._message[field], 0)[..., None]


class Notes(Payload):
    """Messages that wrappers can only drop."""

    noun = "notes"
    operations: ClassVar = {"drop": ()}

    @classmethod
    def stream(cls, verb, env, rng):
        cls.answers(verb)
        return rng.reader((1,), verb)

    def drop(self, rate, stream):
        return self.with_fields(sent=self["sent"] & (stream.next() >= rate))


class Turns(RLTask):
    """Task in which a learner pulls an arm at its turn and earns the reward; it sees its own arms and the last note."""

    def _parts(self):
        return {"shown": (self.core.n_arms, 0.0, 1.0)}

    def _codings(self):
        return {"discrete": self.unmasked(spaces.Discrete(self.core.n_arms))}

    def _start(self, rows):
        self._runs = np.arange(len(self.pulls))[:, None]

    def arms(self, action):
        self.active_agents, self.arm = self.obs.active_agents, action[self._runs, self.obs.active_agents]
        return self.arm

    def pulled(self, obs):
        self.pulls[self._runs, self.active_agents, self.arm] += 1
        self.sums[self._runs, self.active_agents, self.arm] += obs.reward
        self.show_arms("own", self.active_agents, self.pulls, self.sums)
        self.show_time(obs.t + 1)

    def earned(self, before):
        paid = np.zeros(self.pulls.shape[:2])
        paid[self._runs, self.active_agents] = self.obs.reward
        return paid

    def heard(self, obs):
        shown = np.zeros((*self.active_agents.shape, self.core.n_arms))
        shown[self._runs, 0, obs.inbox["arm"][:, :, 0]] = obs.inbox["reward"][:, :, 0]
        self.observations[self._runs, self.active_agents, self.layout["shown"]] = shown

    def show_turn(self, pull, talk):
        self.observations[..., [self.layout["acts"].start, self.layout["speaks"].start]] = 0.0
        self.observations[self._runs, self.obs.active_agents, self.layout["acts"]] = pull
        self.observations[self._runs, self.obs.active_agents, self.layout["speaks"]] = talk


class Relay(hb.Env):
    """One agent per turn pulls an arm, reads the previous agent's note and leaves its own."""

    setting, time_unit, logged_metrics = "relay", "turns", ("regret",)
    message_class, rl_task = Notes, Turns
    metrics_spec: ClassVar = {"regret": hb.Metric("pseudo-regret", "amount"), "turns": hb.Metric("turns", "count")}
    reward_free_fields: ClassVar = ()  # a note depends on rewards only through its field `reward`
    report: ClassVar = {"arm": hb.Field(dtype="i8"), "reward": hb.Field()}

    def __init__(self, *, n_agents=3, means=(0.7, 0.4), rewards="bernoulli", horizon=60, **rest):
        self.horizon = horizon
        self.arms = Arms(means, rewards, permute=True, horizon=horizon)
        self.law = self.arms.law
        super().__init__(n_agents=n_agents, n_arms=self.arms.n_arms, **rest)

    means = property(lambda self: self.arms.means(self._t))
    gaps = property(lambda self: self.arms.gap(self._t))
    locations = property(lambda self: self.arms.at(self._t))
    t = property(lambda self: self._t.copy())
    running = property(lambda self: self._t < self.horizon)
    active_agents = property(lambda self: (self._t % self.n_agents)[:, None])

    def _reset(self, rng):
        self.arms.reset(rng)
        self._stream = rng.reader((1,), "reward")
        self._t = np.zeros(len(rng), np.int64)
        self._regret = np.zeros(len(rng))
        blank = {name: np.zeros((len(rng), 1), field.dtype) for name, field in self.sent_fields.items()}
        self._left = Notes(**blank, sent=np.zeros((len(rng), 1), bool))

    def _pull(self, action):
        location, gap = self.arms.pick(action, self._t)
        self._regret += gap[:, 0] * self.running
        self._arm = action
        return self.law.quantile(self._stream.next(), location)

    def _report(self):
        return {"arm": self._arm, "reward": self.own_reward}

    def _transport(self, message):
        self._t += self.running
        found, self._left = self._left, message
        return Note(found)

    def _metrics(self):
        return {"regret": self._regret.copy(), "turns": self._t.copy()}
