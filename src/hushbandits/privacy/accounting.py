"""What was spent: pure, Rényi and concentrated differential privacy, composition, conversion, shuffling.

A *curve* maps an order α > 1 to ε(α).  Neighbours replace one user's reward; users who take part once compose in
parallel (the worst of their blocks counts), a returning user's blocks add up.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from functools import partial
from operator import mul

import numpy as np

from hushbandits.core.ground.validate import integer, probability, real

__all__ = [
    "Curve",
    "advanced_composition",
    "compose",
    "concentrated_sum",
    "discrete_gaussian_rho",
    "largest",
    "pure_curve",
    "shuffle_amplification",
    "skellam_curve",
    "to_delta",
    "to_epsilon",
    "zcdp_curve",
]

Curve = Callable[[float], float]
#: Orders that conversions try; integers, because Skellam's bound holds for those only.
ORDERS = tuple(sorted({*range(2, 129), *(int(x) for x in np.geomspace(128, 1 << 20, 60))}))


def pure_curve(epsilon: float) -> Curve:
    """ε-DP as a Rényi curve, tight (randomized response attains it):
    ``ε(α) = ln[(sinh αε − sinh((α−1)ε))/sinh ε]/(α − 1)``.

    Examples
    --------
    >>> curve = pure_curve(1.0)
    >>> round(curve(2), 4), round(curve(1e6), 4)
    (0.7353, 1.0)
    """
    return partial(_pure, real("epsilon", epsilon, 0))


def _pure(epsilon: float, alpha: float) -> float:
    # (sinh αε − sinh (α−1)ε)/sinh ε = cosh((α − ½)ε)/cosh(ε/2), in logarithms
    top = np.logaddexp((alpha - 0.5) * epsilon, -(alpha - 0.5) * epsilon)
    return float(top - np.logaddexp(epsilon / 2, -epsilon / 2)) / (alpha - 1)


def skellam_curve(sigma2: float, sensitivity: int) -> Curve:
    """Skellam noise of variance σ² on an integer of sensitivity Δ, for integer α ≥ 2.

    ``ε(α) = αΔ²/2σ² + min{((2α−1)Δ² + 6Δ)/4σ⁴, 3Δ/2σ²}`` (Agarwal, Kairouz & Liu 2021, theorem 3.5).

    Examples
    --------
    >>> round(skellam_curve(100.0, 10)(2), 4)
    1.009
    """
    return partial(_skellam, real("sigma2", sigma2, 0), integer("sensitivity", sensitivity, 1))


def _skellam(sigma2: float, d: int, alpha: float) -> float:
    if alpha != int(alpha) or alpha < 2:
        raise ValueError(f"alpha={alpha!r}: Skellam's bound holds for integers ≥ 2")
    extra = min(((2 * alpha - 1) * d * d + 6 * d) / (4 * sigma2**2), 3 * d / (2 * sigma2))
    return alpha * d * d / (2 * sigma2) + extra


def zcdp_curve(rho: float) -> Curve:
    """ρ-zero-concentrated DP: ``ε(α) = ρα``.

    Examples
    --------
    >>> zcdp_curve(0.5)(4)
    2.0
    """
    return partial(mul, real("rho", rho, 0, closed="low"))


def discrete_gaussian_rho(sigma2: float, sensitivity: float) -> float:
    """One discrete Gaussian draw: ``ρ = Δ²/2σ²`` (Canonne, Kamath & Steinke 2020).

    Examples
    --------
    >>> discrete_gaussian_rho(100.0, 10)
    0.5
    """
    return sensitivity**2 / (2 * real("sigma2", sigma2, 0))


def concentrated_sum(n: int, sigma2: float, sensitivity: float) -> float:
    """ρ of a sum of n discrete Gaussian draws of variance parameter σ_u² each.

    ``ρ = ½ε̄²``, ``ε̄ = min{√(ε² + ξ/2), ε + ξ}``, ``ε = Δ/(√n σ_u)``, ``ξ = 10 Σ_{k<n} e^(−2π²σ_u² k/(k+1))``
    (Kairouz, Liu & Steinke 2021, proposition 13; Chowdhury & Zhou 2023, lemma 4).

    Raises
    ------
    ValueError
        σ_u² < ¼, where the statement does not hold.

    Examples
    --------
    >>> round(concentrated_sum(1024, 100.0, 320), 12)  # s = 10, ε = 1: as good as one draw
    0.5
    """
    real("sigma2", sigma2, 0.25, closed="low")
    epsilon = sensitivity / math.sqrt(n * sigma2)
    k = np.arange(1, min(n, 1 << 20))
    xi = 10 * float(np.exp(-2 * np.pi**2 * sigma2 * k / (k + 1)).sum())
    if n > 1 << 20:  # the rest of the sum, bounded by its supremum
        xi += 10 * (n - (1 << 20)) * math.exp(-2 * math.pi**2 * sigma2 * (1 - 2.0**-20))
    return 0.5 * min(math.sqrt(epsilon**2 + xi / 2), epsilon + xi) ** 2


def compose(curves: Iterable[Curve]) -> Curve:
    """Rényi curves of a returning user's blocks add up.

    Examples
    --------
    >>> compose([zcdp_curve(0.1)] * 3)(2)
    0.6...
    """
    return partial(_composed, list(curves))


def _composed(curves: list[Curve], alpha: float) -> float:
    return sum(curve(alpha) for curve in curves)


def largest(curves: Iterable[Curve]) -> Curve:
    """The pointwise largest curve: it bounds any mixture of blocks, in whatever order they come.

    Examples
    --------
    >>> largest([zcdp_curve(0.1), pure_curve(0.5)])(2), largest([zcdp_curve(0.1), pure_curve(0.5)])(64)
    (0.22..., 6.4)
    """
    return partial(_largest, list(curves))


def _largest(curves: list[Curve], alpha: float) -> float:
    return max(curve(alpha) for curve in curves)


def to_epsilon(curve: Curve, delta: float, orders: Iterable[float] = ORDERS) -> float:
    """ε at δ: ``min_α ε(α) + ln(1/(αδ))/(α − 1) + ln(1 − 1/α)`` (Chowdhury & Zhou 2023, lemma 10).

    Examples
    --------
    >>> round(to_epsilon(zcdp_curve(0.5), 1e-6), 3)
    5.222
    """
    real("delta", delta, 0, 1)
    best = min(curve(a) + math.log(1 / (a * delta)) / (a - 1) + math.log1p(-1 / a) for a in orders)
    return max(best, 0.0)


def to_delta(curve: Curve, epsilon: float, orders: Iterable[float] = ORDERS) -> float:
    """δ at ε: the inverse of `to_epsilon`.

    Examples
    --------
    >>> curve = zcdp_curve(0.5)
    >>> bool(abs(to_delta(curve, to_epsilon(curve, 1e-6)) / 1e-6 - 1) < 1e-9)
    True
    """
    real("epsilon", epsilon, 0, closed="low")
    exponents = ((a - 1) * (curve(a) - epsilon + math.log1p(-1 / a)) - math.log(a) for a in orders)
    return min(1.0, math.exp(min(0.0, *exponents)))


def advanced_composition(epsilon: float, delta: float, k: int, slack: float) -> tuple[float, float]:
    """k mechanisms, each (ε, δ)-DP: ``(ε√(2k ln(1/δ′)) + kε(e^ε − 1), kδ + δ′)``, slack δ′, or ``(kε, kδ)`` if less.

    Source: Dwork & Roth 2014, theorem 3.20.

    Examples
    --------
    >>> [round(x, 6) for x in advanced_composition(0.1, 0.0, 100, 1e-6)]
    [6.3..., 1e-06]
    """
    integer("k", k, 1)
    probability("delta", delta)
    strong = epsilon * math.sqrt(2 * k * math.log(1 / real("slack", slack, 0, 1))) + k * epsilon * math.expm1(epsilon)
    return (strong, k * delta + slack) if strong < k * epsilon else (k * epsilon, k * delta)


def shuffle_amplification(epsilon0: float, n: int, delta: float) -> float:
    """ε of n shuffled ε₀-local messages (Feldman, McMillan & Talwar 2021, theorem 3.1).

    ``ε ≤ ln(1 + (e^ε₀ − 1)/(e^ε₀ + 1)·(8√(e^ε₀ ln(4/δ)/n) + 8e^ε₀/n))`` for ``ε₀ ≤ ln(n/(16 ln(2/δ)))``; beyond
    that, and where the formula exceeds it, ε₀ itself.

    Examples
    --------
    >>> round(shuffle_amplification(1.0, 100_000, 1e-6), 4)
    0.0726
    """
    real("epsilon0", epsilon0, 0)
    real("delta", delta, 0, 1)
    room = n / (16 * math.log(2 / delta))
    if room <= 1 or epsilon0 > math.log(room):
        return epsilon0
    e = math.exp(epsilon0)
    bound = math.log1p((e - 1) / (e + 1) * (8 * math.sqrt(e * math.log(4 / delta) / n) + 8 * e / n))
    return min(bound, epsilon0)
