"""PPO of RLlib, one policy for all agents: ``pip install "ray[rllib]"``, then run this file."""

import ray
from ray.rllib.algorithms.ppo import PPOConfig
from ray.rllib.core.rl_module.default_model_config import DefaultModelConfig
from ray.rllib.core.rl_module.rl_module import RLModuleSpec
from ray.rllib.env.wrappers.pettingzoo_env import ParallelPettingZooEnv
from ray.tune.registry import register_env

import hushbandits as hb

TASKS = {
    "DPMASE-v0": {"n_agents": 4, "n_arms": 3, "means": hb.UniformMeans(), "delta": 0.5, "horizon": 50},
    "CoopNetwork-v0": {"n_agents": 4, "n_arms": 2, "means": (0.9, 0.1), "horizon": 32},
    "DistDP-v0": {"n_agents": 4, "n_arms": 3, "horizon": 64},
}


def train(env_id, iterations=2, **kwargs):
    """Return the mean return of the last iteration's episodes, all agents together."""
    ray.init(ignore_reinit_error=True, include_dashboard=False, num_cpus=1, log_to_driver=False)
    register_env("hush", lambda config: ParallelPettingZooEnv(hb.make(env_id, **config)))
    config = (
        PPOConfig()
        .environment("hush", env_config=TASKS[env_id] | kwargs)
        .env_runners(num_env_runners=0, num_envs_per_env_runner=1)
        .learners(num_learners=0)
        .multi_agent(policies={"shared"}, policy_mapping_fn=lambda agent, episode, **_: "shared")
        .rl_module(rl_module_spec=RLModuleSpec(), model_config=DefaultModelConfig(fcnet_hiddens=[64]))
        .training(train_batch_size_per_learner=128, minibatch_size=64, num_epochs=2)
        .debugging(seed=0)
    )
    algorithm = config.build_algo()
    for _ in range(iterations):
        result = algorithm.train()
    algorithm.stop()
    return result["env_runners"].get("episode_return_mean")


if __name__ == "__main__":
    for env_id in TASKS:
        print(env_id, train(env_id))
