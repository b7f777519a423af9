"""The parts of exact composition equal brute force."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from noises import hockey_stick
from scipy import stats

from hushbandits.privacy.divergence import (
    composed_epsilon,
    epsilon_at,
    pure_profile,
    shift_profile,
    worst_profile,
)

WEIGHTS = st.lists(st.floats(0, 1), min_size=2, max_size=6).filter(lambda w: sum(w) > 0.1)


@settings(deadline=None)
@given(WEIGHTS, st.integers(1, 3), st.sampled_from([0.0, 0.01, 0.3]), st.floats(0, 3))
def test_shifts_on_a_line(weights, shift, lost, x):
    pmf = np.array(weights) / sum(weights)
    worst = max(hockey_stick(pmf, s, x) for s in range(1, shift + 1))
    assert shift_profile(pmf, shift, lost)(np.array([x]))[0] == pytest.approx(min(worst + lost, 1.0), abs=1e-9)


@pytest.mark.parametrize(
    ("epsilon", "times", "delta"), [(0.5, 7, 1e-3), (0.1, 60, 1e-6), (2.0, 3, 1e-2), (1.0, 20, 1e-9)]
)
def test_coins_flipped_together(epsilon, times, delta):
    """Randomized response, k times: the loss is a walk of ±ε, so that δ is a sum over a binomial law."""
    found = composed_epsilon(pure_profile(epsilon), times, delta)
    up = stats.binom.pmf(np.arange(times + 1), times, 1 / (1 + math.exp(-epsilon)))
    loss = (2 * np.arange(times + 1) - times) * epsilon

    def exact(x):
        return float((up * np.maximum(-np.expm1(np.minimum(x - loss, 0.0)), 0.0)).sum())

    assert exact(found) <= delta  # never too small
    assert exact(found - 1e-3 * epsilon * times) > delta  # and hardly too large


def test_epsilon_at_is_the_smallest_that_will_do():
    profile = worst_profile([pure_profile(1.0), pure_profile(0.5, 0.01)])
    for delta in (0.02, 0.1, 0.3):
        found = epsilon_at(profile, delta)
        assert profile(np.array([found]))[0] <= delta < profile(np.array([found - 1e-9]))[0]
    assert epsilon_at(profile, 0.005) == math.inf
    assert epsilon_at(profile, 1.0) <= 1e-9
