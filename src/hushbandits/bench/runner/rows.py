"""Rows of runs in long form, and the Parquet files that hold them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from hushbandits.bench.runner.files import digest_of
from hushbandits.core.ground.extras import extra
from hushbandits.core.ground.types import Array
from hushbandits.core.measure import NATURES, Measure

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["Rows", "Runs", "decoded", "encoded"]

_META = b"hushbandits"
_COLUMNS = ("cell", "label", "run", "metric", "time", "value")


@dataclass(frozen=True)
class Runs:
    """Values of some runs of one cell.

    Parameters
    ----------
    numbers : (n,) array of int
        Numbers of the runs, ascending.
    finals : mapping of str to (n,) array
        Metrics at the end of a run; NaN where a run has none.
    curves : mapping of str to ((C,) array, (n, C) array)
        Checkpoints and the metrics there.
    """

    numbers: Array
    finals: Mapping[str, Array] = field(default_factory=dict)
    curves: Mapping[str, tuple[Array, Array]] = field(default_factory=dict)

    @classmethod
    def of(cls, numbers: Sequence[int], finals: Mapping[str, Array], curves: Mapping[str, Array], times: Array) -> Runs:
        """Return the runs of a batch as it was played; metrics of more than one number per run are left out."""
        ends = {name: np.asarray(values, float) for name, values in finals.items() if values.ndim == 1}
        ticks, order = np.unique(np.asarray(times, float), return_index=True)
        along = {name: (ticks, np.asarray(table, float)[:, order]) for name, table in curves.items() if len(ticks)}
        return cls(np.asarray(numbers, np.int64), ends, along)

    @property
    def rows(self) -> int:
        """Number of rows in long form."""
        return sum(np.size(v) for v in self.finals.values()) + sum(np.size(v) for _, v in self.curves.values())

    def first(self, runs: int) -> Runs:
        """Return the runs whose numbers are below `runs`."""
        n = int(np.searchsorted(self.numbers, runs))
        if n == len(self.numbers):
            return self
        finals = {name: values[:n] for name, values in self.finals.items()}
        return Runs(self.numbers[:n], finals, {name: (t, values[:n]) for name, (t, values) in self.curves.items()})


class Rows:
    """Rows of many cells as columns, sorted by cell, run, metric and time; each run of a cell once.

    Parameters
    ----------
    tables : sequence of pyarrow.Table
        Where two hold the same run of a cell, the earlier table counts.
    """

    def __init__(self, tables: Sequence[pa.Table]):
        with extra("bench"):
            import pyarrow as pa

        table = pa.concat_tables(tables) if tables else None
        self._cells: dict[str, slice] = {}
        if table is None or not len(table):
            return
        cell, self._keys = _codes(table["cell"])
        metric, self._metrics = _codes(table["metric"])
        run = table["run"].to_numpy().astype(np.int64)
        source = np.repeat(np.arange(len(tables)), [len(t) for t in tables])
        kept = _once(cell, run, source)
        time = table["time"].to_numpy(zero_copy_only=False)
        order = np.lexsort((time[kept], metric[kept], run[kept], cell[kept]))
        at = np.flatnonzero(kept)[order]
        self._run, self._metric, self._time = run[at], metric[at], time[at]
        self._value = table["value"].to_numpy(zero_copy_only=False)[at]
        cell = cell[at]
        starts = np.flatnonzero(np.r_[True, cell[1:] != cell[:-1]])
        for start, end in zip(starts.tolist(), [*starts[1:].tolist(), len(cell)], strict=True):
            self._cells[self._keys[cell[start]]] = slice(start, end)

    def __contains__(self, key: str) -> bool:
        return key in self._cells

    def numbers(self, key: str) -> Array:
        """``(n,)`` numbers of the runs of a cell, ascending."""
        return np.unique(self._run[self._cells[key]]) if key in self._cells else np.empty(0, np.int64)

    def runs(self, key: str) -> Runs:
        """Return all runs of a cell."""
        if key not in self._cells:
            return Runs(np.empty(0, np.int64))
        at = self._cells[key]
        run, metric, time, value = self._run[at], self._metric[at], self._time[at], self._value[at]
        numbers = np.unique(run)
        end = np.isnan(time)
        finals, curves = {}, {}
        for code in np.unique(metric).tolist():
            mine = metric == code
            if (last := mine & end).any():
                values = np.full(len(numbers), np.nan)
                values[np.searchsorted(numbers, run[last])] = value[last]
                finals[self._metrics[code]] = values
            if (along := mine & ~end).any():
                times = np.unique(time[along])
                table = np.full((len(numbers), len(times)), np.nan)
                table[np.searchsorted(numbers, run[along]), np.searchsorted(times, time[along])] = value[along]
                curves[self._metrics[code]] = times, table
        return Runs(numbers, dict(sorted(finals.items())), dict(sorted(curves.items())))


def _codes(column: pa.ChunkedArray) -> tuple[Array, list[str]]:
    coded = column.unify_dictionaries().combine_chunks()
    return coded.indices.to_numpy().astype(np.int64), coded.dictionary.to_pylist()


def _once(cell: Array, run: Array, source: Array) -> Array:
    """Mark the rows of the earliest source that holds their run."""
    pair = cell * (int(run.max()) + 1) + run
    _, group = np.unique(pair, return_inverse=True)
    earliest = np.full(int(group.max()) + 1, len(source))
    np.minimum.at(earliest, group, source)
    return np.asarray(source == earliest[group])


def encoded(cells: Iterable[tuple[str, str, Runs]], seed: int, measures: Mapping[str, Measure]) -> bytes:
    """Return a Parquet file of some cells' runs.

    Parameters
    ----------
    cells : iterable of (str, str, Runs)
        Key and label of each cell, and its runs.
    seed : int
        Master seed that the runs were played with.
    measures : mapping of str to Measure
        What the metrics are; stands in the schema's metadata.
    """
    with extra("bench"):
        import pyarrow as pa
        import pyarrow.parquet as pq

    parts = [part for key, label, runs in cells for part in _columns(key, label, runs)]
    columns = [list(column) for column in zip(*parts, strict=True)] or [[] for _ in _COLUMNS]
    lengths = [len(run) for run in columns[2]]
    text = [pa.array(np.repeat(np.array(column, object), lengths), pa.string()) for column in (columns[0], columns[1])]
    names = pa.array(np.repeat(np.array(columns[3], object), lengths), pa.string())
    run, time, value = (np.concatenate(columns[i]) if parts else np.empty(0) for i in (2, 4, 5))
    told = {"seed": seed, "metrics": {name: [m.label, m.nature] for name, m in sorted(measures.items())}}
    table = pa.table(
        [*text, pa.array(run.astype(np.int64)), names, pa.array(time, mask=np.isnan(time)), pa.array(value)],
        schema=pa.schema(
            [
                ("cell", pa.string()), ("label", pa.string()), ("run", pa.int64()), ("metric", pa.string()),
                ("time", pa.float64()), ("value", pa.float64()),
            ],
            {_META: json.dumps(told, ensure_ascii=False).encode()},
        ),
    )  # fmt: skip
    sink = pa.BufferOutputStream()
    pq.write_table(table, sink, compression="zstd")
    return sink.getvalue().to_pybytes()


def _columns(key: str, label: str, runs: Runs) -> Iterable[tuple[object, ...]]:
    """Yield (cell, label, runs, metric, times, values) of each metric, the ends and then the curves."""
    for name, values in sorted(runs.finals.items()):
        yield key, label, runs.numbers, name, np.full(len(values), np.nan), np.asarray(values, float)
    for name, (times, values) in sorted(runs.curves.items()):
        n, c = values.shape
        yield key, label, np.repeat(runs.numbers, c), name, np.tile(np.asarray(times, float), n), values.ravel()


class Foreign(ValueError):
    """A file is not what its name says, or was made by something else."""


def decoded(path: Path, seed: int) -> tuple[pa.Table, dict[str, Measure]]:
    """Read a Parquet file of rows, after its digest; return its rows and what its metrics are.

    Raises
    ------
    Foreign
        Its content has another digest than its name says, has no such columns, or another seed.
    OSError
        It cannot be read.
    """
    with extra("bench"):
        import pyarrow as pa
        import pyarrow.parquet as pq

    content = path.read_bytes()
    if not path.stem.endswith(f"-{digest_of(content)}"):
        raise Foreign("its content is not what was written")
    try:
        table = pq.read_table(pa.BufferReader(content), read_dictionary=["cell", "metric"])
        told = json.loads((table.schema.metadata or {})[_META])
        measures = {n: Measure(*m) for n, m in told["metrics"].items() if m[1] in NATURES}
        if tuple(table.column_names) != _COLUMNS:
            raise Foreign("it has other columns")
    except Foreign:
        raise
    except (pa.ArrowException, KeyError, TypeError, ValueError, IndexError) as error:
        raise Foreign("it is no file of rows of this library") from error
    if told.get("seed") != seed:
        raise Foreign(f"it was made with seed {told.get('seed')}, and the folder with {seed}")
    return table.replace_schema_metadata(None), measures
