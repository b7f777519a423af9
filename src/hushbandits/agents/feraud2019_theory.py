"""What Féraud et al. 2019 prove, with explicit constants.

Theorems 2 and 3 and the corollaries give orders; the constants here are those that their arguments lead to, and said
so.  A player's own samples T_Py are counted pull by pull, not in orders.
"""

from __future__ import annotations

from collections.abc import Sequence

from hushbandits.agents.rio2023_theory import first_below, mase_confidence, mase_rounds
from hushbandits.envs.exploration.problems import vote_threshold
from hushbandits.routines.fixed_design import median_length
from hushbandits.routines.racing import pass_gap

__all__ = [
    "elimination_samples",
    "failure",
    "median_samples",
    "message_bound",
    "reset_messages",
    "stopping_confidence",
    "stopping_samples",
]


def failure(delta: float, eta: float) -> float:
    """Theorem 1: ``η^⌊ln δ/ln η⌋``, the failure probability of M fixed players.

    It lies *above* δ, because M is rounded down; and any M of N players can outvote an arm, not M fixed ones.

    Examples
    --------
    >>> round(failure(0.05, 0.9), 4)
    0.0523
    """
    return eta ** vote_threshold(delta, eta)


def message_bound(delta: float, eta: float, n_arms: int) -> int:
    """Theorem 1: at most ``MK − 1`` messages are sent.

    Examples
    --------
    >>> message_bound(0.05, 0.9, 10)
    279
    """
    return vote_threshold(delta, eta) * n_arms - 1


def reset_messages(delta: float, eta: float, n_arms: int, phi: float, horizon: int) -> float:
    """Theorem 4: on average at most ``φT(MK − 1)`` messages of DSER4 over T activations.

    Examples
    --------
    >>> reset_messages(0.05, 0.9, 10, 1e-4, 100_000)
    2790.0
    """
    return phi * horizon * message_bound(delta, eta, n_arms)


def stopping_samples(own_samples: float, weights: Sequence[float], m: int, delta: float) -> float:
    """Theorem 2: samples until the M most likely players have T_Py each, up to probability δ.

    The paper gives an order.  By Hoeffding's inequality the least likely of the M, with probability p*, is active
    at least ``p*T − √(T ln(1/δ)/2)`` times in T activations; this is the T at which that is T_Py, as `mase_rounds`.

    Parameters
    ----------
    own_samples : float
        T_Py, samples that one player's routine needs.
    weights : sequence of N floats
        P.
    m : int
        M.
    delta : float
        δ.

    Examples
    --------
    >>> round(stopping_samples(500, [1 / 64] * 64, 28, 0.05))
    49411
    """
    return mase_rounds(own_samples, weights, m, delta)


def stopping_confidence(samples: float, own_samples: float, weights: Sequence[float], m: int, delta: float) -> float:
    """Theorem 2: ``(1 − δ)(1 − I_{1−p*}(T − T_Py, 1 + T_Py))^M``, the probability of having stopped after T samples.

    Examples
    --------
    >>> round(stopping_confidence(36_000, 500, [1 / 64] * 64, 28, 0.05), 4)
    0.8562
    """
    return mase_confidence(samples, own_samples, weights, m, delta)


def median_samples(n_arms: int, eta: float, epsilon: float) -> int:
    """T_Py of corollary 1: the pulls of median elimination, which are the same in every run.

    Examples
    --------
    >>> median_samples(10, 0.9, 0.25)
    120651
    """
    total, epoch = 0, 1
    while n_arms > 1:
        total += n_arms * int(median_length(epoch, eta, epsilon))
        n_arms, epoch = (n_arms + 1) // 2, epoch + 1
    return total


def elimination_samples(gaps: Sequence[float], eta: float, epsilon: float) -> int:
    """T_Py of corollary 2 (SE) and theorem 3 (SER3): pulls until only the best arm is left, with probability 1 − η.

    While every mean is within ``pass_gap/2`` of its estimate, arm k has left once ``2·pass_gap ≤ Δ_k + ε``; the best
    arm is pulled as often as the second.  For SER3, gaps are those of assumption 4, averaged over passes.

    Parameters
    ----------
    gaps : sequence of K floats
        Δ_k, 0 for the best arm.
    eta, epsilon : float
        η and ε.

    Examples
    --------
    >>> elimination_samples([0, 0.2, 0.4, 0.6], 0.9, 0.25)
    1652
    """
    order = sorted(gaps)
    passes = [first_below(lambda t: 2 * pass_gap(len(gaps), t, eta), gap + epsilon) for gap in order[1:]]
    return sum(passes) + passes[0]
