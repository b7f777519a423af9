"""Bounds of Féraud et al. 2019 with explicit constants.

Theorems 2 and 3 and the corollaries state orders; the constants here follow from their arguments, and the docstrings
say so.  A player's own samples T_Py are counted exactly.  Theorem 2 bounds the samples until the M most likely players
have T_Py each: by Hoeffding's inequality this is `rio2023_theory.mase_rounds`, with confidence
`rio2023_theory.mase_confidence`.
"""

from collections.abc import Sequence

from hushbandits.agents.rio2023_theory import first_below
from hushbandits.best_arm.fixed_design import median_length
from hushbandits.best_arm.racing import pass_gap
from hushbandits.envs.exploration.problems import vote_threshold


def failure(delta: float, eta: float) -> float:
    """Return ``η^M`` with ``M = ⌊ln δ/ln η⌋``, the probability that all of M fixed players fail (theorem 1).

    It lies *above* δ, because M is rounded down; and any M of N players can outvote an arm, not M fixed ones.
    """
    return eta ** vote_threshold(delta, eta)


def message_bound(delta: float, eta: float, n_arms: int) -> int:
    """Return the bound ``MK − 1`` on the number of messages, with ``M = ⌊ln δ/ln η⌋`` (theorem 1)."""
    return vote_threshold(delta, eta) * n_arms - 1


def median_samples(n_arms: int, eta: float, epsilon: float) -> int:
    """Return T_Py of corollary 1, the number of pulls of median elimination in every run."""
    total, epoch = 0, 1
    while n_arms > 1:
        total += n_arms * int(median_length(epoch, eta, epsilon))
        n_arms, epoch = (n_arms + 1) // 2, epoch + 1
    return total


def elimination_samples(gaps: Sequence[float], eta: float, epsilon: float) -> int:
    """Return T_Py of corollary 2 (SE) and theorem 3 (SER3), a bound on the pulls that holds with probability 1 − η.

    While every mean is within ``pass_gap/2`` of its estimate, arm k has left once ``2·pass_gap ≤ Δ_k + ε``; the best
    arm is pulled as often as the second.  For SER3, gaps are those of assumption 4, averaged over passes.
    """
    passes = [first_below(lambda t: 2 * pass_gap(len(gaps), t, eta), gap + epsilon) for gap in sorted(gaps)[1:]]
    return sum(passes) + passes[0]
