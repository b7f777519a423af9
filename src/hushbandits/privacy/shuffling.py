"""Sums through a shuffler: split-and-mix shares, and the noise bits of a binary sum."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from scipy import stats

from hushbandits.core.ground.types import Array
from hushbandits.privacy.divergence import binomial_profile
from hushbandits.privacy.noise import NoiseLaw, Profile

#: Fewest users whose shares hide anything.
SMALLEST = 19


def shares_needed(n: int, m: int, security: int = 40) -> int:
    """``k = ⌈2 + (2σ + log₂ m)/(log₂ n − log₂ e)⌉`` shares per user, for statistical distance 2^(−σ).

    Source: Balle, Bell, Gascón & Nissim 2020; it needs n ≥ 19.
    """
    if n < SMALLEST:
        raise ValueError(f"n={n}: split-and-mix needs blocks of at least {SMALLEST} users")
    return math.ceil(2 + (2 * security + math.log2(m)) / (math.log2(n) - math.log2(math.e)))


def shares_security(k: int, n: int, m: int) -> float:
    """σ that k shares of each of n users give: the inverse of `shares_needed`."""
    return ((k - 2) * (math.log2(n) - math.log2(math.e)) - math.log2(m)) / 2


def split_and_mix(y: Array, k: int, m: int, rng: np.random.Generator) -> Array:
    """Every message becomes k uniform shares in ℤ_m that sum to it; all of them, in one uniform order."""
    shares = rng.integers(m, size=(len(y), k))
    shares[:, -1] = y % m
    for j in range(k - 1):
        shares[:, -1] = (shares[:, -1] - shares[:, j]) % m
    return rng.permutation(shares.ravel())


def modular_sum(x: Array, m: int) -> int:
    """``Σ x mod m`` of integers below 2^62, without overflow."""
    high, low = int((x >> 31).sum()), int((x & ((1 << 31) - 1)).sum())
    return ((high << 31) + low) % m


@dataclass(frozen=True)
class ExtraBits(NoiseLaw):
    """k extra bits of probability q beside a user's own: noise whose mean the analyzer subtracts."""

    k: int
    q: float

    def draw(self, rng: np.random.Generator, size: int) -> Array:
        return rng.binomial(self.k, self.q, size)

    def total(self, rng: np.random.Generator, n: int) -> float:
        return int(rng.binomial(n * self.k, self.q))

    @property
    def mean(self) -> float:  # type: ignore[override]
        return self.k * self.q

    @property
    def variance(self) -> float:
        return self.k * self.q * (1 - self.q)

    def line(self, n: int) -> Array:
        return stats.binom.pmf(np.arange(n * self.k + 1), n * self.k, self.q)

    def profile(self, n: int, shift: int) -> Profile | None:
        return binomial_profile(n * self.k, self.q) if shift == 1 else None


def binomial_delta(trials: int, q: float, epsilon: float) -> float:
    """Exact δ of adding Bin(trials, q) to a sum of sensitivity 1: the hockey-stick divergence of X and X + 1."""
    return float(binomial_profile(trials, q)(np.array([epsilon]))[0])


def _bits_for(n: int, tau: float) -> ExtraBits:
    # A user's own fair bits where one each is not enough, else at most one bit each.
    return ExtraBits(math.ceil(tau / n), 0.5) if n <= tau else ExtraBits(1, tau / (2 * n))


@lru_cache(maxsize=4096)
def extra_bits(n: int, epsilon: float, delta: float, calibrate: str = "paper") -> ExtraBits:
    """Noise bits of the binary-sum protocol for a block of n users (Tenenbaum et al. 2021).

    With noise τ: if n ≤ τ everyone adds ``⌈τ/n⌉`` fair bits, else one bit Ber(τ/(2n)).

    * ``"paper"``: ``τ = 96 ln(2/δ)/ε²`` as printed, where that is (ε, δ)-DP by its exact divergence.  From ε ≈ 7 on
      it is not (at ε = 10 and δ = 10⁻⁶ it gives 9·10⁻⁴); there it is as ``"exact"``.
    * ``"exact"``: the smallest τ whose noise is (ε, δ)-DP by its exact divergence, 10 to 50 times less at ε ≤ 1, 1.5
      to 3 times at ε = 5.

    Whatever is returned has been checked against the exact divergence.
    """

    def enough(tau: float) -> bool:
        bits = _bits_for(n, tau)
        return binomial_delta(n * bits.k, bits.q, epsilon) <= delta

    printed = 96 * math.log(2 / delta) / epsilon**2
    if calibrate == "paper" and enough(printed):
        return _bits_for(n, printed)
    low, high = 0.0, printed
    while not enough(high):
        low, high = high, 2 * high
        if high > 2.0**50:
            raise ValueError(
                f"epsilon={epsilon:g}, delta={delta:g}: no number of noise bits hides a bit among n={n} so well"
            )
    while high - low > 1e-4 * high:
        middle = (low + high) / 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return _bits_for(n, high)
