"""Tails of sums of noise."""

from __future__ import annotations

import math
from bisect import bisect_left

import numpy as np
from scipy import optimize

from hushbandits.privacy.noise import NoiseLaw


def chernoff(law: NoiseLaw, n: int, p: float) -> float:
    """Return τ with ``P(|X₁ + … + X_n| > τ) ≤ p``: ``min_t (n ln E e^{tX} + ln(2/p))/t``."""
    target = math.log(2 / p)

    def bound(log_t: float) -> float:  # unimodal
        t = math.exp(log_t)
        return (n * law.log_mgf(t) + target) / t

    high = math.log(min(law.t_max * (1 - 1e-12), 50.0))
    found = optimize.minimize_scalar(bound, bounds=(high - 40, high), method="bounded", options={"xatol": 1e-9})
    return float(found.fun)


def tail_quantile(law: NoiseLaw, n: int, p: float) -> int:
    """Return the smallest τ with ``P(|X₁ + … + X_n| > τ) ≤ p``, for a law on the integers.

    The sum is wrapped on a circle so long that what wraps is below 1e-15 (`chernoff`); there
    ``P(|S| ≤ τ) = (1/N) Σ_j cf(θ_j)^n sin((2τ+1)θ_j/2)/sin(θ_j/2)``, ``θ_j = 2πj/N``.
    """
    size = 2 * math.ceil(chernoff(law, n, 1e-15)) + 1

    def negligible(j: int) -> bool:
        return float(law.cf(np.array(2 * np.pi * j / size))) ** n <= 1e-18

    # cf falls towards π: the terms beyond the first negligible one are negligible.
    theta = np.pi * np.arange(1, bisect_left(range(size // 2 + 1), True, 1, key=negligible)) / size
    weight = law.cf(2 * theta) ** n / np.sin(theta)

    def enough(tau: int) -> bool:
        within = float((2 * tau + 1 + 2 * (weight * np.sin((2 * tau + 1) * theta)).sum()) / size)
        return 1 - within <= p

    return bisect_left(range(size // 2), True, key=enough)
