"""MAPPO of BenchMARL: an env of TorchRL becomes a task of one's own."""

import contextlib
import tempfile

from benchmarl.algorithms import MappoConfig
from benchmarl.environments.common import TaskClass
from benchmarl.experiment import Experiment, ExperimentConfig
from benchmarl.models.mlp import MlpConfig

import hushbandits as hb


class HushTask(TaskClass):
    def get_env_fun(self, num_envs, continuous_actions, seed, device):
        return lambda: hb.make_torchrl(self.name, num_envs, device=device, **self.config)

    def only(self, env, kept):
        spec = env.full_observation_spec_unbatched.clone()
        del spec["agents", "action_mask" if kept == "observation" else "observation"]
        return spec

    supports_continuous_actions = lambda self: False  # noqa: E731
    supports_discrete_actions = lambda self: True  # noqa: E731
    has_render = lambda self, env: False  # noqa: E731
    max_steps = lambda self, env: env.core.horizon  # noqa: E731
    group_map = lambda self, env: env.group_map  # noqa: E731
    observation_spec = lambda self, env: self.only(env, "observation")  # noqa: E731
    action_mask_spec = lambda self, env: self.only(env, "action_mask")  # noqa: E731
    action_spec = lambda self, env: env.full_action_spec_unbatched  # noqa: E731
    state_spec = info_spec = lambda self, env: None
    env_name = staticmethod(lambda: "hushbandits")


config, mlp = ExperimentConfig.get_from_yaml(), MlpConfig.get_from_yaml()
config.loggers, config.create_json, config.evaluation, config.max_n_frames = [], False, False, 512
config.on_policy_collected_frames_per_batch, config.on_policy_n_envs_per_worker = 128, 4
config.on_policy_n_minibatch_iters, config.on_policy_minibatch_size = 2, 64
task = HushTask("CoopNetwork-v0", {"n_agents": 4, "means": (0.9, 0.1), "horizon": 32})
with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):  # BenchMARL writes a folder
    experiment = Experiment(task, MappoConfig.get_from_yaml(), mlp, 0, config, mlp)
    experiment.run()
print(experiment.mean_return)
