"""Black-box audit: run a mechanism on two neighbouring inputs and count one event."""

from __future__ import annotations

import math

from scipy import stats

from hushbandits.core.validate import integer, probability, real

__all__ = ["epsilon_lower_bound", "refutes"]


def epsilon_lower_bound(hits: int, other: int, runs: int, delta: float = 0.0, level: float = 1e-6) -> float:
    """ε that the mechanism certainly exceeds or equals, up to error probability `level`.

    ``ln((p_lo − δ)/q_hi)`` with Clopper–Pearson bounds at level/2 each, for an event fixed *before* the runs.

    Parameters
    ----------
    hits, other : int
        How often the event came up in `runs` runs on either of two neighbouring inputs.
    runs : int
        Runs a side.
    delta : float
        δ of the claim.
    level : float
        Probability of a bound above the true ε.

    Returns
    -------
    float
        At least 0.

    References
    ----------
    Ding, Wang, Wang, Zhang & Kifer 2018; Jagielski, Ullman & Oprea 2020.

    Examples
    --------
    >>> round(epsilon_lower_bound(900, 100, 1000), 2)
    1.71
    """
    integer("runs", runs, 1)
    integer("hits", hits, 0, runs)
    integer("other", other, 0, runs)
    probability("delta", delta)
    real("level", level, 0, 1)
    low = stats.beta.ppf(level / 2, hits, runs - hits + 1) if hits else 0.0
    high = stats.beta.ppf(1 - level / 2, other + 1, runs - other) if other < runs else 1.0
    return max(0.0, math.log((low - delta) / high)) if low > delta else 0.0


def refutes(epsilon: float, hits: int, other: int, runs: int, delta: float = 0.0, level: float = 1e-6) -> bool:
    """Whether the counts contradict (ε, δ)-differential privacy, in either direction.

    Examples
    --------
    >>> refutes(1.0, 900, 100, 1000), refutes(2.5, 900, 100, 1000)
    (True, False)
    """
    most = max(epsilon_lower_bound(a, b, runs, delta, level / 2) for a, b in ((hits, other), (other, hits)))
    return most > epsilon
