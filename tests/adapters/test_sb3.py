"""The VecEnv of Stable-Baselines3: rows equal the batched env, bootstrapping is correct, and algorithms learn."""

import subprocess
import sys

import numpy as np
import pytest
import torch
from kinds import each_once, one_per_class
from sb3_contrib import MaskablePPO, RecurrentPPO
from sb3_contrib.common.maskable.utils import get_action_masks, is_masking_supported
from small import NUMBERS, small
from stable_baselines3 import A2C, DQN, PPO
from stable_baselines3.common.evaluation import evaluate_policy
from stable_baselines3.common.vec_env import VecFrameStack, VecMonitor, VecNormalize

import hushbandits as hb
from hushbandits.adapters.learners import Rows, learners_core
from hushbandits.adapters.make import make_sb3

NET = {"n_agents": 3, "horizon": 7}
VOTE = {"n_agents": 6, "horizon": 60, "means": (0.9, 0.1), "beta": 0.3, "delta": 0.3}
BLOCKS = {"n_agents": 2, "horizon": 40}
IDS = {"network": ("CoopNetwork-v0", NET), "exploration": ("DPMASE-v0", VOTE), "feedback": ("DistDP-v0", BLOCKS)}


@pytest.fixture(autouse=True)
def one_thread():
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def drawn(venv, rng):
    """Return a random action that has an effect."""
    masks = np.stack(venv.env_method("action_masks"))
    return np.where(masks, rng.random(masks.shape), -1.0).argmax(1)


@each_once
@pytest.mark.parametrize("id", one_per_class([id for id in hb.list_envs() if id not in NUMBERS]))
@pytest.mark.parametrize("num_envs", [1, 4])
def test_sub_envs_are_the_agents_of_the_cores_runs_over_many_episodes(id, num_envs):
    params = small(id)
    venv, many = make_sb3(id, num_envs, **params), params["n_agents"]
    alone = Rows(learners_core(id, num_envs, (), None, params))
    venv.seed(5)
    seen, rng, ended = venv.reset(), np.random.default_rng(0), 0
    np.testing.assert_array_equal(seen, alone.reset(5).reshape(num_envs * many, -1))
    for _ in range(70):
        np.testing.assert_array_equal(np.stack(venv.action_masks()), alone.task.mask().reshape(num_envs * many, -1))
        action = drawn(venv, rng)
        seen, reward, done, infos = venv.step(action)
        paid, over, solved = alone.step(action.reshape(num_envs, many))
        after = alone.task.observe()
        assert seen.dtype == reward.dtype == np.float32
        assert done.dtype == bool
        np.testing.assert_array_equal(reward, paid.astype(np.float32).reshape(-1))
        np.testing.assert_array_equal(done, np.repeat(over, many))
        metrics = alone.core.metrics()
        for i, info in enumerate(infos):
            r, m = divmod(i, many)
            assert bool(info) == done[i]
            if done[i]:
                ended += 1
                np.testing.assert_array_equal(info["terminal_observation"], after[r, m])
                assert info["TimeLimit.truncated"] == (over[r] and not solved[r])
                assert all(np.array_equal(info["metrics"][k], v[r]) for k, v in metrics.items())
        after = alone.reset(rows=np.flatnonzero(over)) if over.any() else after
        np.testing.assert_array_equal(seen, after.reshape(num_envs * many, -1))
    assert ended >= 2 * many


def test_a_seed_counts_once_and_the_stream_goes_on():
    venv = make_sb3("CoopNetwork-v0", 2, **NET)
    assert max(part.stop for part in venv.layout.values()) == venv.observation_space.shape[0]

    def episode():
        venv.reset()
        return np.concatenate([venv.step(np.zeros(6, int))[1] for _ in range(7)])

    def two(seed):
        venv.seed(seed)
        return [episode(), episode()]

    first, again, other = two(3), two(3), two(4)
    assert all(map(np.array_equal, first, again))
    assert not np.array_equal(*first)
    assert not np.array_equal(first[0], other[0])


def test_rewards_are_the_learners_own():
    """A learner adds to rewards in place; this must change nothing else."""
    one, two = (make_sb3("CoopNetwork-v0", 2, **NET) for _ in range(2))
    for venv in (one, two):
        venv.seed(1)
        venv.reset()
    for _ in range(20):
        seen, reward, *_ = one.step(np.zeros(6, int))
        other = two.step(np.zeros(6, int))
        np.testing.assert_array_equal(seen, other[0])
        np.testing.assert_array_equal(reward, other[1])
        reward += 100.0
        seen += 1.0


def test_what_a_sub_env_is_asked_by_name():
    venv = make_sb3("CoopNetwork-v0", 2, **NET)
    assert venv.get_attr("render_mode") == [None] * 6
    assert venv.render_mode is None
    assert venv.env_is_wrapped(object) == [False] * 6
    assert not venv.has_attr("nothing")
    assert is_masking_supported(venv)
    venv.reset()
    assert len(venv.env_method("action_masks", indices=[1, 4])) == 2
    assert get_action_masks(venv).shape == (6, 10)
    pictures = make_sb3("CoopNetwork-v0", render_mode="rgb_array", **NET)
    pictures.reset()
    assert pictures.render(mode="rgb_array").shape[2] == 3


def test_options_of_a_reset_are_refused():
    venv = make_sb3("CoopNetwork-v0", 2, **NET)
    venv.set_options({"means": [1.0]})
    with pytest.raises(ValueError, match="give them to make_sb3"):
        venv.reset()


def test_what_is_oracle_says_so_in_every_info():
    venv = make_sb3("DistDP-v0", 2, reward_source="oracle", **BLOCKS)
    venv.reset()
    assert [info["reward_source"] for info in venv.step(np.zeros(4, int))[3]] == ["oracle"] * 4


def test_the_librarys_wrappers_go_around(tmp_path):
    venv = VecNormalize(VecFrameStack(VecMonitor(make_sb3("CoopNetwork-v0", 2, **NET)), 2))
    model = PPO("MlpPolicy", venv, n_steps=8, batch_size=48, n_epochs=1, seed=0, device="cpu")
    model.learn(96)
    assert len(model.ep_info_buffer) >= 6
    assert model.ep_info_buffer[0]["l"] == 7
    model.save(tmp_path / "model")
    venv.save(str(tmp_path / "normal"))
    fresh = VecFrameStack(VecMonitor(make_sb3("CoopNetwork-v0", 2, **NET)), 2)
    again = PPO.load(tmp_path / "model", env=VecNormalize.load(str(tmp_path / "normal"), fresh), device="cpu")
    again.learn(48)
    mean, _ = evaluate_policy(again, again.get_env(), n_eval_episodes=6)
    assert np.isfinite(mean)


LEARNERS = {
    "PPO": (PPO, "MlpPolicy", {"n_steps": 8, "batch_size": 16, "n_epochs": 2}),
    "A2C": (A2C, "MlpPolicy", {"n_steps": 4}),
    "DQN": (DQN, "MlpPolicy", {"learning_starts": 20, "buffer_size": 200, "batch_size": 8}),
    "RecurrentPPO": (RecurrentPPO, "MlpLstmPolicy", {"n_steps": 8, "batch_size": 16, "n_epochs": 1}),
    "MaskablePPO": (MaskablePPO, "MlpPolicy", {"n_steps": 8, "batch_size": 16, "n_epochs": 2}),
}


@each_once
@pytest.mark.parametrize("name", LEARNERS)
@pytest.mark.parametrize("case", IDS)
def test_two_trainings_with_one_seed_are_equal_to_the_bit(name, case):
    cls, policy, hyper = LEARNERS[name]
    id, params = IDS[case]

    def trained(seed):
        venv = make_sb3(id, 2, **params)
        net = {"net_arch": [8], **({"lstm_hidden_size": 8} if cls is RecurrentPPO else {})}
        model = cls(policy, venv, seed=seed, device="cpu", policy_kwargs=net, **hyper).learn(60)
        return torch.cat([p.detach().flatten() for p in model.policy.parameters()])

    one, same, other = trained(1), trained(1), trained(2)
    assert torch.equal(one, same)
    assert not torch.equal(one, other)


def test_a_constant_reward_is_worth_what_it_is_worth_for_ever():
    """γ = 0.9: 10, within 1; to the horizon of 4 it would be 3.4, and less later in the episode."""
    venv = make_sb3("CoopNetwork-v0", 4, n_agents=2, means=[1.0, 1.0], horizon=4)
    small = {"n_steps": 8, "learning_rate": 3e-3, "policy_kwargs": {"net_arch": [16]}}
    model = A2C("MlpPolicy", venv, gamma=0.9, seed=0, device="cpu", **small).learn(6400)
    seen = venv.reset()
    for _ in range(4):
        value = model.policy.predict_values(torch.as_tensor(seen)).mean().item()
        assert value == pytest.approx(10.0, abs=1.0)
        seen, *_ = venv.step(np.zeros(8, int))


def test_without_the_extra_a_sentence_says_what_to_install():
    code = (
        "import sys; sys.modules['stable_baselines3'] = None\n"
        "import hushbandits as hb\n"
        "try:\n    hb.make_sb3('CoopNetwork-v0')\n"
        "except ImportError as error:\n    print(error)\n"
    )
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert said.startswith("make_sb3 needs stable-baselines3: pip install 'hushbandits[sb3]'")
