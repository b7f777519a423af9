"""The algorithms: what of Stable-Baselines3 they are, with which defaults, and what they need to go on."""

from __future__ import annotations

import importlib
import inspect
import io
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from gymnasium import spaces

from hushbandits.baselines.sb3_model import Whole, arrays
from hushbandits.core.ground.names import words
from hushbandits.core.ground.spec import default
from hushbandits.core.ground.types import Array, Params
from hushbandits.core.ground.validate import choice, flag, integer, nearest, real, shown
from hushbandits.learning.score import Score

if TYPE_CHECKING:
    from stable_baselines3.common.base_class import BaseAlgorithm
    from stable_baselines3.common.logger import Logger
    from stable_baselines3.common.vec_env import VecEnv

    from hushbandits.views.sb3 import RowsVecEnv

__all__ = ["MODELS", "Algorithm", "Gradient", "build", "checkpoint", "leg_seed", "restore", "start"]


@dataclass(frozen=True)
class Algorithm:
    """An algorithm: its class and its policy's name, what differs from the library's defaults; how it is played."""

    module: str
    cls: str
    policy: str
    hyper: Params
    masked: bool = False
    deterministic: bool = False


# The bonus for entropy: without it a policy soon plays one arm for ever, and learns nothing more.
_PPO = {"n_steps": 128, "n_epochs": 4, "learning_rate": 1e-3, "ent_coef": 0.01}
MODELS = {
    "ppo": Algorithm("stable_baselines3", "PPO", "MlpPolicy", _PPO),
    "dqn": Algorithm(
        "stable_baselines3", "DQN", "MlpPolicy",
        {"buffer_size": 50_000, "learning_starts": 1000, "train_freq": 1, "target_update_interval": 2000,
         "batch_size": 128, "learning_rate": 5e-4, "exploration_fraction": 0.3},
        deterministic=True,
    ),
    "a2c": Algorithm("stable_baselines3", "A2C", "MlpPolicy", {"n_steps": 8, "learning_rate": 1e-3, "ent_coef": 0.01}),
    "recurrent-ppo": Algorithm("sb3_contrib", "RecurrentPPO", "MlpLstmPolicy", {**_PPO, "lstm_hidden_size": 64}),
    "maskable-ppo": Algorithm("sb3_contrib", "MaskablePPO", "MlpPolicy", _PPO, masked=True),
}  # fmt: skip

#: Of each algorithm that has one: the policy that scores choices one by one.
_EQUIVARIANT = {"ppo": "Equivariant", "a2c": "Equivariant", "maskable-ppo": "MaskableEquivariant"}
#: Parameters of the policy's network rather than of the algorithm.
_NETWORK = ("net_arch", "lstm_hidden_size")
_OURS = ("self", "policy", "env", "seed", "device", "verbose", "tensorboard_log", "policy_kwargs", "_init_setup_model")
_COUNTERS = ("num_timesteps", "_n_calls", "_n_updates", "exploration_rate")
_BUFFER = ("observations", "next_observations", "actions", "rewards", "dones", "timeouts")


def build(algo: str, venv: VecEnv, hyper: Params, seed: int) -> BaseAlgorithm:
    """Build a model.

    ``ImportError``: the extra ``sb3`` is not installed.  ``ValueError``, ``TypeError``: a hyperparameter that it does
    not take, or a bad value; actions that the algorithm cannot choose.
    """
    kind = MODELS[algo]
    try:
        cls = getattr(importlib.import_module(kind.module), kind.cls)
    except ImportError as error:
        raise ImportError(f"--algo {algo} needs {kind.module}: pip install 'hushbandits[sb3]' ({error})") from None
    known = [p for p in inspect.signature(cls.__init__).parameters if p not in _OURS] + ["net_arch"]
    known += ["lstm_hidden_size"] if kind.policy == "MlpLstmPolicy" else []
    known += ["policy"] if algo in _EQUIVARIANT else []
    for name, value in hyper.items():
        if name not in known:
            raise TypeError(f"{algo} takes no parameter {name!r}{nearest(name, known)}")
        _plain(f"algo.{name}", value, default(cls.__init__, name))
    if algo == "dqn" and not isinstance(venv.action_space, spaces.Discrete):
        raise ValueError(f"dqn takes one choice at a time, not {venv.action_space}: set task.actions=discrete")
    given = {**kind.hyper, **hyper}
    policy: Any = kind.policy
    if given.pop("policy", "mlp") == "equivariant":
        policy = getattr(importlib.import_module("hushbandits.learning.equivariant"), _EQUIVARIANT[algo])
    if "ppo" in algo and "batch_size" not in given:
        rollout = integer("algo.n_steps", given["n_steps"], 1) * venv.num_envs
        given["batch_size"] = next(rollout // parts for parts in (4, 3, 2, 1) if rollout % parts == 0)  # equal ones
    network = {name: given.pop(name) for name in _NETWORK if name in given}
    try:
        return cls(policy, venv, seed=seed % 2**32, device="cpu", policy_kwargs=network, **given)
    except Exception as error:  # what the library says of a bad value takes many forms
        raise ValueError(f"algo: {algo} with {shown(hyper)}: {words(error)}") from error


def _plain(name: str, value: object, usual: object) -> None:
    """Raise ``ValueError`` unless a hyperparameter is what its default is."""
    if name == "algo.net_arch":
        if not isinstance(value, list) or len(value) > 16:
            raise ValueError(f"{name}={shown(value)} must be a list of at most 16 widths, such as [64, 64]")
        for width in value:
            integer(name, width, 1, 65_536)
    elif name == "algo.policy":
        choice(name, value, ("mlp", "equivariant"))
    elif name == "algo.lstm_hidden_size":
        integer(name, value, 1, 65_536)
    elif isinstance(usual, bool):
        flag(name, value)
    elif isinstance(usual, int):
        integer(name, value, -1)
    elif value is not None or usual is not None:
        real(name, value)


def start(model: BaseAlgorithm, seed: int) -> None:
    """Begin a leg: from here on only the seed and what a `checkpoint` holds decide what happens."""
    model.set_random_seed(seed % 2**32)
    model._last_obs = None
    if getattr(model, "_last_lstm_states", None) is not None:
        for states in model._last_lstm_states:
            for state in states:
                state.zero_()


def checkpoint(model: BaseAlgorithm) -> bytes:
    """Return what a model needs to go on, as PyTorch writes plain tensors and numbers."""
    import torch

    told: dict[str, object] = {
        "policy": model.policy.state_dict(),
        "optimizer": model.policy.optimizer.state_dict(),
        "counters": {name: getattr(model, name) for name in _COUNTERS if hasattr(model, name)},
    }
    buffer = getattr(model, "replay_buffer", None)
    if buffer is not None:
        rows = buffer.buffer_size if buffer.full else buffer.pos
        told["buffer"] = {name: torch.as_tensor(getattr(buffer, name)[:rows]) for name in _BUFFER}
        told["at"] = [int(buffer.pos), int(buffer.full)]
    content = io.BytesIO()
    torch.save(told, content)
    return content.getvalue()


def restore(model: BaseAlgorithm, content: bytes) -> None:
    """Put a checkpoint into a model; nothing in it is run.

    ``ValueError``: the content is damaged, or is another model's.
    """
    import torch

    try:
        told = torch.load(io.BytesIO(content), weights_only=True)
        model.policy.load_state_dict(told["policy"])
        model.policy.optimizer.load_state_dict(told["optimizer"])
        for name, value in told["counters"].items():
            if name in _COUNTERS:
                setattr(model, name, value)
        if "buffer" in told:
            buffer = model.replay_buffer
            for name in _BUFFER:
                rows = told["buffer"][name].numpy()
                getattr(buffer, name)[: len(rows)] = rows
            buffer.pos, buffer.full = int(told["at"][0]), bool(told["at"][1])
    except Exception as error:  # damage takes many forms
        raise ValueError(f"the checkpoint cannot be read: {words(error)}") from None


class Gradient:
    """A model of Stable-Baselines3 in training, leg by leg; `logs` is a logger of the library's."""

    def __init__(self, algo: str, venv: RowsVecEnv, hyper: Params, seed: int, logs: Logger | None = None):
        self._logged = logs is not None
        #: What describes a choice, where the policy scores them one by one.
        self._features: tuple[str, ...] = ()
        if hyper.get("policy") == "equivariant" and algo in _EQUIVARIANT:
            from hushbandits.learning.equivariant import Described

            venv = Described(venv)
            self._features = venv.features
        if logs is None:
            self.model = build(algo, venv, hyper, seed)
        else:
            from stable_baselines3.common.vec_env import VecMonitor

            self.model = build(algo, VecMonitor(venv), hyper, seed)  # which adds up the returns of episodes
            self.model.set_logger(logs)  # else every leg begins one of its own
        self.masked, self.deterministic = MODELS[algo].masked, MODELS[algo].deterministic

    @property
    def steps(self) -> int:
        """How many steps of single agents are done."""
        return self.model.num_timesteps

    def network(self) -> tuple[dict[str, Array], Whole]:
        """Return its weights, as they are stored, and what network it is."""
        weights, net = arrays(self.model)
        return weights, {**net, "features": list(self._features)} if self._features else net

    def learn(self, end: int, of: int, seed: int, notify: Callable[[int], None]) -> None:
        """Begin a leg under `seed`, and go on until `end` steps are done, `of` so many in all."""
        from stable_baselines3.common.callbacks import BaseCallback

        class Watch(BaseCallback):
            def _on_training_start(self) -> None:
                self.model._total_timesteps = of  # schedules run over all legs

            def _on_step(self) -> bool:
                notify(self.model.num_timesteps)
                return True

        start(self.model, seed)
        self.model.learn(end - self.steps, callback=Watch(), reset_num_timesteps=False)

    def checkpoint(self) -> bytes:
        """Return what it needs to go on."""
        return checkpoint(self.model)

    def restore(self, content: bytes) -> None:
        """Go where a checkpoint was written."""
        restore(self.model, content)

    def log(self, found: Score) -> None:
        """Write what was found in held-out episodes to the logs, if they are asked for."""
        if self._logged:
            self.model.logger.record("held_out/return", found["return"])
            for name, value in found["metrics"].items():
                self.model.logger.record(f"held_out/{name}", value)
            self.model.logger.dump(self.steps)

    def close(self) -> None:
        """No more is logged."""
        if self._logged:
            self.model.logger.close()


def leg_seed(seed: int, leg: int) -> int:
    """Return the seed of a training's leg."""
    return int(np.random.SeedSequence([seed, leg]).generate_state(1)[0])
