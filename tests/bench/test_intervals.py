"""Intervals of effects equal textbook formulas in special cases, and keep their guarantees."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats as scipy_stats

from hushbandits.bench.spec.claim import EFFECTS
from hushbandits.bench.stats import iqm_interval, mean_interval, median_interval, share_interval
from hushbandits.bench.stats.intervals import (
    PROCEDURES,
    UNBOUNDED,
    Stratum,
    combined,
    fewest_runs,
    fieller,
    log_contrast,
    logs,
    quotient,
    skewed_t,
)

ONE, MINUS = np.ones(1), np.array([1.0, -1.0])


def symmetric(n=40, scale=1.0, seed=0):
    """Return runs with an unskewed sample."""
    half = np.abs(np.random.default_rng(seed).normal(0, scale, n // 2))
    return np.concatenate([half, -half])


def alone(x):
    return [Stratum([0], x[:, None])]


def pairs(x, y):
    return [Stratum([0, 1], np.stack([x, y], axis=1))]


def apart(*lines):
    return [Stratum([i], x[:, None]) for i, x in enumerate(lines)]


def test_without_skewness_it_is_students_interval():
    x, y = 3 + symmetric(), symmetric(30, 4, seed=1)
    assert skewed_t(alone(x), ONE, 0.99) == pytest.approx(mean_interval(x, 0.99))
    assert skewed_t(pairs(x, x[::-1] * 2), MINUS) == pytest.approx(mean_interval(x - 2 * x[::-1]))
    # Apart: the freedom of the fewer runs, 29 (Welch's would be 31.7)
    half = scipy_stats.t.ppf(0.975, 29) * math.sqrt(x.var(ddof=1) / 40 + y.var(ddof=1) / 30)
    assert skewed_t(apart(x, y), MINUS) == pytest.approx((3 - half, 3 + half))


def test_skewness_reaches_further_on_the_long_side_after_hall():
    x = np.random.default_rng(2).exponential(size=400)
    low, high = skewed_t(alone(x), ONE)
    student = mean_interval(x)
    d = x - x.mean()
    skew = 1.5 * (d**3).mean() / (x.var(ddof=1) ** 1.5) / 20
    t, error = scipy_stats.t.ppf(0.975, 399), x.std(ddof=1) / 20
    # T + kT² + k²T³/3 + c = −t at the upper end, with k = λ/3 and c = λ/6
    reach = (high - x.mean()) / error
    assert -reach + skew / 3 * reach**2 - skew**2 / 27 * reach**3 + skew / 6 == pytest.approx(-t)
    assert high > student[1]
    assert low == pytest.approx(student[0])
    # Mirrored runs have the mirrored interval.
    assert skewed_t(alone(-x), ONE) == pytest.approx((-high, -low))


@settings(max_examples=60, deadline=None)
@given(
    x=st.lists(st.floats(-100, 100), min_size=30, max_size=60).map(np.array),
    level=st.sampled_from([0.5, 0.9, 0.95]),
    extreme=st.sampled_from([0.0, 1e3, -1e6]),
)
def test_never_narrower_than_student_and_never_wilder_than_five_times(x, level, extreme):
    x = np.append(x, extreme)
    low, high = skewed_t(alone(x), ONE, level)
    a, b = mean_interval(x, level)
    slack = 1e-9 * (1 + abs(extreme))
    assert low <= a + slack
    assert high >= b - slack
    assert high - low <= 5 * (b - a) + slack


def test_too_few_runs_give_no_interval_of_a_mean():
    for level in (0.9, 0.95, 1 - 0.05 / 61):
        n = fewest_runs(level)
        x = 5 + np.random.default_rng(3).normal(size=n)
        for effect, weights in (("value", ONE), ("difference", MINUS), ("ratio", MINUS), ("slope", MINUS)):
            procedure = PROCEDURES["mean", EFFECTS[effect]].interval
            enough = [x, x[::-1]][: len(weights)]
            assert all(map(math.isfinite, procedure(apart(*enough), weights, level))), effect
            assert procedure(apart(*enough[1:], x[1:]), weights, level) == UNBOUNDED, effect


def test_a_ratio_is_fiellers_interval():
    # Roots of (x̄ − θȳ)² = t² Var(x − θy)/n, by the quadratic of the textbooks
    x = 4 + symmetric(seed=4)
    y = 2 + 0.5 * (x - 4) + 0.1 * symmetric(seed=5)  # its halves mirror each other too: no combination is skewed
    low, high = fieller(pairs(x, y), MINUS)
    cov = np.cov(x, y) / len(x)
    t = scipy_stats.t.ppf(0.975, len(x) - 1)
    a, b, c = (
        y.mean() ** 2 - t**2 * cov[1, 1],
        -2 * (x.mean() * y.mean() - t**2 * cov[0, 1]),
        x.mean() ** 2 - t**2 * cov[0, 0],
    )
    assert (low, high) == pytest.approx(sorted(np.roots([a, b, c])), rel=1e-6)


@pytest.mark.parametrize("make", [pairs, apart])
@pytest.mark.parametrize("seed", range(4))
def test_the_verdict_on_a_ratio_is_that_on_a_mean(make, seed):
    rng = np.random.default_rng(seed)
    x, y = rng.exponential(3, 45), rng.gamma(4, 0.5, 45)
    low, high = fieller(make(x, y), MINUS)
    for theta in (low, high):
        for nudge, inside in ((1 - 1e-6, theta == high), (1 + 1e-6, theta == low)):
            a, b = skewed_t(make(x, y), np.array([1.0, -theta * nudge]))
            assert (a <= 0 <= b) == inside


def test_a_ratio_keeps_its_sense_when_signs_or_sides_change():
    rng = np.random.default_rng(6)
    x, y = rng.normal(6, 1, 50), rng.normal(3, 0.5, 50)
    low, high = fieller(pairs(x, y), MINUS)
    assert low < 2 < high
    assert fieller(pairs(-x, -y), MINUS) == pytest.approx((low, high))
    assert fieller(pairs(-x, y), MINUS) == pytest.approx((-high, -low))
    assert fieller(pairs(y, x), MINUS) == pytest.approx((1 / high, 1 / low), rel=1e-6)
    assert fieller(pairs(x, y - 3), MINUS) == UNBOUNDED  # the denominator may be 0


def test_a_slope_is_the_delta_method_where_runs_vary_little():
    rng = np.random.default_rng(7)
    x, y = rng.normal(100, 1, 60), rng.normal(50, 1, 60)
    low, high = log_contrast(apart(x, y), MINUS)
    ratio = fieller(apart(x, y), MINUS)
    assert (low, high) == pytest.approx(tuple(np.log(ratio)), abs=3e-5)
    error = math.hypot(*(v.std(ddof=1) / v.mean() / math.sqrt(60) for v in (x, y)))
    assert high - low == pytest.approx(2 * 1.98 * error, rel=0.1)
    assert log_contrast(apart(x, y - 50), MINUS) == UNBOUNDED  # a logarithm of what may be 0
    # Units do not matter.
    assert log_contrast(apart(9 * x, 9 * y), MINUS) == pytest.approx((low, high))


def test_constant_runs_have_a_point_for_an_interval():
    x = np.full(30, 0.55)
    assert skewed_t(alone(x), ONE) == (x.mean(), x.mean())
    assert fieller(pairs(2 * x, x), MINUS) == pytest.approx((2, 2))
    assert log_contrast(pairs(math.e * x, x), MINUS) == pytest.approx((1, 1))


def test_medians_and_rates_combine_exact_intervals_at_a_divided_level():
    rng = np.random.default_rng(9)
    x, y = rng.normal(5, 1, 40), rng.normal(3, 1, 40)
    (a, b), (c, d) = median_interval(x, 0.975), median_interval(y, 0.975)
    take = PROCEDURES["median", EFFECTS["difference"]].interval
    assert take(pairs(x, y), MINUS, 0.95) == take(apart(x, y), MINUS, 0.95) == (a - d, b - c)
    assert PROCEDURES["median", EFFECTS["ratio"]].interval(pairs(x, y), MINUS, 0.95) == pytest.approx((a / d, b / c))
    low, high = PROCEDURES["median", EFFECTS["slope"]].interval(pairs(x, y), MINUS, 0.95)
    assert (low, high) == pytest.approx((math.log(a / d), math.log(b / c)))
    (a, b), (c, d) = share_interval(30, 40, 0.975), share_interval(10, 40, 0.975)
    ones = np.arange(40)
    found = PROCEDURES["rate", EFFECTS["difference"]].interval(pairs(ones < 30.0, ones < 10.0), MINUS, 0.95)
    assert found == pytest.approx((a - d, b - c))
    assert PROCEDURES["median", EFFECTS["value"]].interval(alone(x), ONE, 0.95) == median_interval(x, 0.95)


@pytest.mark.parametrize("effect", [quotient, logs])
def test_what_may_be_zero_divides_nothing(effect):
    assert combined(effect, [(1.0, 2.0), (-1.0, 2.0)], MINUS) == UNBOUNDED
    assert combined(effect, [(1.0, 2.0), UNBOUNDED], MINUS) == UNBOUNDED
    assert combined(quotient, [(-1.0, 2.0), (-4.0, -2.0)], MINUS) == (-1.0, 0.5)


def test_rates_of_pairs_are_covered_even_where_one_wins_what_the_other_loses():
    """Return the exact coverage: the first line wins Bin(n, p) of n runs, and the second the rest."""
    n, level, take = 30, 0.9, PROCEDURES["rate", EFFECTS["difference"]].interval
    for p in (0.1, 0.5, 0.8):
        covered = 0.0
        for s in range(n + 1):
            won = np.arange(n) < s
            low, high = take(pairs(won.astype(float), 1.0 - won), MINUS, level)
            covered += scipy_stats.binom.pmf(s, n, p) * (low <= 2 * p - 1 <= high)
        assert covered >= level


def test_the_band_of_an_interquartile_mean():
    x = np.arange(200.0)
    apart_by = math.sqrt(math.log(40) / 400)
    low, high = iqm_interval(x)
    assert (high - low) / 2 == pytest.approx(200 * apart_by)
    assert (high + low) / 2 == pytest.approx(99.5)
    assert iqm_interval(np.arange(29.0)) == (-math.inf, math.inf)
    assert math.isfinite(iqm_interval(np.arange(30.0))[0])
    assert iqm_interval(np.arange(0.0)) == (-math.inf, math.inf)
