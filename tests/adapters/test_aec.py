"""The turn-based env passes PettingZoo's conversion and tests, and has the modules of Farama's envs."""

import importlib
from functools import partial

import matplotlib
import numpy as np
import pettingzoo
import pytest
from kinds import each_once, one_per_class, weekly_but
from pettingzoo.test import api_test, render_test, seed_test
from pettingzoo.test.state_test import state_test
from small import small

import hushbandits as hb
from hushbandits.adapters.pettingzoo_modules import module_name
from hushbandits.registry import ENVS


@each_once
@pytest.mark.parametrize("two_phase", [False, pytest.param(True, marks=pytest.mark.weekly)])
@pytest.mark.parametrize("env_id", one_per_class(hb.list_envs()))
def test_pettingzoo_finds_nothing(env_id, two_phase):
    def made(**more):
        return hb.make_aec(env_id, two_phase=two_phase, **small(env_id), **more)

    api_test(made(), num_cycles=60)
    seed_test(made, num_cycles=20)
    state_test(made(), hb.make(env_id, two_phase=two_phase, **small(env_id)))


#: A picture is its setting's, and a duel has an action of two arms.
@pytest.mark.parametrize(
    "env_id",
    weekly_but([("CoopNetwork-v0",)], ("DPMASE-v0",), ("DistDP-v0",), ("CoopNetwork-v0",), ("DuelingNetwork-v0",)),
)
def test_pettingzoo_renders_it(env_id):
    matplotlib.use("agg")
    render_test(lambda render_mode: hb.make_aec(env_id, render_mode=render_mode, **small(env_id)))


def test_a_round_is_a_turn_of_everybody():
    turns, rounds = (make("CoopNetwork-v0", n_agents=3, horizon=4) for make in (hb.make_aec, hb.make))
    turns.reset(seed=2)
    rounds.reset(seed=2)
    while rounds.agents:
        seen, paid, *_ = rounds.step({"agent_0": 3, "agent_1": 4, "agent_2": 5})
        for arm, agent in enumerate(["agent_0", "agent_1", "agent_2"], 3):
            assert turns.agent_selection == agent
            turns.step(arm)
        assert turns.rewards == paid
        np.testing.assert_array_equal(turns.state(), np.concatenate([*seen.values()]))
    assert all(turns.truncations.values())
    assert (
        turns.infos["agent_0"]["metrics"]["regret"] == turns.unwrapped.metrics()["regret"] == rounds.metrics()["regret"]
    )


def test_an_action_outside_its_space_is_refused_by_name():
    env = hb.make_aec("CoopNetwork-v0", n_agents=2)
    env.reset()
    env.step(10)
    with pytest.raises(ValueError, match=r"action 10 .* of agent_0"):
        env.step(0)


@pytest.mark.parametrize("env_id", one_per_class(sorted(ENVS.builtin)))
def test_every_env_has_a_module_as_farama_has_them(env_id):
    module = importlib.import_module(f"hushbandits.{module_name(env_id)}")
    assert module is getattr(hb, module_name(env_id))
    more = {"n_agents": 30, "threshold": 2} if hb.make_batched(env_id).setting == "exploration" else {"n_agents": 4}
    made = [(module.parallel_env, "parallel"), (module.env, "aec"), (module.raw_env, "aec")]
    if hasattr(pettingzoo, "make"):
        made += [(partial(pettingzoo.make, form, f"hushbandits/{env_id}"), form) for form in ("parallel", "aec")]
    for build, form in made:
        env = build(max_cycles=3, **more)
        assert isinstance(env, pettingzoo.ParallelEnv if form == "parallel" else pettingzoo.AECEnv)
        assert str(env) == f"hushbandits/{env_id}"
        assert env.unwrapped.max_cycles == 3
