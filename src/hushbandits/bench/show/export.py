"""Rows of a run folder as CSV, JSON or Parquet."""

from __future__ import annotations

import csv
import io
import json
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import IO, Any, TextIO

from hushbandits.bench.play.store import Store
from hushbandits.bench.show.files import replacing
from hushbandits.core.validate import choice

__all__ = ["FORMATS", "export"]


def _columns(store: Store) -> list[str]:
    swept = dict.fromkeys(parameter for e in store.experiments for parameter in e.sweep)
    return ["experiment", "cell", "line", *swept, "run", "metric", "time", "value"]


def _csv(store: Store, out: TextIO) -> None:
    columns = _columns(store)
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(map(_cell, columns))
    writer.writerows([_cell(row.get(c, "")) for c in columns] for row in store.rows())


#: What makes a spreadsheet take a text for a formula; the last four are its wide forms.
_FORMULA = tuple("=+-@\t\r\n＝＋－＠")


def _cell(value: object) -> object:
    """Return what stands in a cell: a text that a spreadsheet would calculate is quoted."""
    return f"'{value}" if isinstance(value, str) and value.startswith(_FORMULA) else value


def _json(store: Store, out: TextIO) -> None:
    # Nothing is lost on a stream that cannot write every letter: JSON has escapes for them.
    ascii = not (out.encoding or "").lower().replace("-", "").startswith("utf")
    out.write("[")
    for i, row in enumerate(store.rows()):
        out.write((",\n" if i else "\n") + json.dumps(row, ensure_ascii=ascii))
    out.write("\n]\n")


def _parquet(store: Store, out: IO[bytes]) -> None:
    try:
        import pyarrow as pa
        from pyarrow import parquet
    except ImportError:
        raise ValueError("format='parquet' needs pyarrow: pip install 'hushbandits[parquet]'") from None
    kinds = {"run": pa.int64(), "time": pa.float64(), "value": pa.float64()}
    # A swept parameter may mix numbers and words: it travels as text then.
    swept = {p: [v for e in store.experiments for v in e.sweep.get(p, [])] for p in _columns(store)[3:-4]}
    text = {p for p, values in swept.items() if any(not isinstance(v, (int, float)) for v in values)}
    fields = [
        pa.field(c, kinds.get(c, pa.float64() if c in swept and c not in text else pa.string()))
        for c in _columns(store)
    ]
    schema = pa.schema(fields)
    with parquet.ParquetWriter(out, schema) as writer:
        for rows in _chunks(store.rows(), 100_000):
            for row in rows:
                row.update({p: str(row[p]) for p in text if p in row})
            full = [{c: row.get(c) for c in schema.names} for row in rows]
            writer.write_table(pa.Table.from_pylist(full, schema=schema))


def _chunks(rows: Iterable[dict[str, object]], size: int) -> Iterator[list[dict[str, object]]]:
    chunk: list[dict[str, object]] = []
    for row in rows:
        chunk.append(row)
        if len(chunk) == size:
            yield chunk
            chunk = []
    if chunk:
        yield chunk


_TEXT: dict[str, Callable[[Store, Any], None]] = {"csv": _csv, "json": _json}
#: Formats that `export` writes.
FORMATS = (*_TEXT, "parquet")


def export(store: Store, format: str = "csv", output: Path | None = None) -> None:
    """Write all rows, in a fixed order, to a file (whole or not at all) or to standard output.

    Raises
    ------
    ValueError
        Unknown format, Parquet without pyarrow, or a file that cannot be written.
    """
    choice("format", format, FORMATS)
    if output is None:
        if format == "parquet":
            buffer = io.BytesIO()
            _parquet(store, buffer)
            sys.stdout.buffer.write(buffer.getvalue())
        else:
            _TEXT[format](store, sys.stdout)
        sys.stdout.flush()
        return
    try:
        with replacing(output, binary=format == "parquet") as out:
            {**_TEXT, "parquet": _parquet}[format](store, out)
    except OSError as error:
        raise ValueError(f"cannot write {output}: {(error.strerror or str(error)).lower()}") from None
