"""What Féraud et al. 2019 prove, with explicit constants.

Theorems 2 and 3 and the corollaries give orders; the constants here are those that their arguments lead to, and said
so.  A player's own samples T_Py are counted pull by pull, not in orders.  Theorem 2, the samples until the M most
likely players have T_Py each, has an order too: by Hoeffding's inequality it is `rio2023_theory.mase_rounds`, and its
confidence `rio2023_theory.mase_confidence`.
"""

from __future__ import annotations

from collections.abc import Sequence

from hushbandits.agents.rio2023_theory import first_below
from hushbandits.envs.exploration.problems import vote_threshold
from hushbandits.routines.fixed_design import median_length
from hushbandits.routines.racing import pass_gap


def failure(delta: float, eta: float) -> float:
    """Theorem 1: ``η^⌊ln δ/ln η⌋``, the failure probability of M fixed players.

    It lies *above* δ, because M is rounded down; and any M of N players can outvote an arm, not M fixed ones.
    """
    return eta ** vote_threshold(delta, eta)


def message_bound(delta: float, eta: float, n_arms: int) -> int:
    """Theorem 1: at most ``MK − 1`` messages are sent."""
    return vote_threshold(delta, eta) * n_arms - 1


def median_samples(n_arms: int, eta: float, epsilon: float) -> int:
    """T_Py of corollary 1: the pulls of median elimination, which are the same in every run."""
    total, epoch = 0, 1
    while n_arms > 1:
        total += n_arms * int(median_length(epoch, eta, epsilon))
        n_arms, epoch = (n_arms + 1) // 2, epoch + 1
    return total


def elimination_samples(gaps: Sequence[float], eta: float, epsilon: float) -> int:
    """T_Py of corollary 2 (SE) and theorem 3 (SER3): pulls until only the best arm is left, with probability 1 − η.

    While every mean is within ``pass_gap/2`` of its estimate, arm k has left once ``2·pass_gap ≤ Δ_k + ε``; the best
    arm is pulled as often as the second.  For SER3, gaps are those of assumption 4, averaged over passes.
    """
    order = sorted(gaps)
    passes = [first_below(lambda t: 2 * pass_gap(len(gaps), t, eta), gap + epsilon) for gap in order[1:]]
    return sum(passes) + passes[0]
