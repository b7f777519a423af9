"""Training with Stable-Baselines3: changed defaults of its algorithms, and loggers."""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Callable, Mapping
from numbers import Real
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, NamedTuple

import numpy as np

from hushbandits.adapters.learners import HORIZONS
from hushbandits.baselines.sb3 import weights_of
from hushbandits.baselines.sb3_choices import described_as
from hushbandits.core import Array, Params, choice, extra, integer, nearest, real, shown, words
from hushbandits.learning.record import Score

if TYPE_CHECKING:
    from stable_baselines3.common.base_class import BaseAlgorithm
    from stable_baselines3.common.logger import Logger
    from stable_baselines3.common.vec_env import VecEnv

    from hushbandits.adapters.sb3 import RowsVecEnv


class Algorithm(NamedTuple):
    """A Stable-Baselines3 algorithm: its module and class, its equivariant policy, and its changed defaults."""

    module: str
    cls: str
    equivariant: str
    hyper: Params


# Entropy bonus: without it a policy soon plays one arm only and stops learning.
_PPO = {"n_steps": 128, "n_epochs": 4, "learning_rate": 1e-3, "ent_coef": 0.01}
_A2C = {"n_steps": 8, "learning_rate": 1e-3, "ent_coef": 0.01}
MODELS = {
    "ppo": Algorithm("stable_baselines3", "PPO", "Equivariant", _PPO),
    "a2c": Algorithm("stable_baselines3", "A2C", "Equivariant", _A2C),
    "maskable-ppo": Algorithm("sb3_contrib", "MaskablePPO", "MaskableEquivariant", _PPO),
}


def build(algo: str, venv: VecEnv, hyper: Params, seed: int) -> BaseAlgorithm:
    """Build a Stable-Baselines3 model of the algorithm `algo` on `venv`, with the hyperparameters `hyper`.

    Raises
    ------
    ImportError
        The extra ``sb3`` is not installed.
    ValueError
        An unknown hyperparameter, or an invalid value.
    """
    kind = MODELS[algo]
    with extra("sb3"):
        cls = getattr(importlib.import_module(kind.module), kind.cls)
    given = {**kind.hyper, **hyper}
    policy: str | type = "MlpPolicy"
    if choice("algo.policy", given.pop("policy", "mlp"), ("mlp", "equivariant")) == "equivariant":
        policy = getattr(importlib.import_module("hushbandits.learning.equivariant"), kind.equivariant)
    network = {"net_arch": widths_of(given.pop("net_arch"))} if "net_arch" in given else {}
    parameters = inspect.signature(cls.__init__).parameters
    for name, value in given.items():
        if name not in parameters:
            raise ValueError(f"algo.{name}={shown(value)} is no parameter of {algo}{nearest(name, parameters)}")
        usual = parameters[name].default
        if isinstance(usual, bool | int | float) and type(value) not in (type(usual), int):
            raise ValueError(f"algo.{name}={shown(value)} must be a {type(usual).__name__}, such as {usual}")
        if name in ("gamma", "gae_lambda"):
            real(f"algo.{name}", value, 0.0, 1.0, closed="both")
    if "ppo" in algo and "batch_size" not in given:
        rollout = integer("algo.n_steps", given["n_steps"], 1) * venv.num_envs
        given["batch_size"] = next(rollout // parts for parts in (4, 3, 2, 1) if rollout % parts == 0)  # equal batches
    try:
        model = cls(policy, venv, seed=seed % 2**32, device="cpu", policy_kwargs=network, **given)
    except Exception as error:  # the library raises various errors for invalid values
        raise ValueError(f"algo={algo!r} cannot be built with {shown(dict(hyper))}: {words(error)}") from error
    if policy != "MlpPolicy" and network.get("net_arch") == []:
        model.policy.start_at_rule(described_as(venv.unwrapped.rows.task))
    return model


def widths_of(layers: object) -> list[int]:
    """Return the widths of hidden layers in `layers`; raise ``ValueError`` unless it is a list of integers ≥ 1."""
    if not isinstance(layers, list | tuple):
        raise ValueError(f"algo.net_arch={shown(layers)} must be a list of widths, such as [64, 64]")
    return [integer("algo.net_arch", width, 1) for width in layers]


class Gradient:
    """A Stable-Baselines3 model in training, which logs to `logs`."""

    checkpoint = "checkpoint.zip"

    def __init__(self, algo: str, venv: RowsVecEnv, hyper: Params, seed: int, logs: Logger | None = None):
        self._seed, self._logs = seed, logs
        self.by_choice = hyper.get("policy") == "equivariant"
        usual = "ends" if self.by_choice else "truncates"
        horizon = choice("algo.horizon", hyper.get("horizon", usual), HORIZONS)
        hyper = {name: value for name, value in hyper.items() if name != "horizon"}
        venv.truncates = horizon == "truncates"
        if self.by_choice:
            from hushbandits.learning.equivariant import Described

            venv = Described(venv, horizon)
        if logs is not None:
            from stable_baselines3.common.vec_env import VecMonitor

            venv = VecMonitor(venv)  # records the returns of episodes
        self.model = build(algo, venv, hyper, seed)
        if logs is not None:
            self.model.set_logger(logs)

    @property
    def steps(self) -> int:
        """Return the number of steps so far, summed over agents."""
        return self.model.num_timesteps

    def network(self) -> tuple[dict[str, Array], str]:
        """Return the model's weights and the name of its activation."""
        return weights_of(self.model)

    def learn(self, steps: int, updated: Callable[[], None], notify: Callable[[int], None]) -> None:
        """Train until `steps` steps are done; call `updated` before each rollout and at the end."""
        import torch
        from stable_baselines3.common.callbacks import BaseCallback

        class Watch(BaseCallback):
            def _on_rollout_start(self) -> None:
                updated()

            def _on_step(self) -> bool:
                notify(self.num_timesteps)
                return True

        threads = torch.get_num_threads()
        torch.set_num_threads(1)  # sums keep their order, and small networks are faster
        try:
            self.model.learn(steps - self.steps, callback=Watch(), reset_num_timesteps=False)
            updated()
        except (ValueError, RuntimeError):  # from PyTorch or the checks below, if numbers are NaN
            if all(parameter.isfinite().all() for parameter in self.model.policy.parameters()):
                raise
            raise ValueError("training diverged: weights are not finite; try a smaller algo.learning_rate") from None
        finally:
            torch.set_num_threads(threads)
            if self._logs is not None:
                self._logs.close()

    def save(self, file: IO[bytes]) -> None:
        """Save the model in the format of Stable-Baselines3."""
        self.model.save(file)

    def restore(self, path: Path, steps: int) -> None:
        """Continue from the weights and optimizer in `path`, with other episodes than an uninterrupted training."""
        self.model.set_parameters(str(path), device="cpu")
        self.model.num_timesteps = steps
        self.model.set_random_seed(mixed(self._seed, steps))

    def log(self, found: Score) -> None:
        """Write held-out results to the logs, if there are any."""
        if self._logs is not None:
            for name, value in {"return": found["return"], **found["metrics"]}.items():
                self._logs.record(f"held_out/{name}", value)
            self._logs.dump(self.steps)


def mixed(seed: int, part: int) -> int:
    """Return a seed derived from a training's `seed` and the index `part`."""
    return int(np.random.SeedSequence([seed, part]).generate_state(1)[0])


#: Loggers, with the package that each needs.
LOGGERS = {"tensorboard": "torch.utils.tensorboard", "mlflow": "mlflow", "wandb": "wandb"}


def logs_of(kind: str, folder: Path, asked: Mapping[str, object]) -> Logger:
    """Return a Stable-Baselines3 ``Logger`` that writes to the service `kind`.

    MLflow and Weights & Biases start their run at the first number.

    Parameters
    ----------
    kind : str
        One of `LOGGERS`.  MLflow and Weights & Biases read their environment variables, such as ``MLFLOW_TRACKING_URI``
        and ``WANDB_MODE``; a resumed training starts a new run.
    folder : Path
        Folder of the training: TensorBoard writes one file into it, and the run has its name.
    asked : mapping
        Settings of the training, stored as the parameters of the run.

    Raises
    ------
    ValueError
        An unknown logger.
    ImportError
        The logger's package is not installed.
    """
    try:
        module = importlib.import_module(LOGGERS[choice("logger", kind, LOGGERS)])
    except ImportError as error:
        raise ImportError(f"--logger {kind} needs {kind}: pip install {kind} ({error})") from None
    from stable_baselines3.common.logger import KVWriter, Logger, configure

    if kind == "tensorboard":
        return configure(str(folder / kind), [kind])

    class Curves(KVWriter):
        """Writer of numbers by name and step to a run of MLflow or Weights & Biases."""

        run: Any = None

        def write(self, key_values: Mapping[str, object], key_excluded: object, step: int = 0) -> None:
            """Write the numbers in `key_values` at step `step`."""
            numbers = {name: float(value) for name, value in key_values.items() if isinstance(value, Real)}
            if kind == "wandb":
                self.run = self.run or module.init(project="hushbandits", name=own, config={**asked})
                self.run.log(numbers, step=step)
                return
            if self.run is None:
                self.run = module.start_run(run_name=own)
                module.log_params({name: str(value) for name, value in asked.items()})
            module.log_metrics(numbers, step=step)

        def close(self) -> None:
            """End the run."""
            if self.run is not None:
                (self.run.finish if kind == "wandb" else module.end_run)()
                self.run = None

    own = folder.resolve().name
    return Logger(None, [Curves()])
