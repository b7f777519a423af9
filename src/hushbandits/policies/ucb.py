"""Upper confidence bounds."""

from __future__ import annotations

import math

from hushbandits.core.jit import jit

__all__ = ["argmax_ucb1", "argmax_ucb1_run", "ucb1_bonus", "ucb_bonus"]


@jit
def ucb1_bonus(log_t: float, n: float) -> float:
    """``√(2 ln t / n)`` (Auer, Cesa-Bianchi & Fischer 2002, UCB1).

    Examples
    --------
    >>> ucb1_bonus(2.0, 1.0)
    2.0
    """
    return math.sqrt(2.0 * log_t / n)


@jit
def ucb_bonus(sigma: float, log_inverse_delta: float, n: float) -> float:
    """``σ √(2 ln(1/δ) / n)`` for σ-sub-Gaussian rewards (Lattimore & Szepesvári 2020, alg. 3).

    Examples
    --------
    >>> ucb_bonus(0.5, 2.0, 4.0)
    0.5
    """
    return sigma * math.sqrt(2.0 * log_inverse_delta / n)


@jit
def argmax_ucb1_run(s, n, t, r, arms):
    """Write ``argmax_k s_k/n_k + √(2 ln t / n_k)`` of every agent of run r to `arms`.

    An arm never seen comes first; ties go to the lowest index.
    """
    _, agents, n_arms = n.shape
    log_t = math.log(t)
    for m in range(agents):
        best, top = 0, -math.inf
        for k in range(n_arms):
            x = math.inf if n[r, m, k] == 0.0 else s[r, m, k] / n[r, m, k] + ucb1_bonus(log_t, n[r, m, k])
            if x > top:
                best, top = k, x
        arms[r, m] = best


@jit
def argmax_ucb1(s, n, t, arms):
    """As `argmax_ucb1_run`, of every run."""
    for r in range(n.shape[0]):
        argmax_ucb1_run(s, n, t, r, arms)
