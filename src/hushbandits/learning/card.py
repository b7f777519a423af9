"""A model card: the README that the folder of a trained policy is shared with."""

from __future__ import annotations

import json
import string
from importlib.resources import files
from pathlib import Path

from hushbandits.baselines.learned import Learned, read
from hushbandits.core import Params

_TEMPLATE = files("hushbandits") / "data" / "templates" / "model_card.txt"


def card(folder: str | Path, license: str | None = None) -> str:
    """Return a model card in Markdown: how a policy is played, what it scored, and which command made it.

    It begins with the fields that Hugging Face's hub reads.

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
    if "training" not in policy.card:
        raise ValueError(f"policy {path} does not say how it was trained: a card would have nothing to tell")
    training, id = policy.card["training"], policy.env["use"]
    last, random = training["curve"][-1], training["random"]
    mine, theirs = ({"return": score["return"], **score["metrics"]} for score in (last, random))
    rows = [
        f"| {name} | {_said(name, value, last)} | {_said(name, theirs[name], random) if name in theirs else ''} |"
        for name, value in mine.items()
    ]
    with_ = {**training["versions"], "machine": training["machine"]}
    top = {"license": license, **_fields(policy, mine)}
    said = {
        "top": "\n".join(f"{key}: {value}" for key, value in top.items() if value is not None),
        "call": _call(policy, f"sb3:{path.resolve().name}"), "notes": " ".join(_notes(policy)), "id": id,
        "algorithm": policy.algorithm, "setting": policy.setting, "command": training["command"],
        "held_out": f"{training['asked']['held_out']:,}", "seed": training["asked"]["seed"],
        "steps": f"{training['steps']:,}", "scores": "\n".join(rows),
        "versions": "\n".join(f"| {name} | {version} |" for name, version in with_.items()),
    }  # fmt: skip
    return string.Template(_TEMPLATE.read_text(encoding="utf-8")).substitute(said)


def _fields(policy: Learned, means: dict[str, float]) -> dict[str, str]:
    """The hub's own, on top: JSON, which is YAML."""
    id = policy.env["use"]
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
    env = {"permute_arms": True, **{key: value for key, value in policy.env.items() if key != "use"}}
    behind = [dict(part) for part in policy.card["wrappers"]]
    made = ", ".join(f"hb.make_wrapper({part.pop('use')!r}, **{part})" for part in behind)
    wrappers = f", wrappers=[{made}]" if made else ""
    return f"{policy.env['use']!r}, {name!r}, runs=200, seed=1, env={env}{wrappers}"


def _notes(policy: Learned) -> list[str]:
    options = ", ".join(f"{key}={value!r}" for key, value in policy.options.items())
    notes = {
        "It scores each choice by a few numbers, and plays with any number of arms and agents.": policy.by_choice,
        "An env that shows something else, such as another number of arms, is refused.": not policy.by_choice,
        f"It was trained with {options}.": options,
        "It was trained behind the wrappers above, and sees what they let through.": policy.card["wrappers"],
        "The training is not complete: its checkpoint is for going on with it, and need not be shared.": (
            not policy.card["training"]["complete"]
        ),
    }
    return [note for note, holds in notes.items() if holds]


def _said(name: str, value: float, score: Params) -> str:
    wide = f" ± {1.96 * score['se']:.2g}" if name == "return" and score["se"] is not None else ""
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}{wide}"
