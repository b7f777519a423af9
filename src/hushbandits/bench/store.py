"""One SQLite file per run folder: rows, and apart from them where they come from."""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from hushbandits.bench.canonical import canonical
from hushbandits.bench.errors import StoreError
from hushbandits.bench.spec import Cell, Experiment
from hushbandits.core.types import Array

__all__ = ["FILE", "Store"]

FILE = "results.sqlite"
VERSION = 1
_APPLICATION = 0x48757368  # "Hush"

_SCHEMA = """
CREATE TABLE spec (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE cells (id INTEGER PRIMARY KEY, key TEXT NOT NULL UNIQUE, spec TEXT NOT NULL);
CREATE TABLE runs (cell INTEGER NOT NULL REFERENCES cells, run INTEGER NOT NULL, PRIMARY KEY (cell, run)) WITHOUT ROWID;
CREATE TABLE finals (cell INTEGER NOT NULL REFERENCES cells, metric TEXT NOT NULL, run INTEGER NOT NULL, value REAL,
  PRIMARY KEY (cell, metric, run)) WITHOUT ROWID;
CREATE TABLE curves (cell INTEGER NOT NULL REFERENCES cells, metric TEXT NOT NULL, run INTEGER NOT NULL,
  time REAL NOT NULL, value REAL, PRIMARY KEY (cell, metric, run, time)) WITHOUT ROWID;
CREATE TABLE failures (cell INTEGER NOT NULL REFERENCES cells, first INTEGER NOT NULL, runs INTEGER NOT NULL,
  error TEXT NOT NULL, PRIMARY KEY (cell, first)) WITHOUT ROWID;
CREATE TABLE sessions (id INTEGER PRIMARY KEY, started TEXT NOT NULL, about TEXT NOT NULL);
"""


class Store:
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
        Only look.

    Notes
    -----
    Tables ``finals`` and ``curves`` hold the rows: (cell, metric, run[, time]) → value.  What a machine or a clock
    could change (versions, times, hosts) is in ``sessions``, so two stores of one spec hold equal rows however they
    were filled.

    Raises
    ------
    StoreError
        The file is missing, locked, corrupted, of a newer version, or holds other experiments.
    """

    def __init__(
        self,
        path: Path | str,
        create: Sequence[Experiment] | None = None,
        seed: int = 0,
        *,
        readonly: bool = False,
        timeout: float = 10.0,
    ):
        self.path = Path(path)
        if create is None and not self.path.is_file():
            raise StoreError(f"there are no results in {self.path.parent}: no file {self.path.name}")
        with self._clearly():
            # A reader, too, may have to roll a killed writer's journal back, so it writes where it can.
            mode = "ro" if readonly and not os.access(self.path, os.W_OK) else "rwc"
            target = f"{self.path.absolute().as_uri()}?mode={mode}"
            self._db = sqlite3.connect(target, uri=True, timeout=timeout, isolation_level=None)
        try:
            with self._clearly():
                self._open(create, seed)
        except BaseException:
            self._db.close()
            raise

    def _open(self, create: Sequence[Experiment] | None, seed: int) -> None:
        version = self._db.execute("PRAGMA user_version").fetchone()[0]
        application = self._db.execute("PRAGMA application_id").fetchone()[0]
        empty = not self._db.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
        if empty and create is not None:
            wanted = {"experiments": canonical([e.to_dict() for e in create]), "seed": canonical(seed)}
            self._db.execute("BEGIN IMMEDIATE")
            for statement in _SCHEMA.split(";\n"):
                if statement.strip():
                    self._db.execute(statement)
            self._db.execute(f"PRAGMA application_id = {_APPLICATION}")
            self._db.execute(f"PRAGMA user_version = {VERSION}")
            self._db.executemany("INSERT INTO spec VALUES (?, ?)", wanted.items())
            self._db.executemany(
                "INSERT OR IGNORE INTO cells (key, spec) VALUES (?, ?)",
                ((cell.key, canonical(cell.spec)) for e in create for cell in e.cells()),
            )
            self._db.execute("COMMIT")
        elif application != _APPLICATION:
            raise StoreError(f"{self.path} is no results file of hushbandits; move it away, or choose another folder")
        elif version > VERSION:
            raise StoreError(
                f"{self.path} was written by a newer hushbandits (store version {version}, this one reads {VERSION}); "
                f"upgrade hushbandits, or choose another folder"
            )
        spec = dict(self._db.execute("SELECT name, value FROM spec"))
        self.seed: int = json.loads(spec["seed"])
        self.experiments = tuple(Experiment.from_dict(table) for table in json.loads(spec["experiments"]))
        self._ids: dict[str, int] = dict(self._db.execute("SELECT key, id FROM cells"))

    def close(self) -> None:
        """Close the file."""
        self._db.close()

    def __enter__(self) -> Store:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @contextmanager
    def _clearly(self) -> Iterator[None]:
        """Turn SQLite's errors into sentences; whatever goes wrong, commit nothing by halves."""
        try:
            yield
        except BaseException as error:
            if "_db" in self.__dict__ and self._db.in_transaction:
                self._db.rollback()
            if not isinstance(error, sqlite3.Error):
                raise
            text = str(error)
            saved = "everything committed before is safe, and the same command resumes"
            if "locked" in text or "busy" in text:
                raise StoreError(f"{self.path} is locked by another program; close it and try again: {saved}") from None
            if "full" in text:
                raise StoreError(f"no room is left to write {self.path} ({text}); make room: {saved}") from None
            if "readonly" in text or "unable to open" in text:
                raise StoreError(f"{self.path} cannot be opened for writing ({text})") from None
            if isinstance(error, sqlite3.DatabaseError) and ("malformed" in text or "not a database" in text):
                raise StoreError(
                    f"{self.path} is corrupted ({text}); restore a copy or choose another folder"
                ) from None
            raise StoreError(f"{self.path}: {text}") from error

    # -- writing ----------------------------------------------------------------------------------------------

    def differs(self, experiments: Sequence[Experiment], seed: int) -> str:
        """Say in words how the rows of this store differ from those of another spec; empty: they are the same.

        What only decides how rows are shown (titles, labels, figures, claims) does not count; see `restyle`.
        """
        if self.seed != seed:
            return f"it holds seed {self.seed}, asked for is {seed}"
        if [e.name for e in self.experiments] != [e.name for e in experiments]:
            there, here = (", ".join(e.name for e in es) for es in (self.experiments, experiments))
            return f"it holds {there}; asked for is {here}"
        for mine, yours in zip(self.experiments, experiments, strict=True):
            if mine.runs == yours.runs and [c.key for c in mine.cells()] == [c.key for c in yours.cells()]:
                continue
            old, new = mine.to_dict(), yours.to_dict()
            for key in ("runs", "env", "sweep", "wrappers", "checkpoints", "agents"):
                there, here = canonical(old.get(key)), canonical(new.get(key))
                if there != here:
                    short = max(len(there), len(here)) <= 160
                    return f"{mine.name} has " + (f"{key} {there} there, {here} here" if short else f"other {key}")
        return ""

    def restyle(self, experiments: Sequence[Experiment]) -> None:
        """Take over titles, labels, figures and claims of a spec whose rows are the same."""
        wanted = canonical([e.to_dict() for e in experiments])
        if wanted == canonical([e.to_dict() for e in self.experiments]):
            return
        with self._clearly():
            self._db.execute("UPDATE spec SET value = ? WHERE name = 'experiments'", (wanted,))
        self.experiments = tuple(experiments)

    def begin_session(self, started: str, about: dict[str, Any]) -> None:
        """Note where the rows to come are made."""
        with self._clearly():
            self._db.execute("INSERT INTO sessions (started, about) VALUES (?, ?)", (started, canonical(about)))

    def add(
        self, cell: Cell, runs: Sequence[int], finals: dict[str, Array], curves: dict[str, Array], times: Array
    ) -> None:
        """Commit a batch of runs, all or nothing; a run that is there already stays as it is.

        Per-agent metrics (arrays beyond one number per run) are not rows and are left out.
        """
        at = self._ids[cell.key]
        ticks = [float(t) for t in times]
        with self._clearly():
            self._db.execute("BEGIN IMMEDIATE")
            self._db.executemany("INSERT OR IGNORE INTO runs VALUES (?, ?)", ((at, run) for run in runs))
            for metric, values in finals.items():
                if values.ndim == 1:
                    rows = ((at, metric, run, _real(v)) for run, v in zip(runs, values.tolist(), strict=True))
                    self._db.executemany("INSERT OR IGNORE INTO finals VALUES (?, ?, ?, ?)", rows)
            for metric, table in curves.items():
                points = (
                    (at, metric, run, t, _real(v))
                    for run, row in zip(runs, table.tolist(), strict=True)
                    for t, v in zip(ticks, row, strict=True)
                )
                self._db.executemany("INSERT OR IGNORE INTO curves VALUES (?, ?, ?, ?, ?)", points)
            self._db.execute(
                "DELETE FROM failures WHERE cell = ? AND first BETWEEN ? AND ?", (at, min(runs), max(runs))
            )
            self._db.execute("COMMIT")

    def fail(self, cell: Cell, runs: Sequence[int], error: str) -> None:
        """Note a batch that raised."""
        with self._clearly():
            row = (self._ids[cell.key], runs[0], len(runs), error)
            self._db.execute("INSERT OR REPLACE INTO failures VALUES (?, ?, ?, ?)", row)

    # -- reading ----------------------------------------------------------------------------------------------

    def done(self) -> dict[str, set[int]]:
        """Runs present, by cell key."""
        found: dict[int, set[int]] = {i: set() for i in self._ids.values()}
        with self._clearly():
            for cell, run in self._db.execute("SELECT cell, run FROM runs"):
                found[cell].add(run)
        return {key: found[i] for key, i in self._ids.items()}

    def metrics(self, cell: Cell) -> list[str]:
        """Names of the final metrics of a cell."""
        with self._clearly():
            rows = self._db.execute("SELECT DISTINCT metric FROM finals WHERE cell = ?", (self._ids[cell.key],))
            return sorted(row[0] for row in rows)

    def final(self, cell: Cell, metric: str, runs: int) -> Array:
        """``(n,)`` values at the end of those of the first `runs` runs that are there, in order of runs."""
        with self._clearly():
            rows = self._db.execute(
                "SELECT value FROM finals WHERE cell = ? AND metric = ? AND run < ? ORDER BY run",
                (self._ids[cell.key], metric, runs),
            )
            return np.array([_nan(v) for (v,) in rows])

    def present(self, cell: Cell, runs: int) -> Array:
        """``(n,)`` indices of the runs that `final` and `curve` return."""
        with self._clearly():
            sql = "SELECT run FROM runs WHERE cell = ? AND run < ? ORDER BY run"
            return np.array([r for (r,) in self._db.execute(sql, (self._ids[cell.key], runs))], np.int64)

    def curve(self, cell: Cell, metric: str, runs: int) -> tuple[Array, Array]:
        """Checkpoints ``(C,)`` and values ``(n, C)`` of those of the first `runs` runs that are there."""
        with self._clearly():
            rows = self._db.execute(
                "SELECT time, value FROM curves WHERE cell = ? AND metric = ? AND run < ? ORDER BY run, time",
                (self._ids[cell.key], metric, runs),
            ).fetchall()
        times = np.array(sorted({t for t, _ in rows}))
        values = np.array([_nan(v) for _, v in rows]).reshape(-1, len(times)) if rows else np.empty((0, 0))
        return times, values

    def failures(self) -> list[tuple[str, int, int, str]]:
        """(cell key, first run, runs, error) of every batch that raised."""
        names = {i: key for key, i in self._ids.items()}
        with self._clearly():
            return [(names[c], f, n, e) for c, f, n, e in self._db.execute("SELECT * FROM failures ORDER BY 1, 2")]

    def sessions(self) -> list[tuple[str, dict[str, Any]]]:
        """When and where rows were made."""
        with self._clearly():
            rows = self._db.execute("SELECT started, about FROM sessions ORDER BY id").fetchall()
        return [(started, json.loads(about)) for started, about in rows]

    def rows(self) -> Iterator[dict[str, Any]]:
        """Tidy rows in a fixed order: experiment, cell, agent, the swept values, run, metric, time, value.

        ``time`` is ``None`` for values at the end.
        """
        for experiment in self.experiments:
            for cell in experiment.cells():
                head = {"experiment": experiment.name, "cell": cell.key, "line": cell.line, **cell.point}
                at = (self._ids[cell.key], experiment.runs)
                wanted = "FROM {} WHERE cell = ? AND run < ? ORDER BY run, metric"
                with self._clearly():
                    ends = self._db.execute("SELECT run, metric, NULL, value " + wanted.format("finals"), at).fetchall()
                    sql = "SELECT run, metric, time, value " + wanted.format("curves") + ", time"
                    points = self._db.execute(sql, at).fetchall()
                for run, metric, time, value in (*ends, *points):
                    yield {**head, "run": run, "metric": metric, "time": time, "value": value}

    def to_frame(self) -> Any:
        """All rows as a ``pandas.DataFrame``; see `rows`."""
        import pandas as pd

        return pd.DataFrame(self.rows())


def _real(value: Any) -> float | None:
    number = float(value)
    return None if np.isnan(number) else number


def _nan(value: float | None) -> float:
    return np.nan if value is None else value
