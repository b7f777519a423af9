"""IPPO of skrl on PettingZoo's parallel API; its wrapper passes no masks."""

from skrl.envs.wrappers.torch import wrap_env
from skrl.memories.torch import RandomMemory
from skrl.models.torch import CategoricalMixin, DeterministicMixin, Model
from skrl.multi_agents.torch.ippo import IPPO
from skrl.trainers.torch import SequentialTrainer
from torch import nn

import hushbandits as hb


class Policy(CategoricalMixin, Model):
    def __init__(self, **spaces):
        Model.__init__(self, **spaces)
        CategoricalMixin.__init__(self)
        self.net = nn.Sequential(nn.Linear(self.num_observations, 64), nn.Tanh(), nn.Linear(64, self.num_actions))

    def compute(self, inputs, role):
        return self.net(inputs["observations"]), {}


class Value(DeterministicMixin, Model):
    def __init__(self, **spaces):
        Model.__init__(self, **spaces)
        DeterministicMixin.__init__(self)
        self.net = nn.Sequential(nn.Linear(self.num_observations, 64), nn.Tanh(), nn.Linear(64, 1))

    compute = Policy.compute


env = wrap_env(hb.make("CoopNetwork-v0", n_agents=4, means=(0.9, 0.1), horizon=32), wrapper="pettingzoo")
spaces = {name: getattr(env, name) for name in ("observation_spaces", "state_spaces", "action_spaces")}
models, memories, config = {}, {}, {"rollouts": 32, "time_limit_bootstrap": True}
config["experiment"] = {"write_interval": 0, "checkpoint_interval": 0}  # else it writes a folder
for agent in env.possible_agents:
    own = {name[:-1]: space[agent] for name, space in spaces.items()}
    models[agent] = {"policy": Policy(**own, device=env.device), "value": Value(**own, device=env.device)}
    memories[agent] = RandomMemory(memory_size=32, num_envs=1, device=env.device)
    for name in ("learning_rate_scheduler", "observation_preprocessor", "state_preprocessor", "value_preprocessor"):
        config.setdefault(f"{name}_kwargs", {})[agent] = {}  # skrl 2.1 refuses its own default
learner = IPPO(possible_agents=env.possible_agents, models=models, memories=memories, cfg=config, **spaces)
SequentialTrainer(
    env=env, agents=learner, cfg={"timesteps": 256, "headless": True, "disable_progressbar": True}
).train()
