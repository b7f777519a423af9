"""IPPO of AgileRL on PettingZoo's parallel API, without the masks, which its IPPO cannot read."""

from agilerl.algorithms import IPPO
from agilerl.training.train_multi_agent_on_policy import train_multi_agent_on_policy
from agilerl.vector.pz_async_vec_env import AsyncPettingZooVecEnv
from pettingzoo.utils.wrappers import BaseParallelWrapper

import hushbandits as hb


class Unmasked(BaseParallelWrapper):
    def reset(self, seed=None, options=None):
        observations, infos = self.env.reset(seed=seed, options=options)
        return observations, {agent: {} for agent in infos}

    def step(self, actions):
        *returned, infos = self.env.step(actions)
        return *returned, {agent: {} for agent in infos}


if __name__ == "__main__":  # each env is a process
    make = lambda: Unmasked(hb.make("CoopNetwork-v0", n_agents=4, means=(0.9, 0.1), horizon=32))  # noqa: E731
    env, one = AsyncPettingZooVecEnv([make, make]), make()
    spaces = [[space(agent) for agent in one.possible_agents] for space in (one.observation_space, one.action_space)]
    learner = IPPO(*spaces, agent_ids=one.possible_agents, learn_step=64, batch_size=32)
    fitness = train_multi_agent_on_policy(
        env, "CoopNetwork-v0", "IPPO", [learner], max_steps=256, evo_steps=128, eval_steps=32, verbose=False
    )[1]
    env.close()
    print(fitness)
