"""Every built-in part fulfils the contract: each class once in its home env, and combinations of wrappers."""

import pickle

import numpy as np
import pytest
from homes import HOMES, WANDERERS, compiled
from kinds import one_per_class, representatives
from rounds import check_compiled, has_episode

import hushbandits as hb
from hushbandits.core.random.streams import spawn_seeds
from hushbandits.envs.feedback.env import Feedback
from hushbandits.registry import takes
from hushbandits.testing import check_agent, check_policy, check_wrapper
from hushbandits.testing.games import check_pickle, check_rows
from hushbandits.wrappers.shuffle import Shuffle

#: Wrappers that need another wrapper.
BEFORE = {"ShuffledSum": ["ShuffledNoise"], "FalseMeans": ["PrivateMeans"]}
#: Slow votes that differ from others in numbers only.
LONG = {"vote, plain", "vote, power", "vote, stranding", "vote, random", "vote, gaussian", "vote, horizon"}
ALL = {**HOMES, **WANDERERS}
DAILY = {
    *representatives(hb.list_agents()),
    "RUCB",  # duels have an env class of their own
    *(f"Random in {env_id}" for env_id in representatives(hb.list_envs())),
    *(HOMES.keys() - {*hb.list_agents()} - LONG),
}
#: Rounds of a vote by phases that are enough for the comparison.
ENOUGH = 150
games = [pytest.param(name, marks=() if name in DAILY else pytest.mark.weekly) for name in ALL]
#: Agents that `check_agent` does not play alone.
others = [pytest.param(name, marks=() if name in DAILY - {*hb.list_agents()} else pytest.mark.weekly) for name in ALL]


def short(home):
    """A home whose votes end soon; compiled rounds are compared up to the end."""
    horizon = min(home.env.get("horizon") or ENOUGH, ENOUGH)
    shortens = takes(home.env_id, "threshold") and takes(home.env_id, "horizon")
    return home._replace(env={**home.env, "horizon": horizon}) if shortens else home


def learnt(team):
    """Return counts and similar state, without sample buffers, whose unused part may hold any values."""
    kept = {"n", "s", "t", "wins", "losses", "weight", "bound", "cursors"}
    pi = getattr(getattr(team, "state", None), "pi", ())
    named = zip(getattr(pi, "_fields", ()), pi, strict=True)
    return {name: x.copy() for name, x in named if name in kept and isinstance(x, np.ndarray)}


@pytest.mark.parametrize("name", others)
def test_a_run_alone_is_its_row(name):
    check_rows(short(ALL[name]).build, spawn_seeds(3, 3))


@pytest.mark.parametrize("name", games)
def test_a_game_may_be_pickled_after_every_phase(name):
    check_pickle(ALL[name].build)


@pytest.mark.parametrize("id", one_per_class(hb.list_envs()))
def test_metrics_of_some_runs_are_those_of_all_runs_there(id):
    env, rngs, rows = hb.make_batched(id, runs=5), [np.random.default_rng(r) for r in range(5)], np.array([3, 0])
    env.reset(0)
    for _ in range(4):
        env.pull(env.random_action(rngs))
        env.communicate(env.random_message(rngs, rate=0.5))
    some = env.metrics(rows)
    assert some.keys() == env.metrics().keys()
    assert all(np.array_equal(some[name], value[rows], equal_nan=True) for name, value in env.metrics().items())


@pytest.mark.parametrize("name", games)
def test_compiled_rounds_are_the_phases_where_there_are_any(name):
    build = ALL[name].build
    assert has_episode(build) == compiled(ALL[name])  # else phases would be compared with themselves
    if compiled(ALL[name]):
        check_compiled(build, left=learnt)


@pytest.mark.parametrize("name", one_per_class(hb.list_agents()))
@pytest.mark.filterwarnings("ignore::UserWarning")  # votes without effect
def test_agents(name):
    home = short(HOMES[name])
    check_agent(home.agent, home.env_id, env=home.env, wrappers=home.wrappers, **home.agent_kwargs)


@pytest.mark.parametrize("name", hb.list_wrappers())
def test_wrappers_in_every_setting_that_takes_them(name):
    check_wrapper(name, before=BEFORE.get(name, ()))


@pytest.mark.parametrize("name", hb.list_policies())
def test_policies(name):
    check_policy(name)


@pytest.mark.parametrize("read_before", [False, True])
def test_a_shuffled_inbox_keeps_its_order_in_a_pickle(read_before):
    env = hb.make_batched("CoopNetwork-v0", n_agents=9, graph="complete", rewards="beta", wrappers=[Shuffle()])
    env.reset(0)
    env.pull(np.zeros((1, 9), int))
    inbox = env.communicate().inbox
    if read_before:
        inbox["reward"]
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(inbox))["reward"], inbox["reward"])


def test_individual_users_go_along_in_a_pickle():
    env = Feedback(simulate_users="individual", horizon=100)
    env.reset(0)
    env.pull((np.array([[0]]), np.array([[50]])))
    inbox = env.communicate().inbox
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(inbox))["users"], inbox["users"])
