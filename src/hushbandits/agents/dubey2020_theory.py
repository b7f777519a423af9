"""Regret bounds of Dubey & Pentland 2020, as the proofs of the paper derive them.

χ̄ is the clique cover number of the power graph 𝒢_γ (`hushbandits.envs.network.graphs`); any cover is a valid upper
value.
"""

import math

import numpy as np
import scipy

from hushbandits.core import Array


def _positive(gaps: Array) -> Array:
    gaps = np.asarray(gaps, float)
    return gaps[gaps > 0]


def private_regret(gaps: Array, t: Array, agents: int, max_hops: int, cover: int, epsilon: float) -> Array:
    """Return the bound on the group regret of Private Multi-Agent UCB after t rounds (theorem of section 3.3).

    ``χ̄ Σ_k 8 ln t/Δ_k + Σ_k Δ_k (χ̄(Mγ + 2) + M(1/ε + ζ(1.5)))``, sums over the arms with Δ_k > 0
    (`gaps`); M `agents`, γ `max_hops`, χ̄ `cover`; ε = ``inf`` is the algorithm without noise.
    """
    gaps = _positive(gaps)
    constant = cover * (agents * max_hops + 2) + agents * (1 / epsilon + float(scipy.special.zeta(1.5)))
    return cover * (8 / gaps).sum() * np.log(t) + gaps.sum() * constant


def byzantine_regret(
    gaps: Array, t: Array, agents: int, max_hops: int, cover: int, epsilon: float, sigma: float = 0.5
) -> Array:
    """Return the bound on the group regret of Byzantine-Proof Multi-Agent UCB after t rounds (section 4.2).

    ``χ̄ Σ_k Δ_k 8σ² ln t/(Δ_k − 2σ√ϵ)² + (3M + γχ̄(M − 1)) Σ_k Δ_k``; infinite unless ``√ϵ < Δ_min/(2σ)``.  The printed
    bound lacks the factor Δ_k, the 2 that ``ln(1/δ) = 2 ln t`` brings, and the root in its condition.
    """
    gaps = _positive(gaps)
    slack = gaps - 2 * sigma * math.sqrt(epsilon)
    if (slack <= 0).any():
        return np.full(np.shape(t), np.inf)
    growing = cover * (gaps * 8 * sigma**2 / slack**2).sum() * np.log(t)
    return growing + (3 * agents + max_hops * cover * (agents - 1)) * gaps.sum()
