"""No finite ε stands if user-defined code reveals a reward: each stack reveals the exact reward, or has a true ε."""

import math

import numpy as np
import pytest
from exact_pay import CODE, feedback, finite, network
from helpers import own_streams

import hushbandits as hb
from hushbandits.core.team import EnvView
from hushbandits.core.wrapper import SecureFunction
from hushbandits.envs.network.env import CoopNetwork
from hushbandits.envs.network.payload import GraphReports
from hushbandits.envs.rounds.env import Everyone, Rounds
from hushbandits.privacy.divergence import epsilon_at, law_profile
from hushbandits.wrappers.central_dp import CentralLaplace
from hushbandits.wrappers.distributed_dp import DiscreteLaplace
from hushbandits.wrappers.local_bernoulli import LocalBernoulli
from hushbandits.wrappers.local_laplace import LocalLaplace
from hushbandits.wrappers.loss import Loss
from hushbandits.wrappers.private_means import PrivateMeans
from hushbandits.wrappers.secagg import SecAgg

# -- user-defined envs -----------------------------------------------------------------------------------------------


class Doubled(CoopNetwork):
    """Its message also contains twice the reward."""

    @property
    def report(self):
        return {**super().report, "double": CODE}

    def _report(self):
        return {**super()._report(), "double": 2 * self._reward}


class Placed(CoopNetwork):
    """Its message also contains the agent's position."""

    reward_free_fields = ("place",)

    @property
    def report(self):
        return {**super().report, "place": CODE}

    def _report(self):
        return {**super()._report(), "place": np.zeros_like(self.own_reward)}


class DoubledAndPlaced(Placed):
    """A declaration of its base class does not count as its own."""

    def _report(self):
        return {**super()._report(), "place": self._reward}


class Unpublished(CoopNetwork):
    """Reports the exact reward instead of the published one."""

    def _report(self):
        return {**super()._report(), "reward": self._reward}


class Courier(Rounds):
    """Has a field with the exact reward."""

    setting = "courier"

    def _transport(self, message):
        return Everyone(self._counted(message).with_fields(reward=self._reward), self.n_arms)


class Muffled(GraphReports):
    """Sends reports that noise does not change."""

    def add(self, noise, stream):
        return self


class Quiet(CoopNetwork):
    """Its messages have another class."""

    message_class = Muffled


class Careful(Rounds):
    """Has a field with the sent message, and declares it."""

    setting = "careful"
    reward_free_fields = ()

    def _transport(self, message):
        return Everyone(self._counted(message), self.n_arms)


class Open(CoopNetwork):
    """Publishes all agents' last rewards."""

    agent_visible = (*CoopNetwork.agent_visible, "last")

    @property
    def last(self):
        return self._reward


# -- user-defined wrappers -------------------------------------------------------------------------------------------


class Deaf(LocalLaplace):
    def alter_own_reward(self, reward, env):
        return reward


class Bare(LocalLaplace):
    def send(self, message, env):
        return message


class Silent(LocalLaplace):
    """User-defined noise of scale 0."""

    @property
    def _noise(self):
        class Nothing:
            integer = False

            def onto(self, x, u):
                return x + 0 * u

        return Nothing()


class Sure(LocalBernoulli):
    def chance(self, reward):
        return reward


class Telling(PrivateMeans):
    """Agents get their exact rewards beside the published ones."""

    def own_reward_field(self, fields, env):
        return fields

    def published(self, env):
        return {}


class Copies(hb.Wrapper):
    """Treats messages separately, and sends the reward in another field too."""

    preserves_guarantees = True

    def message_fields(self, fields, env):
        return {**fields, "copy": CODE}

    def send(self, message, env):
        return message.with_fields(copy=message["reward"])


class Stamps(Copies):
    """The same with a constant."""

    preserves_guarantees = True
    reward_free_fields = ("copy",)

    def send(self, message, env):
        return message.with_fields(copy=0.0 * message["reward"])


class Whispers(hb.Wrapper):
    """Agents get their exact rewards in an extra field."""

    preserves_guarantees = True

    def own_reward_field(self, fields, env):
        return {**fields, "whisper": CODE}

    def alter_own_reward(self, reward, env):
        self._reward = reward
        return reward

    def published(self, env):
        return {"whisper": self._reward}


class Meddles(hb.Wrapper):
    """Restores the exact reward under the name of another part."""

    def send(self, message, env):
        return message.with_fields(reward=env._reward)


class Noiseless(DiscreteLaplace):
    def _noised(self, message):
        return message


class Honest(CentralLaplace):
    """The server sends the exact sum."""

    def deliver(self, inbox, env):
        y = inbox.total("reward")
        super().deliver(inbox, env)
        return inbox.decoded(y)


def shadowed():
    wrapper = LocalLaplace(0.5)
    wrapper.alter_own_reward = lambda reward, env: reward
    return wrapper


# -- teams -----------------------------------------------------------------------------------------------------------


class Says(hb.Team):
    """Sends its published own reward in an extra field."""

    def __init__(self, name):
        self.extra = name
        self.fields = {"arm": hb.Field(dtype="i8"), "reward": hb.Field(), name: CODE}

    def act(self, obs):
        self.arm = np.zeros(obs.active_agents.shape, int)
        return self.arm

    def compose(self, reward):
        return {"arm": self.arm, "reward": reward, self.extra: reward}


def heard(env, team=None):
    """Return the inboxes of a round, with the published own rewards (`inbox.own`)."""
    obs, team = env.reset(0), team or hb.make_team("Random")
    team.reset(EnvView(env), own_streams(env, team))
    obs = env.pull(team.act(obs))
    return env.communicate(team.compose(obs.reward)).inbox


def total(env):
    """Return a server's decoded sum of a block of ten users, for each of them."""
    env.reset(0)
    env.pull((np.array([[0]]), np.array([[10]])))
    return env.communicate().inbox.total("reward") / 10


says, extra_fields = Says("mean"), {"mean": CODE}
fields = says.fields
exact = {"own_feedback": "true"}
#: By name: the env whose rewards are all x, the team, and the place of x in an observer's view.
REFUTED = {
    "a report's field": (lambda x: network(x, LocalLaplace(0.5), cls=Doubled), None, lambda i: i["double"] / 2),
    "a base's word": (lambda x: network(x, LocalLaplace(0.5), cls=DoubledAndPlaced), None, lambda i: i["place"]),
    "what was earned": (lambda x: network(x, LocalLaplace(0.5), cls=Unpublished), None, lambda i: i["reward"]),
    "a courier": (lambda x: network(x, LocalLaplace(0.5), cls=Courier), None, lambda i: i["reward"]),
    "its own fields": (lambda x: network(x, LocalLaplace(0.5, **exact), fields=fields), says, lambda i: i["mean"]),
    "extra_fields": (
        lambda x: network(x, LocalLaplace(0.5, **exact), extra_fields=extra_fields), says, lambda i: i["mean"],
    ),
    "extra fields, means": (
        lambda x: network(x, PrivateMeans(0.5, **exact), extra_fields={"code": CODE}), Says("code"), lambda i:
        i["code"],
    ),
    "own tells": (
        lambda x: network(x, Telling(0.5), extra_fields={"code": CODE}), Says("code"), lambda i: i["code"],
    ),
    "own messages": (lambda x: network(x, LocalLaplace(0.5, **exact), cls=Quiet), None, lambda i: i["reward"]),
    "own tell": (lambda x: network(x, Deaf(0.5)), None, lambda i: i["reward"]),
    "own send": (lambda x: network(x, Bare(0.5, **exact)), None, lambda i: i["reward"]),
    "own noise": (lambda x: network(x, Silent(0.5)), None, lambda i: i["reward"]),
    "own coin": (lambda x: network(x, Sure(0.5)), None, lambda i: i["reward"]),
    "a hook of the object": (lambda x: network(x, shadowed()), None, lambda i: i["reward"]),
    "a copy": (lambda x: network(x, Copies(), LocalLaplace(0.5, **exact)), None, lambda i: i["copy"]),
    "a whisper": (lambda x: network(x, Whispers(), LocalLaplace(0.5)), None, lambda i: i.own["whisper"]),
    "meddling": (lambda x: network(x, LocalLaplace(0.5), Meddles()), None, lambda i: i["reward"]),
    "meddling first": (lambda x: network(x, Meddles(), LocalLaplace(0.5)), None, lambda i: i["reward"]),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUTED)
def test_no_epsilon_stands_where_the_exact_reward_is_read(name):
    build, team, read = REFUTED[name]
    for x in (0.0, 1.0):
        np.testing.assert_array_equal(read(heard(build(x), team)), x)
    assert finite(build(0.3), team) == []


def test_what_is_public_counts_as_said():
    env = network(0.3, LocalLaplace(0.5), cls=Open)
    heard(env)
    assert (EnvView(env).last == 0.3).all()
    assert finite(env) == []


@pytest.mark.parametrize(
    "build", [lambda x: feedback(x, Noiseless(0.5), SecAgg()), lambda x: feedback(x, Honest(0.5))],
    ids=["own noise", "own analyzer"],
)  # fmt: skip
def test_no_epsilon_stands_where_a_sum_is_exact(build):
    for x in (0.0, 1.0):
        assert total(build(x)) == x
    assert finite(build(0.0)) == []
    assert math.isinf(hb.rollout(build(0.0), hb.make_team("Random"))["epsilon"].item())


class Glass(SecureFunction):
    """A secure function without effect."""


class Sly(Loss):
    """Drops half of all users, and declares no loss."""

    max_drop_fraction = 0.0


def test_a_share_of_the_noise_hides_no_single_user():
    env = feedback(0.5, DiscreteLaplace(0.5), Glass())
    plan = env.mechanism.planned(10)
    assert epsilon_at(law_profile(plan.noise, 1, plan.g), 1e-6) > 2
    assert finite(env) == []


def test_what_a_subclass_says_it_loses_is_not_our_word():
    env = feedback(0.5, Sly(0.5), DiscreteLaplace(0.5), SecAgg())
    env.reset(0)
    assert env.mechanism.price(10, 5).epsilon > 0.6
    assert finite(env) == []


# -- where an ε rightly stays ----------------------------------------------------------------------------------------


class Veil(LocalLaplace):
    """Changes only a default, a name and a helper."""

    name = "Veil"

    def __init__(self, epsilon=0.5, *, name=None):
        super().__init__(epsilon, name=name)

    def twice(self):
        return 2 * self.epsilon

    def metrics(self, env):
        return {"veiled": np.ones(env.runs)}


KEPT = {
    "a declared field": (lambda x: network(x, LocalLaplace(0.5), cls=Placed), None),
    "a declared way": (lambda x: network(x, LocalLaplace(0.5), cls=Careful), None),
    "extra fields of noised rewards": (lambda x: network(x, LocalLaplace(0.5), extra_fields=extra_fields), says),
    "a declared stamp": (lambda x: network(x, Stamps(), LocalLaplace(0.5)), None),
    "another name": (lambda x: network(x, Veil(0.5)), None),
    "exact own rewards": (lambda x: network(x, LocalLaplace(0.5, **exact)), None),
}


@pytest.mark.parametrize("name", KEPT)
def test_an_epsilon_stays_where_nothing_shows_more(name):
    build, team = KEPT[name]
    inbox = heard(build(0.3), team)
    assert all(not (np.asarray(inbox[field]) == 0.3).any() for field in inbox.fields)
    lines = finite(build(0.3), team)
    assert [line.epsilon for line in lines] == [0.5]
    assert all("as claimed by" not in line.by for line in lines)
    if "declared" in name:
        assert any("as claimed by" in words for words in lines[0].assumptions)


def test_a_declaration_is_a_tuple_of_names():
    class Wrong(CoopNetwork):
        reward_free_fields = "place"

    with pytest.raises(ValueError, match=r"Wrong\.reward_free_fields='place'"):
        Wrong()
