"""A DQN of Tianshou per agent: ``pip install tianshou``, then run this file."""

import torch
from pettingzoo.utils.conversions import parallel_to_aec
from tianshou.algorithm import DQN, MultiAgentOffPolicyAlgorithm
from tianshou.algorithm.modelfree.dqn import DiscreteQLearningPolicy
from tianshou.algorithm.optim import AdamOptimizerFactory
from tianshou.data import Collector, VectorReplayBuffer
from tianshou.env import DummyVectorEnv, PettingZooEnv
from tianshou.trainer import OffPolicyTrainerParams
from tianshou.utils.net.common import Net

import hushbandits as hb

TASKS = {
    "DPMASE-v0": {"n_agents": 4, "n_arms": 3, "means": hb.UniformMeans(), "delta": 0.5, "horizon": 50},
    "CoopNetwork-v0": {"n_agents": 4, "n_arms": 2, "means": (0.9, 0.1), "horizon": 32},
    "DistDP-v0": {"n_agents": 4, "n_arms": 3, "horizon": 64},
}


def train(env_id, steps=512, **kwargs):
    """Return the training result; agents move one after the other, so a round takes M steps."""
    torch.set_num_threads(1)  # the nets are small
    make = lambda: PettingZooEnv(parallel_to_aec(hb.make(env_id, **(TASKS[env_id] | kwargs))))  # noqa: E731
    env, envs = make(), DummyVectorEnv([make, make])
    agents = []
    for _ in env.agents:
        net = Net(state_shape=env.observation_space.shape, action_shape=env.action_space.n, hidden_sizes=[64])
        policy = DiscreteQLearningPolicy(
            model=net, action_space=env.action_space, observation_space=env.observation_space, eps_training=0.2
        )
        agents.append(DQN(policy=policy, optim=AdamOptimizerFactory(lr=1e-3), gamma=0.9, target_update_freq=50))
    team = MultiAgentOffPolicyAlgorithm(algorithms=agents, env=env)
    collector = Collector(team, envs, VectorReplayBuffer(10_000, len(envs)), exploration_noise=True)
    collector.reset()
    collector.collect(n_step=128)  # a mini-batch must hold every agent's moves
    return team.run_training(
        OffPolicyTrainerParams(
            training_collector=collector, max_epochs=1, epoch_num_steps=steps, batch_size=64,
            collection_step_num_env_steps=32, update_step_num_gradient_steps_per_sample=0.1,
            multi_agent_return_reduction=lambda returns: returns.mean(-1), verbose=False, show_progress=False,
        )
    )  # fmt: skip


if __name__ == "__main__":
    for env_id in TASKS:
        print(env_id, train(env_id).update_step, "updates")
