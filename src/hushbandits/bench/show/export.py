"""Rows of a run folder as CSV, JSON or Parquet, and its tables as LaTeX.

What counts something is an integer among the rows, what measures is a float.
"""

from __future__ import annotations

import csv
import io
import json
import math
import sys
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from typing import IO, Any, TextIO

from hushbandits.bench.declare.canonical import plain
from hushbandits.bench.judge.line import lines
from hushbandits.bench.play.reader import Parts
from hushbandits.bench.play.store import Store
from hushbandits.bench.show import latex
from hushbandits.core.ground.files import replacing
from hushbandits.core.ground.validate import LARGEST, choice
from hushbandits.core.measure import NATURES

__all__ = ["export", "format_of", "tidy"]

Row = dict[str, Any]


def tidy(store: Store, parts: Parts | None = None) -> Iterator[Row]:
    """Rows of a store, or of parts of it (`Store.rows`), with their types.

    ``time`` is an integer, ``value`` one where its metric counts and it is whole.  A swept parameter of integers is
    integers, one of integers and floats floats; among words each value stays what it is.
    """
    parts = store.parts() if parts is None else parts
    counts = _counts(store, parts)
    swept = _swept(parts)
    rows: Iterator[Row] = store.rows(parts)
    for row in rows:
        row["time"] = _whole(row["time"])
        if row["metric"] in counts:
            row["value"] = _whole(row["value"])
        for name, kind in swept.items():
            if name in row:
                row[name] = float(row[name]) if kind is float else _simple(row[name])
        yield row


def _counts(store: Store, parts: Parts) -> set[str]:
    """Metrics that count, as declared; without a declaration, those whose final values are all whole."""
    finals: dict[str, bool] = {}
    for experiment, cells in parts:
        for line in lines(store, experiment, cells):
            for name in line.metrics():
                if name in line.measures:
                    finals[name] = NATURES[line.measures[name].nature].whole
                elif finals.get(name, True):
                    values = line.final(name)
                    finals[name] = all(math.isnan(v) or v.is_integer() for v in values.tolist())
    return {name for name, whole in finals.items() if whole}


def _whole(value: object) -> object:
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _swept(parts: Parts) -> dict[str, type]:
    """Swept parameters, and the one type that their values have; `object`: several, or none of the simple ones."""
    values: dict[str, list[object]] = {}
    for _, cells in parts:
        for cell in cells:
            for name, value in cell.point.items():
                values.setdefault(name, []).append(value)
    return {name: _one_type(taken) for name, taken in values.items()}


def _one_type(values: list[object]) -> type:
    kinds = {type(v) for v in values}
    if kinds <= {int, float} and all(abs(v) <= LARGEST for v in values if isinstance(v, int)):
        return float if float in kinds else int
    return kinds.pop() if kinds in ({bool}, {str}) else object


def _simple(value: object) -> object:
    """A number or a word as it is; a list, a law or a graph as JSON."""
    return value if isinstance(value, (bool, int, float, str)) else json.dumps(plain(value), ensure_ascii=False)


def _columns(store: Store) -> list[str]:
    return ["experiment", "cell", "line", *_swept(store.parts()), "run", "metric", "time", "value"]


def _csv(store: Store, out: TextIO) -> None:
    columns = _columns(store)
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(map(_cell, columns))
    writer.writerows([_cell(row.get(c, "")) for c in columns] for row in tidy(store))


#: What makes a spreadsheet take a text for a formula; the last four are its wide forms.
_FORMULA = tuple("=+-@\t\r\n＝＋－＠")


def _cell(value: object) -> object:
    """Return what stands in a cell: a text that a spreadsheet would calculate is quoted."""
    return f"'{value}" if isinstance(value, str) and value.startswith(_FORMULA) else value


def _json(store: Store, out: TextIO) -> None:
    # Nothing is lost on a stream that cannot write every letter: JSON has escapes for them.
    ascii = not (out.encoding or "").lower().replace("-", "").startswith("utf")
    out.write("[")
    for i, row in enumerate(tidy(store)):
        value = row.pop("value")
        # JSON has no word for infinity, and every reader takes a number beyond all floats for it.
        last = json.dumps(value) if value is None or math.isfinite(value) else "1e999" if value > 0 else "-1e999"
        text = json.dumps(row, ensure_ascii=ascii)
        out.write((",\n" if i else "\n") + f'{text[:-1]}, "value": {last}}}')
    out.write("\n]\n")


def _parquet(store: Store, out: IO[bytes]) -> None:
    try:
        import pyarrow as pa
        from pyarrow import parquet
    except ImportError:
        raise ValueError("format='parquet' needs pyarrow: pip install 'hushbandits[parquet]'") from None
    # A column has one type: the values of counts and of measures stand in one, and a float holds a count exactly.
    kinds = {bool: pa.bool_(), int: pa.int64(), float: pa.float64()}
    types = {"run": pa.int64(), "time": pa.int64(), "value": pa.float64()}
    types |= {name: kinds.get(kind, pa.string()) for name, kind in _swept(store.parts()).items()}
    texts = [name for name, kind in _swept(store.parts()).items() if kind not in kinds]
    schema = pa.schema([pa.field(c, types.get(c, pa.string())) for c in _columns(store)])
    with parquet.ParquetWriter(out, schema) as writer:
        found = tidy(store)
        while rows := list(islice(found, 100_000)):
            for row in rows:
                row.update({name: str(row[name]) for name in texts if name in row})
            full = [{c: row.get(c) for c in schema.names} for row in rows]
            writer.write_table(pa.Table.from_pylist(full, schema=schema))


_TEXT: dict[str, Callable[[Store, Any], None]] = {"csv": _csv, "json": _json, "latex": latex.write_tables}
#: Formats that `export` writes.
_FORMATS = (*_TEXT, "parquet")
#: Which of them a file has whose name ends so.
_ENDINGS = {f".{name}": name for name in _FORMATS if name != "latex"} | {".tex": "latex"}


def format_of(out: Path | None, format: str | None = None) -> str:
    """Return the format that is asked for, or that a file's name ends with; of standard output, CSV.

    Examples
    --------
    >>> format_of(Path("rows.parquet")), format_of(None), format_of(Path("rows.txt"), "json")
    ('parquet', 'csv', 'json')
    """
    if format is not None:
        return choice("format", format, _FORMATS)
    if out is None:
        return "csv"
    ending = out.suffix.lower()
    if ending not in _ENDINGS:
        raise ValueError(f"out={str(out)!r} does not end with {', '.join(_ENDINGS)}: give a format")
    return _ENDINGS[ending]


def export(store: Store, format: str | None = None, out: Path | None = None) -> None:
    """Write all rows, in a fixed order (LaTeX: tables), to a file (whole or not at all) or to standard output.

    Parameters
    ----------
    store : Store
    format : str, optional
        ``"csv"``, ``"json"``, ``"latex"`` or ``"parquet"``; default: what `out` ends with, or CSV.
    out : Path, optional
        A file; default: standard output.

    Raises
    ------
    ValueError
        Unknown format, Parquet without pyarrow or for a terminal, or a file that cannot be written.
    """
    format = format_of(out, format)
    if out is None:
        if format != "parquet":
            _TEXT[format](store, sys.stdout)
        elif sys.stdout.isatty():
            raise ValueError("format='parquet' is no text for a terminal: give a file (--out rows.parquet), or a pipe")
        else:
            buffer = io.BytesIO()
            _parquet(store, buffer)
            sys.stdout.buffer.write(buffer.getvalue())
        sys.stdout.flush()
        return
    try:
        with replacing(out, binary=format == "parquet", device=True) as file:
            {**_TEXT, "parquet": _parquet}[format](store, file)
    except OSError as error:
        raise ValueError(f"cannot write {out}: {(error.strerror or str(error)).lower()}") from None
