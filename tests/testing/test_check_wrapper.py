"""`check_wrapper` names class and hook of every planted fault."""

from typing import ClassVar

import numpy as np
import pytest
from planted import caught, fault

import hushbandits as hb
from hushbandits.testing import check_wrapper
from hushbandits.wrappers.loss import Loss


class Sound(hb.Wrapper):
    """Base of the faults: rewards are rounded."""

    operations = ("map",)

    def send(self, message, env):
        return message.map(np.rint)


class Wide(Sound):
    def message_fields(self, fields, env):
        return {**fields, "reward": hb.Field(low=0, high=1)}

    def send(self, message, env):
        return message.with_fields(reward=message["reward"] + 2)


class Unseeded(Sound):
    def send(self, message, env):
        return message.map(lambda x: x * np.random.default_rng().random())

    def metrics(self, env):
        return {"draws": np.random.default_rng().random(env.runs)}


class Shared(hb.Wrapper):
    def reset(self, env, rng):
        self.uniforms = rng.generator(0).random(len(rng))

    def metrics(self, env):
        return {"draws": self.uniforms}


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


class Promiseless(Sound):
    def __init__(self, epsilon=1.0, **rest):
        super().__init__(**rest)
        self.epsilon = epsilon


def blank(self, message, env):
    message["reward"][:] = 0
    return message


def rewrite(self, message, env):
    message["reward"] = message["reward"] * 0
    return message


def gone(self, env):
    raise KeyError("gone")


def guess(self, fields, env):
    return {"guess": hb.Field()}


def wrapper(name, **body):
    return fault(name, Sound, **body)


def sends(name, change):
    return wrapper(name, send=lambda self, message, env: change(message))


def measures(name, found):
    return wrapper(name, metrics=lambda self, env: found(env.runs))


PLANTED = [
    (wrapper("Misspelt", delivers=lambda self, inbox, env: None), "Misspelt.delivers is never called"),
    (fault("Sents", hb.Wrapper, sned=lambda self, message, env: None), "Sents.sned is never called"),
    (
        sends("More", lambda message: message.with_fields(colour=np.zeros(message["sent"].shape))),
        "More.send: .*'colour'",
    ),
    (
        wrapper("Fewer", message_fields=lambda self, fields, env: {**fields, "colour": hb.Field()}),
        "Fewer.send: .*'colour'",
    ),
    (Wide, r"Wide.send: ValueError: .*allowed are numbers in 0\.\.1"),
    (sends("Nothing", lambda message: None), "Nothing.send: TypeError: .* not NoneType"),
    (wrapper("InPlace", send=blank), "InPlace.send: ValueError: assignment destination is read-only"),
    (wrapper("Rewrites", send=rewrite), "Rewrites.send changes its argument; .* differ at reward"),
    (
        wrapper("Unheard", inbox_fields=lambda self, fields, env: {k: v for k, v in fields.items() if k != "reward"}),
        "Unheard.deliver: .*reward",
    ),
    (wrapper("NoInbox", deliver=lambda self, inbox, env: {}), "NoInbox.deliver: AttributeError: .dict. object"),
    (
        wrapper("Publishes", alter_own_reward=lambda self, reward, env: reward + 5),
        "Publishes.alter_own_reward: ValueError: reward holds .*allowed are",
    ),
    (
        wrapper("Shrinks", alter_own_reward=lambda self, reward, env: np.multiply(reward, 0, out=reward.view())),
        "Shrinks.alter_own_reward: .*read-only",
    ),
    (
        wrapper("Elsewhere", alter_own_reward=lambda self, reward, env: reward[:, :1]),
        "Elsewhere.alter_own_reward: .*shape",
    ),
    (
        wrapper(
            "Vague",
            own_reward_field=guess,
            published=lambda self, env: {"guess": np.full(env.active_agents.shape, np.nan)},
        ),
        "Vague.published: .*nan",
    ),
    (wrapper("Unpublished", own_reward_field=guess), "Unpublished.published returns .*declares .*guess"),
    (wrapper("Raises", own_reward_field=guess, published=gone), "Raises.published: KeyError: 'gone'"),
    (sends("Global", lambda message: message.map(lambda x: x * np.random.random())), r"Global: .*numpy\.random"),
    (Unseeded, "Unseeded: the same seed, .*two runs differ at round 1, reward"),
    (Shared, "Shared: run [12] alone and its row of a batch differ at metrics, draws"),
    (Remembers, "Remembers.reset: .* used one differ at metrics, rounds"),
    (Common, "Common.seen is a class attribute and changed"),
    (measures("Infinite", lambda runs: {"lost": np.full(runs, np.inf)}), "Infinite.metrics: 'lost'.*inf"),
    (measures("NotANumber", lambda runs: {"epsilon": np.full(runs, np.nan)}), "NotANumber.metrics: 'epsilon'.*nan"),
    (measures("Scalar", lambda runs: {"lost": 3}), r"Scalar.metrics: .*'lost'.*\(\)"),
    (wrapper("Started", reset=lambda self, env, seeds: 0), "Started.reset must return nothing, not 0"),
    (
        measures("Twice", lambda runs: {"regret": np.zeros(runs)}),
        "Twice.metrics: 'regret' is the name of another metric",
    ),
    (wrapper("Curved", logged_metrics=("wide",)), "Curved.metrics must measure 'wide', one number per run"),
    (wrapper("Rate", drop_prob=2.0), r"Rate.drop_prob must be a number in \[0, 1\], not 2.0"),
    (
        wrapper(
            "Loses", drop_prob=0.0, send=lambda self, message, env: message.with_fields(sent=message["sent"] & False)
        ),
        r"Loses.send drops .*drop_prob=0\.0",
    ),
    (
        wrapper("Sly", preserves_guarantees=True, send=lambda self, m, env: m.with_fields(sent=m["sent"] & False)),
        "Sly.send drops messages",
    ),
    (wrapper("Lost", max_drop_fraction=np.nan), r"Lost.max_drop_fraction must be a number in \[0, 1\], not nan"),
    (wrapper("Reach", noise_range=-1.0), r"Reach.noise_range must be a number in \[0, inf\], not -1.0"),
    (Promiseless, "Promiseless.claimed_guarantees is not defined, but Promiseless has an epsilon"),
    (wrapper("Noisy", operations=("add",)), "Noisy.claimed_guarantees is not defined, but Noisy adds noise"),
]


@pytest.mark.parametrize(("faulty", "says"), PLANTED, ids=lambda x: getattr(x, "__name__", ""))
def test_planted_faults_are_caught(faulty, says):
    caught(check_wrapper, faulty, says, "CoopNetwork-v0")


def test_users_rewards_that_are_no_crowd_are_caught():
    faulty = sends("Flat", lambda message: message.with_fields(reward=np.zeros(message["sent"].shape)))
    caught(check_wrapper, faulty, "Flat.send: ValueError: .*must be a Cohort", "DistDP-v0")


def test_the_ground_of_the_planted_faults_is_sound():
    check_wrapper(Sound)
    check_wrapper(Sound(name="another"))
    check_wrapper(Loss, rate=1.0)
