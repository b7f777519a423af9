"""An env for EPyMARL; its own wrapper of PettingZoo drops the rewards of the last step, this one keeps them."""

import numpy as np

import hushbandits as hb


class HushEnv:  # in EPyMARL: class HushEnv(MultiAgentEnv), and REGISTRY["hush"] = HushEnv in envs/__init__.py
    def __init__(self, key, common_reward=True, reward_scalarisation="sum", seed=None, **kwargs):
        self.env, self.common = hb.make(key, **kwargs), common_reward
        self.total = {"sum": np.sum, "mean": np.mean}[reward_scalarisation]
        self.agents, self.episode_limit = self.env.possible_agents, self.env.core.horizon
        self.n_agents = len(self.agents)
        self.reset(seed)

    def reset(self, seed=None, options=None):
        self.seen, self.infos = self.env.reset(seed, options)
        return self.get_obs(), {}

    def step(self, actions):
        self.seen, rewards, ended, cut, infos = self.env.step(dict(zip(self.agents, map(int, actions), strict=True)))
        self.infos = infos if self.env.agents else self.infos  # the last step has no masks
        paid = [rewards[agent] for agent in self.agents]
        over = {"episode_limit": cut["agent_0"]}  # a learner bootstraps there
        return self.get_obs(), self.total(paid) if self.common else paid, ended["agent_0"], cut["agent_0"], over

    def get_avail_actions(self):
        return [self.infos[agent]["action_mask"] for agent in self.agents]

    def get_env_info(self):
        width, choices = self.env.observation_space("agent_0").shape[0], int(self.env.action_space("agent_0").n)
        sizes = {"state_shape": self.n_agents * width, "obs_shape": width, "n_actions": choices}
        return {**sizes, "n_agents": self.n_agents, "episode_limit": self.episode_limit}

    get_obs = lambda self: [self.seen[agent] for agent in self.agents]  # noqa: E731
    get_state = lambda self: self.env.state()  # noqa: E731
    get_stats = lambda self: {}  # noqa: E731
    close = lambda self: self.env.close()  # noqa: E731


env, rewards = HushEnv("CoopNetwork-v0", seed=0, n_agents=4, horizon=5), []
for _ in range(5):
    _, reward, _, _, over = env.step([0, 1, 2, 3])
    rewards.append(reward)
print(rewards)
