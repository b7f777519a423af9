"""Exact samplers: integers only, no floating point between the coin flips and the noise.

What laws draw from `exactly`: uniform integers, of the operating system (`SecretSource`).  Parameters are taken as the
exact rationals that the given doubles are.

Sources: Canonne, Kamath & Steinke 2020, algorithms 1–3 (Bernoulli(e^−γ), discrete Laplace, discrete Gaussian).
"""

from __future__ import annotations

import math
import secrets
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np

from hushbandits.core.ground.types import Array
from hushbandits.privacy.noise import NoiseLaw, Source


class SecretSource:
    """Integers from the operating system; it cannot be seeded."""

    def below(self, n: int) -> int:
        """Return a uniform integer in [0, n)."""
        return secrets.randbelow(n)


# Every sampler below sees parameters as pairs of integers (numerator, denominator).


def bernoulli(source: Source, a: int, b: int) -> bool:
    """Coin of probability a/b."""
    return source.below(b) < a


def bernoulli_exp(source: Source, a: int, b: int) -> bool:
    """Coin of probability ``e^(−a/b)`` (algorithm 1)."""
    while a > b:
        if not _bernoulli_exp_unit(source, 1, 1):
            return False
        a -= b
    return _bernoulli_exp_unit(source, a, b)


def _bernoulli_exp_unit(source: Source, a: int, b: int) -> bool:
    k = 1
    while bernoulli(source, a, b * k):
        k += 1
    return k % 2 == 1


def discrete_laplace(source: Source, a: int, b: int) -> int:
    """Lap_ℤ of scale a/b (algorithm 2)."""
    while True:
        u = source.below(a)
        if not bernoulli_exp(source, u, a):
            continue
        v = 0
        while _bernoulli_exp_unit(source, 1, 1):
            v += 1
        y = (u + a * v) // b
        negative = source.below(2) == 1
        if y or not negative:
            return -y if negative else y


def discrete_gaussian(source: Source, a: int, b: int) -> int:
    """Discrete Gaussian of ``σ² = a/b`` (algorithm 3)."""
    t = math.isqrt(a // b) + 1
    while True:
        y = discrete_laplace(source, t, 1)
        # e^(−(|y| − σ²/t)²/2σ²), the exponent over the common denominator 2·a·b·t²
        if bernoulli_exp(source, (abs(y) * t * b - a) ** 2, 2 * a * b * t * t):
            return y


def polya(source: Source, shape: tuple[int, int], gamma: tuple[int, int]) -> int:
    """Pólya(r, e^(−γ)): count geometric steps, and thin each by the ratio of the two laws.

    Step k is kept with probability ``(k − 1 + r)/k ≤ 1`` for ``r ≤ 1``; a step that is not starts afresh.
    """
    a, b = shape
    while True:
        k = 0
        while bernoulli_exp(source, *gamma):
            k += 1
            if not bernoulli(source, (k - 1) * b + a, k * b):
                break
        else:
            return k


def poisson(source: Source, a: int, b: int) -> int:
    """Poisson of mean a/b: pieces of mean ≤ ½, each by rejection from a fair geometric law.

    A fair coin's k heads are accepted with probability ``Π_{i≤k} 2λ/i``: what remains is ∝ λ^k/k!.
    """
    pieces = max(1, -(-2 * a // b))
    total = 0
    for _ in range(pieces):
        total += _poisson_small(source, a, b * pieces)
    return total


def _poisson_small(source: Source, a: int, b: int) -> int:
    while True:
        k = 0
        while source.below(2):
            k += 1
            if not bernoulli(source, 2 * a, b * k):
                break
        else:
            return k


def ratio(x: float) -> tuple[int, int]:
    """The rational that a double is."""
    return Fraction(x).as_integer_ratio()


def reciprocal(x: float, most: int = 1 << 40) -> tuple[int, int]:
    """The fraction that a double such as 1/n was meant to be."""
    return Fraction(x).limit_denominator(most).as_integer_ratio()


@dataclass(frozen=True)
class Exact:
    """A noise law, drawn exactly; no seed decides what it draws.

    Parameters
    ----------
    law : NoiseLaw
    source : Source
        Where uniform integers come from; by default the operating system.
    """

    law: NoiseLaw
    source: Source = field(default_factory=SecretSource, compare=False)

    def __post_init__(self) -> None:
        self.law.exactly()  # one that has none says so

    @property
    def integer(self) -> bool:
        """As the law's."""
        return self.law.integer

    def draw(self, rng: object, size: int) -> Array:
        """One value per user, ``(size,)``; `rng` is not asked."""
        one = self.law.exactly()
        return np.array([one(self.source) for _ in range(size)], np.int64 if self.integer else float)

    def total(self, rng: object, n: int) -> float:
        """Sum over n users; `rng` is not asked."""
        return self.law.exact_total(self.source, n) if n else 0
