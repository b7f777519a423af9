"""Train a policy, with evaluations on held-out episodes."""

import json
import platform
import shlex
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from hushbandits.adapters.learners import Rows, learners_core
from hushbandits.adapters.make import make_sb3
from hushbandits.baselines.learned import Network, learned, parts_of
from hushbandits.bench.runner.errors import StoreError
from hushbandits.bench.spec.parts import Component, thaw
from hushbandits.core import Params, Wrapper, choice, integer, shown
from hushbandits.core.random.seed_text import canonical, plain
from hushbandits.core.task import EARNED
from hushbandits.learning.evolution import Evolution
from hushbandits.learning.models import MODELS, Gradient, logs_of
from hushbandits.learning.record import HELD_OUT, Card, begun, save, score, uniform, versions
from hushbandits.registry import make_wrapper

ALGORITHMS = (*MODELS, "es")
#: Called with the number of steps done, and after an evaluation with the ``training`` entry of ``card.json``.
Notify = Callable[[int, Params | None], None]


def train(
    id: str, out: str | Path, *, algo: str = "ppo", steps: int = 100_000, seed: int = 0, runs: int = 16,
    env: Params | None = None, wrappers: Sequence[Component | str] = (), task: Params | None = None,
    hyper: Params | None = None, evaluations: int = 10, held_out: int = 32, resume: bool = False,
    logger: str | None = None, notify: Notify = lambda steps, training: None,
) -> Card:  # fmt: skip
    """Train a policy that all agents share, and save it in a folder; ``sb3:FOLDER`` plays it.

    Parameters have the meaning of the options of ``hushbandits train``; ``--set`` is split into three mappings.

    Parameters
    ----------
    env, task, hyper : mapping
        Parameters of the env, of the learning task (``action_format``, ``agent_id``, …), and of the algorithm.
    wrappers : sequence of Use or str
        Wrappers of messages, outermost first.
    logger : str, optional
        Service for the curves: ``"tensorboard"``, ``"mlflow"`` or ``"wandb"``.
    notify : callable
        Called with the number of steps done, and after an evaluation with its results.

    Returns
    -------
    dict
        Content of ``card.json``; its ``training`` has the curve.

    Raises
    ------
    ValueError, TypeError, ImportError
        Invalid input, or a missing extra; nothing was written.
    StoreError
        The folder has another training, or one that cannot continue.
    """
    choice("algo", algo, ALGORITHMS)
    if algo == "es" and logger is not None:
        raise ValueError(f"logger={shown(logger)} is not available with algo='es'; card.json has the learning curve")
    if not isinstance(id, str):
        raise ValueError(f"id={shown(id)} must be the id of an env")
    uses = Component.several("wrappers", tuple(wrappers))
    asked = {
        "id": id, "algo": algo, "steps": integer("steps", steps, 1), "seed": integer("seed", seed, 0, 2**63 - 1),
        "runs": integer("runs", runs, 1), "env": plain(dict(env or {})),
        "wrappers": [use.to_dict() for use in uses], "task": plain(dict(task or {})),
        "hyper": plain(dict(hyper or {})), "evaluations": integer("evaluations", evaluations, 1),
        "held_out": integer("held_out", held_out, 2),
    }  # fmt: skip
    given = json.loads(canonical(asked))
    folder = Path(out)
    before = begun(folder, given, resume)
    if before is not None and before["training"]["complete"]:
        return before
    return _Training(folder, given, uses, hyper or {}, logger, notify).play(before)


class _Training:
    """One training, with its learner, its held-out episodes and the content of ``card.json``."""

    def __init__(
        self, folder: Path, asked: Card, uses: Sequence[Component], hyper: Params, logger: str | None, notify: Notify
    ):
        self.folder, self.asked, self.notify = folder, asked, notify
        id, env = asked["id"], thaw(asked["env"])
        options = {name: value for name, value in asked["task"].items() if value is not None}

        def wrappers() -> list[Wrapper]:
            return [make_wrapper(use.name, **use.params) for use in uses]

        def rows(runs: int) -> Rows:
            return Rows(learners_core(id, runs, wrappers(), None, env), **options)

        self.rows = rows(asked["held_out"])
        self.rl_task: Evolution | Gradient
        if asked["algo"] == "es":
            self.rl_task = Evolution(rows(asked["runs"]), asked["seed"], **hyper)
        else:
            venv = make_sb3(id, asked["runs"], wrappers=wrappers(), **{**options, **env})
            logs = None if logger is None else logs_of(logger, folder, asked)
            self.rl_task = Gradient(asked["algo"], venv, hyper, asked["seed"], logs)
        self.card: Card = {
            "algorithm": asked["algo"], "setting": self.rows.core.setting, "env": {"type": id, **asked["env"]},
            "wrappers": asked["wrappers"],
            "options": {name: value for name, value in options.items() if name not in EARNED},
            "observation": parts_of(self.rows.task), "activation": self.rl_task.network()[1],
            "by_choice": self.rl_task.by_choice, "deterministic": asked["algo"] == "es",
            "masked": asked["algo"] in ("es", "maskable-ppo"), "two_phase": False,
            "training": {
                "command": _command(asked), "asked": asked, "versions": versions(asked["algo"]),
                "machine": platform.machine(), "steps": -1, "complete": False, "curve": [],
            },
        }  # fmt: skip

    def play(self, before: Card | None) -> Card:
        """Train to the end, from the start or from the stopped training with card `before`; return the card."""
        training = self.card["training"]
        if before is None:
            training["random"] = uniform(self.rows, HELD_OUT + self.asked["seed"])
        else:
            self.card = before
            training = before["training"]
            try:
                self.rl_task.restore(self.folder / self.rl_task.checkpoint, training["steps"])
            except Exception as error:  # damaged files raise various errors
                raise StoreError(f"the training in {self.folder} cannot continue: {error}") from error
            self.notify(training["steps"], None)
        legs, steps = self.asked["evaluations"], self.asked["steps"]
        ends = np.array([-(-steps * leg // legs) for leg in range(legs + 1)])

        def updated() -> None:
            if ((training["steps"] < ends) & (ends <= self.rl_task.steps)).any():
                self._evaluate()

        self.rl_task.learn(steps, updated, lambda done: self.notify(done, None))
        return self.card

    def _evaluate(self) -> None:
        """Evaluate the policy, and record the progress."""
        training, done = self.card["training"], self.rl_task.steps
        weights = {name: array.astype(np.float32) for name, array in self.rl_task.network()[0].items()}
        policy = learned(self.card, {name: array.astype(float) for name, array in weights.items()})
        found = score(Network(policy), self.rows, HELD_OUT + self.asked["seed"])
        training["curve"].append({"steps": done, **found})
        training["steps"], training["complete"] = done, done >= self.asked["steps"]
        save(self.folder, self.card, weights, self.rl_task.checkpoint, self.rl_task.save)
        if done:
            self.rl_task.log(found)
        self.notify(done, training)


def _command(asked: Card) -> str:
    """Return the `hushbandits train` command that trains this policy, without `--out`."""
    words = ["hushbandits", "train", asked["id"]]
    for name in ("algo", "steps", "seed", "runs", "evaluations", "held_out"):
        words += [f"--{name.replace('_', '-')}", str(asked[name])]
    settings: list[tuple[str, Params]] = [("env", asked["env"]), ("task", asked["task"]), ("algo", asked["hyper"])]
    for use in asked["wrappers"]:
        words += ["--wrappers", use["type"]]
        settings.append((use["type"], {key: value for key, value in use.items() if key != "type"}))
    for owner, given in settings:
        for key, value in given.items():
            words += ["--set", f"{owner}.{key}={json.dumps(value, ensure_ascii=False)}"]
    return shlex.join(words)
