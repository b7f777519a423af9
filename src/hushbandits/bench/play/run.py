"""Run experiments into a folder: only what is missing, batch by batch, one writer."""

from __future__ import annotations

import os
import pickle
import platform
import signal
import sys
import traceback
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

from cloudpickle import dumps
from joblib import Parallel, cpu_count, delayed

from hushbandits.bench.declare.spec import Cell, Experiment
from hushbandits.bench.play import natures
from hushbandits.bench.play.batch import BATCH, Played, play_batch, split
from hushbandits.bench.play.check import check
from hushbandits.bench.play.errors import RunError, StoreError
from hushbandits.bench.play.folder import open_folder
from hushbandits.bench.play.own import own_sources, used
from hushbandits.bench.play.progress import Bar, Silent
from hushbandits.bench.play.promised import told
from hushbandits.bench.play.store import Store
from hushbandits.core.interrupt import held_back
from hushbandits.core.jit import source_digest
from hushbandits.core.names import reach
from hushbandits.core.validate import integer
from hushbandits.registry import adopt, make_wrapper, own_entries

__all__ = ["Failure", "Outcome", "check", "fill", "missing", "open_folder", "run", "workers"]


@dataclass(frozen=True)
class Failure:
    """A batch that raised: the cell, its runs and seed, and the error's traceback."""

    cell: Cell
    runs: tuple[int, ...]
    seed: int
    error: str

    def __str__(self) -> str:
        runs = f"run {self.runs[0]}" if len(self.runs) == 1 else f"runs {self.runs[0]}–{self.runs[-1]}"
        last = self.error.strip().splitlines()[-1]
        return f"{self.cell.label}: {runs}, seed {self.seed}: {last}\n  parameters: {self.cell.spec}"


@dataclass(frozen=True)
class Outcome:
    """What a call of `run` did.

    Parameters
    ----------
    store : Store
        Open; close it, or use it in a ``with`` block.
    played : int
        Runs that this call added.
    failures : list of Failure
        Batches that raised; all others are committed.
    """

    store: Store
    played: int
    failures: list[Failure]


@dataclass(frozen=True)
class _Task:
    cell: Cell
    runs: tuple[int, ...]
    seed: int
    parent: int
    folder: str
    #: What the parent had registered of its own, pickled: a worker may unpickle it once it reaches the folder.
    own: bytes


_Answer = Played | str


def _play(task: _Task) -> tuple[_Task, _Answer]:
    """Play one task; an error comes back as its traceback, so that the rest go on."""
    if os.getpid() != task.parent:
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # ctrl-C is the parent's business
    cell = task.cell
    try:
        if os.getpid() != task.parent:
            reach(task.folder)
            adopt(pickle.loads(task.own))
        wrappers = [make_wrapper(w.name, **w.params) for w in cell.wrappers]
        seeds = cell.seeds(task.seed, task.runs[0], len(task.runs))
        played = play_batch(
            cell.env.name, cell.agent.name, seeds, cell.env.params, cell.agent.params, wrappers, cell.checkpoints
        )
    except Exception:
        return task, traceback.format_exc()
    return task, played


def missing(store: Store, jobs: int, batch: int = BATCH) -> list[_Task]:
    """Tasks that are left, in the order of the declaration."""
    done = store.done()
    wanted: dict[str, tuple[Cell, int]] = {}
    for experiment in store.experiments:
        for cell in experiment.cells():
            known = wanted.get(cell.key, (cell, 0))
            wanted[cell.key] = known[0], max(known[1], experiment.runs)
    left = {key: [r for r in range(n) if r not in done[key]] for key, (_, n) in wanted.items()}
    total = sum(map(len, left.values()))
    # Runs of one batch share NumPy's overhead, so cells stay whole while there are enough of them for all jobs.
    share = jobs if total <= 2 * jobs * batch else 1
    tasks = []
    own = dumps(own_entries())
    for key, runs in left.items():
        for piece in _consecutive(runs):
            for part in split(piece, share, batch):
                tasks.append(_Task(wanted[key][0], tuple(part), store.seed, os.getpid(), os.getcwd(), own))
    return tasks


def _consecutive(runs: Sequence[int]) -> list[list[int]]:
    pieces: list[list[int]] = []
    for run in runs:
        if pieces and run == pieces[-1][-1] + 1:
            pieces[-1].append(run)
        else:
            pieces.append([run])
    return pieces


def about(jobs: int, experiments: Sequence[Experiment]) -> dict[str, Any]:
    """Versions, machine and command of this session, and digests of own code and data."""
    packages = {name: version(name) for name in ("hushbandits", "numpy", "scipy", "numba", "networkx")}
    return {
        **packages,
        "python": platform.python_version(),
        "sources": source_digest()[:12],
        **({"own": own} if (own := own_sources(experiments)) else {}),
        "platform": platform.platform(),
        "machine": platform.node(),
        "cores": os.cpu_count(),
        "jobs": jobs,
        "command": " ".join([Path(sys.argv[0]).name, *sys.argv[1:]]),
    }


def run(
    experiments: Experiment | Sequence[Experiment],
    out: Path | str,
    *,
    seed: int = 0,
    jobs: int = 1,
    batch: int = BATCH,
    progress: bool = True,
    notify: Callable[[str], None] | None = None,
    accept_edits: bool = False,
) -> Outcome:
    """Run what is missing in a folder.

    Parameters
    ----------
    experiments : Experiment or sequence of Experiment
        What to run.
    out : path
        The folder: a new one, or one that holds the same experiments and seed (then it resumes).
    seed : int
        Master seed; a run's own seed depends on it and on the env part of its cell.
    jobs, batch : int
        Processes (−1: one per core), and most runs per batch, the unit that is committed; neither changes a number.
    progress : bool
        Show a bar on a terminal's stderr.
    notify : callable, optional
        Told once, in words, if rows of other source code are there already.
    accept_edits : bool
        Go on although an agent, env, wrapper or data file of one's own was edited since rows of it were made.

    Returns
    -------
    Outcome

    Raises
    ------
    StoreError
        The folder cannot be used: another process is writing it (after a wait, see `bench.lock`), it holds something
        else, or rows would be mixed.
    ValueError, TypeError
        Bad input; nothing is written then.

    Examples
    --------
    >>> import tempfile
    >>> from hushbandits.bench.declare.spec import Experiment, Use
    >>> tiny = Experiment(name="tiny", title="Tiny", env=Use("CoopNetwork-v0", n_agents=4, horizon=20),
    ...                   agents=[Use("Multi-UCB")], runs=2)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     outcome = run(tiny, folder, progress=False)
    ...     with outcome.store as store:
    ...         store.final(tiny.cells()[0], "regret", runs=2).shape, outcome.played
    ((2,), 2)
    """
    if isinstance(experiments, Experiment):
        experiments = [experiments]
    jobs = workers(jobs)
    integer("batch", batch, 1)
    opened = open_folder(experiments, out, seed, batch)
    return fill(opened, jobs, batch=batch, progress=progress, notify=notify, accept_edits=accept_edits)


def workers(jobs: int) -> int:
    """Return the number of processes that `jobs` stands for."""
    return int(cpu_count()) if jobs == -1 else integer("jobs", jobs, 1)


def fill(
    store: Store,
    jobs: int = 1,
    *,
    batch: int = BATCH,
    progress: bool = True,
    notify: Callable[[str], None] | None = None,
    accept_edits: bool = False,
) -> Outcome:
    """Run what is missing in an open store; parameters as in `run`.

    Afterwards the store is only read, and others may write.  Whatever goes wrong, it is closed.
    """
    try:
        tasks = missing(store, jobs, batch)
        if not tasks:
            store.seal()
            return Outcome(store, 0, [])
        here = about(jobs, store.experiments)
        if not accept_edits:
            _refuse_edits(store, here.get("own", {}))
        others = {s["sources"] for _, s in store.sessions()} - {here["sources"]}
        if others and notify is not None:
            notify("some rows there were made by other versions of the code; the report lists the sessions")
        here["privacy"], here["measures"] = told(store.experiments), natures.told(store.experiments)
        store.begin_session(datetime.now(UTC).isoformat(timespec="seconds"), here)
        total = sum(len(t.runs) for t in tasks)
        with Bar(total) if progress else Silent() as bar:
            failures = _work(store, tasks, jobs, bar)
        store.seal()
        return Outcome(store, total - sum(len(f.runs) for f in failures), failures)
    except BaseException:
        store.close()
        raise


def _refuse_edits(store: Store, own: dict[str, str]) -> None:
    """Raise if own code or data differs from what rows there were made with; of failed cells there are no rows."""
    noted: dict[str, str] = {}
    for _, session in store.sessions():
        noted |= session.get("own", {})
    edited = {name for name, digest in own.items() if noted.get(name, digest) != digest}
    if not edited:
        return
    done = store.done()
    for experiment in store.experiments:
        for cell in experiment.cells():
            if done[cell.key] and (mine := edited & used(cell.env, cell.agent, *cell.wrappers)):
                names = " and ".join(map(repr, sorted(mine)))
                raise StoreError(
                    f"{names} changed since rows of {store.path.parent} were made with it; choose another --out, "
                    f"or mix old and new rows knowingly with --accept-edits (accept_edits=True)"
                )


def _work(store: Store, tasks: Sequence[_Task], jobs: int, bar: Bar | Silent) -> list[Failure]:
    failures = []
    for task, answer in _answers(tasks, jobs, bar):
        if isinstance(answer, str):
            store.fail(task.cell, task.runs, answer)
            failures.append(Failure(task.cell, task.runs, task.seed, answer))
        else:
            store.add(task.cell, task.runs, *answer)
        bar.advance(len(task.runs))
    return failures


def _answers(tasks: Sequence[_Task], jobs: int, bar: Bar | Silent) -> Iterator[tuple[_Task, _Answer]]:
    def announced() -> Iterator[_Task]:
        for task in tasks:
            bar.at(task.cell.label)
            yield task

    if jobs == 1 or len(tasks) == 1:
        yield from map(_play, announced())
        return
    parallel = Parallel(n_jobs=min(jobs, len(tasks)), return_as="generator_unordered", batch_size=1)
    try:
        with held_back():  # workers inherit it: ctrl-C is the parent's business
            answers = parallel(delayed(_play)(task) for task in announced())
        yield from answers
    except BaseException as error:
        from joblib.externals.loky import BrokenProcessPool, get_reusable_executor

        get_reusable_executor().shutdown(wait=False, kill_workers=True)
        if isinstance(error, BrokenProcessPool):
            raise RunError(
                "a worker process died, for want of memory or killed; what was done is kept: "
                "the same command goes on, and fewer --jobs need less memory"
            ) from None
        raise
