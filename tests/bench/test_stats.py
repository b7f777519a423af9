"""Statistics equal closed forms and published values."""

from __future__ import annotations

import math
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats as scipy_stats

from hushbandits.bench.stats import (
    STATISTICS,
    bootstrap,
    holm,
    iqm,
    mean_interval,
    permutation_test,
    profile,
    quantile_band,
)
from hushbandits.bench.stats.pairs import wins

#: Student's own example, "The probable error of a mean" (1908), section IX: additional hours of sleep by two drugs.
SLEEP_1 = np.array([0.7, -1.6, -0.2, -1.2, -0.1, 3.4, 3.7, 0.8, 0.0, 2.0])
SLEEP_2 = np.array([1.9, 0.8, 1.1, 0.1, -0.1, 4.4, 5.5, 1.6, 4.6, 3.4])


def test_mean_interval_on_students_sleep_data():
    # The paired t interval that every textbook (and R's example(t.test)) prints: 0.70 to 2.46 around 1.58.
    low, high = mean_interval(SLEEP_2 - SLEEP_1)
    assert (round(low, 4), round(high, 4)) == (0.7001, 2.4599)
    assert mean_interval(np.array([3.0])) == (-math.inf, math.inf)


def test_quantile_band_of_a_uniform_grid():
    low, high = quantile_band(np.stack([np.arange(201.0), 2 * np.arange(201.0)], axis=1))
    assert np.allclose(low, [5, 10])
    assert np.allclose(high, [195, 390])


@pytest.mark.parametrize("n", [4, 8, 12, 40])
def test_iqm_is_the_trimmed_mean_where_4_divides_n(n):
    x = np.random.default_rng(n).normal(size=n)
    assert iqm(x) == pytest.approx(scipy_stats.trim_mean(x, 0.25))


def test_iqm_counts_runs_at_the_edges_by_their_share():
    # n = 5: the middle half covers [1.25, 3.75] of 5, that is ¾ of the second, all of the third, ¾ of the fourth.
    x = np.array([0.0, 1.0, 10.0, 100.0, 1e6])
    assert iqm(x) == pytest.approx((0.75 * 1 + 10 + 0.75 * 100) / 2.5)
    assert iqm(np.stack([x, 2 * x])[:, ::-1], axis=1) == pytest.approx([float(iqm(x)), 2 * float(iqm(x))])


def test_profile_counts_runs_at_or_above():
    x = np.array([[0.1, 0.5], [0.5, 0.9]])
    assert profile(x, np.array([0.0, 0.1, 0.5, 0.6, 1.0])).tolist() == [1.0, 1.0, 0.75, 0.25, 0.0]


def test_improvement_is_mann_whitneys_u():
    rng = np.random.default_rng(1)
    x, y = rng.integers(0, 9, 30), rng.integers(0, 7, 17)
    assert wins(x, y).mean() == pytest.approx(scipy_stats.mannwhitneyu(x, y).statistic / (30 * 17))
    assert wins(x, y).mean() + wins(y, x).mean() == pytest.approx(1)


def test_improvement_is_known_where_runs_are_infinite():
    assert wins(np.array([1.0, np.inf]), np.array([np.inf, 0.0])).tolist() == [[0, 1], [0.5, 1]]


def test_bootstrap_of_a_mean_is_students_interval_on_normal_data():
    x = np.random.default_rng(3).normal(5, 2, 200)
    low, high = bootstrap(lambda s: s.mean(0), x, resamples=40_000)
    want = mean_interval(x)
    assert (low, high) == pytest.approx(want, abs=0.02)


@pytest.mark.parametrize(("n", "tail"), [(10, 0.0086), (20, 0.0159), (40, 0.0203)])
def test_bootstrap_widens_its_tails_by_hesterbergs_formula(n, tail):
    # An effect whose resamples are evenly spaced on [0, 1]: its quantiles are the tails themselves.
    low, high = bootstrap(lambda s: np.linspace(0, 1, s.shape[1]), np.arange(float(n)))
    assert (round(low, 4), round(high, 4)) == (tail, 1 - tail)
    assert low == pytest.approx(scipy_stats.norm.cdf(scipy_stats.t.ppf(0.025, n - 1) * math.sqrt(n / (n - 1))))


def test_bootstrap_refuses_tails_below_the_chance_of_a_constant_resample():
    # n = 5: n^(1−n) = .0016, the widened tails at 92 % and 95 % are .0045 and .00095
    x = np.array([1.0, 2.0, 3.0, 4.0, 5.0])
    assert math.isfinite(bootstrap(lambda s: s.mean(0), x, level=0.92, resamples=20_000)[0])
    assert bootstrap(lambda s: s.mean(0), x, level=0.95, resamples=20_000) == (-math.inf, math.inf)
    assert bootstrap(lambda s: s.mean(0), x[:1]) == (-math.inf, math.inf)
    # n = 6: .00013 and .0024
    assert math.isfinite(bootstrap(lambda s: s.mean(0), np.arange(6.0))[0])


def test_bootstrap_refuses_tails_that_its_resamples_do_not_reach():
    x = np.arange(20.0)  # tail .0159 at 95 %: 629 resamples leave ten beyond it
    assert math.isfinite(bootstrap(lambda s: s.mean(0), x, resamples=640)[0])
    for resamples in (200, 620):
        assert bootstrap(lambda s: s.mean(0), x, resamples=resamples) == (-math.inf, math.inf)


def test_ten_thousand_resamples_are_drawn_unless_shown():
    drawn = []
    bootstrap(lambda s: drawn.append(s.shape) or s.mean(0), np.arange(20.0))
    assert drawn == [(20, 10_000)]


def test_bootstrap_resamples_each_stratum_by_itself():
    # Two constant strata: any mixing across them would add spread.
    low, high = bootstrap(lambda a, b: a.mean(0) - b.mean(0), np.full(30, 5.0), np.full(40, 2.0))
    assert (low, high) == (3.0, 3.0)


def test_permutation_test_approaches_the_exact_law():
    x, y = np.array([1.0, 2.0, 3.0, 4.0]), np.array([5.0, 6.0, 7.0, 8.0])
    # Two of C(8, 4) = 70 splits are as extreme.
    p = permutation_test(x, y, resamples=49_999)
    assert p == pytest.approx(2 / 70, abs=5 * math.sqrt(2 / 70 / 50_000))
    assert permutation_test(x, x, resamples=999) == 1.0
    assert permutation_test(x, y + 100, "median", resamples=9_999) < 0.06


def test_rounding_makes_no_difference_out_of_none():
    # Both means are .2, and sums of decimals say that they differ by 3e-17: every split is as extreme as that.
    x, y = np.array([0.1, 0.2, 0.3]), np.array([0.3, 0.2, 0.1])
    assert x.mean() != y.mean()
    assert permutation_test(x, y) == 1.0
    big = np.tile(x, 30), np.tile(y, 30)
    assert permutation_test(*big, resamples=499) == 1.0


@settings(max_examples=25, deadline=None)
@given(
    x=st.lists(st.integers(-5, 5), min_size=2, max_size=5),
    y=st.lists(st.integers(-5, 5), min_size=2, max_size=5),
    unit=st.sampled_from([1.0, 0.1, 1e-9, 1e9]),
)
def test_of_few_runs_every_split_is_counted_exactly(x, y, unit):
    """In integers there is no rounding: the p-value is that of the naive count, in any unit."""
    both, n, m = [*x, *y], len(x), len(y)
    scaled = [abs(m * sum(part) - n * (sum(both) - sum(part))) for part in combinations(both, n)]
    naive = sum(v >= abs(m * sum(x) - n * sum(y)) for v in scaled) / len(scaled)
    assert permutation_test(unit * np.array(x), unit * np.array(y)) == pytest.approx(naive)


def test_a_single_run_shows_nothing():
    assert permutation_test(np.array([5.0]), np.zeros(9)) == 1.0


def test_permutation_p_values_are_uniform_under_the_null():
    rng = np.random.default_rng(6)
    p = [permutation_test(rng.exponential(size=7), rng.exponential(size=9), resamples=199, seed=s) for s in range(400)]
    # Valid: P(p ≤ a) ≤ a, up to chance
    for a in (0.05, 0.25, 0.5):
        assert scipy_stats.binomtest(sum(v <= a for v in p), 400, a, alternative="greater").pvalue > 1e-6


def test_holm_on_a_worked_example():
    # Holm 1979's procedure on p = .01, .04, .03, .005: 4·.005, 3·.01, 2·.03, then the maximum so far
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm([0.6, 0.9]) == pytest.approx([1.0, 1.0])


def test_statistics_run_along_any_axis():
    x = np.random.default_rng(7).normal(size=(9, 4))
    for name, f in STATISTICS.items():
        assert np.allclose(f(x), [f(column) for column in x.T]), name
        assert np.allclose(f(x, axis=1), f(x.T)), name
