"""Split-and-mix: a modular sum from shares of messages that a shuffler mixes (Balle, Bell, Gascón & Nissim 2020)."""

import math

import numpy as np

from hushbandits.core import Array

#: Fewest users whose shares hide anything.
SMALLEST = 19


def shares_needed(n: int, m: int, security: int = 40) -> int:
    """Return ``k = ⌈2 + (2σ + log₂ m)/(log₂ n − log₂ e)⌉``, the shares per user for statistical distance 2^(−σ).

    Source: Balle, Bell, Gascón & Nissim 2020; it needs n ≥ 19.
    """
    if n < SMALLEST:
        raise ValueError(f"n={n}: split-and-mix needs blocks of at least {SMALLEST} users")
    return math.ceil(2 + (2 * security + math.log2(m)) / (math.log2(n) - math.log2(math.e)))


def shares_security(k: int, n: int, m: int) -> float:
    """Return the security σ of k shares of each of n users: the inverse of `shares_needed`."""
    return ((k - 2) * (math.log2(n) - math.log2(math.e)) - math.log2(m)) / 2


def split_delta(epsilon: float, security: float) -> float:
    """Return the δ that shares of this statistical `security` add to an ε-DP sum: ``(1 + e^ε) 2^(−σ)``."""
    return min(1.0, (1 + math.exp(min(epsilon, 700))) * math.pow(2.0, -security))


def split_and_mix(y: Array, k: int, m: int, rng: np.random.Generator) -> Array:
    """Split every message into k uniform shares in ℤ_m that sum to it; return all shares in random order."""
    shares = rng.integers(m, size=(len(y), k))
    shares[:, -1] = y % m
    for j in range(k - 1):
        shares[:, -1] = (shares[:, -1] - shares[:, j]) % m
    return rng.permutation(shares.ravel())
