"""Bounds of Howson, Filippi & Pike-Burke 2024."""

from __future__ import annotations

import numpy as np

from hushbandits.core import Array


def ucb_regret(gaps: Array, plays: Array, sigma: float = 0.5) -> Array:
    """Regret of UCB with δ = 1/n² after n plays: ``3 Σ_a Δ_a + Σ_a 16σ² ln n / Δ_a`` over the arms with Δ_a > 0.

    Source: Lattimore & Szepesvári 2020, "Bandit Algorithms", theorem 7.1; corollary 1 of the paper.
    """
    gaps = np.asarray(gaps, float)
    gaps = gaps[gaps > 0]
    return 3.0 * gaps.sum() + 16.0 * sigma**2 * (1.0 / gaps).sum() * np.log(plays)


def reach(distance: Array) -> int:
    """``Σ_w d(v, w)`` of the graph median v."""
    return int(np.asarray(distance).sum(1).min())


def quack_regret(alone: Array, gaps: Array, way: int) -> Array:
    """Group regret of QuACK (theorem 1): ``S_π(Mn) + 3 Σ_w d(v, w) Σ_a Δ_a``, where S is `alone` and Σ d `way`."""
    return np.asarray(alone, float) + 3.0 * way * float(np.sum(gaps))
