"""Tables of runs as texts: means, medians and their intervals, and comparisons of pairs, with notes."""

import math
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from hushbandits.bench.report.terminal import escape, print_table
from hushbandits.bench.runner.configuration import Configuration, configurations
from hushbandits.bench.runner.store import Store
from hushbandits.bench.spec.experiment import Cell, Experiment
from hushbandits.bench.spec.vocabulary import smaller_is_better, symbol
from hushbandits.bench.stats import Interval, summary
from hushbandits.bench.stats.pairs import Compared
from hushbandits.core import shown

if TYPE_CHECKING:
    import pandas as pd
    from rich.console import Console

#: Content of a table's cell: a text, a number or an interval; ``None`` if it is empty.
Value = str | float | Interval | None


class Row(NamedTuple):
    """A row of the summary table: mean and median of one metric of a cell, with their intervals."""

    cell: Cell
    metric: str
    label: str
    runs: int
    mean: float
    mean_interval: Interval
    median: float | None = None
    median_interval: Interval | None = None

    @property
    def numbers(self) -> tuple[float | Interval | None, ...]:
        """Return the mean, its interval, the median and its interval; ``None`` for a missing value."""
        return self.mean, self.mean_interval, self.median, self.median_interval


def columns(swept: Iterable[str]) -> list[str]:
    """Return the column names of the summary table: agent, `swept`, metric, runs, mean, median and their intervals."""
    return ["agent", *map(symbol, swept), "metric", "runs", "mean", "95 % of the mean", "median", "95 % of the median"]


def summaries(lines: Iterable[Configuration], metrics: Sequence[str] = ()) -> Iterator[Row]:
    """Yield a `Row` for each of the `metrics`, by default all, of each line that has runs."""
    for line in lines:
        for name in metrics or line.metrics():
            x, kind = line.final(name), line.metrics_spec[name]
            if len(x):
                found = [summary(x, kind, statistic) for statistic in (("mean",) if kind.rate else ("mean", "median"))]
                numbers = [value for one in found for value in (one.centre, one.interval)]
                yield Row(line.cell, name, kind.label, len(x), *numbers)  # type: ignore[arg-type]


def frame(lines: Iterable[Configuration], experiment: Experiment, metrics: Sequence[str] = ()) -> "pd.DataFrame":
    """Return the summaries as a ``pandas.DataFrame``: a row per configuration and metric, two columns per interval."""
    import pandas as pd

    names = ["mean", "mean_low", "mean_high", "median", "median_low", "median_high"]
    table = []
    for row in summaries(lines, metrics):
        low, high = row.median_interval or (math.nan, math.nan)
        numbers = zip(names, (row.mean, *row.mean_interval, row.median, low, high), strict=True)
        head = {"experiment": experiment.name, "agent": row.cell.line, **row.cell.point, "metric": row.metric}
        table.append({**head, "runs": row.runs, **dict(numbers)})
    return pd.DataFrame(table)


def number(x: float | None) -> str:
    """Return `x` as text, without decimals if `x` is an integer or at least 1,000 in absolute value.

    Other finite numbers have at most four significant digits.

    Examples
    --------
    >>> number(1234567.8), number(0.00012345), number(-1.5), number(3), number(0.0)
    ('1,234,568', '0.0001234', '-1.5', '3', '0')
    >>> number(math.nan), number(-math.inf), number(None)
    ('–', '−∞', '')
    """
    if x is None:
        return ""
    if not math.isfinite(x):
        return "–" if math.isnan(x) else ("∞" if x > 0 else "−∞")
    return f"{x:,.0f}" if float(x).is_integer() or abs(x) >= 1000 else f"{x:.4g}"


def interval(bounds: Interval) -> str:
    """Return the interval in brackets; ``(too few runs)`` if both ends are infinite.

    Examples
    --------
    >>> interval((0.5, 2.0)), interval((-math.inf, math.inf))
    ('[0.5, 2]', '(too few runs)')
    """
    return "(too few runs)" if bounds == (-math.inf, math.inf) else f"[{number(bounds[0])}, {number(bounds[1])}]"


def written(value: Value) -> str:
    """Return a table's value as text."""
    if isinstance(value, str):
        return value
    return interval(value) if isinstance(value, tuple) else number(value)


def print_tables(store: Store, console: "Console", most: int = 40) -> None:
    """Print one table per experiment, with its first `most` cells (agents at swept values)."""
    for experiment in store.experiments:
        cells, swept = experiment.cells(), list(experiment.sweep)
        body = []
        for row in summaries(configurations(store, experiment, cells[:most]), experiment.metrics):
            point = [str(row.cell.point[name]) for name in swept]
            body.append([row.cell.line, *point, row.metric, *map(written, (row.runs, *row.numbers))])
        named = len(swept) + 1
        print_table(console, f"{experiment.name}: {experiment.title}", columns(swept), body, named, (0, named))
        if len(cells) > most:
            stated = f"… and {len(cells) - most:,} more cells: hushbandits.load_results({str(store.path)!r}).table()"
            console.print(escape(stated))


# -- comparisons --------------------------------------------------------------------------------------------------


def heads(level: float = 0.95) -> tuple[str, ...]:
    """Return the column names of the comparison table."""
    span = f"{100 * level:g} %"
    return "A", "B", "runs", "A − B", f"{span} of A − B", "P(A > B)", f"{span} of P", "p", "p (Holm)"


def rows(compared: Compared) -> list[tuple[str, ...]]:
    """Return the table's rows as texts, one row per pair of configurations, in the order of `heads`."""
    found: list[tuple[str, ...]] = []
    for pair in compared.pairs:
        runs = f"{pair.runs[0]} pairs" if pair.paired else f"{pair.runs[0]} + {pair.runs[1]}"
        size = number(pair.difference), interval(pair.interval)
        chance = number(pair.improvement), interval(pair.improvement_interval)
        found.append((pair.a, pair.b, runs, *size, *chance, _p(pair.p), _p(pair.p_holm)))
    return found


def _p(p: float) -> str:
    return "–" if math.isnan(p) else "< .001" if p < 0.001 else f"{p:.3f}".removeprefix("0")


def _apart(lines: Sequence[Configuration]) -> list[str]:
    """Return a list with a note on the parameters in which the known envs of `lines` differ, or an empty list."""
    known = [
        {"env": name, **{k: shown(list(v) if isinstance(v, tuple) else v) for k, v in params.items()}}
        for name, params in (line.env for line in lines if line.env is not None)
    ]
    values = {key: dict.fromkeys(faced.get(key, "by default") for faced in known) for faced in known for key in faced}
    stated = [f"{key} ({'; '.join(some)})" for key, some in values.items() if len(some) > 1]
    return [f"The lines have different envs, which may explain a difference: {', '.join(stated)}."] if stated else []


def notes(compared: Compared | Sequence[Compared]) -> list[str]:
    """Return notes on the columns and on the sign of a difference, once for all comparisons of a metric."""
    several = [compared] if isinstance(compared, Compared) else list(compared)
    first, pairs = several[0], [pair for one in several for pair in one.pairs]
    less = smaller_is_better(first.metric)
    better = "whether less or more of it is better is not declared"
    if less is not None:
        better = "less is better: below 0 speaks for A" if less else "more is better: above 0 speaks for A"
    said = [f"A − B: the {first.statistic} of A minus that of B, of {first.metric} ({first.measure.label}); {better}."]
    said += [text for one in several for text in _apart(one.lines)][:1]
    said.append(
        "“n pairs”: runs of one seed, compared with each other; p: exchange of A and B within pairs. “n + m”: runs "
        "that share no known seeds; p: exchange of all runs. P(A > B): a run of A exceeds one of B, ties counted half. "
        "Intervals hold one by one; Holm's p are adjusted for all pairs of a table."
    )
    if out := sum(pair.left_out for pair in pairs):
        said.append(f"{out} values were left out: runs without one, or without a partner.")
    if left := sum(one.left for one in several):
        said.append(f"{left} more pairs are not compared here: hushbandits compare.")
    return said
