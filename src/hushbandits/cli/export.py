"""``hushbandits export FOLDER``: its rows, for other programs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from tyro.conf import Positional, arg

from hushbandits.bench.play.store import FILE, Store
from hushbandits.cli.console import bad_input_is_a_sentence

__all__ = ["export"]


def export(
    folder: Annotated[Positional[Path], arg(metavar="FOLDER")],
    format: Annotated[str | None, arg(metavar="csv|json|latex|parquet")] = None,
    out: Annotated[Path | None, arg(name="output", metavar="FILE", aliases=("--out",))] = None,
) -> int:
    """Write the rows of a run folder: experiment, cell, line, swept values, run, metric, time, value; or its tables.

    Counts (messages, rounds), runs, times and swept integers are integers, measures are floats. Examples:

      hushbandits export runs/quickstart --out rows.csv
      hushbandits export runs/quickstart --out rows.parquet
      hushbandits export runs/quickstart --out tables.tex
      hushbandits export runs/quickstart --format json | jq length

    Parameters
    ----------
    folder
        Such as runs/quickstart.
    format
        csv, json, latex (the tables, with booktabs) or parquet; default: what FILE ends with (latex: .tex), or csv.
    out
        A file; default: standard output (parquet: only into a pipe).
    """
    from hushbandits.bench.show.export import export as write
    from hushbandits.bench.show.export import format_of

    with bad_input_is_a_sentence():
        format = format_of(out, format)
        with Store(folder / FILE, readonly=True) as store:
            write(store, format, out)
    return 0
