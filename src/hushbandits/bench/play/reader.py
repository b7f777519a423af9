"""What can be read from a store, each row compared with its checksum."""

from __future__ import annotations

import sqlite3
import struct
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from hushbandits.bench.declare.canonical import canonical
from hushbandits.bench.declare.spec import Cell, Experiment
from hushbandits.bench.play.errors import damaged, in_words
from hushbandits.bench.play.integrity import WHOLE, Row, checksums, rows_sum, whole_sum
from hushbandits.bench.play.schema import HELD
from hushbandits.core.ground.strangers import parsed
from hushbandits.core.ground.types import Array, Params

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Parts", "Reader", "Values"]

#: Experiments, each with those of its cells that are looked at.
Parts = Sequence[tuple[Experiment, Sequence[Cell]]]
#: A run's values at the end, and its curves, by metric.
Values = tuple[dict[str, float | None], dict[str, list[tuple[float, float | None]]]]


class Reader:
    """Rows, failures and sessions of an open store; `Store` opens it and writes."""

    path: Path
    experiments: tuple[Experiment, ...]
    seed: int
    _db: sqlite3.Connection
    _ids: dict[str, int]  # the number under which a cell's rows stand, by its key
    _names: dict[int, str]

    @contextmanager
    def _clearly(self) -> Iterator[None]:
        """Turn SQLite's errors into sentences; whatever goes wrong, commit nothing by halves."""
        try:
            yield
        except BaseException as error:
            if "_db" in self.__dict__ and self._db.in_transaction:
                self._db.rollback()
            if isinstance(error, sqlite3.Error):
                raise in_words(error, self.path) from None
            if isinstance(error, UnicodeDecodeError):  # SQLite quotes the file in what it says of it
                raise damaged(self.path, "it holds text that is none") from None
            raise

    def _compare(self, key: str, rows: Iterable[Row], noted: dict[tuple[str, int], int]) -> None:
        """Raise unless a cell's rows (run, metric, time, value) are those whose sums are noted."""
        try:
            same = checksums(key, rows) == noted
        except (TypeError, ValueError, struct.error):
            same = False
        if not same:
            raise damaged(self.path, f"rows of cell {self._ids[key]} do not match their checksums")

    def _noted(self, column: str, where: str, values: Sequence[object]) -> dict[tuple[str, int], int]:
        sql = f"SELECT metric, run, {column} FROM sums WHERE {where} AND {column} IS NOT NULL"
        return {(metric, run): total for metric, run, total in self._db.execute(sql, values)}

    def done(self) -> dict[str, set[int]]:
        """Runs present, by cell key."""
        found: dict[str, set[int]] = {key: set() for key in self._ids}
        with self._clearly():
            sql = (
                "SELECT r.cell, r.run, s.final FROM runs r LEFT JOIN sums s "
                f"ON s.cell = r.cell AND s.metric = '{WHOLE}' AND s.run = r.run"
            )
            for cell, run, total in self._db.execute(sql):
                if cell not in self._names or not isinstance(run, int) or total is None:
                    raise damaged(self.path, f"it lists a run {run} of cell {cell} that was not written")
                found[self._names[cell]].add(run)
        return found

    def metrics(self, cell: Cell) -> list[str]:
        """Names of the final metrics of a cell."""
        at = (self._ids[cell.key],)
        with self._clearly():
            found = {m for (m,) in self._db.execute("SELECT DISTINCT metric FROM finals WHERE cell = ?", at)}
            sql = "SELECT DISTINCT metric FROM sums WHERE cell = ? AND metric != ? AND final IS NOT NULL"
            if found != {m for (m,) in self._db.execute(sql, (*at, WHOLE))}:
                raise damaged(self.path, f"metrics of cell {at[0]} do not match their checksums")
        return sorted(found)

    def final(self, cell: Cell, metric: str, runs: int) -> Array:
        """``(n,)`` values at the end of those of the first `runs` runs that are there, in order of runs."""
        at = (self._ids[cell.key], metric, runs)
        where = "cell = ? AND metric = ? AND run < ?"
        with self._clearly():
            sql = f"SELECT run, metric, NULL, value FROM finals WHERE {where} ORDER BY run"
            rows = self._db.execute(sql, at).fetchall()
            self._compare(cell.key, rows, self._noted("final", where, at))
        return np.array([_nan(row[3]) for row in rows])

    def present(self, cell: Cell, runs: int) -> Array:
        """``(n,)`` indices of the runs that `final` and `curve` return."""
        at = (self._ids[cell.key], runs)
        with self._clearly():
            sql = "SELECT run FROM runs WHERE cell = ? AND run < ? ORDER BY run"
            found = [run for (run,) in self._db.execute(sql, at)]
            noted = self._noted("final", "cell = ? AND run < ? AND metric = ?", (*at, WHOLE))
            if set(found) != {run for _, run in noted}:
                raise damaged(self.path, f"runs of cell {at[0]} do not match their checksums")
        return np.array(found, np.int64)

    def curve(self, cell: Cell, metric: str, runs: int) -> tuple[Array, Array]:
        """Checkpoints ``(C,)`` and values ``(n, C)`` of those of the first `runs` runs that are there."""
        at = (self._ids[cell.key], metric, runs)
        where = "cell = ? AND metric = ? AND run < ?"
        with self._clearly():
            sql = f"SELECT run, metric, time, value FROM curves WHERE {where} ORDER BY run, time"
            rows = self._db.execute(sql, at).fetchall()
            self._compare(cell.key, rows, self._noted("curve", where, at))
        times = np.array(sorted({row[2] for row in rows}))
        values = np.array([_nan(row[3]) for row in rows]).reshape(-1, len(times)) if rows else np.empty((0, 0))
        return times, values

    def failures(self) -> list[tuple[str, int, int, str]]:
        """(cell key, first run, runs, error) of every batch that raised."""
        rows = self._told("failures", "cell, first")
        for cell, first, runs, _ in rows:
            if cell not in self._names or not isinstance(first, int) or not isinstance(runs, int):
                raise damaged(self.path, f"it lists a failure of runs {first} of cell {cell}, which is not there")
        return [(self._names[cell], first, runs, str(error)) for cell, first, runs, error in rows]

    def sessions(self) -> list[tuple[str, Params]]:
        """When and where rows were made."""
        rows = self._told("sessions", "id")
        try:
            told = [(str(started), parsed(about)) for _, started, about in rows]
        except (ValueError, TypeError):
            told = [("", None)]
        if not all(_sound(about) for _, about in told):
            raise damaged(self.path, "what it says of its sessions cannot be read")
        return told

    def _told(self, table: str, order: str) -> list[tuple[Any, ...]]:
        """All rows of a table that has one checksum as a whole."""
        columns, name = HELD[table]
        with self._clearly():
            rows = self._db.execute(f"SELECT {columns} FROM {table} ORDER BY {order}").fetchall()
            noted = self._db.execute("SELECT value FROM spec WHERE name = ?", (name,)).fetchone()
        if noted is None or noted[0] != str(rows_sum(rows)):
            raise damaged(self.path, f"what it says of its {table} does not match its checksum")
        return rows

    def parts(self) -> Parts:
        """Return all experiments with all of their cells."""
        return [(experiment, experiment.cells()) for experiment in self.experiments]

    def rows(self, parts: Parts | None = None) -> Iterator[dict[str, object]]:
        """Tidy rows in a fixed order: experiment, cell, agent, the swept values, run, metric, time, value.

        ``time`` is ``None`` for values at the end.  By default of all cells.
        """
        for experiment, cells in self.parts() if parts is None else parts:
            for cell in cells:
                head = {"experiment": experiment.name, "cell": cell.key, "line": cell.line, **cell.point}
                for run, metric, time, value in self._all(cell.key, experiment.runs):
                    yield {**head, "run": run, "metric": metric, "time": time, "value": value}

    def _all(self, key: str, runs: int) -> list[tuple[int, str, float | None, float | None]]:
        """All rows (run, metric, time, value) of the first `runs` runs of a cell: the ends, then the curves."""
        at = (self._ids[key], runs)
        found = []
        with self._clearly():
            for table, time, column in (("finals", "NULL", "final"), ("curves", "time", "curve")):
                sql = f"SELECT run, metric, {time}, value FROM {table} WHERE cell = ? AND run < ? ORDER BY 1, 2, 3"
                rows = self._db.execute(sql, at).fetchall()
                where = "cell = ? AND run < ? AND metric != ?"
                self._compare(key, rows, self._noted(column, where, (*at, WHOLE)))
                found += rows
        return found

    def values(self, key: str, runs: Iterable[int]) -> dict[int, Values]:
        """All values of a cell, by run, of which `runs` are there: at the end, and (time, value) pairs, by metric."""
        found: dict[int, Values] = {run: ({}, {}) for run in sorted(runs)}
        for run, metric, time, value in self._all(key, 2**62):
            if run not in found:
                continue
            if time is None:
                found[run][0][metric] = value
            else:
                found[run][1].setdefault(metric, []).append((time, value))
        return found

    def verify(self) -> Iterator[tuple[str, int]]:
        """Compare everything with its checksums, cell by cell; yield the cell's key and its number of rows.

        Raises
        ------
        StoreError
            Something is not what was written.
        """
        every = 2**62
        with self._clearly():
            known = dict(self._db.execute("SELECT id, spec FROM cells"))
        self.done()
        self.failures()
        self.sessions()
        for experiment in self.experiments:
            for cell in experiment.cells():
                if known[self._ids[cell.key]] != canonical(cell.spec):
                    raise damaged(self.path, f"cell {self._ids[cell.key]} is not the one of its declaration")
        for key, at in self._ids.items():
            rows = len(self._all(key, every))
            self._verify_runs(key, at)
            yield key, rows

    def _verify_runs(self, key: str, at: int) -> None:
        parts: dict[int, list[tuple[str, int | None, int | None]]] = {}
        with self._clearly():
            runs = {run for (run,) in self._db.execute("SELECT run FROM runs WHERE cell = ?", (at,))}
            whole = self._noted("final", "cell = ? AND metric = ?", (at, WHOLE))
            sql = "SELECT run, metric, final, curve FROM sums WHERE cell = ? AND metric != ?"
            for run, *part in self._db.execute(sql, (at, WHOLE)):
                parts.setdefault(run, []).append(tuple(part))
        found = {(WHOLE, run): whole_sum(key, run, parts.get(run, [])) for run in runs}
        if found != whole or not parts.keys() <= runs:
            raise damaged(self.path, f"runs of cell {at} do not match their checksums")

    def to_frame(self) -> pd.DataFrame:
        """All rows as a ``pandas.DataFrame``; see `rows`."""
        import pandas as pd

        return pd.DataFrame(self.rows())


def _sound(about: object) -> bool:
    """Whether what a session says has the shapes that are asked of it."""
    if not isinstance(about, dict) or not isinstance(about.get("sources", ""), str):
        return False
    own = about.get("own", {})
    return isinstance(own, dict) and all(isinstance(digest, str) for digest in own.values())


def _nan(value: float | None) -> float:
    return np.nan if value is None else value
