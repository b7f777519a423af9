"""`wrap` and the registry work on the PettingZoo view."""

import runpy
from pathlib import Path

import pettingzoo
import pytest

import hushbandits as hb
from hushbandits.envs.network.env import CoopNetwork
from hushbandits.wrappers.huber import Huber
from hushbandits.wrappers.loss import Loss


def test_wrap_adds_behind_what_was_given_and_before_the_ids_own():
    names = lambda env: [w.name for w in getattr(env, "core", env).wrappers]  # noqa: E731
    env = hb.make("DistDP-v0", wrappers=[Huber(0.1)], horizon=64, two_phase=True, max_cycles=7, reward_source="oracle")
    more = hb.wrap(env, Loss(0.1))
    assert names(more) == ["Huber", "Loss", "DiscreteLaplace", "SecAgg"]
    assert names(env) == ["Huber", "DiscreteLaplace", "SecAgg"]
    assert (more.two_phase, more.max_cycles, more.core.horizon) == (True, 7, 64)
    assert more.options == {"reward_source": "oracle"}
    assert names(hb.wrap(hb.wrap(env, Loss(0.1)), Loss(0.2, name="again"))) == [
        "Huber", "Loss", "again", "DiscreteLaplace", "SecAgg"
    ]  # fmt: skip
    vec = hb.wrap(hb.make_batched("CoopNetwork-v0", runs=3, n_agents=4), Huber(0.1), Loss(0.1))
    assert (names(vec), vec.runs, vec.n_agents) == (["Huber", "Loss"], 3, 4)
    assert hb.wrap(hb.make("DPMASE-v0"), Loss(0.1)).core.horizon == hb.make("DPMASE-v0").core.horizon == 100_000
    said = {"bit": hb.Field(dtype="?")}
    assert "heard_bit" in hb.wrap(hb.make("CoopNetwork-v0", extra_fields=said), Loss(0.1)).layout
    assert names(hb.wrap(env, "Loss")) == names(more)


@pytest.mark.skipif(not hasattr(pettingzoo, "make"), reason="PettingZoo has a registry from 1.27 on")
def test_registering_registers_with_pettingzoo_too():
    mine = "Mine-v3"
    hb.register_env(mine, CoopNetwork, n_agents=3)
    env = pettingzoo.make("parallel", f"hushbandits/{mine}", horizon=2)
    assert len(env.possible_agents) == 3
    assert pettingzoo.make("aec", f"hushbandits/{mine}").max_num_agents == 3
    pettingzoo.register("aec", "hushbandits/Other-v0", "x:y")
    with pytest.raises(ValueError, match="'hushbandits/Other-v0'"):
        hb.register_env("Other-v0", CoopNetwork)
    hb.testing.check_env(mine, horizon=4)
    with pytest.raises(ValueError, match="'Mine-v3'"):
        hb.register_env(mine, "hushbandits.envs.feedback.env:Feedback")
    with pytest.raises(ValueError, match="'hushbandits/Mine_v3'"):
        hb.register_env("Mine_v3", CoopNetwork)  # PettingZoo reads both alike
    assert "Mine_v3" not in hb.list_envs()


def test_the_example_runs():
    example = runpy.run_path(str(Path(__file__).parents[2] / "examples" / "step_by_hand.py"))
    assert example["play"](hb.make("CoopNetwork-v0", n_agents=4, horizon=20))["messages"] > 0
