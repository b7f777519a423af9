"""Statistics of an audit equal brute force and SciPy's intervals: errors would accuse correct parts, or miss faults."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from kinds import each_once
from scipy import stats
from wrapped_laplace import worst_log_ratio

from hushbandits.audits import uniforms
from hushbandits.audits.events import _hits
from hushbandits.privacy.audit import critical_share, epsilon_lower_bound, one_run_p_value, smallest_refuted


@settings(deadline=None)
@given(st.lists(st.floats(0.05, 1), min_size=2, max_size=7), st.data())
def test_the_worst_ratio_over_all_shifts_of_a_circle(weights, data):
    log_pmf = np.log(np.array(weights) / sum(weights))
    m = len(weights)
    shifts = data.draw(st.integers(1, m))
    brute = max(abs(log_pmf[k] - log_pmf[(k - s) % m]) for s in range(1, shifts + 1) for k in range(m))
    assert worst_log_ratio(log_pmf, shifts) == pytest.approx(brute, abs=1e-15)
    some = np.array([data.draw(st.integers(1, m))])
    brute = max(abs(log_pmf[k] - log_pmf[(k - some[0]) % m]) for k in range(m))
    assert worst_log_ratio(log_pmf, shifts, some) == pytest.approx(brute, abs=1e-15)


@each_once
@pytest.mark.parametrize("delta", [0.0, 1e-3, 0.2])
@pytest.mark.parametrize("level", [0.1, 1e-6])
@pytest.mark.parametrize(
    ("hits", "others"), [(0, 0), (0, 500), (500, 0), (500, 500), (400, 30), (30, 400), (1, 0), (499, 1)]
)
def test_lower_bounds_are_clopper_and_pearson_s(hits, others, level, delta):
    n = 500
    low = stats.binomtest(hits, n).proportion_ci(1 - level, "exact").low
    high = stats.binomtest(others, n).proportion_ci(1 - level, "exact").high
    expected = max(0.0, math.log((low - delta) / high)) if low > delta else 0.0
    assert epsilon_lower_bound(hits, others, n, delta, level) == pytest.approx(expected, rel=1e-9, abs=1e-12)


@given(st.lists(st.integers(0, 4), min_size=1, max_size=9), st.lists(st.integers(-1, 5), min_size=1, max_size=4))
def test_events_are_counted(values, at):
    x, points = np.array(values, float), np.array(at, float)
    assert _hits(x, "≤", points).tolist() == [sum(v <= p for v in values) for p in at]
    assert _hits(x, "≥", points).tolist() == [sum(v >= p for v in values) for p in at]
    assert _hits(x, "=", points).tolist() == [sum(v == p for v in values) for p in at]


@pytest.mark.parametrize(("epsilon", "delta", "samples", "power"), [(1.0, 0.0, 2000, 0.9), (0.1, 0.01, 20_000, 0.5)])
def test_the_smallest_refuted_epsilon_is_just_refuted(epsilon, delta, samples, power):
    level = 1e-4
    found = smallest_refuted(epsilon, delta, samples, level, power)

    def refuted(true):
        miss = (1 - power) / 2
        hits, others = stats.binom.ppf(miss, samples, 0.5), stats.binom.isf(miss, samples, math.exp(-true) / 2)
        return epsilon_lower_bound(int(hits), int(others), samples, delta, level) > epsilon

    assert refuted(found)
    assert not refuted(found - 1.5e-3)
    assert found > epsilon


@pytest.mark.parametrize(("mean", "n", "level"), [(0.1, 1000, 1e-6), (0.9, 200, 1e-3), (0.5, 10, 0.2)])
def test_a_share_is_critical_where_hoeffding_s_bound_is_the_level(mean, n, level):
    share = critical_share(mean, n, level)
    assert mean < share <= 1
    kl = share * math.log(share / mean) + ((1 - share) * math.log((1 - share) / (1 - mean)) if share < 1 else 0.0)
    assert math.exp(-n * kl) == pytest.approx(level, rel=1e-4)
    assert stats.binom.sf(math.floor(share * n), n, mean) <= level


def test_no_share_is_critical_where_all_may_happen():
    assert critical_share(0.9, 10, 1e-6) == pytest.approx(1.0)


@pytest.mark.parametrize("u", [[0.5], [0.0, 1.0], [0.2, 0.2, 0.9], [0.99, 0.98, 0.97]])
def test_kolmogorov_s_distance(u):
    far = stats.kstest(u, "uniform").statistic
    assert uniforms.distance(np.array(u)) == pytest.approx(max(0.0, 2 * len(u) * far**2 - math.log(2)))


@pytest.mark.parametrize("correct", [0, 1, 7, 10])
def test_right_guesses_of_one_run(correct):
    p = math.e / (1 + math.e)
    tail = sum(math.comb(10, i) * p**i * (1 - p) ** (10 - i) for i in range(correct, 11))
    assert one_run_p_value(correct, 10, 1.0) == pytest.approx(tail)


def test_what_is_impossible_beside_a_neighbour_shows_all():
    with np.errstate(divide="ignore"):
        assert worst_log_ratio(np.log(np.array([0.5, 0.5, 0.0])), 1) == math.inf
