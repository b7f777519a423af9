"""Vector envs made by Gymnasium: by name, from a spec, in its wrappers."""

import gymnasium
import numpy as np
import pytest
from gymnasium.vector import AutoresetMode
from gymnasium.wrappers import vector as wrappers
from kinds import one_per_class

import hushbandits as hb
from hushbandits.adapters.make import make_vec
from hushbandits.envs.network.env import CoopNetwork
from hushbandits.wrappers.huber import Huber

VOTING = {"n_agents": 8, "n_arms": 3, "threshold": 1, "horizon": 12}


@pytest.mark.parametrize("env_id", one_per_class(hb.list_envs()))
def test_gymnasium_makes_every_env(env_id):
    voting = hb.make_batched(env_id).setting == "exploration"
    m, more = (30, {"threshold": 2}) if voting else (4, {})
    env = gymnasium.make_vec(f"hushbandits/{env_id}", num_envs=2 * m, n_agents=m, **more)
    assert (env.num_envs, env.runs, env.n_agents) == (2 * m, 2, m)
    assert env.metadata["autoreset_mode"] is env.unwrapped.autoreset_mode is AutoresetMode.SAME_STEP
    seen, _ = env.reset(seed=0)
    assert seen.shape == env.observation_space.shape
    env.step(env.action_space.sample())
    with pytest.raises(ValueError, match=r"with one agent: use hushbandits.make"):
        gymnasium.make(f"hushbandits/{env_id}")
    for mode in ("sync", "async"):
        with pytest.raises(ValueError, match=r"make_vec without vectorization_mode"):
            gymnasium.make_vec(f"hushbandits/{env_id}", num_envs=2 * m, vectorization_mode=mode)
    with pytest.raises(ValueError, match=f"num_envs={2 * m + 1} .* n_agents={m}"):
        gymnasium.make_vec(f"hushbandits/{env_id}", num_envs=2 * m + 1, n_agents=m, **more)
    env.close()


def test_a_view_knows_the_spec_that_gymnasium_would_give_it():
    env = make_vec("CoopNetwork-v0", 3, n_agents=2, horizon=4, autoreset="disabled")
    assert env.spec.id == "hushbandits/CoopNetwork-v0"
    assert repr(env) == "VectorView(hushbandits/CoopNetwork-v0, num_envs=6)"
    again = gymnasium.make_vec(env.spec)
    assert (again.runs, again.n_agents, again.core.horizon) == (3, 2, 4)
    assert again.autoreset_mode is AutoresetMode.DISABLED
    assert "n_agents" not in gymnasium.registry["hushbandits/CoopNetwork-v0"].kwargs
    assert make_vec("CoopNetwork-v0", wrappers=[Huber(0.1)]).spec is None
    assert make_vec(CoopNetwork, horizon=4).spec is None


def test_the_generator_of_a_view_is_the_clients():
    env = make_vec("CoopNetwork-v0", 2, n_agents=2, horizon=4)
    env.reset(seed=3)
    drawn = env.np_random.random(4)
    env.reset(seed=3)
    before = env.np_random.bit_generator.state
    env.step(env.action_space.sample())
    assert env.np_random.bit_generator.state == before
    np.testing.assert_array_equal(env.np_random.random(4), drawn)


def test_what_is_registered_later_is_gymnasiums_too():
    hb.register_env("Mine-v3", CoopNetwork, n_agents=3)
    assert gymnasium.make_vec("hushbandits/Mine-v3", num_envs=6).runs == 2
    with pytest.raises(ValueError, match="id='Mine'"):
        hb.register_env("Mine", CoopNetwork)
    assert not {"Bandit-v0", "Mine"} & set(hb.list_envs())


def test_gymnasiums_wrappers_stand_over_it():
    env = make_vec("DPMASE-v0", 4, **VOTING)
    env = wrappers.RecordEpisodeStatistics(wrappers.ClipReward(wrappers.NormalizeReward(env), -10, 10))
    env = wrappers.DictInfoToList(env)
    env.reset(seed=0)
    env.action_space.seed(0)
    ends = 0
    for _ in range(40):
        seen, _, terminated, truncated, infos = env.step(env.action_space.sample())
        for i in np.flatnonzero(terminated | truncated):
            ends += 1
            assert infos[i]["final_info"]["metrics"]["rounds"] <= infos[i]["episode"]["l"] < 13
    assert ends > 4
    # Gymnasium refuses these over same-step.
    seen = wrappers.NormalizeObservation(make_vec("CoopNetwork-v0", 2, n_agents=2, autoreset="next-step"))
    assert wrappers.FlattenObservation(seen).reset(seed=0)[0].shape == (4, 43)
