"""PPO of Stable-Baselines3 over SuperSuit's vector envs: ``pip install supersuit stable-baselines3``, then run it."""

import supersuit
import torch
from stable_baselines3 import PPO

import hushbandits as hb

TASKS = {
    "DPMASE-v0": {"n_agents": 4, "n_arms": 3, "means": hb.UniformMeans(), "delta": 0.5, "horizon": 50},
    "CoopNetwork-v0": {"n_agents": 4, "n_arms": 2, "means": (0.9, 0.1), "horizon": 32},
    "DistDP-v0": {"n_agents": 4, "n_arms": 3, "horizon": 64},
}


def train(env_id, steps=512, **kwargs):
    """Return the trained model; SuperSuit treats the horizon as a termination, so values are too small."""
    torch.set_num_threads(1)  # the nets are small
    env = supersuit.pettingzoo_env_to_vec_env_v1(hb.make(env_id, **(TASKS[env_id] | kwargs)))
    env = supersuit.concat_vec_envs_v1(env, 2, num_cpus=1, base_class="stable_baselines3")
    return PPO("MlpPolicy", env, n_steps=32, batch_size=64, seed=None).learn(steps)


if __name__ == "__main__":
    for env_id in TASKS:
        print(env_id, train(env_id).num_timesteps)
