"""Does a mechanism keep its word?

Black box: a lower confidence bound on ε from runs on neighbouring inputs.  One run: how well an observer guesses many
users' bits at once.  Every statistical test holds at its level for any number of runs.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import special, stats

from hushbandits.core import Array
from hushbandits.privacy.divergence import until

#: Where ε is first looked for, and no further, and how finely.
_LARGEST = 60.0, 60.0, 1e-4


def epsilon_lower_bound(
    hits: int, others: int, samples: int, delta: float, level: float, other_samples: int | None = None
) -> float:
    """Return the ε that two counts of one event refute, each of `samples` runs, on neighbouring inputs.

    (ε, δ)-DP has ``p ≤ e^ε q + δ``.  With Clopper–Pearson bounds at level/2 each, ε is at least
    ``ln((p_lo − δ)/q_hi)`` but for a probability `level`.  `other_samples`: runs of the other side, where they differ.
    """
    n = samples if other_samples is None else other_samples
    low = stats.beta.ppf(level / 2, hits, samples - hits + 1) if hits else 0.0
    high = stats.beta.isf(level / 2, others + 1, n - others) if others < n else 1.0
    return max(math.log((low - delta) / high), 0.0) if low > delta else 0.0


@dataclass(frozen=True)
class Event:
    """One feature is at most (at least, equal to) a value; more likely on the second side where `swap` is true."""

    feature: int
    kind: str
    value: float
    swap: bool
    #: The bound on ε that it was chosen for.
    promised: float

    def refuted(self, innocent: Array, guilty: Array, delta: float, level: float) -> float:
        """Return the ε that other runs refute by it, features (F, N) and (F, N′)."""
        sides = (innocent, guilty)[:: -1 if self.swap else 1]
        at = np.array([self.value])
        hits, others = (int(_hits(x[self.feature], self.kind, at)[0]) for x in sides)
        return epsilon_lower_bound(hits, others, sides[0].shape[1], delta, level, sides[1].shape[1])


def _quick_bounds(counts: Sequence[Array], samples: Sequence[int], delta: float, z: float) -> Array:
    """`epsilon_lower_bound` by Wilson's intervals: to choose by, not to refute by."""

    def bound(count: Array, n: int, sign: int) -> Array:
        p = count / n
        middle, width = p + z * z / (2 * n), z * np.sqrt(p * (1 - p) / n + z * z / (4 * n**2))
        return (middle + sign * width) / (1 + z * z / n)

    with np.errstate(divide="ignore", invalid="ignore"):
        low = bound(counts[0], samples[0], -1) - delta
        return np.where(low > 0, np.maximum(np.log(low / bound(counts[1], samples[1], 1)), 0.0), 0.0)


def best_event(innocent: Array, guilty: Array, delta: float, level: float) -> Event | None:
    """Return the event that tells two neighbouring inputs apart best, by Wilson's bound; ``None``: none does.

    Of every feature the events ``≤ t``, ``≥ t`` and, where it has few values, ``= t`` are tried, in both directions.
    `innocent` and `guilty` are F features of the runs on either input, (F, N) and (F, N′).
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
#: Where thresholds stand, ever closer to both ends.
_QUANTILES = np.unique(
    [*np.linspace(0, 1, _FEW // 2), *(2.0**-k for k in range(5, 16)), *(1 - 2.0**-k for k in range(5, 16))]
)


def _hits(x: Array, kind: str, at: Array) -> Array:
    # how many of x are ≤, ≥ or = each value
    x = np.sort(x)
    below, upto = np.searchsorted(x, at, "left"), np.searchsorted(x, at, "right")
    return {"≤": upto, "≥": len(x) - below, "=": upto - below}[kind]


def smallest_refuted(epsilon: float, delta: float, samples: int, level: float, power: float = 0.9) -> float:
    """Return the smallest true ε that `samples` runs a side refute of a claim, with probability `power`.

    Of the mechanism whose best event has probability ½ on one side and ``e^(−ε)/2`` on the other, as Laplace noise's.
    Infinite where no true ε is refuted: a claim that is large for the number of runs.
    """
    miss = (1 - power) / 2  # on either count

    def missed(true: float) -> bool:
        hits = stats.binom.ppf(miss, samples, 0.5)
        others = stats.binom.isf(miss, samples, math.exp(-true) / 2)
        return epsilon_lower_bound(int(hits), int(others), samples, delta, level) <= epsilon

    return until(missed, *_LARGEST)[1]


def critical_share(mean: float, n: int, level: float) -> float:
    """Return what the share of n independent events of this mean probability exceeds with probability ≤ `level`.

    By Hoeffding's bound ``e^(−n KL(share ‖ mean))``, which holds for events of different probabilities as well.
    """

    def may_be(x: float) -> bool:
        kl = special.rel_entr(x, mean) + special.rel_entr(1 - x, 1 - mean)
        return bool(x <= mean or n * kl < math.log(1 / level))

    return min(until(may_be, 1.0, 1.0, 1e-9)[1], 1.0)


def one_run_p_value(
    correct: int, guesses: int, epsilon: float, delta: float = 0.0, canaries: int | None = None
) -> float:
    """p-value of (ε, δ)-DP when an observer of one run guesses independent fair bits, each the input of one canary.

    Under ε-DP a guess is right with probability at most ``q = e^ε/(1 + e^ε)``, given all others, so the number of right
    ones is at most ``W``, binomial; the observer may abstain, by whatever it sees.  δ adds ``2mδ·max_i P(v > W ≥ v −
    i)/i`` for m canaries and v right guesses (Steinke, Nasr & Jagielski 2023, theorem 5.2 and appendix D).

    Parameters
    ----------
    correct, guesses : int
        Right guesses, of how many.
    epsilon, delta : float
        The claim.
    canaries : int, optional
        Bits that there were to guess; by default as many as guesses.
    """
    q = 1 / (1 + math.exp(-epsilon))
    p = float(stats.binom.sf(correct - 1, guesses, q))
    if delta and correct:
        below = np.cumsum(stats.binom.pmf(np.arange(correct - 1, -1, -1), guesses, q))
        p += 2 * (guesses if canaries is None else canaries) * delta * float((below / np.arange(1, correct + 1)).max())
    return min(p, 1.0)


def one_run_bound(correct: int, guesses: int, delta: float, level: float, canaries: int | None = None) -> float:
    """Return the ε that right guesses of one run refute, at this level; arguments as of `one_run_p_value`."""

    def refuted(epsilon: float) -> bool:
        return one_run_p_value(correct, guesses, epsilon, delta, canaries) < level

    return until(refuted, *_LARGEST)[0] if guesses and refuted(0.0) else 0.0


def one_run_least(epsilon: float, delta: float, canaries: int, level: float, power: float = 0.9) -> float:
    """Return the smallest true ε that `canaries` of one run refute of a claim, with probability `power`.

    Of messages with Laplace noise, whose observer guesses where a message lies outside of the two rewards: that is in
    ``(1 + e^(−ε))/2`` of them, and such a guess is right with probability ``e^ε/(1 + e^ε)``.  Infinite where no true ε
    is refuted: a claim that is large for the number of canaries, or a δ that is.
    """
    miss = (1 - power) / 2  # on either count

    def missed(true: float) -> bool:
        guesses = int(stats.binom.ppf(miss, canaries, (1 + math.exp(-true)) / 2))
        correct = int(stats.binom.ppf(miss, guesses, 1 / (1 + math.exp(-true))))
        return one_run_p_value(correct, guesses, epsilon, delta, canaries) >= level

    return until(missed, *_LARGEST)[1]
