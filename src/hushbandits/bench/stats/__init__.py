"""Statistics of runs, with their formulas and sources.

Intervals are two-sided at `level` (default 0.95).  No function uses a global generator: resampling takes a `seed`.
SciPy is imported where it is called, since the import takes half a second.  A function of our own that SciPy has as
well says why.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import scipy

from hushbandits.bench.spec.vocabulary import agree
from hushbandits.core import Array, Metric

__all__ = [
    "INTERVALS", "STATISTICS", "Interval", "Summary", "bootstrap", "holm", "iqm", "iqm_interval", "mean_interval",
    "median_interval", "permutation_test", "profile", "quantile_band", "share_interval", "shown_interval",
    "statistic_of", "summary",
]  # fmt: skip

Interval = tuple[float, float]


def mean_interval(x: Array, level: float = 0.95) -> Interval:
    """Return Student's interval of a mean, ``x̄ ± t_{n−1} s/√n``; unbounded for a single run.

    If a run has the value ∞, the mean of its law is ∞, and the interval is that point.

    Source: Student 1908.  Our own, since ``scipy.stats.ttest_1samp`` warns if all runs are equal, as those of a
    deterministic metric are.

    Examples
    --------
    >>> low, high = mean_interval(np.array([1.0, 2.0, 3.0]))
    >>> round(low, 4), round(high, 4)
    (-0.4841, 4.4841)
    """
    x = np.asarray(x, float)
    if len(x) < 2:
        return -math.inf, math.inf
    if np.isinf(x).any() and not np.isnan(mean := x.mean()):
        return float(mean), float(mean)
    half = scipy.special.stdtrit(len(x) - 1, (1 + level) / 2) * x.std(ddof=1) / math.sqrt(len(x))
    return float(x.mean() - half), float(x.mean() + half)


def median_interval(x: Array, level: float = 0.95) -> Interval:
    """Return the distribution-free interval of a median from order statistics, ``[x_(k), x_(n+1−k)]``.

    k is the largest with ``P(Bin(n, ½) < k) < (1 − level)/2``, so the coverage is at least `level`; with too few runs
    (5 at 95 %) the interval is unbounded.  Source: David & Nagaraja 2003, section 7.1.  Our own, since
    ``scipy.stats.quantile_test``, which gives this interval, takes ten times as long, and figures need one per point.

    Examples
    --------
    >>> median_interval(np.arange(1, 11))
    (2.0, 9.0)
    """
    x = np.sort(np.asarray(x, float))
    k = int(np.searchsorted(scipy.special.bdtr(np.arange(len(x) + 1), len(x), 0.5), (1 - level) / 2))
    if k < 1:
        return -math.inf, math.inf
    return float(x[k - 1]), float(x[len(x) - k])


def share_interval(successes: int, n: int, level: float = 0.95) -> Interval:
    """Return the Clopper–Pearson interval of a probability: exact, conservative.

    ``[B(α/2; s, n−s+1), B(1−α/2; s+1, n−s)]`` with B the beta quantile.  Source: Clopper & Pearson 1934.  Our own,
    since ``scipy.stats.binomtest`` searches for these quantiles and takes a thousand times as long.

    Examples
    --------
    >>> low, high = share_interval(0, 10)
    >>> low, round(high, 4)
    (0.0, 0.3085)
    """
    tail = (1 - level) / 2
    low = 0.0 if successes == 0 else float(scipy.special.betaincinv(successes, n - successes + 1, tail))
    high = 1.0 if successes == n else float(scipy.special.betaincinv(successes + 1, n - successes, 1 - tail))
    return low, high


def quantile_band(x: Array, level: float = 0.95) -> tuple[Array, Array]:
    """Return the two quantiles of the runs (axis 0) with a share ``(1 − level)/2`` of the runs beyond each.

    Linear interpolation between order statistics (Hyndman & Fan 1996, type 7).

    Examples
    --------
    >>> low, high = quantile_band(np.arange(101.0))
    >>> round(float(low), 9), round(float(high), 9)
    (2.5, 97.5)
    """
    low, high = np.quantile(np.asarray(x, float), [(1 - level) / 2, (1 + level) / 2], axis=0)
    return low, high


def iqm(x: Array, axis: int = 0) -> Array:
    """Return the interquartile mean: the mean of the middle half, with fractional weights for runs at the edges.

    ``∫_{¼}^{¾} F⁻¹ / ½`` with F the empirical law.  Source: Agarwal et al. 2021, who drop whole runs, as
    ``scipy.stats.trim_mean`` does; their version jumps as n grows, and is equal where 4 divides n.

    Examples
    --------
    >>> float(iqm(np.array([1.0, 2.0, 3.0, 100.0])))
    2.5
    """
    x = np.sort(np.moveaxis(np.asarray(x, float), axis, 0), axis=0)
    weights = np.diff(np.clip(np.arange(len(x) + 1) / len(x), 0.25, 0.75)) / 0.5
    return np.asarray(np.tensordot(weights, x, 1))


def iqm_interval(x: Array, level: float = 0.95) -> Interval:
    """Return a distribution-free interval of an interquartile mean.

    The law differs from the empirical one by at most ``ε = √(ln(2/(1 − level))/(2n))`` everywhere.  The interval is
    ``∫_{¼}^{¾} F⁻¹(u ∓ ε) du / ½``; unbounded where ε ≥ ¼ (29 runs at 95 %).

    Source: Dvoretzky, Kiefer & Wolfowitz 1956; the constant: Massart 1990.

    Examples
    --------
    >>> low, high = iqm_interval(np.arange(101.0))
    >>> round(low, 2), round(high, 2)
    (36.35, 63.65)
    """
    x = np.sort(np.asarray(x, float))
    n = len(x)
    apart = math.sqrt(math.log(2 / (1 - level)) / (2 * max(n, 1)))
    if apart >= 0.25:
        return -math.inf, math.inf
    steps = np.arange(n + 1) / n
    low, high = (float(2 * np.diff(np.clip(steps, 0.25 + off, 0.75 + off)) @ x) for off in (-apart, apart))
    return low, high


#: Statistics over runs, by name; each takes ``(x, axis)``.
STATISTICS: dict[str, Callable[..., Array]] = {
    "mean": lambda x, axis=0: np.asarray(np.mean(x, axis=axis)),
    "median": lambda x, axis=0: np.asarray(np.median(x, axis=axis)),
    "iqm": iqm,
}


def bootstrap(
    effect: Callable[..., Array], *strata: Array, level: float = 0.95, resamples: int = 10_000, seed: int = 0
) -> Interval:
    """Return the interval of a stratified percentile bootstrap, with tails widened for small samples.

    Each stratum (axis 0: runs) is resampled separately.  The nominal tail a is replaced by
    ``Φ(−√(n/(n−1)) t_{n−1}(1 − a))`` with n the smallest stratum.  This corrects the narrowness of the percentile
    interval (its variance is ``(n−1)/n`` too small, and it uses no t).  The interval is unbounded if that tail is
    below the resolution of n runs (``n^(1−n)``, the chance of a constant resample), or if fewer than ten resamples
    lie beyond it.

    Source: Efron 1979; strata: Agarwal et al. 2021; the widening: Hesterberg 2015, section 3.3.  Our own, since
    ``scipy.stats.bootstrap`` pairs either all samples or none, and a stratum here may hold several paired columns.

    Parameters
    ----------
    effect : callable
        ``effect(*samples)`` of arrays ``(n_i, B, …)``, one per stratum, with runs along axis 0; returns ``(B,)``.
    *strata : array, (n_i, …)
        Runs of each stratum; paired columns belong in one stratum.

    Examples
    --------
    >>> x = np.random.default_rng(0).normal(size=50)
    >>> low, high = bootstrap(lambda s: s.mean(0), x)
    >>> bool(low < x.mean() < high)
    True
    """
    n = min(len(s) for s in strata)
    if n < 2:
        return -math.inf, math.inf
    tail = float(scipy.special.ndtr(math.sqrt(n / (n - 1)) * scipy.special.stdtrit(n - 1, (1 - level) / 2)))
    if tail < max(float(n) ** (1 - n), 10 / resamples):
        return -math.inf, math.inf
    rng = np.random.default_rng(seed)
    values = effect(*(np.asarray(s, float)[rng.integers(len(s), size=(len(s), resamples))] for s in strata))
    low, high = np.quantile(values, [tail, 1 - tail])
    return float(low), float(high)


def profile(x: Array, thresholds: Array) -> Array:
    """Return the performance profile: the share of runs at or above each threshold, ``F̂(τ) = Σ 1[x_i ≥ τ]/n``.

    Source: Dolan & Moré 2002; Agarwal et al. 2021, equation 1.  They write >, as ``scipy.stats.ecdf`` does, so a run
    equal to a threshold does not count there; integer metrics have such ties.

    Parameters
    ----------
    x : array
        Scores of all runs (and tasks).
    thresholds : (T,) array

    Examples
    --------
    >>> profile(np.array([1.0, 2.0, 3.0]), np.array([0.0, 2.0, 4.0])).round(3).tolist()
    [1.0, 0.667, 0.0]
    """
    x = np.sort(np.ravel(np.asarray(x, float)))
    return np.asarray(1 - np.searchsorted(x, np.asarray(thresholds, float), side="left") / len(x))


def permutation_test(x: Array, y: Array, statistic: str = "mean", resamples: int = 9_999, seed: int = 0) -> float:
    """Return the two-sided p-value of a difference of statistics under exchange of the labels.

    All splits are used if there are at most `resamples`, else random ones, ``(1 + #extreme)/(1 + B)``.  The p-value
    is valid at any sample size if both samples share one law; it is 1 if one of them is a single run.  Source: Fisher
    1935; Phipson & Smyth 2010 for the 1.  The splits are those of ``scipy.stats.permutation_test``; its p-value is not
    used, since rounding decides there between equal splits if their difference is 0.

    Examples
    --------
    >>> permutation_test(np.zeros(8), np.zeros(8))
    1.0
    """
    x, y = np.asarray(x, float), np.asarray(y, float)
    if min(len(x), len(y)) < 2:
        return 1.0
    f, rng = STATISTICS[statistic], np.random.default_rng(seed)
    batch = max(1, 4_000_000 // (len(x) + len(y)))

    def apart(a: Array, b: Array, axis: int) -> Array:
        return np.abs(f(a, axis=axis) - f(b, axis=axis))

    splits = scipy.stats.permutation_test(
        (x, y), apart, n_resamples=resamples, batch=batch, alternative="greater", random_state=rng
    )
    # Tolerance: sums of decimals depend on their order, and an equal split must not look less extreme than it is.
    slack = 1e-12 * max(float(np.abs(x).max()), float(np.abs(y).max()))
    extreme, drawn = int((splits.null_distribution >= splits.statistic - slack).sum()), len(splits.null_distribution)
    every = math.comb(len(x) + len(y), len(x)) <= resamples
    return extreme / drawn if every else (1 + extreme) / (1 + drawn)


def holm(p_values: Sequence[float]) -> Array:
    """Return Holm's adjusted p-values, which control the family-wise error rate.

    ``p̃_(i) = max_{j ≤ i} min(1, (m − j + 1) p_(j))``; NaN is no test and does not count.  Source: Holm 1979.  Our
    own: SciPy adjusts for the false discovery rate only.

    Examples
    --------
    >>> holm([0.01, 0.04, 0.03]).round(3).tolist()
    [0.03, 0.06, 0.06]
    """
    p = np.asarray(p_values, float)
    known = np.flatnonzero(~np.isnan(p))
    order = known[np.argsort(p[known])]
    adjusted = np.full(p.shape, math.nan)
    adjusted[order] = np.maximum.accumulate(np.minimum(1, p[order] * np.arange(len(order), 0, -1)))
    return adjusted


# -- one column of runs, for tables, figures and verdicts: the metric's specification decides the statistic --------


@dataclass(frozen=True)
class Summary:
    """Centre and interval of one metric over the runs of a cell.

    Parameters
    ----------
    centre : float
        The statistic; NaN if there are no runs.
    interval : (float, float)
        Interval of the centre; infinite if the runs are too few.
    runs : int
        Number of runs.
    statistic, procedure : str
        Names of the statistic (``mean``, ``median``, ``iqm``; ``rate``) and of the interval's procedure.
    """

    centre: float
    interval: Interval
    runs: int
    statistic: str
    procedure: str


#: Procedures for the interval of the statistic of one column at a level, by name.
INTERVALS: Mapping[str, tuple[str, Callable[[Array, float], Interval]]] = {
    "mean": ("Student", mean_interval),
    "median": ("order statistics", median_interval),
    "iqm": ("band of the law", iqm_interval),
    "rate": ("Clopper–Pearson", lambda x, level: share_interval(int(x.sum()), len(x), level)),
}


def statistic_of(measure: Metric, statistic: str) -> str:
    """Return ``"rate"`` if the metric is a rate (0 or 1 per run), else `statistic`."""
    return "rate" if measure.rate else statistic


def shown_interval(interval: Interval, measure: Metric, values: Array) -> Interval:
    """Return the interval clipped to the metric's range, or unchanged if an end is not finite.

    The range is extended to contain all runs in `values`.

    Examples
    --------
    >>> shown_interval((-1.0, 3.0), Metric("messages sent", "count"), np.array([0.0, 2.0]))
    (0.0, 3.0)
    """
    low, high = interval
    if not (math.isfinite(low) and math.isfinite(high) and np.size(values)):
        return interval
    least, most = measure.bounds
    return max(low, min(least, float(np.min(values)))), min(high, max(most, float(np.max(values))))


def summary(values: Array, measure: Metric, statistic: str = "mean", level: float = 0.95) -> Summary:
    """Return the `Summary` of runs: the share of ones for a rate, else `statistic`; NaN values are ignored.

    Parameters
    ----------
    values : (n,) array
        One number per run.
    measure : Metric
        Specification of the metric.
    statistic : str
        ``"mean"``, ``"median"`` or ``"iqm"``.
    level : float
        Level of the interval.

    Raises
    ------
    ValueError
        A rate with a value other than 0 or 1.

    Examples
    --------
    >>> found = summary(np.array([0.0, 0.0, 9.0]), Metric("messages sent", "count"))
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
