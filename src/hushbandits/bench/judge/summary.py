"""One summary of one column of runs, for tables, figures and verdicts: what its metric is decides how."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from hushbandits.bench.judge.stats import (
    STATISTICS,
    Interval,
    iqm_interval,
    mean_interval,
    median_interval,
    share_interval,
)
from hushbandits.core.ground.types import Array
from hushbandits.core.measure import Measure, agree

__all__ = ["INTERVALS", "Summary", "shown_interval", "statistic_of", "summary"]


@dataclass(frozen=True)
class Summary:
    """Centre and interval of the runs of one cell.

    Parameters
    ----------
    centre : float
        NaN where there are no runs.
    interval : (float, float)
        Of the centre; infinite where the runs are too few.
    runs : int
        How many.
    statistic, procedure : str
        Of the centre (``mean``, ``median``, ``iqm``; ``rate``), and of its interval.
    """

    centre: float
    interval: Interval
    runs: int
    statistic: str
    procedure: str


def _rate_interval(x: Array, level: float) -> Interval:
    return share_interval(int(x.sum()), len(x), level)


#: Intervals of the statistic of one column, at a level, by name.
INTERVALS: Mapping[str, tuple[str, Callable[[Array, float], Interval]]] = {
    "mean": ("Student", mean_interval),
    "median": ("order statistics", median_interval),
    "iqm": ("band of the law", iqm_interval),
    "rate": ("Clopper–Pearson", _rate_interval),
}


def statistic_of(measure: Measure, statistic: str) -> str:
    """Return what is really taken of a metric: of 0 and 1 nothing but the rate says anything."""
    return "rate" if measure.rate else statistic


def shown_interval(interval: Interval, measure: Measure, values: Array) -> Interval:
    """Return the part of an interval in which the metric can lie, and all of it where runs contradict its nature.

    Examples
    --------
    >>> shown_interval((-1.0, 3.0), Measure("messages sent", "count"), np.array([0.0, 2.0]))
    (0.0, 3.0)
    """
    low, high = interval
    if not (math.isfinite(low) and math.isfinite(high) and np.size(values)):
        return interval
    least, most = measure.bounds
    return max(low, min(least, float(np.min(values)))), min(high, max(most, float(np.max(values))))


def summary(values: Array, measure: Measure, statistic: str = "mean", level: float = 0.95) -> Summary:
    """Summarise runs: of a rate, the rate; of anything else, the statistic.  NaN is no run.

    Parameters
    ----------
    values : (n,) array
        One number per run.
    measure : Measure
        What they are.
    statistic : str
        ``"mean"``, ``"median"`` or ``"iqm"``.
    level : float
        Of the interval.

    Raises
    ------
    ValueError
        A rate that is not 0 or 1 per run.

    Examples
    --------
    >>> found = summary(np.array([0.0, 0.0, 9.0]), Measure("messages sent", "count"))
    >>> found.centre, [round(end, 1) for end in found.interval], found.procedure
    (3.0, [0.0, 15.9], 'Student')
    """
    x = np.asarray(values, float)
    x = x[~np.isnan(x)]
    kind = statistic_of(measure, statistic)
    name, interval = INTERVALS[kind]
    if not len(x):
        return Summary(math.nan, (math.nan, math.nan), 0, kind, name)
    agree({measure.label: x}, {measure.label: measure})
    centre = float(STATISTICS["mean" if measure.rate else statistic](x))
    return Summary(centre, shown_interval(interval(x, level), measure, x), len(x), kind, name)
