"""Scalar rules of private successive elimination, which several agents share.

Differentially private: Sajed & Sheffet 2019; in batches: Chowdhury & Zhou 2023, lemma 2.
"""

import math

import numpy as np

from hushbandits.core import lean


@lean
def epoch_length(m: int, e: int, epsilon: float, beta: float) -> float:
    """Return R(e), the number of pulls of each arm in epoch e with m arms left.

    It is ``⌊max{32 ln(8me²/β)/Δ_e², 8 ln(4me²/β)/(εΔ_e)}⌋ + 1`` with ``Δ_e = 2^(−e)``.

    A float: beyond 2⁵³ it is no exact count, and callers refuse or cut it.
    """
    gap = 2.0**-e
    samples = 32.0 * math.log(8.0 * m * e * e / beta) / (gap * gap)
    private = 8.0 * math.log(4.0 * m * e * e / beta) / (epsilon * gap)
    return np.floor(max(samples, private)) + 1.0  # math.floor, compiled, is an integer of 64 bits


@lean
def radii(m: int, e: int, epsilon: float, beta: float, r: float) -> tuple[float, float]:
    """Return the sampling radius ``h = √(ln(8me²/β)/(2R))`` and the noise radius ``c = ln(4me²/β)/(εR)``.

    m arms remain in epoch e, and R is the number of pulls of each.
    """
    h = math.sqrt(math.log(8.0 * m * e * e / beta) / (2.0 * r))
    c = math.log(4.0 * m * e * e / beta) / (epsilon * r)
    return h, c


@lean
def batch_radius(m: int, b: int, p: float, n: float, sigma: float, h: float) -> float:
    """Return the radius ``β(b) = √(ln(4mb²/p)/(2n)) + σ√ln(2mb²/p)/n + h ln(2mb²/p)/n`` of batch b.

    m arms are active, each with n users.

    σ and h bound the protocol's noise on a sum: ``|noise| ≤ σ√ln(2/p) + h ln(2/p)`` with probability 1 − p
    (Chowdhury & Zhou 2023, lemma 2).
    """
    tail = math.log(2.0 * m * b * b / p)
    return math.sqrt(math.log(4.0 * m * b * b / p) / (2.0 * n)) + sigma * math.sqrt(tail) / n + h * tail / n


@lean
def eliminate(mean, active, width):
    """Drop from `active` each arm whose ``mean + width`` is below the best ``mean − width``; return how many are left.

    Examples
    --------
    >>> import numpy as np
    >>> active = np.array([True, True, False])
    >>> eliminate(np.array([0.9, 0.2, 1.0]), active, 0.3), active.tolist()
    (1, [True, False, False])
    """
    best = -math.inf
    for k in range(mean.size):
        if active[k]:
            best = max(best, mean[k] - width)
    left = 0
    for k in range(mean.size):
        if active[k] and mean[k] + width < best:
            active[k] = False
        left += active[k]
    return left
