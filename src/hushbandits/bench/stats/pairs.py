"""All pairs of configurations (lines of a table): differences, probabilities of improvement and p-values.

Runs that share seeds are compared in pairs (common random numbers), whatever else differs between them; runs with
other seeds are independent.
"""

import itertools
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from hushbandits.bench.runner.configuration import Configuration
from hushbandits.bench.spec.vocabulary import place
from hushbandits.bench.stats import STATISTICS, Interval, bootstrap, holm, permutation_test, share_interval
from hushbandits.bench.stats.intervals import UNBOUNDED
from hushbandits.core import Array, Metric, affordable

_RESAMPLES = 9_999
_BYTES = 60.0 * 10_000  # memory of one run in one comparison


@dataclass(frozen=True)
class Pair:
    """Comparison of two configurations, A and B, by the difference A − B.

    Parameters
    ----------
    a, b : str
        Labels of the two lines.
    paired : bool
        Whether runs of the same seed are compared with each other.
    runs : (int, int)
        Compared runs of A and B; equal if paired.
    difference : float
        Statistic of A minus that of B.
    interval : (float, float)
        Interval of the difference: bootstrap of the pairs or of each line; for a rate, from two exact intervals.
    improvement : float
        Probability that a run of A exceeds one of B, ties counted half.
    improvement_interval : (float, float)
        Bootstrap interval; Clopper–Pearson if all runs of one line exceed all of the other.  No upper end is below,
        and no lower end above, what Clopper–Pearson gives for no win and for nothing but wins.
    p : float
        Two-sided p-value for equal statistics: exchange of A and B within each pair, or of all labels if the runs are
        independent.
    p_holm : float
        The p-value adjusted for the number of pairs (Holm).
    left_out : int
        Runs without a value or without a partner.
    """

    a: str
    b: str
    paired: bool
    runs: tuple[int, int]
    difference: float
    interval: Interval
    improvement: float
    improvement_interval: Interval
    p: float
    p_holm: float = math.nan
    left_out: int = 0


@dataclass(frozen=True, eq=False)
class Compared:
    """Comparisons of pairs of configurations (`lines`) at one point of a sweep.

    Parameters
    ----------
    metric, statistic, level
        The metric and statistic compared, and the level of each interval, not adjusted for multiplicity.
    measure : Metric
        Specification of the metric.
    lines : tuple of Configuration
    pairs : tuple of Pair
    where : str
        The point of a sweep, in words.
    left : int
        Pairs that were not compared, to save time.
    """

    metric: str
    measure: Metric
    statistic: str
    level: float
    lines: tuple[Configuration, ...]
    pairs: tuple[Pair, ...]
    where: str = ""
    left: int = 0


def against(
    lines: Sequence[Configuration], metric: str, statistic: str = "mean", level: float = 0.95, seed: int = 0,
    where: str = "", most: int | None = None,
) -> Compared:  # fmt: skip
    """Return comparisons of all pairs of `lines`, or only of the first `most` pairs.

    Examples
    --------
    >>> from hushbandits.bench.spec.experiment import Experiment, Component
    >>> env, agent = Component("CoopNetwork-v0"), Component("UCB1")
    >>> (cell,) = Experiment(name="one", title="One", env=env, agents=[agent]).cells()
    >>> from hushbandits.bench.runner.rows import Runs
    >>> x = np.arange(12.0)
    >>> a, b = (Configuration(cell, label, Runs(np.arange(12), {"regret": y}), seed_source=(7, ""))
    ...         for label, y in (("a", x + 1), ("b", x)))
    >>> (pair,) = against([a, b], "regret").pairs
    >>> pair.paired, pair.runs, round(pair.difference, 9), pair.p < 0.01
    (True, (12, 12), 1.0, True)
    """
    couples = list(itertools.combinations(lines, 2))
    measure = lines[0].metrics_spec[metric]
    found = [_pair(a, b, metric, measure.rate, statistic, level, seed) for a, b in couples[:most]]
    adjusted = holm([pair.p for pair in found]).tolist()
    found = [replace(pair, p_holm=p) for pair, p in zip(found, adjusted, strict=True)]
    return Compared(metric, measure, statistic, level, tuple(lines), tuple(found), where, len(couples) - len(found))


def _pair(a: Configuration, b: Configuration, metric: str, rate: bool, statistic: str, level: float, seed: int) -> Pair:
    x, y, paired = _matched(a, b, metric)
    out = len(a.runs()) + len(b.runs()) - len(x) - len(y)
    if not len(x) or not len(y):
        nan = math.nan
        return Pair(a.label, b.label, paired, (len(x), len(y)), nan, UNBOUNDED, nan, (0.0, 1.0), nan, left_out=out)
    affordable(f"comparing {len(x) + len(y):,} runs", (len(x) + len(y)) * _BYTES)
    f = STATISTICS[statistic]

    def apart(*samples: Array) -> Array:
        a, b = np.moveaxis(samples[0], -1, 0) if paired else samples
        return f(a) - f(b)

    strata = (np.stack([x, y], axis=1),) if paired else (x, y)
    difference, interval = float(f(x) - f(y)), bootstrap(apart, *strata, level=level, seed=seed)
    p = (swapped if paired else permutation_test)(x, y, statistic, seed=seed)
    if rate and statistic == "mean":
        # If all runs are alike, a bootstrap has no spread: use the interval that is valid for any dependence.
        (low, high), (below, above) = (share_interval(int(v.sum()), len(v), (1 + level) / 2) for v in (x, y))
        interval = low - above, high - below
    won = wins(x, y)
    chance, span = float(won.mean()), _improvement_interval(won, paired, level, seed)
    return Pair(a.label, b.label, paired, (len(x), len(y)), difference, interval, chance, span, p, left_out=out)


def _matched(a: Configuration, b: Configuration, metric: str) -> tuple[Array, Array, bool]:
    """Return the values of both lines, and whether the values are paired by run."""
    known = [~np.isnan(line.final(metric)) for line in (a, b)]
    (one, x), (two, y) = ((c.runs()[k], c.final(metric)[k]) for c, k in zip((a, b), known, strict=True))
    shared, i, j = np.intersect1d(one, two, return_indices=True)
    paired = len(shared) > 0 and a.world is not None and a.world == b.world
    return (x[i], y[j], True) if paired else (x, y, False)


def wins(x: Array, y: Array) -> Array:
    """Return an array ``(n, m)``: 1 where a run of x exceeds a run of y, ½ for a tie, otherwise 0.

    Its mean estimates P(improvement).

    Source: Mann & Whitney 1947, whose U is its sum; Agarwal et al. 2021, equation 2.

    Examples
    --------
    >>> wins(np.array([1.0, 2.0]), np.array([1.0, 0.0])).mean()
    np.float64(0.875)
    """
    return ((x[:, None] > y).astype(float) + (x[:, None] >= y)) / 2  # no subtraction: both may be ∞


def _improvement_interval(won: Array, paired: bool, level: float, seed: int) -> Interval:
    n, m = won.shape
    if np.ptp(won) == 0 and won[0, 0] != 0.5:
        return share_interval(min(n, m) if won[0, 0] else 0, min(n, m), level)

    def effect(i: Array, j: Array | None = None) -> Array:
        left = _counts(i, n)
        return np.einsum("bi,bi->b", left @ won, left if j is None else _counts(j, m)) / (n * m)

    strata = (np.arange(n),) if paired else (np.arange(n), np.arange(m))
    low, high = bootstrap(effect, *strata, level=level, seed=seed)
    rare = share_interval(0, min(n, m), level)[1]  # as wide as without any win: a rare win would hardly be resampled
    return max(min(low, 1.0 - rare), 0.0), min(max(high, rare), 1.0)


def _counts(indices: Array, n: int) -> Array:
    """Return how often each of n runs occurs in each resample, ``(B, n)``; a column of `indices` is a resample."""
    resamples = indices.shape[1]
    flat = indices.astype(np.int64) + n * np.arange(resamples)
    return np.bincount(flat.ravel(), minlength=n * resamples).reshape(resamples, n).astype(float)


def swapped(x: Array, y: Array, statistic: str = "mean", seed: int = 0) -> float:
    """Return the two-sided p-value of a difference of statistics under exchange of x and y within each pair.

    ``(1 + #extreme)/(1 + B)``: valid at any number of pairs.  Source: Fisher 1935; Phipson & Smyth 2010 for the 1.

    Examples
    --------
    >>> swapped(np.ones(8), np.ones(8))
    1.0
    """
    n, f = len(x), STATISTICS[statistic]
    turned = np.random.default_rng(seed).random((n, _RESAMPLES), np.float32) < 0.5

    def apart(turned: Array) -> Array:
        if statistic == "mean":  # the same result in one product
            return np.abs((x - y) @ np.where(turned, -1.0, 1.0)) / n
        a, b = np.where(turned, y[:, None], x[:, None]), np.where(turned, x[:, None], y[:, None])
        return np.abs(f(a) - f(b))

    observed = float(apart(np.zeros((n, 1), bool))[0])
    # Tolerance: rounding must not make an equal split look less extreme than it is.
    extreme = int((apart(turned) >= observed * (1 - 1e-12)).sum())
    return (1 + extreme) / (1 + _RESAMPLES)


def comparisons(
    lines: Iterable[Configuration], metric: str = "", statistic: str = "mean", most: int | None = 30
) -> list[Compared]:
    """Return comparisons at each point of a sweep where at least two lines have runs.

    Parameters
    ----------
    metric : str
        Default: the first metric of a point's first line.
    most : int or None
        Maximum number of pairs; `Compared.left` counts the rest.
    """
    points: dict[str, list[Configuration]] = {}
    for line in lines:
        points.setdefault(place(line.cell.point), []).append(line)
    found = []
    for where, there in points.items():
        name = metric or next(iter(there[0].metrics()), "")
        if len(held := [line for line in there if len(line.final(name))]) > 1:
            found.append(against(held, name, statistic, where=where, most=most))
            most = None if most is None else max(0, most - len(found[-1].pairs))
    return found
