"""`check_env` passes correct envs, and names every planted fault."""

import copy
import random
import subprocess
import sys

import numpy as np
import pytest
from kinds import one_per_class
from planted import fault
from refusals import rows
from small import small

import hushbandits as hb
from hushbandits.adapters.parallel import ParallelView
from hushbandits.core import Bernoulli
from hushbandits.envs.network.env import CoopNetwork
from hushbandits.envs.network.task import NetworkTask
from hushbandits.testing import check_env
from hushbandits.wrappers.huber import Huber
from hushbandits.wrappers.local_laplace import LocalLaplace
from hushbandits.wrappers.loss import Loss
from hushbandits.wrappers.private_means import PrivateMeans
from hushbandits.wrappers.secagg import SecAgg
from hushbandits.wrappers.shuffle import Shuffle

NET = {"n_agents": 4, "horizon": 8}
VOTE = {"n_agents": 5, "threshold": 3, "action_format": "native"}
BITS = {"bit": hb.Field(dtype="?"), "code": hb.Field((2,), "f4")}


def seldom(agent, observation, space):
    """Pull everything, vote rarely: random votes would end an exploration episode at once."""
    action = space.sample()
    votes = action[len(action) // 2 :]
    action[: len(votes)] = 1
    votes &= space.np_random.random(len(votes)) < 0.05
    return action


SOUND = {
    "network": ("CoopNetwork-v0", {**NET, "graph": "complete"}, None),
    "two phases, cut": ("CoopNetwork-v0", {**NET, "two_phase": True, "max_cycles": 5}, None),
    "contaminated": ("CoopNetwork-v0", {**NET, "wrappers": (Huber(0.5), Loss(0.3), Shuffle())}, None),
    "sealed": ("CoopNetwork-v0", {**NET, "wrappers": (Loss(0.3), SecAgg())}, None),
    "noised, sealed": ("CoopNetwork-v0", {**NET, "wrappers": (LocalLaplace(1.0), SecAgg(bound=64))}, None),
    "private": ("CoopNetwork-v0", {**NET, "wrappers": (PrivateMeans(epsilon=1.0),)}, None),
    "extra_fields": ("CoopNetwork-v0", {**NET, "extra_fields": BITS}, None),
    "exploration": ("DPMASE-v0", {**VOTE, "horizon": 60}, seldom),
    "exploration, votes": ("DPMASE-v0", {**VOTE, "problem": "P2", "action_format": "discrete"}, None),
    "exploration, window": ("DPMASE-v0", {**VOTE, "horizon": 40, "wrappers": (Shuffle(batch_window=4),)}, seldom),
    "exploration, sealed": ("DPMASE-v0", {**VOTE, "horizon": 40, "wrappers": (SecAgg(batch_window=5),)}, seldom),
    "slots": (
        "CoopNetwork-v0",
        {**NET, "observe_messages": True, "agent_id": True, "cost_coefficients": {"messages": 0.1}},
        None,
    ),
    "each": ("DistDP-v0", {"horizon": 100, "simulate_users": "individual", "wrappers": (Huber(0.1), Loss(0.2))}, None),
    "oracle": ("DistDP-v0", {"horizon": 500, "reward_source": "oracle", "n_agents": 3}, None),
}


@pytest.mark.parametrize("env_id", one_per_class(hb.list_envs()))
def test_every_env_passes(env_id):
    check_env(env_id, **small(env_id))
    check_env(env_id, **small(env_id, two_phase=True, action_format="native"))


@pytest.mark.parametrize("case", SOUND)
def test_sound_envs_pass(case):
    env_id, kwargs, policy = SOUND[case]
    check_env(env_id, policy=policy, **kwargs)


def test_an_env_without_random_numbers_says_so():
    sure = {**NET, "means": [1.0, 0.0], "permute_arms": False}
    check_env("CoopNetwork-v0", random_rewards=False, **sure)


# -- planted faults -----------------------------------------------------------------------------------------------


class WrongDtype(ParallelView):
    def _returned(self):
        seen, infos = super()._returned()
        return {agent: row.astype(np.float64) for agent, row in seen.items()}, infos


class SeedsGlobally(ParallelView):
    def reset(self, seed=None, options=None):
        np.random.seed(seed)
        return super().reset(seed=int(np.random.randint(2**31)))


class Remembers(ParallelView):
    def reset(self, seed=None, options=None):
        before = getattr(self.task, "pulls", 0.0)
        returned = super().reset(seed=seed)
        self.task.pulls += before
        return returned


class CountsEpisodes(ParallelView):
    played = 0

    def reset(self, seed=None, options=None):
        self.played += 1
        observations, infos = super().reset(seed=seed)
        return observations, {agent: {"episode": self.played} for agent in infos}


class WritesToTheOld(ParallelView):
    def _returned(self):
        rows, infos = super()._returned()
        if not hasattr(self, "kept"):
            self.kept = rows
        for agent, row in rows.items():
            self.kept[agent][:] = row
        return self.kept, infos


class NotPicklable(ParallelView):
    def reset(self, seed=None, options=None):
        self.hook = lambda: None
        return super().reset(seed=seed)


class ForgetsOnPickle(ParallelView):
    def __setstate__(self, state):
        self.__dict__.update(state)
        if self.agents:
            self.task.observations = np.zeros_like(self.task.observations)


class PaysTwice(ParallelView):
    def step(self, actions):
        observations, rewards, *rest = super().step(actions)
        return observations, {agent: 2 * x for agent, x in rewards.items()}, *rest


class DeafLens(NetworkTask):
    def words(self, action):
        return {**self.core.standard_report(), "sent": np.zeros((1, self.core.n_agents), bool)}


class LosesMessages(ParallelView):
    def __init__(self, core):
        super().__init__(core)
        self.task = DeafLens(core)


def steps(name, part, change):
    """Change one part of a step's return value."""

    def step(self, actions):
        returned = [*ParallelView.step(self, actions)]
        returned[part] = change(returned[part])
        return tuple(returned)

    return fault(name, ParallelView, step=step)


def pays(name, change):
    return steps(name, 1, lambda paid: {agent: change(x) for agent, x in paid.items()})


def sees(name, agent, entry, value):
    def change(observations):
        observations[agent][entry] = value
        return observations

    return steps(name, 0, change)


def seeds(name, change):
    return fault(
        name, ParallelView, reset=lambda self, seed=None, options=None: ParallelView.reset(self, seed=change(seed))
    )


PLANTED = [
    (WrongDtype, "dtype float64"),
    (sees("Outside", "agent_2", 3, 7.0), r"agent_2 .*7\.0, lies outside"),
    (sees("NotANumber", "agent_1", 0, np.nan), "what agent_1 observes, entry .* is nan, lies outside its space"),
    (pays("DrawsGlobally", lambda x: x + 1e-9 * np.random.rand()), "changed the global state of numpy.random"),
    (pays("DrawsFromRandom", lambda x: x + 1e-9 * random.random()), "changed the global state of random"),
    (SeedsGlobally, "changed the global state of numpy.random"),
    (seeds("OneSeed", lambda seed: None if seed is None else 7), r"under seeds \[0, .* the env ignores its seed"),
    (seeds("DefaultSeed", lambda seed: 0 if seed is None else seed), r"\[None, .*the env ignores its seed"),
    (Remembers, "used one differ at step 1, observations, agent_0"),
    (CountsEpisodes, "used one differ at reset, infos, agent_0, episode"),
    (
        fault("SharesSpaces", ParallelView, action_space=lambda self, _: ParallelView.action_space(self, "agent_0")),
        "share one action_space",
    ),
    (
        fault(
            "NewSpaces", ParallelView, observation_space=lambda self, agent: copy.deepcopy(self.task.observation_space)
        ),
        "parallel_api_test: observation_space should return the exact same",
    ),
    (WritesToTheOld, "step 1 wrote to what an earlier one had returned"),
    (steps("OneLeavesEarly", 2, lambda ends: {**ends, "agent_0": True}), "parallel_api_test: .*agent_0"),
    (pays("PaysNothing", lambda x: None), "rewards must be finite numbers, not .*None"),
    (
        fault("StateOutside", ParallelView, state=lambda self: ParallelView.state(self) + 5),
        r"state\(\), .*5\.0, lies outside",
    ),
    (NotPicklable, "NotPicklable.__reduce__, step 1: "),
    (ForgetsOnPickle, "pickling loses something"),
    (PaysTwice, "step 1, step: rewards of the row and of the view differ at agent_"),
    (LosesMessages, "metrics of the row and of the view differ at messages"),
]


def plant(view):
    return view(hb.make_batched("CoopNetwork-v0", graph="complete", **NET))


@rows(("faulty", "message"), PLANTED)
def test_planted_faults_are_caught(faulty, message):
    with pytest.raises(AssertionError, match=message):
        check_env(plant(faulty))


def test_the_ground_of_the_planted_faults_is_sound():
    check_env(plant(ParallelView))
    check_env(lambda: plant(ParallelView))


class Coupled(CoopNetwork):
    """All runs get the rewards of the first one."""

    def _pull(self, action):
        self._reward = np.repeat(super()._pull(action)[:1], self.runs, 0)
        return self._reward


class Wordy(CoopNetwork):
    """Its inboxes lack declared fields."""

    reward_free_fields = ("mood",)

    def _offers(self, fields):
        return {**super()._offers(fields), "mood": hb.Field()}


@pytest.mark.parametrize(("env", "says"), [
    (Coupled, "run 1 alone and its row of a batch differ at round 1, .*reward"),
    (Wordy, "Wordy.communicate, round 1: .*the inbox has the fields .* but .*mood.* are declared"),
])  # fmt: skip
def test_faults_of_a_core_are_caught(env, says):
    with pytest.raises(AssertionError, match=says):
        check_env(env, **NET)


class Overpaying(Bernoulli):
    """Declares that rewards lie in [0, 1]."""

    def __init__(self, most):
        self.most = most

    def quantile(self, u, location):
        return np.where(u < 0.5, super().quantile(u, location), self.most)


@pytest.mark.parametrize(("most", "says"), [(2.0, "outside its space"), (np.nan, "not finite|nan")])
def test_a_law_that_pays_what_it_does_not_declare_is_caught(most, says):
    with pytest.raises(AssertionError, match=says):
        check_env("CoopNetwork-v0", rewards=Overpaying(most), **NET)


def test_the_checker_itself_leaves_no_trace():
    env = hb.make("CoopNetwork-v0", **NET)
    before = np.random.get_state(), random.getstate()
    check_env(env)
    after = np.random.get_state(), random.getstate()
    assert before[1] == after[1]
    assert all(np.array_equal(a, b) for a, b in zip(before[0], after[0], strict=True))
    assert env.agents == []  # it played copies


@pytest.mark.weekly
def test_python_without_asserts_still_catches():
    code = (
        "import hushbandits as hb\nfrom hushbandits.testing import check_env\n"
        "from hushbandits.adapters.parallel import ParallelView\n"
        "class Wide(ParallelView):\n"
        "    def _returned(self):\n"
        "        seen, infos = super()._returned()\n"
        "        return {agent: row.astype(float) for agent, row in seen.items()}, infos\n"
        f"try: check_env(Wide(hb.make_batched('CoopNetwork-v0', **{NET!r})))\n"
        "except AssertionError as e: print(e)"
    )
    out = subprocess.run([sys.executable, "-O", "-c", code], capture_output=True, text=True, check=True)
    assert "dtype float64" in out.stdout


class Endless(ParallelView):
    """Counts its steps."""

    stepped = 0

    def step(self, actions):
        Endless.stepped += 1
        return super().step(actions)


@pytest.mark.parametrize("two_phase", [False, True])
def test_long_episodes_are_cut(two_phase):
    core = hb.make_batched("CoopNetwork-v0", n_agents=3, horizon=10**6)
    Endless.stepped = 0
    check_env(lambda: Endless(core, two_phase=two_phase), steps=5)
    assert Endless.stepped <= 5 * 20
    with pytest.raises(ValueError, match="steps=0"):
        check_env("CoopNetwork-v0", steps=0)
