"""Verify a submission by playing a part of its runs again."""

import secrets
import tempfile
from pathlib import Path

import numpy as np

import hushbandits as hb
from hushbench.play import admit, play
from hushbench.submission import Refuted, Submission, compare, read, source
from hushbench.tasks import entry

#: Maximum number of parts of the runs; one of them is played again.
PARTS = 8


def verify(path: Path, agent: str | None, options: hb.RunOptions, shard: str | None = None) -> tuple[str, int]:
    """Compare a submission's aggregates with its rows, then replay a part of its runs and compare each number.

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
        The part that was played.
    int
        Number of values compared.

    Raises
    ------
    Refuted
        A number differs from the replayed one; the message names it.
    ValueError
        The file is not a submission, its agent is not named or is another one, or the part has no run.
    """
    submission = read(path)
    use = _trusted(path, submission, agent)
    said = submission.data["tasks"]
    rows = {}
    for name, row in admit(use, submission.tasks).items():  # the words of a refusal may differ
        rows[name] = {**row, **said[name]} if "refused" in row else {**said[name], **row}
    again = Submission({**submission.data, "tasks": rows})
    compare(said, again.recomputed().data["tasks"], f"{path}:", "here it is")
    playable = [task for task in submission.tasks if "refused" not in rows[task.name]]
    parts = min(PARTS, len(playable))  # so that each part has a run
    shard = shard or f"{1 + secrets.randbelow(parts)}/{parts}"
    with tempfile.TemporaryDirectory() as folder:
        played = play(use, playable, Path(folder), options, shard)
    for name, (runs, values) in played.items():
        for metric, played_again in values.items():
            stated = again.values[name].setdefault(metric, np.full(runs.max() + 1, np.nan))
            stated[runs] = played_again
    compare(said, again.recomputed().data["tasks"], f"{path}:", "played again it is")
    numbers = sum(len(row) for _, values in played.values() for row in values.values())
    if not numbers:
        raise ValueError(f"shard={shard!r} selects no run: there are fewer than n batches; choose a smaller n in i/n")
    return shard, numbers


def _trusted(path: Path, submission: Submission, agent: str | None) -> hb.Component:
    """Return the agent, registered or named by the caller; raise `Refuted` if its source digest differs."""
    said = submission.agent
    if agent is None and said.name not in hb.list_agents():
        raise ValueError(f"{path} names {said.name!r}, which is not built-in: name it with --agents if you trust it")
    use = hb.Component(entry(agent or said.name, {}).name, label=said.label, on=said.on, **said.params)
    if (here := source(use)) != (there := submission.data["source"]):
        raise Refuted(f"{path}: source={there!r} must equal {here!r}, the digest of {use.name} here: the code differs")
    return use
