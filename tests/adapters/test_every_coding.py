"""Every env passes PettingZoo's checks, and Gymnasium's rules for vector resets, with every action format."""

import numpy as np
import pytest
from gymnasium.vector import AutoresetMode
from kinds import each_once, one_per_class
from pettingzoo.test import api_test, parallel_api_test
from small import NUMBERS, small

import hushbandits as hb
from hushbandits.core.validation import choices

CODINGS = ["discrete", "multidiscrete", "native"]
every = pytest.mark.parametrize("env_id", one_per_class([id for id in hb.list_envs() if id not in NUMBERS]))


@each_once
@every
@pytest.mark.filterwarnings("ignore:Action space for each agent probably should be")  # advice of PettingZoo
@pytest.mark.parametrize("actions", CODINGS)
def test_pettingzoo_finds_nothing_however_actions_are_written(env_id, actions):
    parallel_api_test(hb.make(env_id, action_format=actions, **small(env_id)), num_cycles=30)
    api_test(hb.make_aec(env_id, action_format=actions, **small(env_id)), num_cycles=30)


@each_once
@every
@pytest.mark.parametrize("actions", CODINGS)
def test_a_vector_env_resets_as_its_mode_says(env_id, actions):
    for mode in AutoresetMode:
        env = hb.make_vec(env_id, 2, action_format=actions, autoreset=mode, **small(env_id))
        assert env.metadata["autoreset_mode"] is mode
        seen, infos = env.reset(seed=0)
        env.action_space.seed(0)
        before, ended = np.zeros(env.num_envs, bool), 0
        for _ in range(30):
            if mode is AutoresetMode.DISABLED and before.any():
                seen, infos = env.reset(options={"reset_mask": before})
                before = np.zeros(env.num_envs, bool)
            seen, reward, terminated, truncated, infos = env.step(env.action_space.sample())
            assert env.observation_space.contains(seen)
            assert infos["action_mask"].shape == (env.num_envs, choices(env.single_action_space))
            assert not (terminated & truncated).any()
            over = terminated | truncated
            assert ("final_obs" in infos) == (mode is AutoresetMode.SAME_STEP and bool(over.any()))
            if mode is AutoresetMode.NEXT_STEP:  # the step that starts an episode has no reward and no end
                assert not reward[before].any()
                assert not over[before].any()
            before, ended = over, ended + over.sum()
        assert ended
