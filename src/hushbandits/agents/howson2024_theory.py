"""Bounds of Howson, Filippi & Pike-Burke 2024."""

import numpy as np

from hushbandits.core import Array


def ucb_regret(gaps: Array, plays: Array, sigma: float = 0.5) -> Array:
    """Return UCB's regret bound ``3 Σ_a Δ_a + Σ_a 16σ² ln n / Δ_a`` for n = `plays`.

    The sums are over arms with Δ_a > 0, and UCB runs at confidence 1 − δ with δ = 1/n².

    Source: Lattimore & Szepesvári 2020, "Bandit Algorithms", theorem 7.1; corollary 1 of the paper.
    """
    gaps = np.asarray(gaps, float)
    gaps = gaps[gaps > 0]
    return 3.0 * gaps.sum() + 16.0 * sigma**2 * (1.0 / gaps).sum() * np.log(plays)


def reach(distance: Array) -> int:
    """Return ``min_v Σ_w d(v, w)``, the sum of the distances from the graph median, given all distances."""
    return int(np.asarray(distance).sum(1).min())


def quack_regret(alone: Array, gaps: Array, way: int) -> Array:
    """Return the bound ``S_π(Mn) + 3 Σ_w d(v, w) Σ_a Δ_a`` on QuACK's regret after n rounds with leader v (theorem 1).

    `alone` is ``S_π(Mn)``, `gaps` are the Δ_a, and `way` is ``Σ_w d(v, w)``.
    """
    return np.asarray(alone, float) + 3.0 * way * float(np.sum(gaps))
