"""The expected cost of cells, from probes: the beginning of a batch is played, and the rest is extrapolated."""

import contextlib
import math
import os
import time
import tracemalloc
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from hushbandits.bench.runner.batch import Batch, Failed, Played, Watch
from hushbandits.bench.runner.options import Cost, Estimate, RunOptions
from hushbandits.bench.runner.pool import answers
from hushbandits.bench.runner.progress import LENGTHS, SECONDS, progress_bar
from hushbandits.core.team import EnvView

#: CPU seconds of a probe, besides one whole run if runs have no fixed length: at least, as a share of a batch, at most.
_SECONDS, _SHARE, _LONGEST = 0.05, 0.1, 1.0
#: At least, to learn whether all costs little; a cell may then cost a quarter or four times of what is expected.
_ROUGHLY = 0.02
#: How much further a probe gets than one that compiled code or filled caches.
_FASTER = 1.5
#: Number of cells that are probed, besides the first of each experiment.
_MOST = 50


class _EnoughError(Exception):
    """Raised inside a batch to stop it."""


@dataclass(frozen=True)
class Probe(Batch):
    """A batch of which only the beginning is played; its metrics are its expected cost.

    If episodes have no fixed length, a first run is played to its end, and its length stands for all.  The beginning of
    a run is played as long as it gets faster, since the first times compile code and fill caches, and then that of the
    batch.
    """

    memory: bool = False
    seconds: float = _SECONDS

    def play(self, watch: Watch | None = None) -> Played:
        """Return the expected CPU seconds and memory of the batch, the length of a run, and the process's CPU seconds.

        The length is 1 if it is fixed.
        """
        env, team = self.prepared()
        part = replace(self, runs=self.runs[: team.runs_at_once(EnvView(env))])
        one = replace(self, runs=self.runs[:1])  # its setup is short
        first = [] if env.fixed_length else _marks(one, lambda marks: math.inf)
        marks, again = [(math.inf, 0.0)], _marks(one, lambda marks: self.seconds)
        while _reached(again) > _FASTER * _reached(marks):
            marks, again = again, _marks(one, lambda marks: self.seconds)

        def enough(marks: _Marks) -> float:
            return max(self.seconds, min(_SHARE * _whole(marks, first), _LONGEST))

        marks = _marks(part, enough)
        early = sum(spent - marks[0][0] <= self.seconds for spent, _ in marks)
        if _whole(marks, first) > _FASTER * _whole(marks[: max(3, early + 1)], first):  # code was compiled late
            marks = _marks(part, enough)
        seconds = _whole(marks, first) * len(self.runs) / len(part.runs)
        length = _reached(first) if first else 1.0
        found = {"seconds": seconds, "length": length, "pid": os.getpid(), "spent": time.process_time()}
        if self.memory:
            tracemalloc.start()
            try:
                _marks(self, lambda marks: 2 * _SECONDS)
                found["bytes"] = tracemalloc.get_traced_memory()[1]
            finally:
                tracemalloc.stop()
        return {name: np.array([value], float) for name, value in found.items()}, {}, np.empty(0)


_Marks = list[tuple[float, float]]


def _marks(batch: Batch, most: Callable[[_Marks], float]) -> _Marks:
    """Play a batch for about `most` CPU seconds after its setup, and at least to the third mark.

    Returns
    -------
    list of (float, float)
        CPU seconds and progress at each mark; the last progress is NaN if the batch was played to its end.
    """
    began = time.process_time()
    marks: _Marks = []

    def watch(progress: float) -> None:
        marks.append((time.process_time() - began, progress))
        if len(marks) >= 3 and marks[-1][0] - marks[0][0] > most(marks):
            raise _EnoughError

    with contextlib.suppress(_EnoughError):
        Batch.play(batch, watch)
        marks.append((time.process_time() - began, math.nan))
    return marks


def _reached(marks: _Marks) -> float:
    return max(abs(progress) for _, progress in marks if not math.isnan(progress))


def _whole(marks: _Marks, first: _Marks) -> float:
    """Return the CPU seconds of a whole batch, extrapolated from `marks`.

    With `first`, the marks of a single run up to its end, the ratio of the batch's time to that run's is taken to stay
    what it is so far.  Without it, the progress ends at 1.
    """
    seconds, progress = marks[-1]
    if math.isnan(progress):
        return seconds
    setup, done = marks[0][0], abs(progress)
    if first:
        so_far = max(seconds for seconds, reached in first if abs(reached) <= done) - first[0][0]
        return setup + (seconds - setup) * (first[-1][0] - first[0][0]) / max(so_far, 1e-6)
    # Blocks may double and samples grow: the time after the setup is taken to be a power of the progress.
    spent, reached = next((m for m in reversed(marks) if abs(m[1]) <= done / 4), marks[0])
    power = 1.0
    if setup < spent < seconds:
        power = min(1.3, max(0.3, math.log((seconds - setup) / (spent - setup)) / math.log(done / abs(reached))))
    return seconds + (seconds - setup) * (max(1.0, 1.0 / done) ** power - 1)


def estimate(tasks: Sequence[tuple[str, Batch]], options: RunOptions, little: float = 0.0) -> Estimate:
    """Return the expected cost of batches, each given with its experiment's name, from probes of their cells.

    Of very many cells, a part is probed.  Until the probed cells cost `little` CPU seconds, probes are played one by
    one, in this process if `options` name no backend.
    """
    by: dict[tuple[str, str], list[Batch]] = {}
    missing = Counter[str]()
    for name, batch in tasks:
        by.setdefault((name, batch.key), []).append(batch)
        missing[batch.key] += len(batch.runs)
    each, least = -(-len(by) // _MOST) or 1, _ROUGHLY if little else _SECONDS
    latest: dict[str, Probe] = {}
    like: dict[tuple[str, str], Probe] = {}  # a cell's own probe, or that of a cell before it in its experiment
    for i, ((name, key), own) in enumerate(by.items()):
        if i % each == 0 or name not in latest:
            latest[name] = Probe(**vars(own[0]), memory=options.dry_run, seconds=least)
        like[name, key] = latest[name]
    probes = {probe.key: probe for probe in like.values()}
    found: dict[str, dict[str, float]] = {}
    waiting, cost = [*probes.values()], 0.0
    with progress_bar(len(probes), options.progress) as bar:
        while waiting:
            part = waiting[:1] if cost < little else waiting
            waiting = waiting[len(part) :]
            for probe, reply in answers(part, options, bar):
                bar(advance=1)
                if not isinstance(reply, Failed):
                    found[probe.key] = one = {name: float(value[0]) for name, value in reply[0].items()}
                    cost += one["seconds"] * missing[probe.key] / len(probe.runs)
    costs: list[Cost] = []
    for (name, key), own in by.items():
        one, runs = found.get(like[name, key].key, {}), sum(len(batch.runs) for batch in own)
        a_run = one.get("seconds", math.nan) / len(like[name, key].runs)
        SECONDS[key], LENGTHS[key] = 0.0 if math.isnan(a_run) else a_run, one.get("length", math.inf)
        costs.append(Cost(name, own[0].label, runs, len(own), a_run * runs, one.get("bytes", math.nan)))
    processes = {float(os.getpid()): time.process_time()} | {one["pid"]: one["spent"] for one in found.values()}
    return Estimate(costs, sum(processes.values()))
