"""`check_agent` names class and hook of every planted fault."""

import random
from typing import ClassVar

import numpy as np
import pytest

import hushbandits as hb
from hushbandits.testing import check_agent


class Sound(hb.Team):
    """The ground of the faults: arms from its own tape, the standard report."""

    setting = "network"

    def reset(self, env, seeds):
        self.k = env.n_arms
        self.rngs = [np.random.default_rng(seed) for seed in seeds]

    def act(self, obs):
        return np.array([rng.integers(self.k, size=obs.who.shape[1]) for rng in self.rngs])


class Misspelt(Sound):
    def heer(self, inbox):
        pass


class Capital(Sound):
    def Speak(self, reward):
        pass


class Declared(Sound):
    def hears(self, inbox):
        pass


class Transposed(Sound):
    def act(self, obs):
        return super().act(obs).T


class Floating(Sound):
    def act(self, obs):
        return super().act(obs).astype(float)


class Beyond(Sound):
    def act(self, obs):
        return super().act(obs) + self.k


class Raises(Sound):
    def hear(self, inbox):
        raise KeyError("gone")


class BadStart(Sound):
    def reset(self, env, seeds):
        super().reset(env, seeds)
        self.means = env.means


class BadWord(Sound):
    def speak(self, reward):
        return {"arm": np.zeros(reward.shape), "reward": reward}


class Global(Sound):
    def act(self, obs):
        return np.random.randint(self.k, size=obs.who.shape)


class Pythons(Sound):
    def act(self, obs):
        return super().act(obs) * 0 + random.randrange(self.k)


class Unseeded(Sound):
    def reset(self, env, seeds):
        super().reset(env, seeds)
        self.rngs = [np.random.default_rng() for _ in seeds]


class Shared(Sound):
    def act(self, obs):
        return self.rngs[0].integers(self.k, size=obs.who.shape)


class Remembers(Sound):
    def __init__(self):
        self.rounds = 0

    def act(self, obs):
        self.rounds += 1
        return np.full(obs.who.shape, self.rounds // 24 % self.k)


class Common(Sound):
    seen: ClassVar = []

    def hear(self, inbox):
        self.seen.append(1)


class Counted(Sound):
    games = 0

    def reset(self, env, seeds):
        super().reset(env, seeds)
        type(self).games += 1


class Infinite(Sound):
    def metrics(self, env):
        return {"worth": np.full(env.runs, np.inf)}


class Scalar(Sound):
    def metrics(self, env):
        return {"worth": np.float64(1)}


class Worded(Sound):
    def metrics(self, env):
        return {"worth": np.array(["much"] * env.runs)}


class Promiseless(Sound):
    def __init__(self, epsilon=1.0):
        self.epsilon = epsilon


class Absurd(Sound):
    def promises(self, env):
        return (hb.Guarantee("noise", -1.0, 0.0, "one reward", "all", (), "nobody"),)


class Unsaid(Sound):
    def promises(self, env):
        return (hb.Guarantee("", 1.0, 0.0, "one reward", "all", (), "nobody"),)


class One:
    def __init__(self, m, rng):
        self.rng = rng

    def act(self, t):
        return int(self.rng.integers(2))


class Overstates(One):
    def speak(self, reward):
        return {"arm": 0, "reward": 7.0}


class OneDeaf(One):
    def hears(self, messages):
        pass


class OneGlobal(One):
    def act(self, t):
        return int(np.random.randint(2))


class OneCommon(One):
    book: ClassVar = {}

    def act(self, t):
        self.book[t] = 1
        return 0


PLANTED = [
    (Misspelt, "Misspelt.heer is called by nobody; the hook is hear"),
    (Capital, "Capital.Speak is called by nobody; the hook is speak"),
    (Declared, "Declared.hears is a method; hears of Team is no hook, but data"),
    (Transposed, r"Transposed.act, round 1: ValueError: action must be integer"),
    (Floating, r"Floating.act, round 1: .*not float64"),
    (Beyond, r"Beyond.act, round 1: .*0\.\."),
    (Raises, "Raises.hear, round 1: KeyError: 'gone'"),
    (BadStart, "BadStart.reset: AttributeError: a team does not see 'means'"),
    (BadWord, "BadWord.speak, round 1: ValueError: field 'arm' of message must be integers"),
    (Global, r"Global: it moved the global state of numpy\.random"),
    (Pythons, "Pythons: it moved the global state of random"),
    (Unseeded, "Unseeded: the same seed, .* differ at round 1, act"),
    (Shared, r"Shared: run \d alone and its row of a batch, round \d, differ at act"),
    (Remembers, r"Remembers.reset: a second game of one instance and the first of a new one differ at round 1, act"),
    (Common, "Common.seen is data of the class and changed in play"),
    (Counted, "Counted.games is data of the class and changed in play"),
    (Infinite, r"Infinite.metrics, 'worth': must be finite numbers, and holds \[inf\]"),
    (Scalar, r"Scalar.metrics: .*'worth' must be numbers of shape \(\d, …\), not .* \(\)"),
    (Worded, "Worded.metrics: .*'worth' must be numbers of shape .*, not <U4"),
    (Promiseless, "Promiseless.promises is not defined, but Promiseless has an epsilon"),
    (Absurd, "Absurd.promises: ValueError: epsilon=-1.0 of a Guarantee must be a number ≥ 0"),
    (Unsaid, "Unsaid.promises leaves mechanism empty"),
    (Overstates, r"Overstates.speak, round 1: says a reward of \[7.\]; arms pay from 0 to 1"),
    (OneDeaf, "OneDeaf.hears is called by nobody; the hook is hear"),
    (OneGlobal, r"OneGlobal: it moved the global state of numpy\.random"),
    (OneCommon, "OneCommon.book is data of the class and changed in play"),
]


@pytest.mark.parametrize(("fault", "says"), PLANTED, ids=lambda x: getattr(x, "__name__", ""))
@pytest.mark.filterwarnings("ignore:.*nobody calls:UserWarning")
def test_planted_faults_are_caught(fault, says):
    with pytest.raises(AssertionError, match=says) as caught:
        check_agent(fault, "CoopNetwork-v0")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("sound", [Sound, One, lambda: hb.Each(One)], ids=["team", "one agent", "function"])
def test_the_ground_of_the_planted_faults_is_sound(sound):
    check_agent(sound, "CoopNetwork-v0")


def test_an_epsilon_may_be_said_to_be_no_privacy():
    class Known(Promiseless):
        def promises(self, env):
            return ()

    check_agent(Known, "CoopNetwork-v0")


def test_runs_are_never_as_many_as_agents():
    seen: ClassVar = []

    class Looks(Sound):
        def act(self, obs):
            seen.append(obs.who.shape)
            return super().act(obs)

    for n_agents in (2, 3, 4):
        check_agent(Looks, "CoopNetwork-v0", env={"n_agents": n_agents, "n_arms": 3})
    assert all(r == 1 or r not in (a, 3) for r, a in seen)


def test_the_checker_leaves_no_trace():
    before = np.random.get_state()[1].tolist(), random.getstate()
    check_agent(Sound)
    assert (np.random.get_state()[1].tolist(), random.getstate()) == before


def test_bad_use_is_refused():
    with pytest.raises(ValueError, match="no agent is named 'Nobody'"):
        check_agent("Nobody")
    with pytest.raises(ValueError, match="no env to play in: Sound plays the network setting"):
        check_agent(Sound, "DPMASE-v0")
    with pytest.raises(TypeError, match="takes no parameter 'sigmas'"):
        check_agent("Multi-UCB", sigmas=1)
