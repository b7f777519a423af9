"""`check_wrapper` names class and hook of every planted fault."""

from typing import ClassVar

import numpy as np
import pytest

import hushbandits as hb
from hushbandits.testing import check_wrapper
from hushbandits.wrappers.loss import Loss


class Sound(hb.Wrapper):
    """The ground of the faults: rewards are rounded."""

    verbs = ("map",)

    def send(self, message, env):
        return message.map(np.rint)


class Misspelt(Sound):
    def delivers(self, inbox, env):
        pass


class Sents(hb.Wrapper):
    def sned(self, message, env):
        pass


class More(Sound):
    def send(self, message, env):
        return message.but(colour=np.zeros(message["sent"].shape))


class Fewer(Sound):
    def sends(self, fields, env):
        return {**fields, "colour": hb.Field()}


class Wide(Sound):
    def sends(self, fields, env):
        return {**fields, "reward": hb.Field(low=0, high=1)}

    def send(self, message, env):
        return message.but(reward=message["reward"] + 2)


class Nothing(Sound):
    def send(self, message, env):
        pass


class InPlace(Sound):
    def send(self, message, env):
        message["reward"][:] = 0
        return message


class Rewrites(Sound):
    def send(self, message, env):
        message["reward"] = message["reward"] * 0
        return message


class Unheard(Sound):
    def hears(self, fields, env):
        return {name: field for name, field in fields.items() if name != "reward"}


class NoInbox(Sound):
    def deliver(self, inbox, env):
        return {}


class Tells(Sound):
    def tell(self, reward, env):
        return reward + 5


class Untold(Sound):
    def tells(self, fields, env):
        return {"guess": hb.Field()}


class Raises(Sound):
    def told(self, env):
        raise KeyError("gone")

    def tells(self, fields, env):
        return {"guess": hb.Field()}


class Global(Sound):
    def send(self, message, env):
        return message.map(lambda x: x * np.random.random())


class Unseeded(Sound):
    def send(self, message, env):
        return message.map(lambda x: x * np.random.default_rng().random())

    def metrics(self, env):
        return {"luck": np.random.default_rng().random(env.runs)}


class Shared(hb.Wrapper):
    def reset(self, env, seeds):
        self.luck = np.random.default_rng(seeds[0]).random(len(seeds))

    def metrics(self, env):
        return {"luck": self.luck}


class Remembers(hb.Wrapper):
    def __init__(self, **rest):
        super().__init__(**rest)
        self.rounds = 0

    def send(self, message, env):
        self.rounds += 1
        return message

    def metrics(self, env):
        return {"rounds": np.full(env.runs, self.rounds)}


class Common(Sound):
    seen: ClassVar = []

    def send(self, message, env):
        self.seen.append(1)
        return message


class Infinite(Sound):
    def metrics(self, env):
        return {"lost": np.full(env.runs, np.inf)}


class NotANumber(Sound):
    def metrics(self, env):
        return {"epsilon": np.full(env.runs, np.nan)}


class Scalar(Sound):
    def metrics(self, env):
        return {"lost": 3}


class Rate(Sound):
    drops = 2.0


class Loses(Sound):
    drops = 0.0

    def send(self, message, env):
        return message.but(sent=message["sent"] & False)


class Lost(Sound):
    most_lost = np.nan


class Reach(Sound):
    reach = -1.0


class Promiseless(Sound):
    def __init__(self, epsilon=1.0, **rest):
        super().__init__(**rest)
        self.epsilon = epsilon


class Noisy(Sound):
    verbs = ("add",)


PLANTED = [
    (Misspelt, "Misspelt.delivers is called by nobody; the hook is deliver"),
    (Sents, "Sents.sned is called by nobody; the hook is send"),
    (More, "More.send: ValueError: .*has a field 'colour' that nobody declared"),
    (Fewer, "Fewer.send: ValueError: .*has no field 'colour'"),
    (Wide, r"Wide.send: ValueError: .*allowed are numbers in 0\.\.1"),
    (Nothing, "Nothing.send must return a message, not NoneType"),
    (InPlace, "InPlace.send: ValueError: assignment destination is read-only"),
    (Rewrites, "Rewrites.send writes to 'reward' of the message that it was given"),
    (Unheard, "Unheard.*: the inbox behind Unheard offers arm, reward"),
    (NoInbox, "NoInbox.deliver must return an Inbox, not dict"),
    (Tells, "Tells.tell, by what its tells.. declares"),
    (Untold, "Untold.*: .*declares 'guess', and no wrapper's told"),
    (Raises, "Raises.told: KeyError: 'gone'"),
    (Global, r"Global: it moved the global state of numpy\.random"),
    (Unseeded, "Unseeded: the same seed, .*two games differ at metrics, luck"),
    (Shared, "Shared: run [12] alone and its row of a batch, metrics, differ at luck"),
    (Remembers, "Remembers.reset: a second game of one instance and the first of a new one differ at metrics, rounds"),
    (Common, "Common.seen is data of the class and changed in play"),
    (Infinite, r"Infinite.metrics, 'lost': must be finite numbers, and holds \[inf\]"),
    (NotANumber, r"NotANumber.metrics, 'epsilon': must be finite numbers, and holds \[nan\]"),
    (Scalar, r"Scalar.metrics: .*'lost' must be numbers of shape \(\d, …\), not .* \(\)"),
    (Rate, r"Rate.drops must be a rate in \[0, 1\] or None, not 2.0"),
    (Loses, "Loses.send loses messages, and drops=0.0 says that none gets lost"),
    (Lost, r"Lost.most_lost must be a number in \[0, 1\], not nan"),
    (Reach, r"Reach.reach must be a number in \[0, inf\], not -1.0"),
    (Promiseless, "Promiseless.promises is not defined, but Promiseless has an epsilon"),
    (Noisy, "Noisy.promises is not defined, but Noisy adds noise"),
]


@pytest.mark.parametrize(("fault", "says"), PLANTED, ids=lambda x: getattr(x, "__name__", ""))
def test_planted_faults_are_caught(fault, says):
    with pytest.raises(AssertionError, match=says) as caught:
        check_wrapper(fault, "CoopNetwork-v0")
    assert "\n" not in str(caught.value)


def test_the_ground_of_the_planted_faults_is_sound():
    check_wrapper(Sound)
    check_wrapper(Sound(name="another"))
    check_wrapper(Loss, rate=1.0)


def test_bad_use_is_refused():
    with pytest.raises(ValueError, match="no wrapper is named 'Nobody'"):
        check_wrapper("Nobody")
    with pytest.raises(ValueError, match=r"no env to play in: .*votes cannot"):
        check_wrapper(Sound, "DPMASE-v0")
