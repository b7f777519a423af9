"""Records of a training: scores of its policy, the files of its folder, and a model card."""

import json
import math
from collections.abc import Callable, Mapping
from importlib.metadata import distributions
from pathlib import Path
from typing import IO, Any, TypedDict

import numpy as np
from gymnasium import spaces

from hushbandits.adapters.learners import Rows
from hushbandits.baselines.learned import CARD, WEIGHTS, Learned, Network, heads_of, read
from hushbandits.bench.runner.errors import StoreError
from hushbandits.bench.runner.files import PART, replacing
from hushbandits.core import Array, Params, RLTask, Streams, shown, spawn_seeds
from hushbandits.core.random.names import TRAINED, agent

#: Content of ``card.json``: how to play the policy (`hushbandits.baselines.learned.learned`), and its ``training``.
Card = dict[str, Any]
#: Results on held-out episodes: mean and standard error of the return, and the mean of each metric.
Score = TypedDict("Score", {"return": float, "se": float | None, "metrics": dict[str, float]})

#: Offset added to a training's seed; seeds of training episodes are below it.
HELD_OUT = 1 << 64


# -- scores ------------------------------------------------------------------------------------------------------


def score(player: Network, rows: Rows, seed: int) -> Score:
    """Play one episode of `player` in every run; return the `Score` of the episodes: mean return and mean metrics.

    ``se`` is the return's standard error.  Runs and actions are those of ``play(core, team, seed)``.
    """
    player.reset(Streams(spawn_seeds(seed, rows.runs, world=rows.core.seed_text)).below(agent(TRAINED)))
    returns = earned(rows, seed, lambda: player.act(rows.task))
    error = float(returns.std(ddof=1) / math.sqrt(rows.runs)) if rows.runs > 1 else None
    return {"return": float(returns.mean()), "se": error, "metrics": _means(rows.core.metrics())}


def uniform(rows: Rows, seed: int) -> Score:
    """Return the `Score` of choices drawn uniformly from those that have an effect."""
    scores, seen = sum(heads_of(rows.task.action_space)), rows.task.observation_space.shape[0]
    alike = {"head.weight": np.zeros((scores, seen)), "head.bias": np.zeros(scores)}
    policy, space = Learned("uniform", alike, "tanh", masked=True), rows.task.action_space
    return score(_Uniform(policy) if isinstance(space, spaces.Box) else Network(policy), rows, seed)


class _Uniform(Network):
    """A player that draws uniform numbers of a ``Box``."""

    def act(self, task: RLTask, pull: bool = True, talk: bool = True) -> Array:
        return (2.0 * self._uniforms(task.core.n_agents, *heads_of(task.action_space)) - 1.0).astype(np.float32)


def earned(rows: Rows, seed: int, choose: Callable[[], Array]) -> Array:
    """Play one episode in every run, with actions of `choose`; return the mean return over agents ``(R,)``."""
    rows.reset(seed)
    returns = np.zeros(rows.runs)
    going = np.ones(rows.runs, bool)
    while going.any():
        reward, over, _ = rows.step(choose())
        returns += reward.mean(1)
        going &= ~over
    return returns


def _means(metrics: dict[str, Array]) -> dict[str, float]:
    return {k: float(v.mean()) for k, v in metrics.items() if v.ndim == 1 and np.isfinite(v.astype(float)).all()}


# -- the folder ---------------------------------------------------------------------------------------------------


def versions(algo: str) -> dict[str, str]:
    """Return the versions of the packages used to train with `algo`, as far as they are installed."""
    theirs = ("cma",) if algo == "es" else ("stable-baselines3", "torch", "sb3-contrib")
    return {name: it.version for name in ("hushbandits", "numpy", *theirs) for it in [*distributions(name=name)][:1]}


def save(
    out: Path, card: Card, weights: Mapping[str, Array], name: str, checkpoint: Callable[[IO[bytes]], None]
) -> None:
    """Write a policy to the folder `out`, with a checkpoint unless the training is complete."""
    try:
        out.mkdir(parents=True, exist_ok=True)
        _write(out / WEIGHTS, lambda file: np.savez(file, **weights))  # type: ignore[arg-type]
        if not card["training"]["complete"]:
            _write(out / name, checkpoint)
        _write(out / CARD, lambda file: file.write((json.dumps(card, allow_nan=False) + "\n").encode()))
        if card["training"]["complete"]:
            (out / name).unlink(missing_ok=True)
    except OSError as error:
        raise StoreError(f"cannot write to {out}: {(error.strerror or str(error)).lower()}") from None


def _write(path: Path, content: Callable[[IO[bytes]], object]) -> None:
    with replacing(path, binary=True) as file:
        content(file)


def begun(out: Path, asked: Mapping[str, object], resume: bool) -> Card | None:
    """Return the card of the training to continue in `out`, or ``None`` if a new training can start there.

    Raises
    ------
    StoreError
        The folder contains other files, or another training.
    """
    if not (out / CARD).exists():
        if resume:
            raise StoreError(f"{out} has no training to continue; start one without --resume")
        # Files of a training that was stopped at its start do not count as others'.
        names = (path.name for path in out.glob("*"))
        if others := sorted(name for name in names if name != "tensorboard" and not PART.fullmatch(name)):
            raise StoreError(f"--out {out} contains {shown(others[0])} but no training; choose another --out")
        return None
    if not resume:
        raise StoreError(f"{out} has a training already; continue it with --resume, or choose another --out")
    try:
        card = dict(read(out).card)
        before = card["training"]["asked"]
    except (ValueError, KeyError, TypeError) as error:
        raise StoreError(f"{out} has no training to continue: {error}; choose another --out") from None
    for name in {**before, **asked}:
        if before.get(name) != asked.get(name):
            was, now = shown(before.get(name)), shown(asked.get(name))
            raise StoreError(f"{out} contains a training with {name}={was}, not {now}; choose another --out")
    return card


# -- its card -----------------------------------------------------------------------------------------------------


def card(folder: str | Path, license: str | None = None) -> str:
    """Return a policy's model card in Markdown, with its scores and the command that trained it.

    It begins with the metadata for Hugging Face's hub.

    Parameters
    ----------
    folder : str or Path
        Folder of a training.
    license : str, optional
        License identifier of the hub, such as ``"mit"``; default: the card names none.

    Raises
    ------
    ValueError
        The folder has no policy, or no record of the training.
    """
    from jinja2 import Environment, PackageLoader, StrictUndefined

    path = Path(folder)
    policy = read(path)
    if "training" not in policy.card:
        raise ValueError(f"the policy in {path} has no record of its training, which a model card needs")
    training = policy.card["training"]
    scores = training["curve"][-1], training["random"], training["curve"][0]
    mine, theirs, start = ({"return": score["return"], **score["metrics"]} for score in scores)
    top = {"license": license} if license is not None else {}
    folders = PackageLoader("hushbandits", "data/templates")
    env = Environment(loader=folders, undefined=StrictUndefined, trim_blocks=True, keep_trailing_newline=True)
    return env.get_template("model_card.txt").render(
        top=top | _fields(policy, mine), call=_call(policy, f"sb3:{path.resolve().name}"), id=policy.env["type"],
        policy=policy, training=training, mine=mine, theirs=theirs, start=start, said=_said,
    )  # fmt: skip


def _fields(policy: Learned, means: dict[str, float]) -> dict[str, str]:
    """Return the metadata fields of a Hugging Face model card; their values are valid YAML."""
    id = policy.env["type"]
    task = {"type": "reinforcement-learning", "name": "reinforcement-learning"}
    metrics = [{"type": "mean_reward" if k == "return" else k, "name": k, "value": x} for k, x in means.items()]
    result = {"task": task, "dataset": {"name": id, "type": id}, "metrics": metrics}
    return {
        "library_name": "hushbandits",
        "pipeline_tag": "reinforcement-learning",
        "tags": json.dumps(["reinforcement-learning", "multi-agent", "bandits", policy.algorithm, id]),
        "model-index": json.dumps([{"name": f"{policy.algorithm}-{id}", "results": [result]}]),
    }


def _call(policy: Learned, name: str) -> str:
    env = {"permute_arms": True, **{key: value for key, value in policy.env.items() if key != "type"}}
    behind = [dict(part) for part in policy.card["wrappers"]]
    made = ", ".join(f"hb.make_wrapper({part.pop('type')!r}, **{part})" for part in behind)
    wrappers = f", wrappers=[{made}]" if made else ""
    return f"{policy.env['type']!r}, {name!r}, runs=200, seed=1, env={env}{wrappers}"


def _said(name: str, value: float, score: Params) -> str:
    wide = f" ± {1.96 * score['se']:.2g}" if name == "return" and score["se"] is not None else ""
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}{wide}"
