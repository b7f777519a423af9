"""Play experiments into a folder: only what is missing, batch by batch, one writer."""

from __future__ import annotations

import os
import platform
import sys
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

from hushbandits.bench.declare.spec import Cell, Experiment
from hushbandits.bench.play.batch import BATCH
from hushbandits.bench.play.check import check
from hushbandits.bench.play.crew import workers
from hushbandits.bench.play.errors import StoreError
from hushbandits.bench.play.folder import open_folder
from hushbandits.bench.play.meetings import Meetings
from hushbandits.bench.play.natures import told
from hushbandits.bench.play.own import own_sources, used
from hushbandits.bench.play.plan import Shard, declared, missing
from hushbandits.bench.play.player import answers
from hushbandits.bench.play.players import Players
from hushbandits.bench.play.progress import Bar
from hushbandits.bench.play.store import Store
from hushbandits.bench.play.task import Failed, Reply, Task
from hushbandits.core.ground.sources import source_digest

__all__ = ["Asked", "Failure", "Outcome", "check", "fill", "missing", "open_folder", "workers"]

#: How many runs of each experiment a store should hold by now, by its name.
Asked = Callable[[Store], Mapping[str, int]]


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


def about(experiments: Sequence[Experiment]) -> dict[str, Any]:
    """Versions, machine and command of this process, and digests of own code and data."""
    packages = {name: version(name) for name in ("hushbandits", "numpy", "scipy", "numba", "networkx")}
    return {
        **packages,
        "python": platform.python_version(),
        "sources": source_digest()[:12],
        **({"own": own} if (own := own_sources(experiments)) else {}),
        "platform": platform.platform(),
        "machine": platform.node(),
        "cores": os.cpu_count(),
        "command": " ".join([Path(sys.argv[0]).name, *sys.argv[1:]]),
    }


def fill(
    store: Store,
    players: Players,
    *,
    batch: int = BATCH,
    progress: bool = True,
    notify: Callable[[str], None] | None = None,
    accept_edits: bool = False,
    shard: Shard = (1, 1),
    asked: Asked = declared,
) -> Outcome:
    """Play what is missing in an open store; parameters as in `bench.run.run`.

    `asked` says how many runs of each experiment the store should hold.  It is asked anew whenever it holds them, until
    nothing is missing but what failed.  Afterwards the store is only read, and others may write.  Whatever goes wrong,
    it is closed.
    """
    try:
        jobs = workers(players.jobs)
        tell = _warned if notify is None else notify
        for why in store.skipped.values():
            tell(f"skipped: {why}")
        tasks = missing(store, jobs, batch, shard, asked(store))
        here = about(store.experiments)
        edited = _edited(store, here.get("own", {}))
        if edited and not accept_edits:
            ways = "choose another --out, or mix old and new rows knowingly with --accept-edits (accept_edits=True)"
            if tasks:
                raise StoreError(f"{edited}; {ways}")
            tell(
                f"nothing was played, and {edited}: its numbers are the old ones; choose another --out for new ones, "
                f"or show these knowingly with --accept-edits (accept_edits=True)"
            )
        store.declare()  # what is refused changes nothing
        if not tasks:
            store.seal()
            return Outcome(store, 0, [])
        others = {s.get("sources") for _, s in store.sessions()} - {here["sources"]}
        if others and notify is not None:
            notify("some rows there were made by other versions of the code; the report lists the sessions")
        meetings = store.meetings or Meetings(store.experiments)
        here |= told(store.experiments, meetings, store.skipped)
        total, failures = 0, list[Failure]()
        with players.crew(store.path.parent, len(tasks)) as by:
            here |= {"jobs": by.width, "backend": by.name} if by else {"jobs": 1, "backend": "serial"}
            if store.skipped:
                here["skipped"] = store.skipped
            if shard != (1, 1):
                here["shard"] = "{}/{}".format(*shard)
            store.begin_session(datetime.now(UTC).isoformat(timespec="seconds"), here)
            while tasks:
                runs = sum(len(t.runs) for t in tasks)
                with Bar(runs, shown=progress) as bar:
                    failures += _write(store, answers(tasks, by, bar, players.patience), bar)
                total += runs
                failed = {(f.cell.key, run) for f in failures for run in f.runs}
                tasks = missing(store, jobs, batch, shard, asked(store), failed)
        store.seal()
        return Outcome(store, total - sum(len(f.runs) for f in failures), failures)
    except BaseException:
        store.close()
        raise


def _warned(text: str) -> None:
    warnings.warn(text, UserWarning, stacklevel=4)  # where `run` was called


def _edited(store: Store, own: dict[str, str]) -> str:
    """Say which own code or data has changed since rows were made with it; failed cells have no rows."""
    noted: dict[str, str] = {}
    for _, session in store.sessions():
        noted |= session.get("own", {})
    edited = {name for name, digest in own.items() if noted.get(name, digest) != digest}
    if not edited:
        return ""
    done = store.done()
    for experiment in store.experiments:
        for cell in experiment.cells():
            if done[cell.key] and (mine := edited & used(cell.env, cell.agent, *cell.wrappers)):
                names = " and ".join(map(repr, sorted(mine)))
                return f"{names} changed since rows of {store.path.parent} were made with it"
    return ""


def _write(store: Store, answers: Iterable[tuple[Task, Reply]], bar: Bar) -> list[Failure]:
    cells = {cell.key: cell for experiment in store.experiments for cell in experiment.cells()}
    failures = []
    for task, reply in answers:
        cell = cells[task.key]
        if isinstance(reply, Failed):
            store.fail(cell, task.runs, reply.error)
            failures.append(Failure(cell, task.runs, task.seed, reply.error))
        else:
            store.add(cell, task.runs, *reply)
        bar.advance(len(task.runs))
    return failures
