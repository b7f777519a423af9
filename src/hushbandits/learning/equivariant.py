"""Permutation-equivariant policies for Stable-Baselines3, which score choices one by one.

A small net, shared by all choices, reads the features of one choice (`hushbandits.baselines.sb3_choices`), so it
works for any number of arms.  Without hidden layers (``net_arch=[]``) the training starts at a hand-written rule, as
that of ``es`` does.  Actions are drawn from the softmax of the scores.  A second net reads the choices for the value;
its outputs are pooled by mean and maximum.
"""

from collections.abc import Sequence

import numpy as np
import torch
from gymnasium import spaces
from sb3_contrib.common.maskable.policies import MaskableActorCriticPolicy
from stable_baselines3.common.distributions import Distribution
from stable_baselines3.common.policies import ActorCriticPolicy, BasePolicy
from stable_baselines3.common.torch_layers import MlpExtractor
from stable_baselines3.common.vec_env import VecEnvWrapper
from torch import nn

from hushbandits.adapters.learners import HORIZONS
from hushbandits.adapters.sb3 import RowsVecEnv
from hushbandits.baselines.sb3_choices import CHOICES, OWN, SCALE, described, described_as, rule
from hushbandits.core import Array, choice


class Described(VecEnvWrapper):
    """Wrapper that replaces each sub-env's observation by the features of its choices, ``(C, F)``.

    Random features are drawn again in each step, from the seed given to `seed`.

    Parameters
    ----------
    venv : RowsVecEnv
    horizon : str
        ``"ends"``: the horizon ends an episode, and what would come later is worth nothing; ``"truncates"``: a learner
        adds the value of the last observation.

    Raises
    ------
    ValueError
        An action consists of more than one choice, or an invalid `horizon`.
    """

    def __init__(self, venv: RowsVecEnv, horizon: str = "ends"):
        venv.truncates = choice("horizon", horizon, HORIZONS) == "truncates"
        self._task = venv.rows.task
        own, space = described_as(self._task), venv.action_space
        if own not in CHOICES or not isinstance(space, spaces.Discrete | spaces.Box):
            raise ValueError(f"algo.policy='equivariant' needs Discrete actions, one for each choice, not {space}")
        self._rng = np.random.default_rng()
        many = int(space.n) if isinstance(space, spaces.Discrete) else self._task.core.n_arms
        super().__init__(venv, spaces.Box(-np.inf, np.inf, (many, len(CHOICES[own])), np.float32))

    def seed(self, seed: int | None = None) -> Sequence[int | None]:
        """Seed the episodes and the random features."""
        self._rng = np.random.default_rng(seed if seed is None else [seed, 1])
        return super().seed(seed)

    def reset(self) -> Array:
        """Reset all episodes; return the features of all choices, ``(R·M, C, F)``."""
        return self._described(self.venv.reset())

    def step_wait(self) -> tuple[Array, Array, Array, list[dict[str, object]]]:
        """Play a step; return features of choices in place of observations, also in the infos of truncated episodes."""
        seen, reward, over, infos = self.venv.step_wait()
        if cut := [info for info in infos if info.get("TimeLimit.truncated")]:
            last = self._described(np.stack([info["terminal_observation"] for info in cut]))
            for info, features in zip(cut, last, strict=True):
                info["terminal_observation"] = features
        return self._described(seen), reward, over, infos

    def _described(self, seen: Array) -> Array:
        uniforms = self._rng.random((len(seen), 1, self.observation_space.shape[0]))
        return described(self._task, seen[:, None], uniforms)[:, 0].astype(np.float32)


class _Head(nn.Linear):
    """Output layer with one score per choice, `SCALE` times a linear function."""

    def forward(self, latent: torch.Tensor) -> torch.Tensor:
        return SCALE * super().forward(latent).squeeze(-1)


class _Pairs(nn.Linear):
    """Output layer with two numbers per choice: all first numbers, then all second ones."""

    def forward(self, latent: torch.Tensor) -> torch.Tensor:
        return super().forward(latent).transpose(-1, -2).flatten(-2)


class _Nets(MlpExtractor):
    """Two networks: one scores each choice; the outputs of the other are pooled over all choices for the value."""

    def __init__(self, shape: tuple[int, int], widths: list[int], activation: type[nn.Module]):
        super().__init__(shape[1], {"pi": widths, "vf": widths or [32]}, activation, "cpu")
        self._shape = shape
        self.latent_dim_vf *= 2

    def forward_actor(self, features: torch.Tensor) -> torch.Tensor:
        return super().forward_actor(features.reshape(-1, *self._shape))

    def forward_critic(self, features: torch.Tensor) -> torch.Tensor:
        each = super().forward_critic(features.reshape(-1, *self._shape))
        return torch.cat([each.mean(1), each.amax(1)], -1)


class _Scores(BasePolicy):
    """Mixin that makes a policy of Stable-Baselines3 score choices one by one."""

    def start_at_rule(self, setting: str) -> None:
        """Set the weights of a linear score to those of the hand-written rule of `setting`."""
        with torch.no_grad():
            self.action_net.weight[:] = torch.as_tensor(rule(setting))
        if setting == "priced":  # an output goes by its own features, and is not moved by the noise of the other
            own = torch.as_tensor(OWN)
            self.action_net.weight.register_hook(lambda gradient: gradient * own)
            self.action_net.bias.register_hook(torch.zeros_like)

    def _get_action_dist_from_latent(self, latent: torch.Tensor) -> Distribution:
        if not isinstance(self.action_space, spaces.Box) or latent.shape[-1] != len(CHOICES["priced"]):
            return super()._get_action_dist_from_latent(latent)
        # numbers are varied where something may be said of the leading arm: others would spend ε on noise
        lead = torch.log(latent[..., CHOICES["priced"].index("lead")] + 0.05)
        noise = self.log_std + torch.cat([torch.zeros_like(lead), lead], -1)
        return self.action_dist.proba_distribution(self.action_net(latent), noise)

    def _build_mlp_extractor(self) -> None:
        widths = self.net_arch if isinstance(self.net_arch, list) else [32, 32]  # a dict is the library's default
        choices, features = self.observation_space.shape
        self.mlp_extractor = _Nets((choices, features), widths, self.activation_fn)
        # logarithms of the standard deviations with which scores and numbers are drawn at first
        noise = nn.Parameter(torch.tensor((-3.0, -1.6)).repeat_interleave(choices))
        self.action_dist.proba_distribution_net = lambda latent_dim: _Head(latent_dim, 1)
        if isinstance(self.action_space, spaces.Box):
            self.action_dist.proba_distribution_net = lambda latent_dim, log_std_init: (_Pairs(latent_dim, 2), noise)


class Equivariant(_Scores, ActorCriticPolicy):
    """Equivariant policy for PPO and A2C."""


class MaskableEquivariant(_Scores, MaskableActorCriticPolicy):
    """Equivariant policy for MaskablePPO."""
