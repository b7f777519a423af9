"""One summary for tables, figures and verdicts: centre, interval and runs, by the metric's specification."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats as scipy_stats

from hushbandits.bench.stats import (
    INTERVALS,
    iqm_interval,
    mean_interval,
    median_interval,
    share_interval,
    shown_interval,
    summary,
)
from hushbandits.core.metric import NATURES, Metric

PLAIN = {"mean": mean_interval, "median": median_interval, "iqm": iqm_interval}
VALUES = {
    "rate": st.sampled_from([0.0, 1.0]),
    "share": st.floats(0, 1),
    "count": st.integers(0, 1000).map(float),
    "amount": st.floats(0, 1e6),
    "measure": st.floats(-1e6, 1e6),
}


@pytest.mark.parametrize("nature", NATURES)
@settings(max_examples=30, deadline=None)
@given(data=st.data())
def test_it_stays_within_what_the_metric_can_be_and_has_its_centre(nature, data):
    x = np.array(data.draw(st.lists(VALUES[nature], min_size=1, max_size=40)))
    statistic = data.draw(st.sampled_from(list(PLAIN)))
    level = data.draw(st.sampled_from([0.5, 0.95, 0.999]))
    measure = Metric("x", nature)
    found = summary(x, measure, statistic, level)
    assert found.runs == len(x)
    low, high = found.interval
    slack = 1e-9 * (1 + np.abs(x).max())
    assert low - slack <= found.centre <= high + slack
    if math.isfinite(low) and math.isfinite(high):
        assert measure.bounds[0] <= low
        assert high <= measure.bounds[1]
    if nature == "rate":
        assert found.interval == pytest.approx(share_interval(int(x.sum()), len(x), level))
        assert (found.statistic, found.procedure) == ("rate", "Clopper–Pearson")
    elif nature == "measure":
        assert found.interval == PLAIN[statistic](x, level)
    assert found.procedure == INTERVALS[found.statistic][0]


def test_a_run_that_contradicts_its_nature_is_not_cut_off():
    low, high = shown_interval((-9.0, 2.0), Metric("x", "amount"), np.array([-3.0, 1.0]))
    assert (low, high) == (-3.0, 2.0)
    assert shown_interval((-math.inf, math.inf), Metric("x", "count"), np.array([1.0])) == (-math.inf, math.inf)


def test_what_is_no_number_is_no_run():
    found = summary(np.array([1.0, np.nan, 3.0]), Metric("x"))
    assert (found.centre, found.runs) == (2.0, 2)
    nothing = summary(np.array([np.nan]), Metric("x", "rate"))
    assert nothing.runs == 0
    assert math.isnan(nothing.centre)
    assert all(map(math.isnan, nothing.interval))


def test_our_own_are_scipys_where_scipy_has_them():
    """Our own versions exist for speed (and for equal runs); the numbers are SciPy's."""
    rng = np.random.default_rng(0)
    for n in (6, 17, 40, 101):
        x = rng.exponential(size=n)
        for level in (0.9, 0.95, 1 - 0.05 / 61):
            theirs = scipy_stats.ttest_1samp(x, 0).confidence_interval(level)
            assert mean_interval(x, level) == pytest.approx(tuple(theirs))
            theirs = scipy_stats.quantile_test(x, q=0, p=0.5).confidence_interval(level)
            ours = median_interval(x, level)
            assert [v if math.isfinite(v) else None for v in ours] == [v if np.isfinite(v) else None for v in theirs]
            for s in (0, 1, n // 2, n):
                theirs = scipy_stats.binomtest(s, n).proportion_ci(level, method="exact")
                assert share_interval(s, n, level) == pytest.approx(tuple(theirs), abs=1e-10)
