"""Train a policy in legs; each begins with new episodes, so that a training goes on from the end of any of them."""

from __future__ import annotations

import json
import platform
import random
import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from hushbandits.baselines.sb3_file import ALGORITHMS, FORMAT, heads_of, parts_of, sound, understood
from hushbandits.baselines.sb3_network import Network
from hushbandits.bench.declare.canonical import canonical, plain, thaw
from hushbandits.bench.declare.parts import Use
from hushbandits.bench.runner.errors import StoreError
from hushbandits.core.ground.strangers import opened
from hushbandits.core.ground.types import Array, Params
from hushbandits.core.ground.validate import choice, integer, nearest, shown
from hushbandits.core.task import EARNED
from hushbandits.core.wrapper import Wrapper
from hushbandits.learning.evolution import Evolution
from hushbandits.learning.folder import Asked, Told, Training, begun, same, save, versions
from hushbandits.learning.models import Gradient, leg_seed
from hushbandits.learning.score import HELD_OUT, Score, score, uniform
from hushbandits.registry import make_wrapper
from hushbandits.views.learners import Rows, learners_core, learners_own

__all__ = ["train"]

Notify = Callable[[int, Training | None], None]


def _nobody(steps: int, found: Training | None) -> None: ...


def train(
    id: str, out: str | Path, *, algo: str = "ppo", steps: int = 100_000, seed: int = 0, runs: int = 16,
    env: Params | None = None, wrappers: Sequence[Use | str] = (), task: Params | None = None,
    hyper: Params | None = None, evaluations: int = 10, held_out: int = 32, resume: bool = False,
    logger: str | None = None, notify: Notify = _nobody,
) -> Told:  # fmt: skip
    """Train a policy that all agents share, and leave it in a folder, where ``sb3:FOLDER`` plays it.

    What ``hushbandits train`` takes by name means the same here; its ``--set`` is three mappings.

    Parameters
    ----------
    env, task, hyper : mapping
        Parameters of the env, of what the learner sees (``actions``, ``agent_id``, …), and of the algorithm.
    wrappers : sequence of Use or str
        On messages' way, outermost first.
    logger : str, optional
        Where curves go: ``"tensorboard"``, ``"mlflow"`` or ``"wandb"``.
    notify : callable
        Called with the steps done, and after an evaluation with what was found.

    Returns
    -------
    dict
        What ``policy.json`` says; its ``training`` has the curve.

    Raises
    ------
    ValueError, TypeError, ImportError
        Bad input, or a missing extra; nothing was written.
    StoreError
        The folder holds another training, or one that cannot go on.
    """
    choice("algo", algo, ALGORITHMS)
    if algo == "es" and logger is not None:
        raise ValueError(
            f"logger={shown(logger)} is for what Stable-Baselines3 trains; the curve of es is in policy.json"
        )
    uses = Use.several("wrappers", tuple(wrappers))
    asked = {
        "id": id, "algo": algo, "steps": integer("steps", steps, 1), "seed": integer("seed", seed, 0, 2**63 - 1),
        "runs": integer("runs", runs, 1), "env": plain(dict(env or {})),
        "wrappers": [use.to_dict() for use in uses], "task": plain(dict(task or {})),
        "hyper": plain(dict(hyper or {})), "evaluations": integer("evaluations", evaluations, 1),
        "held_out": integer("held_out", held_out, 2),
    }  # fmt: skip
    if not isinstance(id, str):
        raise ValueError(f"id={shown(id)} must be the id of an env")
    given: Asked = json.loads(canonical(asked))
    folder = Path(out)
    _there(begun(folder), folder, given, resume)
    with _apart() if algo != "es" else nullcontext():
        logs = None
        if logger is not None:
            from hushbandits.learning import logs as written

            logs = written.logger(logger, folder, given)
        training = _Training(given, thaw(given["env"]), uses, task or {}, hyper or {}, logs)
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise StoreError(f"cannot write to {folder}: {(error.strerror or str(error)).lower()}") from None
        try:
            return training.play(folder, _there(begun(folder), folder, given, resume), notify)
        finally:
            training.learner.close()


def _there(told: Told | None, folder: Path, asked: Asked, resume: bool) -> Told | None:
    """What a folder holds of the training that is asked for."""
    if told is None:
        if resume:
            raise StoreError(f"{folder} holds no training to go on with; leave out --resume to begin one")
        return None
    if not resume:
        raise StoreError(f"{folder} holds a training already; --resume goes on with it, or choose another --out")
    same(folder, told, asked)
    return told


@contextmanager
def _apart() -> Iterator[None]:
    """Leave the global generators, which the library seeds, as they were; one thread, so that sums keep their order."""
    try:
        import torch
    except ImportError as error:
        raise ImportError(f"training needs PyTorch: pip install 'hushbandits[sb3]' ({error})") from None

    before = random.getstate(), np.random.get_state(), torch.get_rng_state(), torch.get_num_threads()  # noqa: NPY002
    torch.set_num_threads(1)
    try:
        yield
    finally:
        random.setstate(before[0])
        np.random.set_state(before[1])  # noqa: NPY002
        torch.set_rng_state(before[2])
        torch.set_num_threads(before[3])


class _Training:
    """One training: its learner, its held-out episodes, and what ``policy.json`` says of it."""

    def __init__(self, asked: Asked, env: Params, uses: Sequence[Use], task: Params, hyper: Params, logs: Any):
        self.asked = asked
        options = {name: value for name, value in task.items() if value is not None}
        if strange := [name for name in options if name not in (known := learners_own(asked["id"]))]:
            raise TypeError(f"a learner's task takes no parameter {strange[0]!r}{nearest(strange[0], known)}")

        def wrappers() -> list[Wrapper]:
            return [make_wrapper(use.name, **use.params) for use in uses]

        def rows(runs: int) -> Rows:
            return Rows(learners_core(asked["id"], runs, wrappers(), None, env), **options)

        self.rows = rows(asked["held_out"])
        self.learner: Evolution | Gradient
        if asked["algo"] == "es":
            self.learner = Evolution(rows(asked["runs"]), hyper, asked["seed"])
        else:
            from hushbandits.views.make import make_sb3

            venv = make_sb3(asked["id"], asked["runs"], wrappers=wrappers(), **options, **env)
            self.learner = Gradient(asked["algo"], venv, hyper, asked["seed"], logs)
        _, network = self.learner.network()  # refused now rather than after an hour
        kind, heads = heads_of(self.rows.task.action_space)
        self.told: Told = {
            "format": FORMAT,
            "algorithm": asked["algo"],
            "setting": self.rows.core.setting,
            "env": {"use": asked["id"], **asked["env"]},
            "wrappers": asked["wrappers"],
            "options": {name: value for name, value in options.items() if name not in EARNED},
            "observation": [list(part) for part in parts_of(self.rows.task)],
            "action": {"kind": kind, "heads": list(heads)},
            "network": network,
            "deterministic": self.learner.deterministic,
            "masked": self.learner.masked,
            "beats": 1,
            "training": {
                "command": _command(asked), "asked": asked, "versions": versions(asked["algo"]),
                "machine": platform.machine(),
                "steps": 0, "legs": 0, "complete": False, "checkpoint": None, "curve": [],
            },
        }  # fmt: skip
        understood({**self.told})

    def play(self, folder: Path, told: Told | None, notify: Notify) -> Told:
        """Train from where the folder stands to the end."""
        if told is not None and told["training"].get("complete"):
            return told
        training = self.told["training"]
        if told is None:
            training["random"] = uniform(self.rows, HELD_OUT + self.asked["seed"])
            self._look(folder, notify)
        else:
            self.told["training"] = training = told["training"]
            try:
                with opened(folder / Path(str(training["checkpoint"])).name) as file:
                    self.learner.restore(file.read())
            except (OSError, ValueError) as error:
                raise StoreError(f"the training in {folder} cannot go on: {error}; choose another --out") from None
            notify(training["steps"], None)
        legs, steps = self.asked["evaluations"], self.asked["steps"]
        for leg in range(training["legs"], legs):
            self._leg(leg, -(-steps * (leg + 1) // legs), notify)
            training["legs"], training["complete"] = leg + 1, leg + 1 == legs
            self._look(folder, notify)
        return self.told

    def _leg(self, leg: int, end: int, notify: Notify) -> None:
        if self.learner.steps < end:
            seed = leg_seed(self.asked["seed"], leg)
            try:
                self.learner.learn(end, self.asked["steps"], seed, lambda steps: notify(steps, None))
            except (ValueError, RuntimeError):  # PyTorch's, where numbers are NaN
                _finite(self.learner.network()[0])
                raise

    def _look(self, folder: Path, notify: Notify) -> None:
        """Evaluate, and write down how far it is."""
        weights, _ = self.learner.network()
        _finite(weights)
        training, done = self.told["training"], self.learner.steps
        curve = training["curve"]
        if not curve or curve[-1]["steps"] != done:  # else the leg before had reached it
            curve.append({"steps": done, **self._score(weights)})
        training["steps"], found = done, curve[-1]
        save(folder, self.told, weights, None if training["complete"] else self.learner.checkpoint())
        if training["legs"]:
            self.learner.log(found)
        notify(done, training)

    def _score(self, weights: Mapping[str, Array]) -> Score:
        policy = sound(replace(understood({**self.told}), weights=weights))
        name = f"agent/{policy.algorithm} of {policy.env['use']}"
        return score(Network(policy), self.rows, HELD_OUT + self.asked["seed"], name)


def _finite(weights: Mapping[str, Array]) -> None:
    if not all(np.isfinite(array).all() for array in weights.values()):
        raise ValueError("the training has diverged: weights are not finite; a smaller algo.learning_rate may help")


def _command(asked: Asked) -> str:
    """The command that makes this policy, but for its folder."""
    words, said = ["hushbandits", "train", asked["id"]], {**asked}
    for name in ("algo", "steps", "seed", "runs", "evaluations", "held_out"):
        words += [f"--{name.replace('_', '-')}", str(said[name])]
    for prefix, table in (("env", asked["env"]), ("task", asked["task"]), ("algo", asked["hyper"])):
        for key, value in table.items():
            words += ["--set", f"{prefix}.{key}={json.dumps(value, ensure_ascii=False)}"]
    for use in asked["wrappers"]:
        words += ["--wrappers", str(use["use"])]
        for key, value in use.items():
            words += ["--set", f"{use['use']}.{key}={json.dumps(value)}"] if key != "use" else []
    return shlex.join(words)
