"""Lemma 2's regret bound, with its constants."""

from __future__ import annotations

from collections.abc import Sequence

from hushbandits.core.ground.types import Array
from hushbandits.routines.successive import batch_radius

__all__ = ["lemma_2", "regret_bound"]


def lemma_2(
    gaps: Sequence[float], p: float, sigma: float, h: float, horizon: float = float("inf"), base: float = 2.0
) -> float:
    """Regret that batched successive elimination stays below with probability 1 − 3p.

    While every radius holds, an arm is gone after the first batch with ``Δ_a > 4β(b)``, so it is played in the
    batches up to b̄_a + 1, b̄_a the last with ``Δ_a ≤ 4β(b)``: ``Σ_a Δ_a min(T, Σ_{b ≤ b̄_a + 1} l(b))``, β(b) at all
    K arms.

    Parameters
    ----------
    gaps : sequence of float
        ``Δ_a`` of the K arms.
    p, sigma, h : float
        Confidence and the noise's constants, as in `policies.successive.batch_radius`.
    horizon : float
        T.
    base : float
        η of the batches.

    Examples
    --------
    >>> round(lemma_2([0.0, 0.5], 0.1, 0.0, 0.0))
    511
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


def regret_bound(gaps: Array, epsilon: float, p: float, horizon: float) -> list[float]:
    """`lemma_2` of Dist-DP-SE for every run's gaps ``(R, K)``: ``σ = √2/ε``, ``h = 1/ε``.

    Examples
    --------
    >>> import numpy as np
    >>> regret_bound(np.array([[0.0, 0.5]]), 1.0, 0.1, 100.0)
    [50.0]
    """
    return [lemma_2(row, p, 2**0.5 / epsilon, 1 / epsilon, horizon) for row in gaps.tolist()]
