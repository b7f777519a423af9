"""Choice of the interval procedure: one table maps statistic and effect to a procedure, before any run.

`PROCEDURES` is that table; ``docs/statistics.md`` describes it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from hushbandits.bench.spec.claim import Difference, Effect, Ratio, Slope, Value
from hushbandits.bench.spec.experiment import Cell
from hushbandits.bench.stats import INTERVALS, STATISTICS, Interval, statistic_of
from hushbandits.bench.stats.intervals import UNBOUNDED, Stratum, fieller, log_contrast, skewed_t
from hushbandits.core import Array
from hushbandits.core.metric import Metric

__all__ = ["PROCEDURES", "Procedure", "combined", "contrast", "estimate", "procedure"]

_Of = Callable[[Sequence[Stratum], Array, float], Interval]
_Extremes = Callable[[Array, Array], Interval]


@dataclass(frozen=True)
class Procedure:
    """Procedure that computes the interval of an effect.

    Parameters
    ----------
    name : str
        Name on pages.
    interval : callable
        ``interval(strata, weights, level)``.
    """

    name: str
    interval: _Of


def linear(box: Array, weights: Array) -> Interval:
    """Return the minimum and maximum of ``Σ w_i x_i`` for x_i in the intervals `box`."""
    ends = box * weights[:, None]
    return float(ends.min(1).sum()), float(ends.max(1).sum())


def quotient(box: Array, weights: Array) -> Interval:
    """Return the minimum and maximum of ``x_0/x_1`` for x_i in the intervals `box`; unbounded if x_1 may be 0."""
    if box[1, 0] <= 0 <= box[1, 1]:
        return UNBOUNDED
    ends = np.outer(box[0], 1 / box[1])
    return float(ends.min()), float(ends.max())


def logs(box: Array, weights: Array) -> Interval:
    """Return the minimum and maximum of ``Σ w_i log x_i`` for x_i in `box`; unbounded if an x_i may be 0 or less."""
    return linear(np.log(box), weights) if (box > 0).all() else UNBOUNDED


def combined(extremes: _Extremes, intervals: Sequence[Interval], weights: Array) -> Interval:
    """Return the minimum and maximum of an effect if each cell's statistic lies in the cell's interval.

    With each at level ``1 − α/k`` for k lines, the effect's level is ``1 − α`` for any dependence (Bonferroni).

    Parameters
    ----------
    extremes : callable
        `linear`, `quotient` or `logs`.

    Examples
    --------
    >>> combined(quotient, [(2.0, 3.0), (1.0, 4.0)], np.array([1.0, -1.0]))
    (0.5, 3.0)
    """
    box = np.array(intervals, float)
    return extremes(box, weights) if np.isfinite(box).all() else UNBOUNDED


#: Extremes of an effect over intervals of its lines, by effect.
_BOX: Mapping[type[Effect], _Extremes] = {Value: linear, Difference: linear, Ratio: quotient, Slope: logs}


def _lines(
    of: type[Effect], each: Callable[[Array, float], Interval], strata: Sequence[Stratum], weights: Array, level: float
) -> Interval:
    divided = 1 - (1 - level) / len(weights)
    found = {c: each(s.values[:, i], divided) for s in strata for i, c in enumerate(s.columns)}
    return combined(_BOX[of], [found[c] for c in range(len(weights))], weights)


#: Procedures by statistic and effect.  The statistic of a rate is ``rate``.
PROCEDURES: Mapping[tuple[str, type[Effect]], Procedure] = {
    ("mean", Value): Procedure("skewed t", skewed_t),
    ("mean", Difference): Procedure("skewed t", skewed_t),
    ("mean", Ratio): Procedure("skewed t, Fieller", fieller),
    ("mean", Slope): Procedure("skewed t, logarithms", log_contrast),
    **{
        (statistic, of): Procedure(name, partial(_lines, of, interval))
        for statistic, (name, interval) in INTERVALS.items()
        for of in (_BOX if statistic != "rate" else (Value, Difference))
        if statistic != "mean"
    },
}


def procedure(effect: Effect, measure: Metric) -> Procedure:
    """Return the procedure that computes the interval of `effect`; `measure` specifies the effect's metric."""
    found = PROCEDURES.get((statistic_of(measure, effect.statistic), type(effect)))
    if found is None:
        raise ValueError(f"{effect.words} of {effect.metric!r}, a rate, is not possible; use Value or Difference")
    return found


def contrast(effect: Effect, cells: Sequence[Cell]) -> Array | None:
    """Return the weights of the cells in the effect.

    A slope has the weights of least squares on the log of the swept parameter.

    ``None``: a slope through a single place is not defined.
    """
    signs = np.array([1.0, -1.0][: len(effect.lines)])
    if not isinstance(effect, Slope):
        return signs
    x = np.log([float(c.point[effect.along]) for c in cells[: len(cells) // len(signs)]])
    centred = x - x.mean() if len(x) else x
    if not centred.any():
        return None
    return np.kron(signs, centred / (centred @ centred))


def estimate(effect: Effect, measure: Metric, strata: Sequence[Stratum], weights: Array) -> float:
    """Return the estimate of an effect from the statistics of its lines."""
    centre = STATISTICS["mean" if measure.rate else effect.statistic]
    values = np.empty(len(weights))
    for s in strata:
        values[list(s.columns)] = centre(s.values)
    with np.errstate(divide="ignore", invalid="ignore"):
        if isinstance(effect, Ratio):
            return float(values[0] / values[1])
        return float(weights @ (np.log(values) if isinstance(effect, Slope) else values))
