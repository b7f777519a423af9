"""A model card: the README that the folder of a trained policy is shared with."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from hushbandits.baselines.sb3_file import Learned, read, table
from hushbandits.bench.declare.parts import Use
from hushbandits.core.ground.strangers import printable
from hushbandits.core.ground.types import Params
from hushbandits.core.ground.validate import integer, real, shown

__all__ = ["card"]

_Z = 1.96


def card(folder: str | Path, license: str | None = None) -> str:
    """Return a model card in Markdown: how a policy is played, what it scored, and which command made it.

    It begins with the fields that Hugging Face's hub reads.  All of it is from ``policy.json``, whose texts are shown
    and not obeyed.

    Parameters
    ----------
    folder : str or Path
        Of a training.
    license : str, optional
        As the hub spells it, such as ``"mit"``; default: the card names none.

    Raises
    ------
    ValueError
        No policy, or one that does not say how it was trained.
    """
    path = Path(folder)
    policy = read(path)
    training = policy.told.get("training")
    if not isinstance(training, dict):
        raise ValueError(f"policy {path} does not say how it was trained: a card would have nothing to tell")
    try:
        parts = [*_fields(policy, training, license), *_played(policy, path.resolve().name)]
        parts += [*_scores(training), *_made(training)]
    except ValueError as error:
        raise ValueError(f"policy {path}: {error}") from None
    return "\n".join(parts) + "\n"


def _fields(policy: Learned, training: Params, license: str | None) -> Iterator[str]:
    """The hub's own, on top."""
    name = f"{policy.algorithm}-{policy.env['use']}"
    tags = ["reinforcement-learning", "multi-agent", "bandits", policy.algorithm, policy.env["use"]]
    yield "---"
    if license is not None:
        yield f"license: {_yaml(license)}"
    yield "library_name: hushbandits"
    yield "pipeline_tag: reinforcement-learning"
    yield f"tags: {_yaml(tags)}"
    results = {
        "task": {"type": "reinforcement-learning", "name": "reinforcement-learning"},
        "dataset": {"name": policy.env["use"], "type": policy.env["use"]},
        "metrics": [
            {"type": "mean_reward" if metric == "return" else metric, "name": metric, "value": value}
            for metric, value in _means(_last(training)).items()
        ],
    }
    yield f"model-index: {_yaml([{'name': name, 'results': [results]}])}"
    yield "---"


def _played(policy: Learned, name: str) -> Iterator[str]:
    id, env = policy.env["use"], Use.from_dict({**policy.env}).params
    asked = ", ".join(f"{key!r}: {value!r}" for key, value in {"permute_arms": True, **env}.items())
    listed = policy.told.get("wrappers", [])
    if not isinstance(listed, list):
        raise ValueError(f"wrappers={shown(listed)} must be a list")
    wrappers = [Use.from_dict(part) for part in listed]
    behind = ", ".join(
        f"hb.make_wrapper({', '.join([repr(w.name), *(f'{k}={v!r}' for k, v in w.params.items())])})" for w in wrappers
    )
    yield f"\n# {_text(policy.algorithm)} on {_text(id)}\n"
    yield f"A policy for the {_text(policy.setting)} setting of `hushbandits`, which all agents of an env share."
    yield "It is played without PyTorch, and nothing in its files is run:\n"
    yield _code("import hushbandits as hb")
    yield ""
    wide = f", wrappers=[{behind}]" if behind else ""
    yield _code(f"results = hb.evaluate({id!r}, {f'sb3:{name}'!r}, runs=200, seed=1, env={{{asked}}}{wide})")
    yield _code("print({metric: results.final(metric).mean() for metric in results.metrics})")
    yield ""
    if policy.features:
        yield "It scores each choice by a few numbers, and plays with any number of arms and agents."
    else:
        yield "An env that shows something else, such as another number of arms, is refused."
    if policy.options:
        yield f"It was trained with {_text(', '.join(f'{k}={v!r}' for k, v in policy.options.items()))}."
    if behind:
        yield "It was trained behind the wrappers above, and sees what they let through."


def _scores(training: Params) -> Iterator[str]:
    asked, last = table("asked", training.get("asked")), _last(training)
    random = table("random", training["random"]) if "random" in training else None
    episodes, done = integer("asked.held_out", asked.get("held_out"), 1), integer("steps", training.get("steps"), 0)
    yield "\n## Scores\n"
    yield f"Means over {episodes:,} held-out episodes, none of which it was trained on; ± is the half-width of a 95 %"
    yield f"interval. The training seed is {integer('asked.seed', asked.get('seed'), 0, 2**63)}; {done:,} steps of"
    yield "single agents were trained on.\n"
    yield "| | this policy | uniform play |"
    yield "|---|---|---|"
    theirs = {} if random is None else _means(random)
    for name, value in _means(last).items():
        cells = [_told(name, value, last), _told(name, theirs[name], random or {}) if name in theirs else ""]
        yield f"| {_text(name)} | {' | '.join(cells)} |"
    yield "\nThese episodes were looked at after each leg of the training. A policy that was chosen by them among"
    yield "several needs fresh ones: the call above plays other seeds."


def _made(training: Params) -> Iterator[str]:
    if training.get("complete") is not True:
        yield "\nThe training is not complete. The checkpoint is for going on with it, and need not be shared."
    yield "\n## How it was made\n"
    yield _code(str(training.get("command")))
    yield "\n| with | version |"
    yield "|---|---|"
    for name, version in {**table("versions", training.get("versions")), "machine": training.get("machine")}.items():
        yield f"| {_text(name)} | {_text(version)} |"


def _last(training: Params) -> Params:
    curve = training.get("curve")
    if not isinstance(curve, list) or not curve:
        raise ValueError(f"curve={shown(curve)} must be a list of one evaluation at least")
    return table("curve", curve[-1])


def _means(score: Mapping[str, object]) -> dict[str, float]:
    found = {"return": score.get("return"), **table("metrics", score.get("metrics"))}
    return {name: real(f"score {name!r}", value) for name, value in found.items()}


def _told(name: str, value: float, score: Mapping[str, object]) -> str:
    error = score.get("se")
    wide = f" ± {_Z * real('se', error, 0):.2g}" if name == "return" and error is not None else ""
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}{wide}"


def _yaml(value: object) -> str:
    """JSON is YAML; a text's escapes would not be."""
    return printable(json.dumps(value, ensure_ascii=False))


def _code(line: str) -> str:
    """A line of an indented block, which no text can end."""
    return f"    {printable(' '.join(line.split()))}"


def _text(text: object) -> str:
    """A text in a sentence or a cell: nothing in it is a mark."""
    return re.sub(r"([\\`*_{}\[\]<>|#&~])", r"\\\1", printable(" ".join(str(text).split())))
