"""`check_agent` names class and hook of every planted fault."""

import random
from typing import ClassVar

import numpy as np
import pytest
from planted import caught, fault

import hushbandits as hb
from hushbandits.testing import check_agent


class Sound(hb.Team):
    """Base of the faults: arms from its random stream, the default message."""

    setting = "network"

    def reset(self, env, rng):
        self.k = env.n_arms
        self.rngs = rng.generators()

    def act(self, obs):
        return np.array([rng.integers(self.k, size=obs.active_agents.shape[1]) for rng in self.rngs])


class BadStart(Sound):
    def reset(self, env, rng):
        super().reset(env, rng)
        self.means = env.means


class Unseeded(Sound):
    def reset(self, env, rng):
        super().reset(env, rng)
        self.rngs = [np.random.default_rng() for _ in range(len(rng))]


class Remembers(Sound):
    def __init__(self):
        self.rounds = 0

    def act(self, obs):
        self.rounds += 1
        return np.full(obs.active_agents.shape, self.rounds // 24 % self.k)


class Counted(Sound):
    games = 0

    def reset(self, env, rng):
        super().reset(env, rng)
        type(self).games += 1


class Promiseless(Sound):
    def __init__(self, epsilon=1.0):
        self.epsilon = epsilon


class One:
    blind = True

    def __init__(self, m, rng):
        self.rng = rng

    def act(self, t):
        return int(self.rng.integers(2))


class OneCommon(One):
    book: ClassVar = {}

    def act(self, t):
        self.book[t] = 1
        return 0


def gone(self, inbox):
    raise KeyError("gone")


def promise(mechanism, epsilon):
    return lambda self, env: (hb.Guarantee(mechanism, epsilon, 0.0, "one reward", "all", (), "nobody"),)


def team(name, **body):
    return fault(name, Sound, **body)


PLANTED = [
    (team("Misspelt", recieve=lambda self, inbox: None), "Misspelt.recieve is never called; the hook is receive"),
    (team("Capital", Compose=lambda self, reward: None), "Capital.Compose is never called; the hook is compose"),
    (team("Declared", required_inbox=lambda self, inbox: None), "Declared.required_inbox is a method"),
    (team("Transposed", act=lambda self, obs: Sound.act(self, obs).T), "Transposed.act, round 1: ValueError"),
    (team("Floating", act=lambda self, obs: Sound.act(self, obs) * 1.0), r"Floating.act, round 1: .*not float64"),
    (team("Beyond", act=lambda self, obs: Sound.act(self, obs) + self.k), r"Beyond.act, round 1: .*0\.\."),
    (team("Raises", receive=gone), "Raises.receive, round 1: KeyError: 'gone'"),
    (BadStart, "BadStart.reset: AttributeError: a team cannot read 'means'"),
    (
        team("BadWord", compose=lambda self, reward: {"arm": np.zeros(reward.shape), "reward": reward}),
        "BadWord.compose, round 1: .*arm",
    ),
    (
        team("Global", act=lambda self, obs: np.random.randint(self.k, size=obs.active_agents.shape)),
        r"Global: .*numpy\.random",
    ),
    (
        team("Pythons", act=lambda self, obs: Sound.act(self, obs) * 0 + random.randrange(self.k)),
        "Pythons: .*state of random",
    ),
    (Unseeded, "Unseeded: the same seed, .* differ at round 1, act"),
    (
        team("Shared", act=lambda self, obs: self.rngs[0].integers(self.k, size=obs.active_agents.shape)),
        r"Shared: run \d alone .*round \d, act",
    ),
    (Remembers, r"Remembers.reset: .* used one differ at round 1, act"),
    (team("Common", seen=[], receive=lambda self, inbox: self.seen.append(1)), "Common.seen is a class attribute"),
    (Counted, "Counted.games is a class attribute and changed"),
    (
        team("Infinite", metrics=lambda self, env: {"worth": np.full(env.runs, np.inf)}),
        "Infinite.metrics: 'worth'.*inf",
    ),
    (team("Scalar", metrics=lambda self, env: {"worth": np.float64(1)}), r"Scalar.metrics: .*'worth'.*\(\)"),
    (
        team("Worded", metrics=lambda self, env: {"worth": np.array(["much"] * env.runs)}),
        "Worded.metrics: .*'worth'.*<U4",
    ),
    (team("Twice", metrics=lambda self, env: {"regret": np.zeros(env.runs)}), "Twice.metrics: 'regret'"),
    (Promiseless, "Promiseless.claimed_guarantees is not defined, but Promiseless has an epsilon"),
    (team("Absurd", claimed_guarantees=promise("noise", -1.0)), "Absurd.claimed_guarantees: .*epsilon=-1.0"),
    (team("Unsaid", claimed_guarantees=promise("", 1.0)), "Unsaid.claimed_guarantees leaves mechanism empty"),
    (
        fault("Overstates", One, compose=lambda self, reward: {"arm": 0, "reward": 7.0}),
        r"Overstates.compose, round 1: .*7\.",
    ),
    (fault("OneDeaf", One, receives=lambda self, messages: None), "OneDeaf.receives is never called"),
    (fault("OneGlobal", One, act=lambda self, t: int(np.random.randint(2))), r"OneGlobal: .*numpy\.random"),
    (OneCommon, "OneCommon.book is a class attribute and changed"),
]


@pytest.mark.parametrize(("faulty", "says"), PLANTED, ids=lambda x: getattr(x, "__name__", ""))
def test_planted_faults_are_caught(faulty, says):
    caught(check_agent, faulty, says, "CoopNetwork-v0")


@pytest.mark.parametrize("sound", [Sound, One, lambda: hb.PerAgent(One)], ids=["team", "one agent", "function"])
def test_the_ground_of_the_planted_faults_is_sound(sound):
    check_agent(sound, "CoopNetwork-v0")


def test_an_epsilon_may_be_said_to_be_no_privacy():
    class Known(Promiseless):
        def claimed_guarantees(self, env):
            return ()

    check_agent(Known, "CoopNetwork-v0")


def test_runs_are_never_as_many_as_agents():
    seen: ClassVar = []

    class Looks(Sound):
        def act(self, obs):
            seen.append(obs.active_agents.shape)
            return super().act(obs)

    for n_agents in (2, 3, 4):
        check_agent(Looks, "CoopNetwork-v0", env={"n_agents": n_agents, "n_arms": 3})
    assert all(r == 1 or r not in (a, 3) for r, a in seen)
