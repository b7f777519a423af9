"""Draws inside compiled functions: the laws equal SciPy's, learners are independent."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from hushbandits.core import Streams, jit, spawn_seeds
from hushbandits.policies import draws


def cursors(seed, learners=1):
    return Streams(spawn_seeds(seed, learners)).cursors()


@jit
def _many(rule, words, out, a, b):
    for i in range(out.size):
        out[i] = rule(words, 0, a, b)


@jit
def _below(words, r, a, b):
    return draws.below(words, r, int(a))


@pytest.mark.parametrize(("a", "b"), [(1.0, 1.0), (0.3, 0.7), (2.0, 5.0), (300.0, 20.0), (1.0, 5e4)])
def test_beta_draws_have_their_law(a, b):
    drawn = np.empty(40_000)
    _many(draws.beta, cursors(12), drawn, a, b)
    assert stats.kstest(drawn, stats.beta(a, b).cdf).pvalue > 1e-6
    order = stats.rankdata(drawn)
    assert abs(stats.pearsonr(order[:-1], order[1:]).statistic) < 0.025  # consecutive draws are independent


@pytest.mark.parametrize("n", [1, 2, 7, 1000])
def test_whole_numbers(n):
    drawn = np.empty(40_000)
    _many(_below, cursors(3), drawn, float(n), 0.0)
    counts = np.bincount(drawn.astype(int), minlength=n)
    assert len(counts) == n
    assert n == 1 or stats.chisquare(counts).pvalue > 1e-4


def test_beta_where_both_gammas_vanish_is_a_coin():
    drawn = np.empty(4000)
    _many(draws.beta, cursors(1), drawn, 3e-5, 1e-5)
    assert not np.isnan(drawn).any()
    assert abs(drawn.mean() - 0.75) < 0.04


# -- the largest of K Beta draws, without drawing them all ------------------------------------------------------------


@jit
def _passes(words, a, b, x, out):
    """Look as often as the bound says, of ``out.size`` times; return how often x was passed, the values in `out`."""
    count, chance = 0, math.exp(-draws._exponent(a, b, x))
    for _ in range(out.size):
        if draws.uniform(words, 0) < chance:
            y = draws._beyond(words, 0, a, b, x, chance)
            if y > x:
                out[count] = y
                count += 1
    return count


@pytest.mark.parametrize(
    ("a", "b", "q"), [(1, 8, 3.1), (1.5, 30, 3.6), (16, 16, 4), (300, 700, 3.5), (5e4, 5e4, 3), (3, 60, 4.5)]
)
def test_a_far_arm_passes_as_often_and_as_far_as_its_tail_says(a, b, q):
    law = stats.beta(a, b)
    x = law.mean() + math.sqrt(q / (2 * (a + b + 1)))
    out = np.empty(4_000_000)
    passed = _passes(cursors(5), float(a), float(b), x, out)
    assert stats.binomtest(passed, out.size, law.sf(x)).pvalue > 1e-4
    assert stats.kstest(out[:passed], lambda y: 1 - law.sf(y) / law.sf(x)).pvalue > 1e-4


@settings(max_examples=150, deadline=None)
@given(st.floats(0, 16), st.floats(0, 16), st.floats(draws._FAR, draws._NEVER))
def test_the_exponential_lies_below_the_bound(log_a, log_b, q):
    a, b = math.exp(log_a), math.exp(log_b)
    x = a / (a + b) + math.sqrt(q / (2 * (a + b + 1)))
    if x >= 1:
        return
    fall = (b - 1) / (1 - x) - (a - 1) / x
    assert fall > 0
    assert stats.beta.logpdf(x, a, b) - math.log(fall) < -q - 1  # so that `_beyond` never needs a chance above one


@jit
def _wins(words, wins, losses, prior, out, many):
    for _ in range(many):
        out[draws.largest_beta(words, 0, wins, losses, prior)] += 1


LARGEST = [
    ([70, 60, 66, 20], [30, 42, 40, 30]),
    ([700, 630, 640, 20], [300, 300, 280, 30]),
    ([20, 1, 2, 0, 9, 9, 9], [5, 9, 9, 9, 9, 8, 7]),
    ([0, 0, 0], [0, 0, 0]),
    ([40, 900], [40, 1100]),
    ([5000, 4900, 4850, 4800, 30], [5000, 5000, 5000, 5000, 30]),
]


@pytest.mark.parametrize(("wins", "losses"), LARGEST, ids=[str(i) for i in range(len(LARGEST))])
def test_an_arm_is_the_largest_as_often_as_the_integral_says(wins, losses):
    wins, losses = np.array(wins, float), np.array(losses, float)
    laws = stats.beta(wins + 1, losses + 1)
    grid = np.linspace(0, 1, 100_001)[:, None]
    density, below = laws.pdf(grid), laws.cdf(grid)
    chance = [np.trapezoid(density[:, k] * np.delete(below, k, 1).prod(1), grid[:, 0]) for k in range(len(wins))]
    assert sum(chance) == pytest.approx(1, abs=1e-6)
    many, counts = 250_000, np.zeros(len(wins))
    _wins(cursors(9), wins, losses, 1.0, counts, many)
    expected = np.array(chance) * many
    seen = expected > 5
    observed, due = np.append(counts[seen], counts[~seen].sum()), np.append(expected[seen], expected[~seen].sum())
    assert stats.chi2.sf((((observed - due) ** 2) / np.maximum(due, 1)).sum(), len(observed) - 1) > 1e-4
