"""IPPO of AgileRL on PettingZoo's parallel envs: ``pip install agilerl peft``, then run this file."""

import torch
from agilerl.algorithms import IPPO
from agilerl.training.train_multi_agent_on_policy import train_multi_agent_on_policy
from agilerl.vector.pz_async_vec_env import AsyncPettingZooVecEnv
from pettingzoo.utils.wrappers import BaseParallelWrapper

import hushbandits as hb

TASKS = {
    "DPMASE-v0": {"n_agents": 4, "n_arms": 3, "means": hb.UniformMeans(), "delta": 0.5, "horizon": 50},
    "CoopNetwork-v0": {"n_agents": 4, "n_arms": 2, "means": (0.9, 0.1), "horizon": 32},
    "DistDP-v0": {"n_agents": 4, "n_arms": 3, "horizon": 64},
}


class Unmasked(BaseParallelWrapper):
    """Removes action masks: IPPO of AgileRL evaluates ``None in masks``, which fails for arrays."""

    def reset(self, seed=None, options=None):
        observations, infos = self.env.reset(seed=seed, options=options)
        return observations, {agent: {} for agent in infos}

    def step(self, actions):
        *returned, infos = self.env.step(actions)
        return *returned, {agent: {} for agent in infos}


def train(env_id, steps=256, **kwargs):
    """Return the fitness after each evolution step, one per 128 steps."""
    torch.set_num_threads(1)  # the nets are small
    make = lambda: Unmasked(hb.make(env_id, **(TASKS[env_id] | kwargs)))  # noqa: E731
    env = AsyncPettingZooVecEnv([make, make])
    one = make()
    agents = one.possible_agents
    learner = IPPO(
        observation_spaces=[one.observation_space(agent) for agent in agents],
        action_spaces=[one.action_space(agent) for agent in agents],
        agent_ids=agents,
        learn_step=64,
        batch_size=32,
    )
    try:
        return train_multi_agent_on_policy(
            env, env_id, "IPPO", [learner], max_steps=steps, evo_steps=128, eval_steps=32, verbose=False
        )[1]
    finally:
        env.close()


if __name__ == "__main__":
    for env_id in TASKS:
        print(env_id, train(env_id))
