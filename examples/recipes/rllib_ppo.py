"""PPO of RLlib, one policy for all agents, on PettingZoo's parallel API."""

import ray
from ray.rllib.algorithms.ppo import PPOConfig
from ray.rllib.core.rl_module.default_model_config import DefaultModelConfig
from ray.rllib.core.rl_module.rl_module import RLModuleSpec
from ray.rllib.env.wrappers.pettingzoo_env import ParallelPettingZooEnv
from ray.tune.registry import register_env

import hushbandits as hb

ray.init(include_dashboard=False, num_cpus=1, log_to_driver=False)
register_env("hush", lambda config: ParallelPettingZooEnv(hb.make("CoopNetwork-v0", **config)))
config = (
    PPOConfig()
    .environment("hush", env_config={"n_agents": 4, "means": (0.9, 0.1), "horizon": 32})
    .env_runners(num_env_runners=0)
    .learners(num_learners=0)
    .multi_agent(policies={"shared"}, policy_mapping_fn=lambda agent, episode, **_: "shared")
    .rl_module(rl_module_spec=RLModuleSpec(), model_config=DefaultModelConfig(fcnet_hiddens=[64]))
    .training(train_batch_size_per_learner=128, minibatch_size=64, num_epochs=2)
)
algorithm = config.build_algo()
returns = [algorithm.train()["env_runners"]["episode_return_mean"] for _ in range(2)]
algorithm.stop()
ray.shutdown()
print(returns)
