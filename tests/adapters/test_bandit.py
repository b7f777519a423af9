"""Bandit-v0 passes Gymnasium's checker and equals a network of one agent."""

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

import hushbandits as hb

ID = "hushbandits/Bandit-v0"


@pytest.mark.parametrize("render_mode", [None, "ansi", "rgb_array"])
@pytest.mark.parametrize(
    "kwargs", [{}, {"means": [0.2, 0.8], "action_format": "multidiscrete"}, {"rewards": "gaussian"}]
)
def test_gymnasium_finds_nothing(render_mode, kwargs):
    env = gymnasium.make(ID, render_mode=render_mode, **kwargs)
    check_env(env.unwrapped)
    env.reset(seed=0)
    _, _, _, _, info = env.step(env.action_space.sample(env.reset(seed=1)[1]["action_mask"]))
    assert set(info) == {"action_mask"}


@pytest.mark.parametrize("seed", [0, 9])
def test_it_is_a_network_of_one(seed):
    alone = gymnasium.make(ID, means=[0.3, 0.5, 0.6], horizon=20)
    network = hb.make("CoopNetwork-v0", n_agents=1, means=[0.3, 0.5, 0.6], horizon=20)
    for start in (seed, None):  # and so is its next episode
        seen, _ = alone.reset(seed=start)
        theirs, _ = network.reset(seed=start)
        np.testing.assert_array_equal(seen, theirs["agent_0"])
        alone.action_space.seed(seed)
        for t in range(20):
            arm = alone.action_space.sample()
            seen, reward, terminated, truncated, info = alone.step(arm)
            theirs, paid, _, over, shown = network.step({"agent_0": arm})
            np.testing.assert_array_equal(seen, theirs["agent_0"])
            assert (reward, terminated, truncated) == (paid["agent_0"], False, t == 19)
            assert over["agent_0"] == truncated
        assert info["metrics"]["regret"] == shown["agent_0"]["metrics"]["regret"]


def test_many_at_once_and_the_same_as_one_by_one():
    env = gymnasium.make_vec(ID, num_envs=3, horizon=4)
    synced = gymnasium.make_vec(
        ID, num_envs=3, horizon=4, vectorization_mode="sync", vector_kwargs={"autoreset_mode": "SameStep"}
    )
    assert env.num_envs == synced.num_envs == 3
    assert env.action_space == synced.action_space
    assert env.observation_space == synced.observation_space
    for view in (env, synced):
        view.reset(seed=0)
        infos = [view.step(np.zeros(3, int))[4] for _ in range(4)][-1]
        assert infos["final_obs"][0].shape == env.single_observation_space.shape
        assert infos["final_info"]["metrics"]["regret"].shape == (3,)
