"""Tails of sums of noise."""

from __future__ import annotations

import math

import numpy as np

from hushbandits.privacy.noise import NoiseLaw

__all__ = ["chernoff", "tail_quantile"]


def chernoff(law: NoiseLaw, n: int, p: float) -> float:
    """Return τ with ``P(|X₁ + … + X_n| > τ) ≤ p``: ``min_t (n ln E e^{tX} + ln(2/p))/t``."""
    target = math.log(2 / p)

    def bound(t: float) -> float:
        return (n * law.log_mgf(t) + target) / t

    # The bound is unimodal in ln t: golden section between far ends.
    high = min(law.t_max * (1 - 1e-12), 50.0)
    a, b = math.log(high) - 40, math.log(high)
    ratio = (math.sqrt(5) - 1) / 2
    c, d = b - ratio * (b - a), a + ratio * (b - a)
    for _ in range(100):
        if bound(math.exp(c)) < bound(math.exp(d)):
            b, d = d, c
            c = b - ratio * (b - a)
        else:
            a, c = c, d
            d = a + ratio * (b - a)
    return bound(math.exp((a + b) / 2))


def tail_quantile(law: NoiseLaw, n: int, p: float) -> int:
    """Return the smallest τ with ``P(|X₁ + … + X_n| > τ) ≤ p``, for a law on the integers.

    The sum is wrapped on a circle so long that what wraps is below 1e-15 (`chernoff`); there
    ``P(|S| ≤ τ) = (1/N) Σ_j cf(θ_j)^n sin((2τ+1)θ_j/2)/sin(θ_j/2)``, ``θ_j = 2πj/N``.
    """
    size = 2 * math.ceil(chernoff(law, n, 1e-15)) + 1
    # cf falls towards π: the terms beyond the first negligible one are negligible.
    low, high = 0, size // 2 + 1
    while high - low > 1:
        middle = (low + high) // 2
        if float(law.cf(np.array(2 * np.pi * middle / size))) ** n > 1e-18:
            low = middle
        else:
            high = middle
    theta = np.pi * np.arange(1, low + 1) / size
    weight = law.cf(2 * theta) ** n / np.sin(theta)

    def within(tau: int) -> float:
        return float((2 * tau + 1 + 2 * (weight * np.sin((2 * tau + 1) * theta)).sum()) / size)

    low, high = -1, size // 2
    while high - low > 1:
        middle = (low + high) // 2
        if 1 - within(middle) <= p:
            high = middle
        else:
            low = middle
    return high
