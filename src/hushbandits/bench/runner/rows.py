"""Rows of runs in long form, and their Parquet files."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from hushbandits.core import Array, Metric, Params

if TYPE_CHECKING:
    import pyarrow as pa

_META = b"hushbandits"


@dataclass(frozen=True)
class Runs:
    """Final metrics and curves of some runs of one cell.

    Parameters
    ----------
    numbers : (n,) array of int
        Run numbers, ascending.
    finals : mapping of str to (n,) array
        Metrics at the end of a run; NaN if a run has none.
    curves : mapping of str to ((C,) array, (n, C) array)
        Checkpoints, and the values of the metrics there.
    """

    numbers: Array
    finals: Mapping[str, Array] = field(default_factory=dict)
    curves: Mapping[str, tuple[Array, Array]] = field(default_factory=dict)

    @classmethod
    def of(cls, numbers: Sequence[int], finals: Mapping[str, Array], curves: Mapping[str, Array], times: Array) -> Runs:
        """Return the runs of a played batch, without metrics that give several numbers per run."""
        ends = {name: np.asarray(values, float) for name, values in sorted(finals.items()) if values.ndim == 1}
        ticks, order = np.unique(np.asarray(times, float), return_index=True)
        tables = sorted(curves.items()) if len(ticks) else ()
        along = {name: (ticks, np.asarray(table, float)[:, order]) for name, table in tables}
        return cls(np.asarray(numbers, np.int64), ends, along)

    def long(self) -> list[tuple[str, Array, Array, Array]]:
        """Return for each metric its name, run numbers, times (NaN stands for the end) and values."""
        runs, nan = self.numbers, np.full(len(self.numbers), np.nan)
        ends = [(name, runs, nan, np.asarray(x, float)) for name, x in self.finals.items() if np.ndim(x) == 1]
        return ends + [
            (name, np.repeat(runs, len(times)), np.tile(np.asarray(times, float), len(runs)), table.ravel())
            for name, (times, table) in self.curves.items()
        ]


#: Key, label and runs of some cells.
Cells = Sequence[tuple[str, str, Runs]]


class Rows:
    """Rows of many cells, without duplicates of runs.

    Parameters
    ----------
    tables : sequence of pyarrow.Table
        A run of a cell that is in several tables has the same values in all of them.
    """

    def __init__(self, tables: Sequence[pa.Table]):
        import pyarrow as pa

        self._at: Mapping[str, Array] = {}
        self._names: list[str] = []
        if tables:
            frame = pa.concat_tables(tables).unify_dictionaries().to_pandas()
            self._at = frame.groupby("cell", observed=True).indices
            self._names = list(frame["metric"].cat.categories)
            self._metric = frame["metric"].cat.codes.to_numpy()
            self._run, self._time, self._value = (frame[name].to_numpy() for name in ("run", "time", "value"))

    def __contains__(self, key: str) -> bool:
        return key in self._at

    def numbers(self, key: str, most: float = np.inf) -> Array:
        """Return the run numbers of a cell that are below `most`, ``(n,)``, ascending."""
        found = np.unique(self._run[self._at[key]]) if key in self else np.empty(0, np.int64)
        return found[found < most]

    def runs(self, key: str, most: float = np.inf, first: float = -np.inf) -> Runs:
        """Return the runs of a cell whose numbers are at least `first` and below `most`."""
        if key not in self:
            return Runs(np.empty(0, np.int64))
        at = self._at[key]
        at = at[(self._run[at] >= first) & (self._run[at] < most)]
        metric, time, value = self._metric[at], self._time[at], self._value[at]
        numbers, row = np.unique(self._run[at], return_inverse=True)
        finals, curves = {}, {}
        for code in sorted(set(metric.tolist()), key=self._names.__getitem__):
            mine, name = metric == code, self._names[code]
            times, column = np.unique(time[mine], return_inverse=True)
            table = np.full((len(numbers), len(times)), np.nan)
            table[row[mine], column] = value[mine]  # the last of equal rows counts
            if np.isnan(times[-1]):
                finals[name], times, table = table[:, -1], times[:-1], table[:, :-1]
            if len(times):
                curves[name] = times, table
        return Runs(numbers, finals, curves)


def digest_of(content: bytes) -> str:
    """Return the first 16 hex digits of the content's SHA-256."""
    return hashlib.sha256(content).hexdigest()[:16]


def encoded(cells: Cells, seed: int, measures: Mapping[str, Metric], **about: object) -> bytes:
    """Return the content of a Parquet file with rows, the master seed and the metric specifications.

    Parameters
    ----------
    cells : sequence of (str, str, Runs)
    seed : int
        Master seed of the runs.
    measures : mapping of str to Metric
        Specifications of the metrics; stored in the schema's metadata.
    **about
        Further entries of the metadata.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    parts = [(key, label, *part) for key, label, runs in cells for part in runs.long()]
    keys, labels, metrics, *columns = zip(*parts, strict=True)
    run, time, value = map(np.concatenate, columns)
    of = np.repeat(np.arange(len(parts)), list(map(len, columns[0])))
    table = pa.table({
        "cell": pa.array(keys).take(of),
        "label": pa.array(labels).take(of),
        "run": run,
        "metric": pa.array(metrics).take(of),
        "time": pa.array(time, from_pandas=True),  # NaN is null
        "value": value,
    })  # fmt: skip
    stated = {"seed": seed, "metrics": {name: [m.label, m.nature] for name, m in sorted(measures.items())}}
    sink = pa.BufferOutputStream()
    meta = {_META: json.dumps({**stated, **about}, ensure_ascii=False)}
    pq.write_table(table.replace_schema_metadata(meta), sink, compression="zstd")
    return sink.getvalue().to_pybytes()


def decoded(path: Path, seed: int) -> tuple[pa.Table, dict[str, Metric]]:
    """Read a Parquet file of rows and check its digest; return the rows and the metric specifications.

    Raises
    ------
    ValueError
        The content does not have the digest in its name, or has another seed.
    OSError
        The file cannot be read.
    """
    content = path.read_bytes()
    if not path.stem.endswith(f"-{digest_of(content)}"):
        raise ValueError("the content does not match the digest in the file name")
    table, measures, stated = parsed(content)
    if stated["seed"] != seed:
        raise ValueError(f"the file has seed {stated['seed']}, but the folder has seed {seed}")
    return table, measures


def parsed(content: bytes) -> tuple[pa.Table, dict[str, Metric], Params]:
    """Return the rows, the metric specifications and all metadata in the content of a Parquet file of rows."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    table = pq.read_table(pa.BufferReader(content), read_dictionary=["cell", "metric"]).drop_columns("label")
    stated = json.loads(table.schema.metadata[_META])
    measures = {name: Metric(*measure) for name, measure in stated["metrics"].items()}
    return table.replace_schema_metadata(None), measures, stated
