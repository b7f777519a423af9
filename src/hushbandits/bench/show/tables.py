"""The final table: means, medians and their intervals, cell by cell."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from hushbandits.bench.declare.spec import Cell
from hushbandits.bench.declare.vocabulary import symbol
from hushbandits.bench.judge.line import Line, lines
from hushbandits.bench.judge.stats import Interval
from hushbandits.bench.judge.summary import summary
from hushbandits.bench.play.store import Store
from hushbandits.bench.show.terminal import escape, print_table

if TYPE_CHECKING:
    from rich.console import Console

__all__ = ["Row", "Value", "columns", "interval", "number", "print_tables", "summaries", "written"]

#: What stands in a table: a text, a number or an interval; ``None`` where there is none.
Value = str | float | Interval | None


@dataclass(frozen=True)
class Row:
    """A row of the table: a metric of a cell."""

    cell: Cell
    metric: str
    runs: int
    mean: float
    mean_interval: Interval
    median: float | None
    median_interval: Interval | None
    label: str

    @property
    def numbers(self) -> tuple[float | Interval | None, ...]:
        """Mean and median, each with its interval."""
        return self.mean, self.mean_interval, self.median, self.median_interval


def columns(swept: Iterable[str]) -> list[str]:
    """Return the heads of the table's columns: who played, where in a sweep, and what a `Row` says."""
    what = ["metric", "runs", "mean", "95 % of the mean", "median", "95 % of the median"]
    return ["agent", *map(symbol, swept), *what]


def summaries(lines: Iterable[Line], metrics: Sequence[str] = ()) -> Iterator[Row]:
    """Summarise every line that has runs, metric by metric; by default all that it has."""
    for line in lines:
        for name in metrics or line.metrics():
            x, kind = line.final(name), line.measures[name]
            if not len(x):
                continue
            mean = summary(x, kind)
            middle = None if kind.rate else summary(x, kind, "median")
            median, ends = (middle.centre, middle.interval) if middle else (None, None)
            yield Row(line.cell, name, len(x), mean.centre, mean.interval, median, ends, kind.label)


def number(x: float | None) -> str:
    """Four figures, thousands apart.

    Examples
    --------
    >>> number(1234567.8), number(0.012345), number(3), number(None)
    ('1,234,568', '0.01235', '3', '')
    """
    if x is None:
        return ""
    if math.isnan(x) or math.isinf(x):
        return "–" if math.isnan(x) else ("∞" if x > 0 else "−∞")
    if float(x).is_integer() or abs(x) >= 1000:
        return f"{x:,.0f}"
    return f"{x:.4g}"


def interval(bounds: Interval | None) -> str:
    """Return the interval in brackets; empty where there is none, ``(too few runs)`` where it is unbounded.

    Examples
    --------
    >>> interval((0.5, 2.0))
    '[0.5, 2]'
    """
    if bounds is None:
        return ""
    if bounds == (-math.inf, math.inf):
        return "(too few runs)"
    return f"[{number(bounds[0])}, {number(bounds[1])}]"


def written(value: Value) -> str:
    """Return what a table's value is written as."""
    if isinstance(value, str):
        return value
    return interval(value) if isinstance(value, tuple) else number(value)


def print_tables(store: Store, console: Console, most: int = 40) -> None:
    """Print one table per experiment, of at most `most` cells."""
    for experiment in store.experiments:
        swept = list(experiment.sweep)
        body = [
            [
                row.cell.line,
                *(str(row.cell.point[p]) for p in swept),
                row.metric,
                str(row.runs),
                *map(written, row.numbers),
            ]
            for row in summaries(lines(store, experiment, experiment.cells()[:most]), experiment.metrics)
        ]
        print_table(
            console, f"{experiment.name}: {experiment.title}", columns(swept), body,
            named=len(swept) + 1, left=(0, len(swept) + 1),
        )  # fmt: skip
        left = len(experiment.cells()) - most
        if left > 0:
            console.print(
                f"… and {left:,} more cells: see the report, or hushbandits export {escape(store.path.parent)}\n"
            )
