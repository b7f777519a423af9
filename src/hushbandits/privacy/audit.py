"""Lower bounds on ε from runs on neighbouring inputs, which can refute guarantees.

A black-box check bounds ε from runs on neighbouring inputs.  A check of one run counts an observer's right guesses of
many users' bits.  Every statistical test holds at its level for any number of runs.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import special, stats

from hushbandits.core import Array
from hushbandits.privacy.divergence import until

#: Search for ε: first upper end, limit, and tolerance.
_LARGEST = 60.0, 60.0, 1e-4


def epsilon_lower_bound(
    hits: int, others: int, samples: int, delta: float, level: float, other_samples: int | None = None
) -> float:
    """Return a lower bound on ε from how often an event occurs in `samples` runs on each of two neighbouring inputs.

    (ε, δ)-DP has ``p ≤ e^ε q + δ``.  With Clopper–Pearson bounds at level/2 each, ε is at least
    ``ln((p_lo − δ)/q_hi)`` except with probability `level`.  `other_samples`: runs on the other input, if their number
    differs.
    """
    n = samples if other_samples is None else other_samples
    low = stats.beta.ppf(level / 2, hits, samples - hits + 1) if hits else 0.0
    high = stats.beta.isf(level / 2, others + 1, n - others) if others < n else 1.0
    return max(math.log((low - delta) / high), 0.0) if low > delta else 0.0


@dataclass(frozen=True)
class Event:
    """Event that a feature is ≤, ≥ or = a value, and the input on which it is more likely."""

    feature: int
    kind: str
    value: float
    swap: bool
    #: The bound on ε for which it was chosen.
    promised: float

    def refuted(self, innocent: Array, guilty: Array, delta: float, level: float) -> float:
        """Return the lower bound on ε that other runs give for this event, given their features (F, N) and (F, N′)."""
        sides = (innocent, guilty)[:: -1 if self.swap else 1]
        at = np.array([self.value])
        hits, others = (int(_hits(x[self.feature], self.kind, at)[0]) for x in sides)
        return epsilon_lower_bound(hits, others, sides[0].shape[1], delta, level, sides[1].shape[1])


def _quick_bounds(counts: Sequence[Array], samples: Sequence[int], delta: float, z: float) -> Array:
    """Return `epsilon_lower_bound` with Wilson's intervals, which may select an event but prove no bound."""

    def bound(count: Array, n: int, sign: int) -> Array:
        p = count / n
        middle, width = p + z * z / (2 * n), z * np.sqrt(p * (1 - p) / n + z * z / (4 * n**2))
        return (middle + sign * width) / (1 + z * z / n)

    with np.errstate(divide="ignore", invalid="ignore"):
        low = bound(counts[0], samples[0], -1) - delta
        return np.where(low > 0, np.maximum(np.log(low / bound(counts[1], samples[1], 1)), 0.0), 0.0)


def best_event(innocent: Array, guilty: Array, delta: float, level: float) -> Event | None:
    """Return the event with the largest ε bound (Wilson) between two neighbouring inputs; ``None`` if no bound is > 0.

    The events ``≤ t``, ``≥ t`` and, for features with few values, ``= t`` are tried in both directions.  `innocent` and
    `guilty` are F features of the runs on the two inputs, (F, N) and (F, N′).
    """
    z, best = float(stats.norm.isf(level / 4)), None
    samples = innocent.shape[1], guilty.shape[1]
    for f, (a, b) in enumerate(zip(innocent, guilty, strict=True)):
        at = np.unique(np.concatenate([a, b]))
        few = len(at) <= _FEW
        at = at if few else np.unique(np.quantile(at, _QUANTILES))
        for kind in "≤≥=" if few else "≤≥":
            counts = [_hits(x, kind, at) for x in (a, b)]
            for turn in (1, -1):
                bounds = _quick_bounds(counts[::turn], samples[::turn], delta, z)
                if len(bounds) and bounds.max() > (best.promised if best else 0.0):
                    best = Event(f, kind, float(at[bounds.argmax()]), turn < 0, float(bounds.max()))
    return best


_FEW = 64
#: Quantiles of the thresholds, denser towards both ends.
_QUANTILES = np.unique(
    [*np.linspace(0, 1, _FEW // 2), *(2.0**-k for k in range(5, 16)), *(1 - 2.0**-k for k in range(5, 16))]
)


def _hits(x: Array, kind: str, at: Array) -> Array:
    # count the x that are ≤, ≥ or = each value
    x = np.sort(x)
    below, upto = np.searchsorted(x, at, "left"), np.searchsorted(x, at, "right")
    return {"≤": upto, "≥": len(x) - below, "=": upto - below}[kind]


def smallest_refuted(epsilon: float, delta: float, samples: int, level: float, power: float = 0.9) -> float:
    """Return the smallest true ε at which `samples` runs per input refute (ε, δ) with probability `power`.

    It is computed for a mechanism like Laplace noise, whose best event has probability ½ on one input and ``e^(−ε)/2``
    on the other.  It is infinite if no true ε is refuted, since the claim is large for the number of runs.
    """
    miss = (1 - power) / 2  # on either count

    def missed(true: float) -> bool:
        hits = stats.binom.ppf(miss, samples, 0.5)
        others = stats.binom.isf(miss, samples, math.exp(-true) / 2)
        return epsilon_lower_bound(int(hits), int(others), samples, delta, level) <= epsilon

    return until(missed, *_LARGEST)[1]


def critical_share(mean: float, n: int, level: float) -> float:
    """Return the share that n independent events of mean probability `mean` exceed with probability ≤ `level`.

    Source: Hoeffding's bound ``e^(−n KL(share ‖ mean))``, which also holds for events of different probabilities.
    """

    def may_be(x: float) -> bool:
        kl = special.rel_entr(x, mean) + special.rel_entr(1 - x, 1 - mean)
        return bool(x <= mean or n * kl < math.log(1 / level))

    return min(until(may_be, 1.0, 1.0, 1e-9)[1], 1.0)


def one_run_p_value(correct: int, guesses: int, epsilon: float, delta: float = 0, canaries: int | None = None) -> float:
    """Return the p-value of (ε, δ)-DP, given how many inputs of canaries an observer of one run guesses correctly.

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
    """Return the ε that the correct guesses of one run refute at this level; arguments as in `one_run_p_value`."""

    def refuted(epsilon: float) -> bool:
        return one_run_p_value(correct, guesses, epsilon, delta, canaries) < level

    return until(refuted, *_LARGEST)[0] if guesses and refuted(0.0) else 0.0


def one_run_least(epsilon: float, delta: float, canaries: int, level: float, power: float = 0.9) -> float:
    """Return the smallest true ε at which `canaries` of one run refute (ε, δ) with probability `power`.

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
