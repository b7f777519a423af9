"""The Rényi divergence of two laws, from its definition."""

import math

import numpy as np


def renyi_divergence(log_pmf, shift: int, alpha: float) -> float:
    """``D_α`` between a law on a line of integers and itself shifted: ``ln Σ P(k)^α P(k − s)^(1−α) / (α − 1)``."""
    if shift >= len(log_pmf):
        return math.inf
    p, q = log_pmf[shift:], log_pmf[:-shift]
    both = []
    for one, other in ((p, q), (q, p)):
        if (np.isneginf(other) & ~np.isneginf(one)).any():
            return math.inf
        finite = ~np.isneginf(one)
        both.append(float(np.logaddexp.reduce(alpha * one[finite] + (1 - alpha) * other[finite])) / (alpha - 1))
    return max(both)
