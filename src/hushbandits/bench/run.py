"""Run experiments into a folder: only what is missing, batch by batch, one writer."""

from __future__ import annotations

import os
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

from joblib import Parallel, cpu_count, delayed

from hushbandits.bench.batch import BATCH, play_batch, prepare, reach, split
from hushbandits.bench.canonical import canonical
from hushbandits.bench.errors import RunError, StoreError
from hushbandits.bench.progress import Bar, Silent
from hushbandits.bench.spec import Cell, Experiment
from hushbandits.bench.store import FILE, Store
from hushbandits.bench.verdicts import check_claims
from hushbandits.core.jit import source_digest
from hushbandits.core.types import Array
from hushbandits.core.validate import integer, nearest
from hushbandits.registry import make_wrapper

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


_Answer = tuple[dict[str, Array], dict[str, Array], Array] | str


def _play(task: _Task) -> tuple[_Task, _Answer]:
    """Play one task; an error comes back as its traceback, so that the rest go on."""
    if os.getpid() != task.parent:
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # ctrl-C is the parent's business
        reach(task.folder)
    cell = task.cell
    try:
        wrappers = [make_wrapper(w.name, **w.params) for w in cell.wrappers]
        seeds = cell.seeds(task.seed, task.runs[0], len(task.runs))
        played = play_batch(
            cell.env.name, cell.agent.name, seeds, cell.env.params, cell.agent.params, wrappers, cell.checkpoints
        )
    except Exception:
        return task, traceback.format_exc()
    return task, played


def check(experiments: Sequence[Experiment]) -> None:
    """Build every env and team once and let them meet; of a large sweep, every line at each single value.

    Raises
    ------
    ValueError, TypeError
        Whatever a run would stumble over at its start, with the experiment's name.
    """
    names = [e.name for e in experiments]
    for name in names:
        if names.count(name) > 1:
            raise ValueError(f"two experiments are called {name!r}")
    for experiment in experiments:
        offered: dict[tuple[str, str], tuple[set[str], set[str]]] = {}
        for cell in _telling(experiment):
            try:
                wrappers = [make_wrapper(w.name, **w.params) for w in cell.wrappers]
                env, team = prepare(cell.env.name, cell.agent.name, 1, cell.env.params, cell.agent.params, wrappers)
                players = cell.env.name, cell.agent.name
                if players not in offered:
                    env.reset(0)
                    team.reset(env, env.seeds)
                    offered[players] = {*env.metrics(), *team.metrics(env)}, set(env.curve_metrics)
            except (ValueError, TypeError) as error:
                raise type(error)(f"{experiment.name}, {cell.label}: {error}") from error
        for finals, curves in offered.values():
            for name in experiment.metrics:
                if name not in finals:
                    raise ValueError(f"{experiment.name}: no metric is named {name!r}{nearest(name, finals)}")
            for figure in experiment.figures:
                known = curves if figure.x == "time" else finals
                if figure.y not in known:
                    raise ValueError(f"{experiment.name}: a figure shows {figure.y!r}{nearest(figure.y, known)}")
                if figure.x not in ("time", "runs", *experiment.sweep):
                    raise ValueError(f"{experiment.name}: a figure runs along {figure.x!r}, which is not swept")
                for key in (*([figure.by] if figure.by else []), *figure.at):
                    if key not in experiment.sweep:
                        raise ValueError(f"{experiment.name}: a figure picks values of {key!r}, which is not swept")
            check_claims(experiment)
            for claim in experiment.claims:
                known = finals if claim.time is None else curves
                if claim.metric not in known:
                    raise ValueError(
                        f"{experiment.name}: a claim is about {claim.metric!r}{nearest(claim.metric, known)}"
                    )


def _telling(experiment: Experiment) -> list[Cell]:
    """All cells, or of very many those that show a line with a value for the first time."""
    cells = experiment.cells()
    if len(cells) <= 500:
        return cells
    seen: set[tuple[str, str, str]] = set()
    told = []
    for cell in cells:
        news = {(cell.line, key, canonical(value)) for key, value in cell.point.items()} - seen
        if news:
            seen |= news
            told.append(cell)
    return told


def open_folder(experiments: Sequence[Experiment], out: Path | str, seed: int = 0) -> Store:
    """Open a run folder for writing: a new one after `check`, or one that holds the same spec.

    Raises
    ------
    StoreError
        The folder cannot be written, or holds another spec.
    """
    out = Path(out)
    seed = integer("seed", seed, 0, float("inf"))
    if (out / FILE).exists():
        store = Store(out / FILE, experiments, seed)
        if other := store.differs(experiments, seed):
            store.close()
            raise StoreError(f"{out} holds another run: {other}; choose another --out, or delete that folder")
        try:
            for experiment in experiments:
                check_claims(experiment)
            store.restyle(experiments)
        except BaseException:
            store.close()
            raise
        return store
    check(experiments)
    made = [p for p in (out, *out.parents) if not p.exists()]
    try:
        out.mkdir(parents=True, exist_ok=True)
        return Store(out / FILE, experiments, seed)
    except (OSError, StoreError) as error:
        _clean(out / FILE, made)
        if isinstance(error, StoreError):
            raise
        raise StoreError(f"cannot write to {out}: {(error.strerror or str(error)).lower()}") from None


def _clean(file: Path, made: Sequence[Path]) -> None:
    # Leave nothing half-written: neither an empty store nor folders made for it.
    try:
        file.unlink(missing_ok=True)
        for folder in made:
            folder.rmdir()
    except OSError:
        pass


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
    for key, runs in left.items():
        for piece in _consecutive(runs):
            for part in split(piece, share, batch):
                tasks.append(_Task(wanted[key][0], tuple(part), store.seed, os.getpid(), os.getcwd()))
    return tasks


def _consecutive(runs: Sequence[int]) -> list[list[int]]:
    pieces: list[list[int]] = []
    for run in runs:
        if pieces and run == pieces[-1][-1] + 1:
            pieces[-1].append(run)
        else:
            pieces.append([run])
    return pieces


def about(jobs: int) -> dict[str, Any]:
    """Versions, machine and command of this session."""
    packages = {name: version(name) for name in ("hushbandits", "numpy", "scipy", "numba", "networkx")}
    return {
        **packages,
        "python": platform.python_version(),
        "sources": source_digest()[:12],
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
    jobs : int
        Processes; −1 for one per core.  Neither this nor `batch` changes a number.
    batch : int
        Most runs per batch, the unit that is committed.
    progress : bool
        Show a bar on a terminal's stderr.
    notify : callable, optional
        Told once, in words, if rows of other source code are there already.

    Returns
    -------
    Outcome

    Raises
    ------
    StoreError
        The folder cannot be used.
    ValueError, TypeError
        Bad input; nothing is written then.

    Examples
    --------
    >>> import tempfile
    >>> from hushbandits.bench.spec import Experiment, Use
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
    return fill(open_folder(experiments, out, seed), jobs, batch=batch, progress=progress, notify=notify)


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
) -> Outcome:
    """Run what is missing in an open store; parameters as in `run`.  Whatever goes wrong, the store is closed."""
    try:
        tasks = missing(store, jobs, batch)
        if not tasks:
            return Outcome(store, 0, [])
        here = about(jobs)
        others = {s["sources"] for _, s in store.sessions()} - {here["sources"]}
        if others and notify is not None:
            notify("some rows there were made by other versions of the code; the report lists the sessions")
        store.begin_session(datetime.now(UTC).isoformat(timespec="seconds"), here)
        total = sum(len(t.runs) for t in tasks)
        with Bar(total) if progress else Silent() as bar:
            failures = _work(store, tasks, jobs, bar)
        return Outcome(store, total - sum(len(f.runs) for f in failures), failures)
    except BaseException:
        store.close()
        raise


def _work(store: Store, tasks: Sequence[_Task], jobs: int, bar: Any) -> list[Failure]:
    failures = []
    for task, answer in _answers(tasks, jobs, bar):
        if isinstance(answer, str):
            store.fail(task.cell, task.runs, answer)
            failures.append(Failure(task.cell, task.runs, task.seed, answer))
        else:
            store.add(task.cell, task.runs, *answer)
        bar.advance(len(task.runs))
    return failures


def _answers(tasks: Sequence[_Task], jobs: int, bar: Any) -> Iterator[tuple[_Task, _Answer]]:
    def announced() -> Iterator[_Task]:
        for task in tasks:
            bar.at(task.cell.label)
            yield task

    if jobs == 1 or len(tasks) == 1:
        yield from map(_play, announced())
        return
    parallel = Parallel(n_jobs=min(jobs, len(tasks)), return_as="generator_unordered", batch_size=1)
    try:
        yield from parallel(delayed(_play)(task) for task in announced())
    except BaseException as error:
        from joblib.externals.loky import BrokenProcessPool, get_reusable_executor

        get_reusable_executor().shutdown(wait=False, kill_workers=True)
        if isinstance(error, BrokenProcessPool):
            raise RunError(
                "a worker process died, for want of memory or killed; what was done is kept: "
                "the same command goes on, and fewer --jobs need less memory"
            ) from None
        raise
