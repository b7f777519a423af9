"""Draws inside compiled rules: each learner has a generator of its own, four words of a row.

So what a learner draws depends neither on the batch nor on how often the others draw.  The words come from the run's
tape, `words`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from hushbandits.core.ground.jit import jit
from hushbandits.core.ground.types import Array

__all__ = ["below", "beta", "gamma", "normal", "uniform", "words"]


def words(rngs: Sequence[np.random.Generator], each: int = 1) -> Array:
    """Return ``(len(rngs)·each, 4)`` words: the states of `each` learners per run."""
    drawn = [rng.integers(1, 2**64, size=(each, 4), dtype=np.uint64) for rng in rngs]
    return np.concatenate(drawn) if drawn else np.empty((0, 4), np.uint64)


@jit
def _rotated(x, k):
    return (x << np.uint64(k)) | (x >> np.uint64(64 - k))


@jit
def _next(luck, r):
    """64 random bits of learner r: xoshiro256++ (Blackman & Vigna 2021, "Scrambled Linear PRNGs", figure 3)."""
    a, b, c, d = luck[r, 0], luck[r, 1], luck[r, 2], luck[r, 3]
    out = _rotated(a + d, 23) + a
    shifted = b << np.uint64(17)
    c ^= a
    d ^= b
    b ^= c
    a ^= d
    c ^= shifted
    luck[r, 0], luck[r, 1], luck[r, 2], luck[r, 3] = a, b, c, _rotated(d, 45)
    return out


@jit
def uniform(luck, r):
    """Uniform on [0, 1): the upper 53 bits."""
    return (_next(luck, r) >> np.uint64(11)) * (1.0 / 9007199254740992.0)


@jit
def below(luck, r, n):
    """Uniform on 0..n − 1 (by the product; off by n/2⁵³)."""
    return min(int(uniform(luck, r) * n), n - 1)


@jit
def normal(luck, r):
    """Standard normal: the polar method (Marsaglia & Bray 1964), one of each pair."""
    while True:
        x, y = 2.0 * uniform(luck, r) - 1.0, 2.0 * uniform(luck, r) - 1.0
        size = x * x + y * y
        if 0.0 < size < 1.0:
            return x * math.sqrt(-2.0 * math.log(size) / size)


@jit
def gamma(luck, r, shape):
    """Gamma of that shape and scale 1: Marsaglia & Tsang 2000; below shape 1 by ``U^(1/shape)`` (their section 6)."""
    boost = 1.0
    if shape < 1.0:
        boost = (1.0 - uniform(luck, r)) ** (1.0 / shape)
        shape += 1.0
    d = shape - 1.0 / 3.0
    c = 1.0 / math.sqrt(9.0 * d)
    while True:
        x = normal(luck, r)
        v = 1.0 + c * x
        if v <= 0.0:
            continue
        v = v * v * v
        u, square = 1.0 - uniform(luck, r), x * x
        # the first test implies the second and spares nearly all of its logarithms (their squeeze)
        if u < 1.0 - 0.0331 * square * square or math.log(u) < 0.5 * square + d - d * v + d * math.log(v):
            return boost * d * v


@jit
def beta(luck, r, a, b):
    """Beta(a, b) as ``G_a / (G_a + G_b)``."""
    x, y = gamma(luck, r, a), gamma(luck, r, b)
    return x / (x + y) if x + y > 0.0 else (1.0 if uniform(luck, r) * (a + b) < a else 0.0)
