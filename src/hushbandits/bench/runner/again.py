"""Replay of a random share of the batches in a results folder, with a comparison of every value."""

import math
import os
import random
import re
from collections.abc import Iterator
from typing import NamedTuple

from hushbandits.bench.runner.batch import Batch, Failed, batches
from hushbandits.bench.runner.check import afford
from hushbandits.bench.runner.options import RunOptions
from hushbandits.bench.runner.pool import answers
from hushbandits.bench.runner.progress import progress_bar
from hushbandits.bench.runner.rows import Runs
from hushbandits.bench.runner.store import Store
from hushbandits.core import shown
from hushbandits.core.utils import reach

#: Differences that are named one by one.
_MOST = 10
#: Values by metric, run and time.
_Values = dict[tuple[str, int, float | None], float]


class Replay(NamedTuple):
    """Numbers of batches, runs and values that were compared, and a sentence for each difference or error."""

    batches: int
    runs: int
    values: int
    differences: list[str]

    @property
    def problems(self) -> list[str]:
        """Return the first differences, each once, and a sentence that counts the others."""
        found = list(dict.fromkeys(self.differences))
        more = len(found) - _MOST
        return found[:_MOST] + ([f"{more:,} more differences"] if more > 0 else [])


def play_again(store: Store, share: str, options: RunOptions) -> Replay:
    """Play a random share of the batches in a folder again, and compare every value bit for bit.

    The operating system's entropy selects the batches, so the writer of the folder cannot know them.  Nothing is
    written.  The user modules that the folder names are imported and run.

    Parameters
    ----------
    store : Store
        The folder.
    share : str
        ``"1/n"``: one batch in n, at least one.
    options : RunOptions
        Processes and progress.

    Raises
    ------
    ValueError
        Another form of `share`, or an experiment that needs too much memory.
    """
    match = re.fullmatch(r"1/([1-9][0-9]{0,5})", share)
    if match is None:
        raise ValueError(f"replay={shown(share)} must read 1/n with 1 ≤ n < 1,000,000, such as 1/8")
    for experiment in store.experiments:
        afford(experiment)
    there = {key: set(store.rows.numbers(key).tolist()) for key in store.cells}
    every = batches(store.experiments)
    present = [Batch.of(cell, store.seed, runs) for cell, runs in every if there[cell.key].intersection(runs)]
    tasks = random.SystemRandom().sample(present, -(-len(present) // int(match[1])))
    reach(os.getcwd())
    played = runs = values = 0
    differences = [] if present else [f"{store.path} has no run to play again"]
    with progress_bar(sum(len(task.runs) for task in tasks), shown=options.progress) as bar:
        for task, reply in answers(tasks, options, bar):
            if isinstance(reply, Failed):
                differences.insert(0, f"{task.label} cannot be played here: {reply.error.strip().splitlines()[-1]}")
            else:
                mine = there[task.key].intersection(task.runs)
                stated = _values(store.rows.runs(task.key, task.runs[-1] + 1, task.runs[0]))
                again = {place: x for place, x in _values(Runs.of(task.runs, *reply)).items() if place[1] in mine}
                played, runs, values = played + 1, runs + len(mine), values + len(again)
                differences += [f"{task.label}, {text}" for text in _compared(stated, again)]
            bar.end(task)
    return Replay(played, runs, values, differences)


def _values(found: Runs) -> _Values:
    """Return values by metric, run and time; final values have time ``None``."""
    return {
        (name, run, None if math.isnan(time) else time): value
        for name, *columns in found.long()
        for run, time, value in zip(*(column.tolist() for column in columns), strict=True)
    }


def _compared(stated: _Values, again: _Values) -> Iterator[str]:
    """Yield a sentence for each value whose bits differ; NaN equals a missing value."""
    for key in sorted(stated.keys() | again.keys(), key=lambda key: (key[0], key[1], key[2] or 0)):
        one, two = stated.get(key, math.nan), again.get(key, math.nan)
        if one.hex() != two.hex():
            name, run, time = key
            when = "" if time is None else f" at time {time:g}"
            yield f"run {run}: {name}{when} is {one!r} in the folder, but {two!r} if it is played again"
