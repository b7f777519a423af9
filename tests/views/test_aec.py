"""The turn-based view: PettingZoo's own tests, the same episodes as the parallel view, and who has a turn when."""

import importlib
import pickle
import sys
from functools import partial
from types import SimpleNamespace

import hushbandits.dpmase_v0
import matplotlib
import numpy as np
import pettingzoo
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from kinds import each_once, one_per_class, weekly_but
from pettingzoo.test import api_test, render_test, seed_test
from pettingzoo.test import performance_benchmark as benchmark
from pettingzoo.test.max_cycles_test import max_cycles_test
from pettingzoo.test.state_test import state_test
from pettingzoo.utils.conversions import aec_to_parallel
from small import small

import hushbandits as hb
from hushbandits import coop_network_v0, dist_dp_v0
from hushbandits.core.entries import ENVS
from hushbandits.core.messages import Field
from hushbandits.views.farama import module_name
from hushbandits.wrappers.huber import Huber
from hushbandits.wrappers.loss import Loss

VOTING = {"n_agents": 8, "n_arms": 3, "threshold": 1, "horizon": 30}
CASES = [
    ("DPMASE-v0", VOTING),
    ("DecentralizedExploration-v0", {**VOTING, "strict": False, "actions": "multidiscrete", "wrappers": [Loss(0.2)]}),
    ("CoopNetwork-v0", {"n_agents": 4, "horizon": 12, "wrappers": [Huber(0.2), Loss(0.2)]}),
    ("CoopNetwork-v0", {"n_agents": 3, "horizon": 9, "speech": {"bit": Field((2,), "?")}, "info": "metrics"}),
    ("CoopNetwork-v0", {"n_agents": 3, "horizon": 9, "speech": {"code": Field(dtype="f4")}}),
    ("DistDP-v0", {"n_agents": 3, "horizon": 60, "reward": "oracle"}),
]


def by_case(value):
    return value if isinstance(value, str) else ""


# -- PettingZoo's own tests (warnings are errors here) ------------------------------------------------------------


@each_once
@pytest.mark.parametrize("beats", [1, 2])
@pytest.mark.parametrize("env_id", one_per_class(hb.list_envs()))
def test_pettingzoo_finds_nothing(env_id, beats):
    def made(**more):
        return hb.make_aec(env_id, beats=beats, **small(env_id), **more)

    api_test(made(), num_cycles=60)
    seed_test(made, num_cycles=20)
    state_test(made(), hb.make(env_id, beats=beats, **small(env_id)))


#: A picture is its setting's, and a duel has an action of two arms.
@pytest.mark.parametrize(
    "env_id",
    weekly_but([("CoopNetwork-v0",)], ("DPMASE-v0",), ("DistDP-v0",), ("CoopNetwork-v0",), ("DuelingNetwork-v0",)),
)
def test_pettingzoo_renders_it(env_id):
    matplotlib.use("agg")
    render_test(lambda render_mode: hb.make_aec(env_id, render_mode=render_mode, **small(env_id)))


@pytest.mark.parametrize("env_id", one_per_class(hb.list_envs()))
def test_pettingzoo_times_it(env_id, monkeypatch):
    seconds = iter(range(100))
    monkeypatch.setattr(
        sys.modules["pettingzoo.test.performance_benchmark"], "time", SimpleNamespace(time=lambda: next(seconds))
    )
    benchmark(hb.make_aec(env_id, **small(env_id)))
    assert next(seconds) > 5


def test_pettingzoo_cuts_it():
    max_cycles_test(coop_network_v0)
    # In exploration one agent alone has a turn in a round: with one, the test counts right.
    one = partial(hushbandits.dpmase_v0.env, **{**VOTING, "n_agents": 1, "threshold": 0, "n_arms": 10})
    straight = partial(hushbandits.dpmase_v0.parallel_env, **one.keywords)
    max_cycles_test(SimpleNamespace(parallel_env=straight, env=one))
    # In feedback a sampled block may take all users: blocks of one do not.
    env = dist_dp_v0.env(n_agents=2, max_cycles=4)
    env.reset(seed=0)
    turns = []
    for agent in env.agent_iter():
        turns.append(agent)
        env.step(None if env.truncations[agent] else 0)
    assert turns == ["agent_0", "agent_1"] * 5


# -- the same episode ---------------------------------------------------------------------------------------------


def episode(env, seed, steps, choose):
    """What each agent sees, and is paid, turn by turn."""
    env.reset(seed=seed)
    told = []
    for agent in env.agent_iter(steps):
        seen, reward, terminated, truncated, info = env.last()
        told.append((agent, seen, reward, terminated, truncated, info.get("metrics"), info.get("action_mask")))
        env.step(None if terminated or truncated else choose(agent, info["action_mask"]))
    return told


@pytest.mark.parametrize("beats", [1, 2])
@pytest.mark.parametrize(("env_id", "kwargs"), CASES, ids=by_case)
def test_seeds_repeat_beyond_one_step(env_id, kwargs, beats):
    def played(seed):
        env = hb.make_aec(env_id, beats=beats, **kwargs)
        for m, agent in enumerate(env.possible_agents):
            env.action_space(agent).seed(m)
        return [episode(env, s, 500, lambda agent, mask: env.action_space(agent).sample(mask)) for s in (seed, None)]

    one, two = played(3), played(3)
    np.testing.assert_equal(one, two)
    assert len(one[0]) > 10
    with pytest.raises(AssertionError):
        np.testing.assert_equal(one[0], one[1])
    with pytest.raises(AssertionError):
        np.testing.assert_equal(one[0], played(4)[0])


@settings(deadline=None, max_examples=40)
@given(st.sampled_from(CASES), st.integers(1, 2), st.none() | st.integers(1, 7), st.integers(0, 2**32))
def test_it_is_the_parallel_views_episode(case, beats, max_cycles, seed):
    """Bit for bit, whatever those say who have no turn."""
    env_id, kwargs = case
    turns = hb.make_aec(env_id, beats=beats, max_cycles=max_cycles, **kwargs)
    parallel = hb.make(env_id, beats=beats, max_cycles=max_cycles, **kwargs)
    turns.reset(seed=seed)
    seen, infos = parallel.reset(seed=seed)
    for m, agent in enumerate(parallel.possible_agents):
        parallel.action_space(agent).seed(m)
    acts, speaks = turns.layout["acts"], turns.layout["speaks"]
    while parallel.agents:
        actions = {a: parallel.action_space(a).sample() for a in parallel.agents}
        paid = dict.fromkeys(parallel.agents, 0.0)
        due = [a for a in parallel.agents if seen[a][acts].any() or seen[a][speaks].any()]
        for a in due:
            assert turns.agent_selection == a
            np.testing.assert_array_equal(turns.last()[0], seen[a])
            np.testing.assert_equal(turns.infos[a], infos[a])
            turns.step(actions[a])
            assert any(turns.rewards.values()) <= (a == due[-1])
        idle = True
        while idle:
            seen, rewards, terminated, truncated, infos = parallel.step(actions)
            paid = {a: paid[a] + reward for a, reward in rewards.items()}
            idle = bool(parallel.agents) and not any(seen[a][acts].any() or seen[a][speaks].any() for a in seen)
        assert turns.rewards == paid
        for a in turns.agents:
            np.testing.assert_array_equal(turns.observe(a), seen[a])
        np.testing.assert_array_equal(turns.state(), parallel.state())
        assert (turns.terminations, turns.truncations) == (terminated, truncated)
    np.testing.assert_equal(turns.infos, infos)
    for a in parallel.possible_agents:
        assert turns.agent_selection == a
        turns.step(None)
    assert not turns.agents


# -- turns --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("beats", [1, 2])
def test_only_who_is_drawn_has_a_turn(beats):
    env = hb.make_aec("DPMASE-v0", beats=beats, **{**VOTING, "threshold": 7})
    env.reset(seed=1)
    selected, rounds = [], []
    total = 0.0
    for agent in env.agent_iter(20):
        assert env.task.obs.who[0] == env.possible_agents.index(agent)
        selected.append(agent)
        rounds.append(int(env.core.t[0]))
        total += env.rewards[agent]
        assert set(env.infos[agent]) == {"action_mask"}
        assert not any(env.infos[other] for other in env.agents if other != agent)
        env.step(env.action_space(agent).sample(env.infos[agent]["action_mask"]))
    assert len(set(selected)) > 3
    assert rounds == [i for i in range(20)] if beats == 1 else rounds == [(i + 1) // 2 for i in range(20)]
    if beats == 2:  # who has pulled speaks
        assert selected[::2] == selected[1::2]
    # What has been earned since an agent's last turn is told at its next.
    waiting = next(a for a in env.agents if a != env.agent_selection)
    assert env._cumulative_rewards[waiting] < env.rewards[waiting]


def test_nobody_sees_a_round_before_it_is_played():
    env = hb.make_aec("CoopNetwork-v0", n_agents=3, horizon=4)
    env.reset(seed=0)
    first = env.observe("agent_2")
    assert env.observe("agent_2") is not first
    env.step(3)
    env.step(4)
    assert env.agent_selection == "agent_2"
    np.testing.assert_array_equal(env.observe("agent_2"), first)
    assert env.core.t[0] == 0
    with pytest.raises(ValueError, match=r"action 10 .*agent_2"):
        env.step(10)
    assert env.agent_selection == "agent_2"
    env.step(5)
    assert env.core.t[0] == 1
    np.testing.assert_array_equal(env.task.arm, [[3, 4, 5]])
    assert env.agent_selection == "agent_0"


def test_a_server_without_users_has_no_turn():
    env = hb.make_aec("DistDP-v0", n_agents=2, horizon=10, actions="multidiscrete")
    env.reset(seed=0)
    selected = []
    for agent in env.agent_iter():
        over = env.terminations[agent] or env.truncations[agent]
        selected.append((agent, over))
        env.step(None if over else np.array([0, 3 if agent == "agent_0" else 1]))
    alive = [agent for agent, over in selected if not over]
    assert alive == ["agent_0", "agent_1"] * 2 + ["agent_1"] * 3
    assert [agent for agent, over in selected if over] == ["agent_0", "agent_1"]


def test_order_is_kept():
    env = hb.make_aec("CoopNetwork-v0", n_agents=2, horizon=1)
    for early in (lambda: env.step(0), lambda: env.observe("agent_0"), env.state):
        with pytest.raises(RuntimeError, match="before the start"):
            early()
    env.reset(seed=0)
    env.step(0)
    env.step(0)
    with pytest.raises(ValueError, match="the only valid action is None"):
        env.step(0)
    env.step(None)
    env.step(None)
    env.reset()
    assert env.agents == env.possible_agents
    env.max_cycles = 3
    assert env.max_cycles == 3
    assert env.metrics()["regret"] == 0
    assert str(env.privacy()) == str(hb.privacy(env.core))


def test_options_and_copies():
    env = hb.make_aec("CoopNetwork-v0", n_agents=2, n_arms=2, horizon=5, permute_arms=False)
    env.reset(seed=0, options={"means": [0.0, 1.0]})
    np.testing.assert_array_equal(env.core.means, [[0.0, 1.0]])
    env.step(1)
    other = pickle.loads(pickle.dumps(env))
    for view in (env, other):
        view.step(1)
        assert view.rewards == {"agent_0": 1.0, "agent_1": 1.0}
    env.reset()
    assert env.core.means[0, 1] < 1


def test_it_becomes_a_parallel_env_again():
    back, straight = aec_to_parallel(coop_network_v0.env(n_agents=3, horizon=4)), hb.make(
        "CoopNetwork-v0", n_agents=3, horizon=4
    )  # fmt: skip
    np.testing.assert_equal(back.reset(seed=2)[0], straight.reset(seed=2)[0])
    for _ in range(4):
        actions = {agent: 1 for agent in straight.agents}
        one, two = back.step(actions), straight.step(actions)
        np.testing.assert_equal(one[:4], two[:4])


# -- names --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("env_id", one_per_class(sorted(ENVS.shipped)))
def test_every_env_has_a_module_as_farama_has_them(env_id):
    module = importlib.import_module(f"hushbandits.{module_name(env_id)}")
    assert module is getattr(hb, module_name(env_id))
    more = {"n_agents": 30, "threshold": 2} if hb.make_core(env_id).setting == "exploration" else {"n_agents": 4}
    made = [partial(pettingzoo.make, "aec", f"hushbandits/{env_id}")] if hasattr(pettingzoo, "make") else []
    for build in (module.parallel_env, module.env, module.raw_env, *made):
        env = build(max_cycles=3, **more)
        assert isinstance(env, pettingzoo.ParallelEnv if build is module.parallel_env else pettingzoo.AECEnv)
        assert str(env) == f"hushbandits/{env_id}"
        assert env.max_cycles == 3


def test_a_view_of_turns_is_wrapped_as_one_of_steps_is():
    """Both views are of one run: more wrappers leave what was asked for as it was."""
    env = hb.wrap(hb.make_aec("CoopNetwork-v0", n_agents=4, horizon=3, max_cycles=2, agent_id=True), "Loss")
    assert type(env).__name__ == "AECView"
    assert [w.name for w in env.core.wrappers] == ["Loss"]
    assert (env.max_cycles, "agent_id" in env.layout) == (2, True)
    env.reset(seed=0)
    for _ in range(8):
        env.step(env.action_space(env.agent_selection).sample())
    assert all(env.truncations.values())
    assert hb.wrap(env, "Huber").core.wrappers[1].name == "Huber"
