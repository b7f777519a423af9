"""Lower bounds on ε from runs on neighbouring inputs, which can refute guarantees.

A black-box check bounds ε from runs on neighbouring inputs.  A check of one run counts an observer's right guesses of
many users' bits.  Every statistical test holds at its level for any number of runs.
"""

import math

import numpy as np
from scipy import special, stats

from hushbandits.core import real
from hushbandits.privacy.divergence import until

#: Search for ε: first upper end, limit, and tolerance.
_LARGEST = 60.0, 60.0, 1e-4


def epsilon_lower_bound(
    hits: int, others: int, samples: int, delta: float, level: float, other_samples: int | None = None
) -> float:
    """Return a lower bound on ε from the counts of an event in `samples` runs on each of two neighbouring inputs.

    (ε, δ)-DP has ``p ≤ e^ε q + δ``.  With Clopper–Pearson bounds at level/2 each, ε is at least
    ``ln((p_lo − δ)/q_hi)`` except with probability `level`.  `other_samples`: runs on the other input, if their number
    differs.
    """
    n = samples if other_samples is None else other_samples
    low = stats.beta.ppf(level / 2, hits, samples - hits + 1) if hits else 0.0
    high = stats.beta.isf(level / 2, others + 1, n - others) if others < n else 1.0
    return max(math.log((low - delta) / high), 0.0) if low > delta else 0.0


def smallest_refuted(epsilon: float, delta: float, samples: int, level: float, power: float = 0.9) -> float:
    """Return the smallest true ε at which the claim (ε, δ) is refuted with probability `power`.

    The test has `samples` runs on each of two inputs.

    It is computed for a mechanism like Laplace noise, whose best event has probability ½ on one input and ``e^(−ε)/2``
    on the other.  It is infinite if no true ε is refuted, since the claim is large for the number of runs.
    """
    real("epsilon", epsilon, 0.0, closed="low")
    miss = (1 - power) / 2  # on either count

    def missed(true: float) -> bool:
        hits = stats.binom.ppf(miss, samples, 0.5)
        others = stats.binom.isf(miss, samples, math.exp(-true) / 2)
        return epsilon_lower_bound(int(hits), int(others), samples, delta, level) <= epsilon

    return until(missed, *_LARGEST)[1]


def critical_share(mean: float, n: int, level: float) -> float:
    """Return an upper bound on the share of n independent events that occur, which fails with probability ≤ `level`.

    Source: Hoeffding's bound ``e^(−n KL(share ‖ mean))``, which also holds for events of different probabilities.
    """

    def may_be(x: float) -> bool:
        kl = special.rel_entr(x, mean) + special.rel_entr(1 - x, 1 - mean)
        return bool(x <= mean or n * kl < math.log(1 / level))

    return min(until(may_be, 1.0, 1.0, 1e-9)[1], 1.0)


def one_run_p_value(correct: int, guesses: int, epsilon: float, delta: float = 0, canaries: int | None = None) -> float:
    """Return the p-value of the claim (ε, δ), given an observer's correct guesses about canaries in one run.

    Under ε-DP a guess is right with probability at most ``q = e^ε/(1 + e^ε)``, given all others, so the number of right
    ones is at most ``W``, binomial; the observer may abstain for any reason.  δ adds ``2mδ·max_i P(v > W ≥ v − i)/i``
    for m canaries and v right guesses (Steinke, Nasr & Jagielski 2023, theorem 5.2 and appendix D).

    Parameters
    ----------
    correct, guesses : int
        Numbers of right guesses and of all guesses.
    epsilon, delta : float
        The claim.
    canaries : int, optional
        Number of bits; default: the number of guesses.
    """
    q = 1 / (1 + math.exp(-epsilon))
    p = float(stats.binom.sf(correct - 1, guesses, q))
    if delta and correct:
        below = np.cumsum(stats.binom.pmf(np.arange(correct - 1, -1, -1), guesses, q))
        p += 2 * (guesses if canaries is None else canaries) * delta * float((below / np.arange(1, correct + 1)).max())
    return min(p, 1.0)


def one_run_bound(correct: int, guesses: int, delta: float, level: float, canaries: int | None = None) -> float:
    """Return the largest ε that correct guesses in one run refute at significance `level`, or 0 if they refute no ε.

    The other arguments are those of `one_run_p_value`.
    """

    def refuted(epsilon: float) -> bool:
        return one_run_p_value(correct, guesses, epsilon, delta, canaries) < level

    return until(refuted, *_LARGEST)[0] if guesses and refuted(0.0) else 0.0


def one_run_least(epsilon: float, delta: float, canaries: int, level: float, power: float = 0.9) -> float:
    """Return the smallest true ε at which one run refutes the claim (ε, δ) with probability `power`.

    The run has `canaries` canaries.

    It is computed for messages with Laplace noise, whose observer guesses if a message lies outside of the two rewards.
    That holds for a share of ``(1 + e^(−ε))/2``, and such a guess is right with probability ``e^ε/(1 + e^ε)``.  It is
    infinite if no true ε is refuted, since the claim or δ is large for the number of canaries.
    """
    miss = (1 - power) / 2  # on either count

    def missed(true: float) -> bool:
        guesses = int(stats.binom.ppf(miss, canaries, (1 + math.exp(-true)) / 2))
        correct = int(stats.binom.ppf(miss, guesses, 1 / (1 + math.exp(-true))))
        return one_run_p_value(correct, guesses, epsilon, delta, canaries) >= level

    return until(missed, *_LARGEST)[1]
