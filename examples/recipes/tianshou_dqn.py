"""A DQN of Tianshou for each agent, on PettingZoo's AEC API: a round takes as many steps as there are agents."""

from tianshou.algorithm import DQN, MultiAgentOffPolicyAlgorithm
from tianshou.algorithm.modelfree.dqn import DiscreteQLearningPolicy
from tianshou.algorithm.optim import AdamOptimizerFactory
from tianshou.data import Collector, VectorReplayBuffer
from tianshou.env import DummyVectorEnv, PettingZooEnv
from tianshou.trainer import OffPolicyTrainerParams
from tianshou.utils.net.common import Net

import hushbandits as hb

make = lambda: PettingZooEnv(hb.make_aec("CoopNetwork-v0", n_agents=4, means=(0.9, 0.1), horizon=32))  # noqa: E731
env, envs, agents = make(), DummyVectorEnv([make, make]), []
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
how = OffPolicyTrainerParams(
    training_collector=collector, max_epochs=1, epoch_num_steps=512, batch_size=64, collection_step_num_env_steps=32,
    update_step_num_gradient_steps_per_sample=0.1, multi_agent_return_reduction=lambda returns: returns.mean(-1),
    verbose=False, show_progress=False,
)  # fmt: skip
print(team.run_training(how).update_step, "updates")
