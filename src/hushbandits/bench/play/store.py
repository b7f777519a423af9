"""One SQLite file per run folder: rows, and apart from them where they come from."""

from __future__ import annotations

import contextlib
import weakref
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import SupportsFloat

import numpy as np

from hushbandits.bench.declare.canonical import canonical
from hushbandits.bench.declare.spec import Cell, Experiment
from hushbandits.bench.play import schema
from hushbandits.bench.play.errors import StoreError
from hushbandits.bench.play.integrity import WHOLE, checksum, rows_sum, whole_sum
from hushbandits.bench.play.lock import Lock
from hushbandits.bench.play.meetings import Meetings
from hushbandits.bench.play.opening import LOCK as _BESIDE
from hushbandits.bench.play.opening import for_reading, for_writing
from hushbandits.bench.play.reader import Reader
from hushbandits.core.ground.types import Array, Params

__all__ = ["FILE", "LOCK", "Store"]

FILE = "results.sqlite"
LOCK = FILE + _BESIDE


class Store(Reader):
    """A run folder's results.

    Parameters
    ----------
    path : Path
        The SQLite file.
    create : sequence of Experiment, optional
        Make a new file for these experiments if there is none.
    seed : int
        With `create`: the master seed.
    readonly : bool
        Only look; else this is the folder's only writer until it is closed or sealed (see `Lock`).
    timeout : float
        Seconds to wait for a reader of the file to end.
    meanwhile : callable
        As of `Lock`.

    Raises
    ------
    StoreError
        The file is missing, locked, corrupted, of another version, or holds other experiments; or another process is
        writing it.

    Notes
    -----
    Tables ``finals`` and ``curves`` hold the rows: (cell, metric, run[, time]) → value.  What a machine or a clock
    could change (versions, times, hosts) is in ``sessions``, so two stores of one spec hold equal rows however they
    were filled.  ``sums`` holds their checksums, and ``spec`` those of sessions and failures; whatever is read is
    compared with its own.
    """

    def __init__(
        self,
        path: Path | str,
        create: Sequence[Experiment] | None = None,
        seed: int = 0,
        *,
        readonly: bool = False,
        timeout: float = 60.0,
        meanwhile: Callable[[], None] = lambda: None,
    ):
        self.path = Path(path)
        if create is None and not self.path.is_file():
            raise StoreError(f"there are no results in {self.path.parent}: no file {self.path.name}")
        self._release: Callable[[], object] = lambda: None
        if not readonly:
            lock = Lock(self.path.with_name(LOCK), meanwhile)
            self._release = weakref.finalize(self, lock.release)
        self._new = create is not None and not self.path.exists()
        try:
            with self._clearly():
                if readonly:
                    self._db = for_reading(self.path, timeout)
                else:
                    self._db = for_writing(self.path, create is not None, timeout)
                self._open(create, seed)
        except BaseException:
            self.discard()
            raise

    def _open(self, create: Sequence[Experiment] | None, seed: int) -> None:
        if not self._db.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]:
            if create is None:
                raise StoreError(f"there are no results in {self.path.parent}: {self.path.name} is empty")
            schema.create(self._db, create, seed)
        schema.identify(self._db, self.path)
        self.experiments, self.seed, self._ids = schema.described(self._db, self.path)
        self._names = {i: key for key, i in self._ids.items()}
        #: Whether it goes by another declaration than the one that was in the file when it was opened.
        self.restyled = False
        #: Why cells are left out, by key: env, wrappers and agent cannot meet there.
        self.skipped: dict[str, str] = {}
        #: What was said when its cells met, where they did for this call.
        self.meetings: Meetings | None = None

    def seal(self) -> None:
        """Let others write: from now on this store is only read."""
        with self._clearly():
            self._db.execute("PRAGMA query_only = ON")
        self._release()

    def close(self) -> None:
        """Close the file."""
        self._shut(remove=False)

    def discard(self) -> None:
        """Close the file, and remove it if it was made by this call."""
        self._shut(remove=self._new)

    def _shut(self, remove: bool) -> None:
        if "_db" in self.__dict__:
            self._db.close()
        if remove:
            with contextlib.suppress(OSError):
                self.path.unlink(missing_ok=True)
        self._release()

    def __enter__(self) -> Store:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # -- writing ----------------------------------------------------------------------------------------------

    def differs(self, experiments: Sequence[Experiment], seed: int, *, growing: bool = False) -> str:
        """Say in words how the rows of this store differ from those of another spec; empty: they are the same.

        What only decides how rows are shown (titles, labels, figures, claims) does not count; see `restyle`.  The looks
        at which they are judged do count: once there are rows, looks may not be chosen by what these show.  With
        `growing`, more runs do not count where there are no claims, since run r depends on r alone.
        """
        if self.seed != seed:
            return f"it holds seed {self.seed}, asked for is {seed}"
        if [e.name for e in self.experiments] != [e.name for e in experiments]:
            there, here = (", ".join(e.name for e in es) for es in (self.experiments, experiments))
            return f"it holds {there}; asked for is {here}"
        for mine, yours in zip(self.experiments, experiments, strict=True):
            same = mine.runs == yours.runs and tuple(mine.looks) == tuple(yours.looks)
            more = growing and mine.runs < yours.runs and not (mine.claims or yours.claims)
            if (same or more) and [c.key for c in mine.cells()] == [c.key for c in yours.cells()]:
                continue
            old, new = mine.to_dict(), yours.to_dict()
            for key in ("runs", "looks", "luck", "paired", "env", "sweep", "wrappers", "checkpoints", "agents"):
                there, here = (canonical(table[key]) if key in table else "none" for table in (old, new))
                if there != here:
                    short = max(len(there), len(here)) <= 160
                    return f"{mine.name} has " + (f"{key} {there} there, {here} here" if short else f"other {key}")
        return ""

    def declares(self, experiments: Sequence[Experiment]) -> bool:
        """Whether the file holds this very declaration, titles, figures and claims included."""
        return canonical([e.to_dict() for e in experiments]) == canonical([e.to_dict() for e in self.experiments])

    def restyle(self, experiments: Sequence[Experiment]) -> None:
        """Go by a spec whose rows are the same, or more; the file keeps its own until `declare`."""
        self.restyled = not self.declares(experiments)
        if self.restyled:
            self.experiments = tuple(experiments)

    def declare(self) -> None:
        """Write the titles, labels, figures, claims and numbers of runs that `restyle` has taken over."""
        if not self.restyled:
            return
        with self._clearly():
            self._db.execute("BEGIN IMMEDIATE")
            schema.write_spec(self._db, self.experiments, self.seed)
            self._db.execute("COMMIT")

    def begin_session(self, started: str, about: Params) -> None:
        """Note where the rows to come are made."""
        with self._clearly():
            self._db.execute("BEGIN IMMEDIATE")
            self._note_session(started, canonical(about))
            self._db.execute("COMMIT")

    def _note_session(self, started: str, about: str) -> None:
        at = self._db.execute("INSERT INTO sessions (started, about) VALUES (?, ?)", (started, about)).lastrowid
        self._hold("sessions", rows_sum([(at, started, about)]))

    def _hold(self, table: str, change: int) -> None:
        """Change a table's checksum by that of rows that came or went."""
        _, name = schema.HELD[table]
        ((old,),) = self._db.execute("SELECT value FROM spec WHERE name = ?", (name,))
        self._db.execute("UPDATE spec SET value = ? WHERE name = ?", (str((int(old) + change) % 2**32), name))

    def _forget_failures(self, where: str, values: Sequence[object] = ()) -> None:
        columns, _ = schema.HELD["failures"]
        gone = self._db.execute(f"SELECT {columns} FROM failures WHERE {where}", values).fetchall()
        if gone:
            self._db.execute(f"DELETE FROM failures WHERE {where}", values)
            self._hold("failures", -rows_sum(gone))

    def _note_failures(self, rows: Sequence[tuple[object, ...]]) -> None:
        for row in rows:
            self._forget_failures("cell = ? AND first = ?", row[:2])
        self._db.executemany("INSERT INTO failures VALUES (?, ?, ?, ?)", rows)
        self._hold("failures", rows_sum(rows))

    def add(
        self, cell: Cell, runs: Sequence[int], finals: dict[str, Array], curves: dict[str, Array], times: Array
    ) -> None:
        """Commit a batch of runs, all or nothing; a run that is there already stays as it is.

        Per-agent metrics (arrays beyond one number per run) are not rows and are left out.
        """
        at = self._ids[cell.key]
        # As SQLite will hand them out: in order, each time once.
        ticks, order = np.unique(np.asarray(times, float), return_index=True)
        finals = {metric: values for metric, values in finals.items() if values.ndim == 1}
        with self._clearly():
            self._db.execute("BEGIN IMMEDIATE")
            there = {run for (run,) in self._db.execute("SELECT run FROM runs WHERE cell = ?", (at,))}
            for i, run in enumerate(runs):
                if run in there:
                    continue
                ends = {metric: _real(values[i]) for metric, values in finals.items()}
                points = {
                    metric: list(zip(ticks.tolist(), map(_real, table[i][order].tolist()), strict=True))
                    for metric, table in curves.items()
                }
                self._insert(at, cell.key, run, ends, points)
            self._forget_failures("cell = ? AND first BETWEEN ? AND ?", (at, min(runs), max(runs)))
            self._db.execute("COMMIT")

    def _insert(
        self,
        at: int,
        key: str,
        run: int,
        ends: dict[str, float | None],
        points: dict[str, list[tuple[float, float | None]]],
    ) -> None:
        many = self._db.executemany
        self._db.execute("INSERT INTO runs VALUES (?, ?)", (at, run))
        many("INSERT OR REPLACE INTO finals VALUES (?, ?, ?, ?)", ((at, m, run, v) for m, v in ends.items()))
        many(
            "INSERT OR REPLACE INTO curves VALUES (?, ?, ?, ?, ?)",
            ((at, m, run, t, v) for m, pairs in points.items() for t, v in pairs),
        )
        last = {m: checksum(key, m, run, [(None, v)]) for m, v in ends.items()}
        along = {m: checksum(key, m, run, pairs) for m, pairs in points.items() if pairs}
        parts = [(m, last.get(m), along.get(m)) for m in {**last, **along}]
        sums = [(at, m, run, end, curve) for m, end, curve in parts]
        sums.append((at, WHOLE, run, whole_sum(key, run, parts), None))
        many("INSERT OR REPLACE INTO sums VALUES (?, ?, ?, ?, ?)", sums)

    def fail(self, cell: Cell, runs: Sequence[int], error: str) -> None:
        """Note a batch that raised."""
        with self._clearly():
            self._db.execute("BEGIN IMMEDIATE")
            self._note_failures([(self._ids[cell.key], runs[0], len(runs), error)])
            self._db.execute("COMMIT")

    def absorb(self, sources: Sequence[Store]) -> None:
        """Take over runs, failures and sessions of stores of the same run, all or nothing.

        Raises
        ------
        StoreError
            A run that is there has other values in one of them.
        """
        with self._clearly():
            self._db.execute("BEGIN IMMEDIATE")
            for source in sources:
                here, there = self.done(), source.done()
                for key in self._ids:
                    self._absorb(source, key, there[key], here[key])
                self._note_failures([(self._ids[key], *rest) for key, *rest in source.failures()])
                seen = self.sessions()
                for at, about in source.sessions():
                    if (at, about) not in seen:
                        self._note_session(at, canonical(about))
            self._forget_failures(
                "EXISTS (SELECT 1 FROM runs WHERE runs.cell = failures.cell AND runs.run = failures.first)"
            )
            self._db.execute("COMMIT")

    def _absorb(self, source: Store, key: str, theirs: set[int], known: set[int]) -> None:
        if not theirs:
            return
        mine = self.values(key, known) if theirs & known else {}
        for run, (ends, points) in source.values(key, theirs).items():
            if run not in mine:
                self._insert(self._ids[key], key, run, ends, points)
            elif mine[run] != (ends, points):
                label = next(c.label for e in self.experiments for c in e.cells() if c.key == key)
                raise StoreError(
                    f"run {run} of {label} has other values in {source.path.parent} than in the folders before it: "
                    f"other code, or other data, made it; leave one of them out"
                )


def _real(value: SupportsFloat) -> float | None:
    number = float(value)
    return None if np.isnan(number) else number
