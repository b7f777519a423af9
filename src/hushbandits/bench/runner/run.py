"""The function `play`, which plays the missing runs of a results folder batch by batch."""

import os
import platform
import sys
import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from importlib.metadata import version
from pathlib import Path

from hushbandits.bench.runner.batch import Batch, Failed, Reply, divided, missing, parse_shard
from hushbandits.bench.runner.check import Instances, afford, check, check_claims
from hushbandits.bench.runner.cost import estimate
from hushbandits.bench.runner.errors import StoreError
from hushbandits.bench.runner.options import RunOptions, workers
from hushbandits.bench.runner.pool import answers, kept
from hushbandits.bench.runner.progress import SECONDS, Bar, progress_bar
from hushbandits.bench.runner.rows import Runs
from hushbandits.bench.runner.sources import source_digests, used
from hushbandits.bench.runner.store import Store
from hushbandits.bench.spec.experiment import Cell, Experiment
from hushbandits.core import Params, integer
from hushbandits.core.utils import reach, source_digest

#: What costs little: less than so many CPU seconds, about those of workers' start, in at most so many cells.
_LITTLE, _FEW = 5.0, 20


@dataclass(frozen=True)
class Failure:
    """A batch that raised an error: its cell, runs and seed, with the traceback."""

    cell: Cell
    runs: tuple[int, ...]
    seed: int
    error: str

    def __str__(self) -> str:
        runs = f"run {self.runs[0]}" if len(self.runs) == 1 else f"runs {self.runs[0]}–{self.runs[-1]}"
        last = self.error.strip().splitlines()[-1]
        return f"{self.cell.label}: {runs}, seed {self.seed}: {last}\n  parameters: {self.cell.spec}"


@dataclass(frozen=True)
class Played:
    """Outcome of `play`: the store, the number of played runs, and the failures.

    Parameters
    ----------
    store : Store
        The results folder.
    played : int
        Runs that this call added.
    failures : list of Failure
        Batches that raised an error; all others are saved.
    changed : bool
        Whether rows or declaration of the folder changed.
    """

    store: Store
    played: int
    failures: list[Failure]
    changed: bool


def play(
    experiments: Sequence[Experiment], out: Path | str, seed: int, shard: str | None, options: RunOptions,
    others: Sequence[Store] = (),
) -> Played:  # fmt: skip
    """Play the missing runs of `experiments` and save them in the folder `out`, as in `hushbandits.run`.

    Runs that the folders `others` hold are copied from there.
    """
    part = parse_shard(shard or "1/1")
    seed = integer("seed", seed, 0, float("inf"))
    reach(os.getcwd())
    for experiment in experiments:
        afford(experiment)
        check_claims(experiment)
    store = Store(out, experiments, seed)
    instances = Instances(experiments)
    restyled = not store.declared
    if restyled or options.skip_invalid:
        store.skipped = check(experiments, skip_invalid=options.skip_invalid, instances=instances)
    notify = options.notify or partial(warnings.warn, stacklevel=3)  # the caller of `run`
    for why in store.skipped.values():
        notify(f"skipped: {why}")
    tasks = missing(store, part)
    if options.dry_run:
        _estimate(store, tasks, options, here=False)
        return Played(store, 0, [], False)
    own = source_digests(experiments)
    _refuse_edits(store, own, bool(tasks), options.mix, notify)
    for problem in store.problems:
        notify(problem)
    failures: list[Failure] = []
    if changed := restyled or bool(tasks):
        store.begin(_versions())
    if tasks:
        _note(store, own, instances, shard, options)
        if others:
            store.copy(others)
            tasks = missing(store, part)
    if tasks:
        with kept():
            options = _estimate(store, tasks, options, here=not own)  # user code may kill its process
            processes = workers(options.jobs) if options.address is None else 1000  # a cluster's number is unknown
            tasks = divided(tasks, SECONDS, processes)
            with progress_bar(sum(len(t.runs) for t in tasks), shown=options.progress) as bar:
                failures = _written(store, answers(tasks, options, bar), instances, bar)
    store.reread()
    if part == (1, 1):
        store.compact()
    return Played(store, sum(len(t.runs) for t in tasks) - sum(len(f.runs) for f in failures), failures, changed)


def _estimate(store: Store, tasks: Sequence[Batch], options: RunOptions, here: bool) -> RunOptions:
    """Report the expected cost; return the options to play with: if `here`, this process plays what costs little."""
    if options.estimate is None:
        return options
    names = {cell.key: e.name for e in reversed(store.experiments) for cell in e.cells()}
    here = here and options.backend is None and len({task.key for task in tasks}) <= _FEW
    found = estimate([(names[task.key], task) for task in tasks], options, _LITTLE if here else 0.0)
    options.estimate(found)
    return replace(options, backend="serial") if here and found.summed("all").seconds < _LITTLE else options


def _versions() -> dict[str, str]:
    packages = {name: version(name) for name in ("hushbandits", "numpy", "scipy", "numba", "networkx")}
    return {**packages, "python": platform.python_version(), "sources": source_digest()[:12]}


def this_machine() -> dict[str, str]:
    """Return the versions of software and the description of this machine."""
    return {**_versions(), "machine": f"{platform.node()}, {platform.platform()}, {os.cpu_count()} cores"}


def _note(store: Store, own: dict[str, str], instances: Instances, shard: str | None, options: RunOptions) -> None:
    """Write the session file: versions, machine, command, digests of user files, guarantees of the first cells."""
    shown = (cell for e in store.experiments for cell in e.cells()[: instances.MOST] if cell.key not in store.skipped)
    about: Params = {
        **this_machine(),
        "own": own,
        "command": " ".join([Path(sys.argv[0]).name, *sys.argv[1:]]),
        "jobs": workers(options.jobs),
        "privacy": {cell.key: instances.of(cell).privacy for cell in shown},
        "skipped": store.skipped,
        "shard": shard or "1/1",
    }
    store.note(datetime.now(UTC).isoformat(timespec="seconds"), about)


def _refuse_edits(store: Store, own: dict[str, str], plays: bool, mix: bool, notify: Callable[..., object]) -> None:
    """Without `mix`, raise ``StoreError`` if user files changed after use; only warn if no run is missing."""
    noted = {name: digest for session in store.sessions() for name, digest in session.get("own", {}).items()}
    edited = {name for name, digest in own.items() if noted.get(name, digest) != digest}
    played = (cell for cell in store.cells.values() if edited and cell.key in store.rows)
    mixed = edited & {name for cell in played for name in used(cell.env, cell.agent, cell.wrappers)}
    if mix or not mixed:
        return
    text = f"{' and '.join(map(repr, sorted(mixed)))} changed after rows of {store.path} were written"
    if plays:
        raise StoreError(f"{text}; choose another --out, or mix old and new rows with --mix (mix=True)")
    notify(f"{text}, and nothing was played: all numbers are from before the change; choose another --out to play anew")


def _written(store: Store, replies: Iterable[tuple[Batch, Reply]], instances: Instances, bar: Bar) -> list[Failure]:
    """Write the result of every batch; return the failures."""
    failures = []
    try:
        for task, reply in replies:
            cell = store.cells[task.key]
            if isinstance(reply, Failed):
                store.fail(cell, task.runs, reply.error)
                failures.append(Failure(cell, task.runs, task.seed, reply.error))
            else:
                store.add(cell, Runs.of(task.runs, *reply), instances.metrics_spec(cell))
            bar.end(task)
    finally:
        store.flush()
    return failures
