"""The shortest interval with q points: among several the one nearest the middle rank, then the lower."""

import math

import numpy as np
import pytest
from helpers import estimates
from hypothesis import given, settings
from hypothesis import strategies as st

from hushbandits.estimators.robust import TrimmedMean
from hushbandits.estimators.rules import kept_points, shortest_window
from hushbandits.estimators.running import follow


def window(y, q):
    """The docstring as code."""
    n = len(y)
    shortest = min(y[i + q - 1] - y[i] for i in range(n - q + 1))
    ties = [i for i in range(n - q + 1) if y[i + q - 1] - y[i] == shortest]
    nearest = min(abs(i + (q - 1) / 2 - (n - 1) / 2) for i in ties)
    i = min(i for i in ties if abs(i + (q - 1) / 2 - (n - 1) / 2) == nearest)
    return y[i], y[i + q - 1]


@settings(deadline=None)
@given(st.lists(st.integers(0, 6), min_size=1, max_size=12), st.data())
def test_of_shortest_windows_the_one_nearest_the_middle_then_the_lower(values, data):
    y = np.sort(np.array(values, float))
    q = data.draw(st.integers(1, len(y)))
    i = shortest_window(y, len(y), q, 0, data.draw(st.integers(0, len(y))))
    assert (y[i], y[i + q - 1]) == window(y.tolist(), q)


@settings(deadline=None)
@given(st.lists(st.integers(0, 6), min_size=4, max_size=14), st.data())
def test_the_middle_may_be_left_out(values, data):
    """Every window of q begins at most at the lowest n − q + 1: the rest is not read."""
    y = np.sort(np.array(values, float))
    n = len(y)
    q = data.draw(st.integers(n // 2 + 1, n))
    ends = n - q + 1
    gap = max(0, n - 2 * ends)
    kept = np.concatenate([y[: (n - gap + 1) // 2], y[(n - gap + 1) // 2 + gap :]]) if gap else y
    i = shortest_window(kept, n, q, gap, data.draw(st.integers(0, n)))
    assert (kept[i], kept[i + q - 1 - gap]) == window(y.tolist(), q)


@pytest.mark.parametrize("far", [100.0, -100.0])
def test_where_no_x_lies_in_the_window_it_is_its_middle(far):
    """From the whole sample, and as it grows."""
    n, delta = 120, 0.3
    y = np.random.default_rng(3).random(n)
    sample = np.empty(2 * n)
    sample[0::2], sample[1::2] = far, y
    q = kept_points(n, -math.log(delta), 0.05)
    low, high = window(np.sort(y).tolist(), q)
    assert 0 < q < n
    assert TrimmedMean(0.05)(sample, delta) == low + 0.5 * (high - low)
    running, out = follow(TrimmedMean(0.05), (1, 1, 1), 2 * n, -math.log(delta)), np.zeros((1, 1, 1))
    running.add(np.zeros((1, 1, 2 * n), int), sample[None, None], np.ones((1, 1, 2 * n), bool))
    estimates(running, -math.log(delta), out)
    assert out.item() == low + 0.5 * (high - low)
