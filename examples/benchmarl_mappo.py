"""MAPPO of BenchMARL on the TorchRL view, as a user-defined task: ``pip install benchmarl``, then run this file."""

import contextlib
import tempfile

import torch
from benchmarl.algorithms import MappoConfig
from benchmarl.environments.common import TaskClass
from benchmarl.experiment import Experiment, ExperimentConfig
from benchmarl.models.mlp import MlpConfig

import hushbandits as hb

TASKS = {
    "DPMASE-v0": {"n_agents": 4, "n_arms": 3, "means": hb.UniformMeans(), "delta": 0.5, "horizon": 50},
    "CoopNetwork-v0": {"n_agents": 4, "n_arms": 2, "means": (0.9, 0.1), "horizon": 32},
    "DistDP-v0": {"n_agents": 4, "n_arms": 3, "horizon": 64},
}


class HushTask(TaskClass):
    def get_env_fun(self, num_envs, continuous_actions, seed, device):
        def make():
            env = hb.make_torchrl(self.name, num_envs, device=device, **self.config)
            env.set_seed(seed)
            return env

        return make

    supports_continuous_actions = lambda self: False  # noqa: E731
    supports_discrete_actions = lambda self: True  # noqa: E731
    has_render = lambda self, env: False  # noqa: E731
    max_steps = lambda self, env: env.rows.core.horizon  # noqa: E731
    group_map = lambda self, env: env.group_map  # noqa: E731
    state_spec = info_spec = lambda self, env: None
    action_spec = lambda self, env: env.full_action_spec_unbatched  # noqa: E731
    env_name = staticmethod(lambda: "hushbandits")

    observation_spec = lambda self, env: only(env, "observation")  # noqa: E731
    action_mask_spec = lambda self, env: only(env, "action_mask")  # noqa: E731


def only(env, wanted):
    spec = env.full_observation_spec_unbatched
    return type(spec)(agents=type(spec)({wanted: spec["agents", wanted]}, shape=spec["agents"].shape))


def train(env_id, frames=512, **kwargs):
    """Return the mean episode return of the last evaluation."""
    torch.set_num_threads(1)  # the nets are small
    config = ExperimentConfig.get_from_yaml()
    config.loggers, config.render, config.create_json, config.max_n_frames = [], False, False, frames
    config.on_policy_collected_frames_per_batch, config.on_policy_n_envs_per_worker = 128, 4
    config.on_policy_n_minibatch_iters, config.on_policy_minibatch_size = 2, 64
    config.evaluation, config.checkpoint_interval = False, 0
    mlp = MlpConfig.get_from_yaml()
    task = HushTask(env_id, TASKS[env_id] | kwargs)
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):  # BenchMARL writes a folder
        experiment = Experiment(task, MappoConfig.get_from_yaml(), mlp, 0, config, mlp)
        experiment.run()
    return experiment.mean_return


if __name__ == "__main__":
    for env_id in TASKS:
        print(env_id, f"{train(env_id):.2f}")
