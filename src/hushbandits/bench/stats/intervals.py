"""Closed-form intervals, at any level, of effects that combine several configurations (lines of a table).

`PROCEDURES` maps statistic and effect to a procedure, before any run; ``docs/statistics.md`` describes it.

Verdicts on many claims need tail probabilities of one in thousands.  There Student's t is wrong for skewed runs, and
a bootstrap of a few thousand resamples has no resolution.  Two families of intervals remain valid:

* *skewed t*: Student's t, corrected for skewness after Hall (1992), never narrower than Student's (for means);
* *combined*: exact intervals of each line at a divided level (Bonferroni) and the extremes of the effect over them
  (for medians, interquartile means and rates), valid for every law and every dependence between the lines.

No interval of a mean is valid for all laws (Bahadur & Savage 1956): a mode that no run reached moves the mean and
leaves no trace.  `fewest_runs` sets how rare a mode may be.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np
import scipy

from hushbandits.bench.spec.claim import Difference, Effect, Ratio, Slope, Value
from hushbandits.bench.spec.experiment import Cell
from hushbandits.bench.stats import INTERVALS, STATISTICS, Interval, statistic_of
from hushbandits.core import Array, Metric

#: A mode with a probability of at least ``1/RAREST`` must not hide from all runs; rarer modes may.
RAREST = 7
UNBOUNDED: Interval = (-math.inf, math.inf)


class Stratum(NamedTuple):
    """Runs of several cells that share seeds; different strata are independent.

    Parameters
    ----------
    columns : sequence of int
        Indices of the cells.
    values : (n, len(columns)) array
        Values of the runs.
    """

    columns: Sequence[int]
    values: Array


def fewest_runs(level: float) -> int:
    """Return the number of runs, ``⌈7 ln(1/(1 − level))⌉``, below which a mean gets no interval.

    With so many runs, a mode of probability 1/7 or more hides from all of them with a chance of at most ``1 − level``.

    Examples
    --------
    >>> [fewest_runs(1 - 0.05 / m) for m in (1, 20, 61)]
    [21, 42, 50]
    """
    return max(2, math.ceil(-RAREST * math.log1p(-level) - 1e-9))


def _reach(t: float, bend: float, shift: float) -> tuple[float, float]:
    """Return how many standard errors the interval extends below and above the estimate.

    Solves ``T + kT² + k²T³/3 + c = ±t`` for the studentised effect T (Hall 1992: for a mean k = λ/3, c = λ/6 with
    λ the skewness of the estimate).  Beyond ``|k|t = 3/8`` the solution would turn back: k (and c with it) stays
    there, where the farther side is about 4t.  Neither side is shorter than Student's t.
    """
    if abs(bend) * t < 1e-9:
        return t, t
    keep = min(1.0, 0.375 / (abs(bend) * t))
    bend, shift = keep * bend, keep * shift
    below, above = ((float(np.cbrt(1 + 3 * bend * (x - shift))) - 1) / bend for x in (t, -t))
    return max(t, below), max(t, -above)


def skewed_t(
    strata: Sequence[Stratum], weights: Array, level: float = 0.95, *,
    estimate: float | None = None, bends: Callable[[float], tuple[float, float]] = lambda _: (0.0, 0.0),
) -> Interval:  # fmt: skip
    """Return the interval of ``Σ_i w_i μ_i``, where μ_i is the expected value of the metric in cell i.

    Standard error and third cumulant of the estimate add up over strata; the degrees of freedom are those of the
    smallest stratum, which is conservative.  The sample skewness, too small in few runs, is multiplied by 1.5.
    The interval is unbounded below `fewest_runs`.

    Source: Student 1908; several strata: Mickey & Brown 1966; skewness: Hall 1992.

    Parameters
    ----------
    estimate : float, optional
        The estimate; default: the weighted sum of the columns' means.
    bends : callable
        What the effect's curvature adds to k and c of `_reach`, given the standard error; default: nothing.

    Examples
    --------
    >>> x = np.arange(30.0)[:, None]
    >>> low, high = skewed_t([Stratum([0], x)], np.ones(1))
    >>> round(low, 2), round(high, 2)  # Student's: the sample is not skewed
    (11.21, 17.79)
    """
    if min(len(s.values) for s in strata) < fewest_runs(level):
        return UNBOUNDED
    runs = [s.values @ weights[list(s.columns)] for s in strata]
    centre = sum(float(u.mean()) for u in runs) if estimate is None else estimate
    off = [u - u.mean() for u in runs]
    error = math.sqrt(sum(float(d @ d) / (len(d) - 1) / len(d) for d in off))
    if error == 0:
        return centre, centre
    freedom = min(len(d) for d in off) - 1
    skew = 1.5 * sum(float(((d / error) ** 3).mean()) / len(d) ** 2 for d in off)
    t = -float(scipy.special.stdtrit(freedom, (1 - level) / 2))
    bend, shift = bends(error)
    below, above = _reach(t, skew / 3 + bend, skew / 6 + shift)
    return centre - below * error, centre + above * error


def fieller(strata: Sequence[Stratum], weights: Array, level: float = 0.95) -> Interval:
    """Return the interval of the ratio of two means: all θ for which the interval of ``μ_0 − θ μ_1`` contains 0.

    So the verdict on a ratio against θ equals that on a mean.  The interval is unbounded if the denominator may be 0.

    Source: Fieller 1954, with `skewed_t` for his t.

    Parameters
    ----------
    weights : array
        Ignored: column 0 is divided by column 1.

    Examples
    --------
    >>> y = np.arange(10.0, 40.0)
    >>> low, high = fieller([Stratum([0, 1], np.stack([2 * y, y], 1))], np.ones(2))
    >>> round(low, 9), round(high, 9)
    (2.0, 2.0)
    """
    from scipy.optimize import brentq

    under = skewed_t(strata, np.array([0.0, 1.0]), level)
    if math.isinf(under[0]) or under[0] <= 0 <= under[1]:
        return UNBOUNDED
    x, y = (sum(float((s.values @ w[list(s.columns)]).mean()) for s in strata) for w in np.eye(2))

    def side(end: int) -> float:
        def gap(theta: float) -> float:
            # Positive while θ is inside.
            low, high = skewed_t(strata, np.sign(y) * np.array([1.0, -theta]), level)
            return high if end else -low

        inner = x / y
        step = max(gap(inner) / abs(y), 1e-12 * abs(inner), 1e-300)
        for _ in range(60):
            outer = inner + step if end else inner - step
            if gap(outer) < 0:
                break
            inner, step = outer, 2 * step
        else:
            return math.inf if end else -math.inf
        return float(brentq(gap, inner, outer, xtol=1e-12 * abs(outer) + 1e-300)) if gap(inner) > 0 else inner

    return side(0), side(1)


def log_contrast(strata: Sequence[Stratum], weights: Array, level: float = 0.95) -> Interval:
    """Return the interval of ``Σ_i w_i log μ_i``, linearised at the means and corrected for the logarithm's curvature.

    With z_i = x̄_i/μ_i and σ the standard error: the bend k gains ``c = −½ Σ w_i Cov(z_i, L)²/σ³`` and the shift
    ``c − b/σ``, b = ``−½ Σ w_i Var(z_i)``.  The interval is unbounded if one of the means may be 0 or less.

    Source: DiCiccio & Efron 1992, who write c_q and b̂ for c and b.

    Examples
    --------
    >>> x = np.arange(10.0, 40.0)
    >>> low, high = log_contrast([Stratum([0, 1], np.stack([x**2, x**2 / 9], 1))], np.array([0.5, -0.5]))
    >>> round(math.exp(low), 9), round(math.exp(high), 9)
    (3.0, 3.0)
    """
    for line in np.eye(len(weights)):
        own = [s for s in strata if line[list(s.columns)].any()]
        if not skewed_t(own, line, level)[0] > 0:
            return UNBOUNDED
    means = np.empty(len(weights))
    for s in strata:
        means[list(s.columns)] = s.values.mean(0)
    scaled = [Stratum(s.columns, s.values / means[list(s.columns)]) for s in strata]

    def bends(error: float) -> tuple[float, float]:
        curve = bias = 0.0
        for s in scaled:
            w, n, off = weights[list(s.columns)], len(s.values), s.values - s.values.mean(0)
            cov = off.T @ off / (n - 1) / n
            curve -= 0.5 * float(w @ (cov @ w) ** 2) / error**3
            bias -= 0.5 * float(w @ np.diag(cov))
        return curve, curve - bias / error

    return skewed_t(scaled, weights, level, estimate=float(weights @ np.log(means)), bends=bends)


# -- choice of the procedure -----------------------------------------------------------------------------------------

_Extremes = Callable[[Array, Array], Interval]


class Procedure(NamedTuple):
    """Procedure that computes the interval of an effect.

    Parameters
    ----------
    name : str
        Name on pages.
    interval : callable
        ``interval(strata, weights, level)``.
    """

    name: str
    interval: Callable[[Sequence[Stratum], Array, float], Interval]


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
