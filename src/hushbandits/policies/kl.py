"""Bernoulli Kullback–Leibler divergence with its confidence bounds, and the policies that use it: KL-UCB and IMED."""

import math

from hushbandits.core import Array, jit, real
from hushbandits.policies.policy import Counting, Tuned, by_index, sums


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


@jit
def _clocked(state, r):
    log_t = math.log(state.t[r] + 1.0)
    return log_t + state.parameter * math.log(max(log_t, 1.0))


@jit
def _kl_ucb_index(state, r, k, level):
    n = state.n[r, k]
    return kl_upper(state.s[r, k] / n, level / n)


class KLUCB(Counting):
    """KL-UCB, which plays each arm once, then the arm with the largest ``max{q : n_k kl(μ̂_k, q) ≤ ln t + c ln ln t}``.

    For rewards in [0, 1].  Source: Garivier & Cappé 2011, "The KL-UCB Algorithm for Bounded Stochastic Bandits and
    Beyond", algorithm 1; its theorem takes c = 3, its experiments c = 0.  All indices move with ln t, so a choice looks
    at every arm.

    Parameters
    ----------
    c : float
        c ≥ 0; ``ln ln t`` counts as 0 where it is negative.
    """

    name = "KL-UCB"
    unit_interval = True
    choose = staticmethod(by_index(_kl_ucb_index, _clocked))

    def __init__(self, c: float = 0.0):
        self.c = real("c", c, 0, closed="low")

    def state(self, learners: int, n_arms: int, plays: float, cursors: Array | None = None) -> Tuned:
        return Tuned(*sums(learners, n_arms), self.c)


@jit
def _best_mean(state, r):
    top = 0.0
    for k in range(state.n.shape[1]):
        if state.n[r, k] > 0.0:
            top = max(top, state.s[r, k] / state.n[r, k])
    return min(top, 1.0)


@jit
def _imed_index(state, r, k, top):
    n = state.n[r, k]
    mean = state.s[r, k] / n
    return -(n * (kl(mean, top) if mean < top else 0.0) + math.log(n))


class IMED(Counting):
    """IMED, which plays each arm once, then the arm with the smallest ``n_k kl(μ̂_k, μ̂*) + ln n_k``.

    μ̂* is the best empirical mean.  For rewards in [0, 1]; asymptotically optimal on Bernoulli arms.  Source: Honda &
    Takemura 2015, "Non-asymptotic analysis of a new bandit algorithm for semi-bounded rewards", algorithm 1 (there for
    a wider class of laws).
    """

    unit_interval = True
    choose = staticmethod(by_index(_imed_index, _best_mean))
