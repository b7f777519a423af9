"""Bernoulli Kullback–Leibler divergence and its confidence bounds, in compiled code."""

import math

from hushbandits.core import jit


@jit
def _side(p, q, over):
    # p ln(p/q), given q − p
    if p <= 0.0:
        return 0.0
    if q <= 0.0:
        return math.inf
    return -p * (math.log1p(over / p) if abs(over) < 0.5 * p else math.log(q / p))


@jit
def kl(p: float, q: float) -> float:
    """Return ``kl(p, q) = p ln(p/q) + (1 − p) ln((1 − p)/(1 − q))`` for p, q ∈ [0, 1].

    With ``log1p`` of the relative differences where p and q are close: there both logarithms nearly cancel.
    """
    return _side(p, q, q - p) + _side(1.0 - p, 1.0 - q, p - q)


@jit
def kl_upper(mean: float, level: float) -> float:
    """Return the largest q with ``kl(mean, q) ≤ level``.

    Newton's method from the right of the root, where kl(mean, ·) is convex and rising, so that every step stays on
    that side; it starts at the nearer of two upper bounds (Pinsker's, and the one that drops ``mean·ln q``).
    """
    if mean >= 1.0:
        return 1.0
    if mean <= 0.0:
        return -math.expm1(-level)
    if level <= 0.0:
        return mean
    rest = 1.0 - mean
    entropy = -mean * math.log(mean) - rest * math.log(rest)
    q = min(mean + math.sqrt(0.5 * level), -math.expm1(-(level + entropy) / rest))
    for _ in range(64):
        if q >= 1.0:
            return 1.0
        step = (kl(mean, q) - level) * q * (1.0 - q) / (q - mean)
        if not step > 0.0:  # past the root by rounding
            break
        after = q - step
        if after >= q or after <= mean:
            break
        q = after
        if step < 1e-15 * q:
            break
    return q


@jit
def kl_lower(mean: float, level: float) -> float:
    """Return the smallest q with ``kl(mean, q) ≤ level``."""
    return min(mean, 1.0 - kl_upper(1.0 - mean, level))
