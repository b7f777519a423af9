"""Where the curves of a training go while it runs: TensorBoard, MLflow, or Weights & Biases."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from numbers import Real
from pathlib import Path
from typing import Any

from stable_baselines3.common.logger import KVWriter, Logger, configure

from hushbandits.core import choice

#: What has to be installed, of each.
LOGGERS = {"tensorboard": "torch.utils.tensorboard", "mlflow": "mlflow", "wandb": "wandb"}


def logs_of(kind: str, folder: Path, asked: Mapping[str, object]) -> Logger:
    """Return a ``Logger`` of Stable-Baselines3 that writes there; a run is opened at the first number.

    Parameters
    ----------
    kind : str
        One of `LOGGERS`.  MLflow and Weights & Biases go by their own variables of the environment, such as
        ``MLFLOW_TRACKING_URI`` and ``WANDB_MODE``; a training that goes on opens another run.
    folder : Path
        Of the training: TensorBoard writes one file of events into it, and a run is named after it.
    asked : mapping
        What the training was asked for; a run keeps it as its parameters.

    Raises
    ------
    ValueError
        Another logger.
    ImportError
        It is not installed.
    """
    try:
        module = importlib.import_module(LOGGERS[choice("logger", kind, LOGGERS)])
    except ImportError as error:
        raise ImportError(f"--logger {kind} needs {kind}: pip install {kind} ({error})") from None
    if kind == "tensorboard":
        return configure(str(folder / kind), [kind])
    return Logger(None, [_Curves(kind, module, folder.resolve().name, asked)])


class _Curves(KVWriter):
    """Numbers by their names and steps, for a run of MLflow's or of Weights & Biases'."""

    def __init__(self, kind: str, module: Any, name: str, asked: Mapping[str, object]):
        self._kind, self._module, self._name, self._asked = kind, module, name, asked
        self._run: Any = None

    def write(self, key_values: Mapping[str, object], key_excluded: object, step: int = 0) -> None:
        """Write one row of numbers."""
        numbers = {name: float(value) for name, value in key_values.items() if isinstance(value, Real)}
        if self._kind == "wandb":
            self._run = self._run or self._module.init(project="hushbandits", name=self._name, config={**self._asked})
            self._run.log(numbers, step=step)
            return
        if self._run is None:
            self._run = self._module.start_run(run_name=self._name)
            self._module.log_params({name: str(value) for name, value in self._asked.items()})
        self._module.log_metrics(numbers, step=step)

    def close(self) -> None:
        """End the run."""
        if self._run is not None:
            (self._run.finish if self._kind == "wandb" else self._module.end_run)()
            self._run = None
