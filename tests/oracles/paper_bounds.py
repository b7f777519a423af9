"""Bounds of papers, and their constants: tests compare experiments and agents with them."""

import math

import scipy

from hushbandits.best_arm.private_elimination import batch_radius


def lemma_2(gaps, p: float, sigma: float, h: float, horizon: float = float("inf"), base: float = 2.0) -> float:
    """Return the regret bound of batched successive elimination, which holds with probability 1 − 3p.

    While every radius holds, an arm is gone after the first batch with ``Δ_a > 4β(b)``, so it is played in the
    batches up to b̄_a + 1, b̄_a the last with ``Δ_a ≤ 4β(b)``: ``Σ_a Δ_a min(T, Σ_{b ≤ b̄_a + 1} l(b))``, β(b) at all
    K arms.

    Parameters
    ----------
    gaps : sequence of float
        ``Δ_a`` of the K arms.
    p, sigma, h : float
        Confidence and the noise's constants, as in `best_arm.private_elimination.batch_radius`.
    horizon : float
        T.
    base : float
        η of the batches.
    """
    total = 0.0
    for gap in gaps:
        if gap <= 0:
            continue
        b, played = 1, base
        while played < horizon and gap <= 4 * batch_radius(len(gaps), b, p, base**b, sigma, h):
            b += 1
            played += base**b
        total += gap * min(horizon, played)
    return total


def regret_bound(gaps, epsilon: float, p: float, horizon: float) -> list[float]:
    """`lemma_2` of Dist-DP-SE for every run's gaps ``(R, K)``: ``σ = √2/ε``, ``h = 1/ε``."""
    return [lemma_2(row, p, 2**0.5 / epsilon, 1 / epsilon, horizon) for row in gaps.tolist()]


def stable_moment(order: float, location: float = 0.0, alpha: float = 1.9) -> float:
    """``E |X|^p`` of a symmetric α-stable X around its location, of scale 1, for 0 < p < α < 2.

    ``(2/π) Γ(1 + p) sin(πp/2) ∫₀^∞ (1 − exp(−t^α) cos(μt)) t^(−p−1) dt``, by ``s = t^(α−p)``, in which the integrand
    is bounded.

    Source: von Bahr & Esseen 1965, lemma 2.
    """
    spread, far = alpha - order, 10.0  # exp(−10^α) is 0 beside 1 for α > 1.6

    def over(s: float) -> float:
        t = s ** (1.0 / spread)
        # 1 − e^(−t^α) cos μt, without cancellation where t is small
        rest = -math.expm1(-(t**alpha)) + 2.0 * math.exp(-(t**alpha)) * math.sin(0.5 * location * t) ** 2
        return rest / (t**order * s * spread)

    near = scipy.integrate.quad(over, 0.0, far**spread, limit=200)[0]
    constant = 2.0 / math.pi * math.gamma(1.0 + order) * math.sin(0.5 * math.pi * order)
    return constant * (near + far**-order / order)


def robust_pulls(gap: float, moment: float, excess: float) -> float:
    """Pulls per ln n after which robust UCB leaves an arm: twice its radius is below Δ, ``2 (8/Δ)^((1+e)/e) u^(1/e)``.

    The radius is ``4u^(1/(1+e)) (ln n² / N)^(e/(1+e))``, of the truncated mean (Bubeck, Cesa-Bianchi & Lugosi 2013).
    Among the exponents e that an α-stable law allows, the one that makes this least is the one to choose.
    """
    return 2.0 * (8.0 / gap) ** ((1.0 + excess) / excess) * moment ** (1.0 / excess)
