"""The final table: means, medians and their intervals, cell by cell."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from hushbandits.bench.declare.spec import Cell, Experiment
from hushbandits.bench.declare.vocabulary import symbol
from hushbandits.bench.judge.stats import Interval
from hushbandits.bench.judge.summary import summary
from hushbandits.bench.play.natures import measures
from hushbandits.bench.play.store import Store
from hushbandits.bench.show.terminal import escape, print_table

if TYPE_CHECKING:
    from rich.console import Console

__all__ = ["Line", "interval", "lines", "number", "print_tables"]


@dataclass(frozen=True)
class Line:
    """One line of the table: a metric of a cell."""

    cell: Cell
    metric: str
    runs: int
    mean: float
    mean_interval: Interval
    median: float | None
    median_interval: Interval | None
    label: str = ""


def lines(store: Store, experiment: Experiment, most: int | None = None) -> Iterator[Line]:
    """Summarise every cell that has runs, metric by metric; the first `most` cells."""
    kinds = measures(store, experiment)
    for cell in experiment.cells()[:most]:
        for name in experiment.metrics or store.metrics(cell):
            x = store.final(cell, name, experiment.runs)
            if not len(x):
                continue
            mean = summary(x, kinds[name])
            middle = None if kinds[name].rate else summary(x, kinds[name], "median")
            median, ends = (middle.centre, middle.interval) if middle else (None, None)
            yield Line(cell, name, len(x), mean.centre, mean.interval, median, ends, kinds[name].label)


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


def print_tables(store: Store, console: Console, most: int = 40) -> None:
    """Print one table per experiment, of at most `most` cells."""
    for experiment in store.experiments:
        swept = list(experiment.sweep)
        heads = ["agent", *map(symbol, swept), "metric"]
        rows = [
            [
                line.cell.line,
                *(str(line.cell.point[p]) for p in swept),
                line.metric,
                str(line.runs),
                number(line.mean),
                interval(line.mean_interval),
                number(line.median),
                interval(line.median_interval),
            ]
            for line in lines(store, experiment, most)
        ]
        print_table(
            console, f"{experiment.name}: {experiment.title}",
            [*heads, "runs", "mean", "95 % of the mean", "median", "95 % of the median"], rows,
            named=len(swept) + 1, left=(0, len(swept) + 1),
        )  # fmt: skip
        left = len(experiment.cells()) - most
        if left > 0:
            console.print(
                f"… and {left:,} more cells: see the report, or hushbandits export {escape(store.path.parent)}\n"
            )
