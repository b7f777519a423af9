"""A model card: the README that the folder of a trained policy is shared with."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

from hushbandits.baselines.learned import Learned, read
from hushbandits.core import Params

_Z = 1.96


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
    training = policy.card["training"]
    lines = [*_fields(policy, training, license), *_played(policy, path.resolve().name)]
    return "\n".join([*lines, *_scores(training), *_made(training)]) + "\n"


def _fields(policy: Learned, training: Params, license: str | None) -> Iterator[str]:
    """The hub's own, on top: JSON, which is YAML."""
    id = policy.env["use"]
    metrics = [
        {"type": "mean_reward" if name == "return" else name, "name": name, "value": value}
        for name, value in _means(training["curve"][-1]).items()
    ]
    result = {
        "task": {"type": "reinforcement-learning", "name": "reinforcement-learning"},
        "dataset": {"name": id, "type": id},
        "metrics": metrics,
    }
    tags = ["reinforcement-learning", "multi-agent", "bandits", policy.algorithm, id]
    yield "---"
    if license is not None:
        yield f"license: {license}"
    yield "library_name: hushbandits\npipeline_tag: reinforcement-learning"
    yield f"tags: {json.dumps(tags)}"
    yield f"model-index: {json.dumps([{'name': f'{policy.algorithm}-{id}', 'results': [result]}])}"
    yield "---"


def _played(policy: Learned, name: str) -> Iterator[str]:
    env = {"permute_arms": True, **{key: value for key, value in policy.env.items() if key != "use"}}
    id, behind = policy.env["use"], [dict(part) for part in policy.card["wrappers"]]
    made = ", ".join(f"hb.make_wrapper({part.pop('use')!r}, **{part})" for part in behind)
    wrappers = f", wrappers=[{made}]" if made else ""
    yield f"\n# {policy.algorithm} on {id}\n"
    yield f"A policy for the {policy.setting} setting of `hushbandits`, which all agents of an env share."
    yield "It is played without PyTorch, and nothing in its files is run:\n"
    yield "    import hushbandits as hb\n"
    yield f"    results = hb.evaluate({id!r}, {f'sb3:{name}'!r}, runs=200, seed=1, env={env}{wrappers})"
    yield "    print({metric: results.final(metric).mean() for metric in results.metrics})\n"
    if policy.by_choice:
        yield "It scores each choice by a few numbers, and plays with any number of arms and agents."
    else:
        yield "An env that shows something else, such as another number of arms, is refused."
    if policy.options:
        yield f"It was trained with {', '.join(f'{k}={v!r}' for k, v in policy.options.items())}."
    if behind:
        yield "It was trained behind the wrappers above, and sees what they let through."


def _scores(training: Params) -> Iterator[str]:
    asked, last, random = training["asked"], training["curve"][-1], training["random"]
    yield "\n## Scores\n"
    yield f"Means over {asked['held_out']:,} held-out episodes, none of which it was trained on; ± is the half-width of"
    yield f"a 95 % interval. The training seed is {asked['seed']}; {training['steps']:,} steps of single agents were"
    yield "trained on.\n\n| | this policy | uniform play |\n|---|---|---|"
    theirs = _means(random)
    for name, value in _means(last).items():
        cells = [_said(name, value, last), _said(name, theirs[name], random) if name in theirs else ""]
        yield f"| {name} | {' | '.join(cells)} |"
    yield "\nThese episodes were looked at during the training. A policy that was chosen by them among several needs"
    yield "fresh ones: the call above plays other seeds."


def _made(training: Params) -> Iterator[str]:
    if not training["complete"]:
        yield "\nThe training is not complete. The checkpoint is for going on with it, and need not be shared."
    yield f"\n## How it was made\n\n    {training['command']}\n\n| with | version |\n|---|---|"
    for name, version in {**training["versions"], "machine": training["machine"]}.items():
        yield f"| {name} | {version} |"


def _means(score: Params) -> dict[str, float]:
    return {"return": score["return"], **score["metrics"]}


def _said(name: str, value: float, score: Params) -> str:
    wide = f" ± {_Z * score['se']:.2g}" if name == "return" and score["se"] is not None else ""
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}{wide}"
