"""What was spent: pure, Rényi and concentrated differential privacy, composition, conversion.

A *curve* maps an order α > 1 to ε(α).  Neighbours replace one user's reward; users who take part once compose in
parallel (the worst of their blocks counts), a returning user's blocks add up.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from functools import partial
from operator import mul

import numpy as np

from hushbandits.core.ground.validate import integer, real

Curve = Callable[[float], float]
#: Orders that conversions try; integers, because Skellam's bound holds for those only.
ORDERS = tuple(sorted({*range(2, 129), *(int(x) for x in np.geomspace(128, 1 << 20, 60))}))


def pure_curve(epsilon: float) -> Curve:
    """ε-DP as a Rényi curve, tight: randomized response attains it.

    ``ε(α) = ln[(sinh αε − sinh((α−1)ε))/sinh ε]/(α − 1)``.
    """
    return partial(_pure, real("epsilon", epsilon, 0))


def _pure(epsilon: float, alpha: float) -> float:
    # (sinh αε − sinh (α−1)ε)/sinh ε = cosh((α − ½)ε)/cosh(ε/2), in logarithms
    top = np.logaddexp((alpha - 0.5) * epsilon, -(alpha - 0.5) * epsilon)
    return float(top - np.logaddexp(epsilon / 2, -epsilon / 2)) / (alpha - 1)


def skellam_curve(sigma2: float, sensitivity: int) -> Curve:
    """Skellam noise of variance σ² on an integer of sensitivity Δ, for integer α ≥ 2.

    ``ε(α) = αΔ²/2σ² + min{((2α−1)Δ² + 6Δ)/4σ⁴, 3Δ/2σ²}`` (Agarwal, Kairouz & Liu 2021, theorem 3.5).
    """
    return partial(_skellam, real("sigma2", sigma2, 0), integer("sensitivity", sensitivity, 1))


def _skellam(sigma2: float, d: int, alpha: float) -> float:
    if alpha != int(alpha) or alpha < 2:
        raise ValueError(f"alpha={alpha!r}: Skellam's bound holds for integers ≥ 2")
    extra = min(((2 * alpha - 1) * d * d + 6 * d) / (4 * sigma2**2), 3 * d / (2 * sigma2))
    return alpha * d * d / (2 * sigma2) + extra


def zcdp_curve(rho: float) -> Curve:
    """ρ-zero-concentrated DP: ``ε(α) = ρα``."""
    return partial(mul, real("rho", rho, 0, closed="low"))


def concentrated_sum(n: int, sigma2: float, sensitivity: float) -> float:
    """ρ of a sum of n discrete Gaussian draws of variance parameter σ_u² each.

    ``ρ = ½ε̄²``, ``ε̄ = min{√(ε² + ξ/2), ε + ξ}``, ``ε = Δ/(√n σ_u)``, ``ξ = 10 Σ_{k<n} e^(−2π²σ_u² k/(k+1))``
    (Kairouz, Liu & Steinke 2021, proposition 13; Chowdhury & Zhou 2023, lemma 4).

    Raises
    ------
    ValueError
        σ_u² < ¼, where the statement does not hold.
    """
    real("sigma2", sigma2, 0.25, closed="low")
    epsilon = sensitivity / math.sqrt(n * sigma2)
    k = np.arange(1, min(n, 1 << 20))
    xi = 10 * float(np.exp(-2 * np.pi**2 * sigma2 * k / (k + 1)).sum())
    if n > 1 << 20:  # the rest of the sum, bounded by its supremum
        xi += 10 * (n - (1 << 20)) * math.exp(-2 * math.pi**2 * sigma2 * (1 - 2.0**-20))
    return 0.5 * min(math.sqrt(epsilon**2 + xi / 2), epsilon + xi) ** 2


def compose(curves: Iterable[Curve]) -> Curve:
    """Rényi curves of a returning user's blocks add up."""
    return partial(_composed, list(curves))


def _composed(curves: list[Curve], alpha: float) -> float:
    return sum(curve(alpha) for curve in curves)


def largest(curves: Iterable[Curve]) -> Curve:
    """The pointwise largest curve: it bounds any mixture of blocks, in whatever order they come."""
    return partial(_largest, list(curves))


def _largest(curves: list[Curve], alpha: float) -> float:
    return max(curve(alpha) for curve in curves)


def to_epsilon(curve: Curve, delta: float, orders: Iterable[float] = ORDERS) -> float:
    """ε at δ: ``min_α ε(α) + ln(1/(αδ))/(α − 1) + ln(1 − 1/α)`` (Chowdhury & Zhou 2023, lemma 10)."""
    real("delta", delta, 0, 1)
    best = min(curve(a) + math.log(1 / (a * delta)) / (a - 1) + math.log1p(-1 / a) for a in orders)
    return max(best, 0.0)
