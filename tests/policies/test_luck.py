"""Draws inside compiled rules: the generator bit for bit, the laws against SciPy's, learners apart."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from hushbandits.core.ground.jit import jit
from hushbandits.policies import luck


def xoshiro(state):
    """xoshiro256++ with Python's integers (Blackman & Vigna 2021): 64 bits a step."""
    whole = 2**64

    def rotated(x, k):
        return (x * 2**k) % whole + x * 2**k // whole

    a, b, c, d = state
    while True:
        yield (rotated((a + d) % whole, 23) + a) % whole
        shifted = b * 2**17 % whole
        c, d = c ^ a, d ^ b
        a, b, c, d = a ^ d, b ^ c, c ^ shifted, rotated(d, 45)


@settings(max_examples=30, deadline=None)
@given(st.lists(st.integers(0, 2**64 - 1), min_size=4, max_size=4))
def test_bits_are_those_of_the_generator(state):
    words, twin = np.array([state], np.uint64), xoshiro(state)
    for _ in range(20):
        assert luck.uniform(words, 0) == (next(twin) >> 11) / 2**53


@jit
def _many(rule, words, out, a, b):
    for i in range(out.size):
        out[i] = rule(words, 0, a, b)


@jit
def _uniform(words, r, a, b):
    return luck.uniform(words, r)


@jit
def _normal(words, r, a, b):
    return luck.normal(words, r)


@jit
def _gamma(words, r, a, b):
    return luck.gamma(words, r, a)


@jit
def _below(words, r, a, b):
    return luck.below(words, r, int(a))


LAWS = [
    (_uniform, 0, 0, stats.uniform()), (_normal, 0, 0, stats.norm()),
    *((_gamma, a, 0, stats.gamma(a)) for a in (0.05, 0.5, 1.0, 3.7, 400.0)),
    *((luck.beta, a, b, stats.beta(a, b)) for a, b in ((1.0, 1.0), (0.3, 0.7), (2.0, 5.0), (300.0, 20.0), (1.0, 5e4))),
]  # fmt: skip


@pytest.mark.parametrize(("rule", "a", "b", "law"), LAWS, ids=[f"{r.__name__}-{a}-{b}" for r, a, b, _ in LAWS])
def test_laws(rule, a, b, law):
    drawn = np.empty(40_000)
    _many(rule, luck.words([np.random.default_rng(12)]), drawn, float(a), float(b))
    assert stats.kstest(drawn, law.cdf).pvalue > 1e-4
    order = stats.rankdata(drawn)
    assert abs(stats.pearsonr(order[:-1], order[1:]).statistic) < 0.025  # one draw says nothing of the next


@pytest.mark.parametrize("n", [1, 2, 7, 1000])
def test_whole_numbers(n):
    drawn = np.empty(40_000)
    _many(_below, luck.words([np.random.default_rng(3)]), drawn, float(n), 0.0)
    counts = np.bincount(drawn.astype(int), minlength=n)
    assert len(counts) == n
    assert n == 1 or stats.chisquare(counts).pvalue > 1e-4


def test_beta_where_both_gammas_vanish_is_a_coin():
    drawn = np.empty(4000)
    _many(luck.beta, luck.words([np.random.default_rng(1)]), drawn, 3e-5, 1e-5)
    assert not np.isnan(drawn).any()
    assert abs(drawn.mean() - 0.75) < 0.04


def test_learners_have_words_of_their_own():
    rngs = lambda: [np.random.default_rng([5, r]) for r in range(3)]  # noqa: E731
    words = luck.words(rngs(), 4)
    assert len(np.unique(words, axis=0)) == 12
    np.testing.assert_array_equal(words[4:8], luck.words(rngs()[1:2], 4))
    before = words.copy()
    one = [luck.normal(words, 2) for _ in range(9)]
    np.testing.assert_array_equal(np.delete(words, 2, 0), np.delete(before, 2, 0))
    assert one == [luck.normal(before[2:3], 0) for _ in range(9)]


def _unsqueezed(words, shape):
    """A gamma draw with Marsaglia & Tsang's exact test alone."""
    boost = 1.0
    if shape < 1.0:
        boost, shape = (1.0 - luck.uniform(words, 0)) ** (1.0 / shape), shape + 1.0
    d = shape - 1.0 / 3.0
    while True:
        x = luck.normal(words, 0)
        v = (1.0 + x / math.sqrt(9.0 * d)) ** 3
        if v > 0.0 and math.log(1.0 - luck.uniform(words, 0)) < 0.5 * x * x + d - d * v + d * math.log(v):
            return boost * d * v


@pytest.mark.parametrize("shape", [0.05, 1.0, 3.7, 400.0, 5e4])
def test_the_squeeze_spares_logarithms_and_changes_no_draw(shape):
    ours = luck.words([np.random.default_rng(5)])
    theirs = ours.copy()
    drawn = [luck.gamma(ours, 0, shape) for _ in range(3000)]
    np.testing.assert_allclose(drawn, [_unsqueezed(theirs, shape) for _ in range(3000)], rtol=1e-12)
    np.testing.assert_array_equal(ours, theirs)  # as many uniforms
