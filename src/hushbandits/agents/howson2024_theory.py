"""Bounds of Howson, Filippi & Pike-Burke 2024, and the constants that heavy tails ask for."""

from __future__ import annotations

import math

import numpy as np
import scipy

from hushbandits.core.ground.types import Array

__all__ = ["quack_regret", "reach", "robust_pulls", "stable_moment", "ucb_regret"]


def ucb_regret(gaps: Array, plays: Array, sigma: float = 0.5) -> Array:
    """Regret of UCB with δ = 1/n² after n plays: ``3 Σ_a Δ_a + Σ_a 16σ² ln n / Δ_a`` over the arms with Δ_a > 0.

    Source: Lattimore & Szepesvári 2020, "Bandit Algorithms", theorem 7.1; corollary 1 of the paper.

    Examples
    --------
    >>> float(ucb_regret([0, 0.5], 100).round(2))
    38.34
    """
    gaps = np.asarray(gaps, float)
    gaps = gaps[gaps > 0]
    return 3.0 * gaps.sum() + 16.0 * sigma**2 * (1.0 / gaps).sum() * np.log(plays)


def reach(distance: Array) -> int:
    """``Σ_w d(v, w)`` of the graph median v.

    Examples
    --------
    >>> from hushbandits.envs.network.graphs import adjacency, hop_distances
    >>> [reach(hop_distances(adjacency(graph, 16))) for graph in ("cycle", "grid", "star")]
    [64, 32, 15]
    """
    return int(np.asarray(distance).sum(1).min())


def quack_regret(alone: Array, gaps: Array, way: int) -> Array:
    """Group regret of QuACK (theorem 1): ``S_π(Mn) + 3 Σ_w d(v, w) Σ_a Δ_a``.

    Parameters
    ----------
    alone : array
        S_π(Mn), the regret of π alone after Mn plays.
    gaps : (K,) array
        Δ_a.
    way : int
        ``Σ_w d(v, w)``, as `reach`.

    Examples
    --------
    >>> float(quack_regret(100.0, [0, 0.5], 10))
    115.0
    """
    return np.asarray(alone, float) + 3.0 * way * float(np.sum(gaps))


def stable_moment(order: float, location: float = 0.0, alpha: float = 1.9) -> float:
    """``E |X|^p`` of a symmetric α-stable X around its location, of scale 1, for 0 < p < α < 2.

    ``(2/π) Γ(1 + p) sin(πp/2) ∫₀^∞ (1 − exp(−t^α) cos(μt)) t^(−p−1) dt``, by ``s = t^(α−p)``, in which the integrand
    is bounded.

    Source: von Bahr & Esseen 1965, lemma 2.

    Examples
    --------
    >>> round(stable_moment(1.5), 4), round(stable_moment(1.8, 0.7), 4)
    (1.7347, 3.7666)
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

    Examples
    --------
    >>> round(robust_pulls(0.3, 3.7666, 0.8))
    16959
    """
    return 2.0 * (8.0 / gap) ** ((1.0 + excess) / excess) * moment ** (1.0 / excess)
