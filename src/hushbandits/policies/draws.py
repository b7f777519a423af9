"""Random draws inside compiled rules, from one cursor of `core.random.philox` per learner.

A learner's draws thus depend neither on the batch nor on the draws of other learners.
"""

import math

import numpy as np

from hushbandits.core import lean
from hushbandits.core.random.philox import uniform
from hushbandits.core.random.samplers import gamma, normal

__all__ = ["below", "beta", "gamma", "largest_beta", "normal", "uniform"]


@lean
def below(cursors, r, n):
    """Return a uniform draw from 0 … n − 1, computed as ``⌊n·u⌋`` from a uniform sample u.

    The relative error of each probability is at most n/2⁵³.
    """
    return min(int(uniform(cursors, r) * n), n - 1)


@lean
def beta(cursors, r, a, b):
    """Return a draw from Beta(a, b), ``G_a / (G_a + G_b)`` with two gamma draws."""
    x, y = gamma(cursors, r, a), gamma(cursors, r, b)
    return x / (x + y) if x + y > 0.0 else (1.0 if uniform(cursors, r) * (a + b) < a else 0.0)


_FAR = 3.0  # an arm is far where its bound on passing the best is at most e⁻³
_NEVER = 40.0  # e⁻⁴⁰ is below what a uniform resolves
_POWERS = np.exp(-0.25 * np.arange(4 * _NEVER)) * (1.0 + 1e-12)  # the last of at least e^(−q), at 4q rounded down


@lean
def _exponent(a, b, x):
    """Return q with ``P(X > x) ≤ e^(−q)`` for X from Beta(a, b), by the variance proxy ``1/(4(a + b + 1))``.

    Source: Marchal & Arbel 2017.
    """
    ahead = x - a / (a + b)
    return 2.0 * (a + b + 1.0) * ahead * ahead if ahead > 0.0 and a >= 1.0 and b >= 1.0 else 0.0


@lean
def _beyond(cursors, r, a, b, x, chance):
    """Return, with probability ``P(X > x) / chance``, a draw of X from Beta(a, b) given X > x; otherwise return x.

    A Beta density with a, b ≥ 1 is log-concave: beyond x it lies below the exponential that touches it there.  The
    exponential's mass is at most a quarter of ``chance = e^(−q)`` wherever q ≥ 3.
    """
    if x >= 1.0:
        return x
    fall = (b - 1.0) / (1.0 - x) - (a - 1.0) / x
    density = math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b)
    density += (a - 1.0) * math.log(x) + (b - 1.0) * math.log1p(-x)
    if uniform(cursors, r) * chance * fall >= math.exp(density):
        return x
    more = -math.log1p(-uniform(cursors, r)) / fall
    y = x + more
    if y >= 1.0:
        return x
    ratio = (a - 1.0) * math.log(y / x) + (b - 1.0) * math.log((1.0 - y) / (1.0 - x)) + fall * more
    return y if uniform(cursors, r) < math.exp(ratio) else x


@lean
def _any_passes(wins, losses, prior, lead, x):
    """Return the sum of e^(−q) over the arms that are far from x, but not too far."""
    total = 0.0
    for k in range(len(wins)):
        q = _exponent(wins[k] + prior, losses[k] + prior, x)
        if k != lead and _FAR <= q < _NEVER:
            total += math.exp(-q)
    return total


@lean
def largest_beta(cursors, r, wins, losses, prior):
    """Return the index of the largest of K draws from ``Beta(wins_k + prior, losses_k + prior)``.

    The arm with the largest mean and the arms near it are drawn.  One uniform decides whether any far arm can exceed
    them; usually none does, and none is drawn.
    """
    lead, mean = 0, -1.0
    for k in range(len(wins)):
        m = (wins[k] + prior) / (wins[k] + losses[k] + 2.0 * prior)
        if m > mean:
            lead, mean = k, m
    best, start = lead, beta(cursors, r, wins[lead] + prior, losses[lead] + prior)
    top, most = start, 0.0
    for k in range(len(wins)):
        if k == lead:
            continue
        a, b = wins[k] + prior, losses[k] + prior
        q = _exponent(a, b, start)
        if q < _FAR:
            x = beta(cursors, r, a, b)
            if x > top:
                best, top = k, x
        elif q < _NEVER:
            most += _POWERS[np.uint64(4.0 * q)]
    u = uniform(cursors, r) if most > 0.0 else 1.0
    if u >= most or u >= _any_passes(wins, losses, prior, lead, start):
        return best
    none_before = 1.0  # the probability that no earlier far arm is considered
    for k in range(len(wins)):
        a, b = wins[k] + prior, losses[k] + prior
        if k == lead or not _FAR <= _exponent(a, b, start) < _NEVER:
            continue
        chance = math.exp(-_exponent(a, b, top))
        if u >= none_before * chance:
            u -= none_before * chance
            none_before *= 1.0 - chance
            continue
        x = _beyond(cursors, r, a, b, top, chance)
        if x > top:
            best, top = k, x
        u, none_before = uniform(cursors, r), 1.0
    return best
