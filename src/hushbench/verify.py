"""Verify a submission by playing a part of its runs again."""

import math
import secrets
import tempfile
from collections.abc import Mapping
from pathlib import Path

import numpy as np

import hushbandits as hb
from hushbench.play import Failed, admit, fresh, play
from hushbench.submission import Submission, read
from hushbench.tasks import Array, entry, of, source, tasks

#: Maximum number of parts of the runs; one of them is played again.
PARTS = 8
#: Difference up to which numbers are equal, also relative: machines add in different orders.
SLACK = 1e-9
#: Probability of at least the difference between stated and fresh scores, below which a submission is refused.
CHANCE = 1e-3


def verify(path: Path, agent: str | None, options: hb.RunOptions, shard: str | None = None) -> str:
    """Check a submission, replay a part of its runs and compare each number, and compare scores on fresh seeds.

    No code of the submission is imported or run: the agent is built-in, installed, or named by the caller.

    Parameters
    ----------
    path : Path
        The submission.
    agent : str, optional
        The agent, if its name is not registered: ``"module:Name"`` or ``"sb3:FOLDER"``.
    options : RunOptions
        Processes and the like.
    shard : str, optional
        Part and number of parts, such as ``"2/8"``; default: one of `PARTS`, or of as many as there are tasks, drawn at
        random at each call, so that the author of a submission cannot predict it.

    Returns
    -------
    str
        A sentence that says what was played.

    Raises
    ------
    Failed
        A number differs from the replayed one, or scores from those on fresh seeds; the message names it.
    ValueError
        The file is not a submission, its agent is not named or is another one, or the part has no run.
    """
    submission = read(path)
    use = _trusted(path, submission, agent)
    said, here = submission.data["tasks"], admit(use, submission.tasks)
    for name in said:  # the words of a refusal may differ
        _same(f"{path}: {name} refused", "refused" in said[name], "refused" in here.get(name, {}))
        for field in ("epsilon", "run_epsilon"):
            _same(f"{path}: {name} {field}", said[name].get(field), here.get(name, {}).get(field))
    playable = [task for task in submission.tasks if task.name in submission.values]
    parts = min(PARTS, len(playable))  # so that each part has a run
    shard = shard or f"{1 + secrets.randbelow(parts)}/{parts}"
    with tempfile.TemporaryDirectory() as folder:
        again = play(use, playable, Path(folder), options, submission.seed(), shard)
    numbers = sum(len(runs) for runs, _ in again.values())
    if not numbers:
        raise ValueError(f"shard={shard!r} selects no run: there are fewer than n batches; choose a smaller n in i/n")
    new = fresh(use, playable, math.ceil(playable[0].runs / int(shard.partition("/")[2])), options)
    for name, stated in submission.values.items():
        if odd := stated.keys() ^ new[name].keys():
            raise Failed(f"{path}: {name}: the metrics {sorted(odd)} are missing or unexpected")
        for metric, row in again[name][1].items():
            for run, value in zip(again[name][0], row, strict=True):
                _same(f"{path}: {name} {metric} {run}", stated[metric][run], value)
    _plausible(path, submission.values, new)
    return f"{path}: {numbers} runs, part {shard}, gave the same numbers again, and scores on fresh seeds agree"


def _plausible(path: Path, stated: Mapping[str, Mapping[str, Array]], new: Mapping[str, Mapping[str, Array]]) -> None:
    """Raise `Failed` if the stated scores exceed those on fresh seeds by more than chance explains."""
    said, here = (
        np.concatenate([of(tasks()[name], {name: tasks()[name].costs(row)}) for name, row in values.items()])
        for values in (stated, new)
    )
    if said.mean() > here.mean() and hb.stats.permutation_test(said, here) < CHANCE:
        raise Failed(f"{path}: the mean score is {said.mean():.4g}, but {here.mean():.4g} on fresh seeds")


def _same(where: str, said: object, here: object) -> None:
    """Raise `Failed` if two values, numbers or not, differ."""
    if isinstance(said, float) and isinstance(here, float) and math.isclose(said, here, rel_tol=SLACK, abs_tol=SLACK):
        return
    if said != here:
        raise Failed(f"{where} is {said}, but here it is {here}")


def _trusted(path: Path, submission: Submission, agent: str | None) -> hb.Component:
    """Return the agent, registered or named by the caller; raise `Failed` if its source digest differs."""
    said = submission.agent
    if agent is None and said.name not in hb.list_agents():
        raise ValueError(f"{path} names {said.name!r}, which is not built-in: name it with --agents if you trust it")
    use = hb.Component(entry(agent or said.name, {}).name, label=said.label, on=said.on, **said.params)
    if (here := source(use)) != (there := submission.data["source"]):
        raise Failed(f"{path}: source={there!r} must equal {here!r}, the digest of {use.name} here: the code differs")
    return use
