"""Upper confidence bounds: UCB1, UCB for sub-Gaussian rewards, MOSS, UCB-V; LDP-UCB for privatized rewards.

LDP-UCB gives no guarantee; the mechanism does, before a reward reaches the policy (`LocalDPNetwork-v0`).
"""

import math
from typing import NamedTuple

import numpy as np

from hushbandits.core import Array, divisor, lean, real
from hushbandits.core.utils.jit import inlined
from hushbandits.policies.policy import Counting, Policy, Tuned, add, by_index, sums


@lean
def _ucb1_index(state, r, k, log_t):
    n = state.n[r, k]
    return state.s[r, k] / n + math.sqrt(2.0 * log_t / n)


class UCB1(Counting):
    """UCB1, which plays each arm once, then in play t the arm with the largest ``μ̂_k + √(2 ln t / n_k)``.

    Ties take the lowest arm.  For rewards in [0, 1].  Source: Auer, Cesa-Bianchi & Fischer 2002, "Finite-time Analysis
    of the Multiarmed Bandit Problem", figure 1.  All indices move with ln t, so a choice looks at every arm.
    """

    choose = staticmethod(by_index(_ucb1_index))


#: Arms of a block, of which the highest bound is kept; up to so many arms, there are no blocks.
_BLOCK = 32


class _Bounds(NamedTuple):
    n: Array  # (L, K)
    s: Array  # (L, K)
    bound: Array  # (L, K); it changes only where an arm was played
    peak: Array  # (L, blocks), the highest bound of each block
    lead: Array  # (L, blocks), the lowest arm with that bound
    sigma: float
    level: float  # ln(1/δ); of MOSS: n/K, plays per arm


def _unplayed(learners: int, n_arms: int, sigma: float, level: float) -> _Bounds:
    """Return the bounds of learners without plays."""
    first = np.arange(0, n_arms if n_arms > _BLOCK else 0, _BLOCK)
    n, s, bound = np.zeros((learners, n_arms)), np.zeros((learners, n_arms)), np.full((learners, n_arms), np.inf)
    return _Bounds(n, s, bound, np.full((learners, len(first)), np.inf), np.tile(first, (learners, 1)), sigma, level)


@inlined
def _foremost(x, r):
    """Return ``argmax(x, r)``, found by loops that end: a processor guesses their ends and need not wait for x."""
    best, top, k = 0, -math.inf, 0
    while True:
        while k < x.shape[1] and not x[r, k] > top:
            k += 1
        if k == x.shape[1]:
            return best
        best, top = k, x[r, k]


@lean
def _highest(state, r):
    if state.peak.shape[1] == 0:
        return _foremost(state.bound, r)
    return state.lead[r, _foremost(state.peak, r)]


@inlined
def _set_bound(state, r, arm, bound):
    state.bound[r, arm] = bound
    if state.peak.shape[1] > 0:
        block = arm // _BLOCK
        best, top = block * _BLOCK, -math.inf
        for k in range(block * _BLOCK, min((block + 1) * _BLOCK, state.bound.shape[1])):
            if state.bound[r, k] > top:
                best, top = k, state.bound[r, k]
        state.peak[r, block], state.lead[r, block] = top, best


@lean
def _raise(state, r, arm, reward):
    state.n[r, arm] += 1.0
    state.s[r, arm] += reward
    bonus = state.sigma * math.sqrt(2.0 * state.level / state.n[r, arm])
    _set_bound(state, r, arm, state.s[r, arm] / state.n[r, arm] + bonus)


class UCB(Policy):
    """UCB, which plays each arm once, then the arm with the largest ``μ̂_k + σ√(2 ln(1/δ) / n_k)``.

    Ties take the lowest arm.  Source: Lattimore & Szepesvári 2020, "Bandit Algorithms", algorithm 3.

    Parameters
    ----------
    sigma : float
        Sub-Gaussian constant; ½ for rewards in [0, 1].
    delta : float, optional
        δ; default: 1/n² for n plays in all (theorem 7.1 there).
    """

    choose = staticmethod(_highest)
    update = staticmethod(_raise)

    def __init__(self, sigma: float = 0.5, delta: float | None = None):
        self.sigma = real("sigma", sigma, 0)
        self.delta = delta if delta is None else real("delta", delta, 0, 1)

    def state(self, learners: int, n_arms: int, plays: float, cursors: Array | None = None) -> _Bounds:
        level = 2.0 * math.log(plays) if self.delta is None else -math.log(self.delta)
        return _unplayed(learners, n_arms, self.sigma, level)


@lean
def _moss(state, r, arm, reward):
    state.n[r, arm] += 1.0
    state.s[r, arm] += reward
    n = state.n[r, arm]
    _set_bound(state, r, arm, state.s[r, arm] / n + math.sqrt(max(math.log(state.level / n), 0.0) / n))


class MOSS(Policy):
    """MOSS, which plays each arm once, then the arm with the largest ``μ̂_k + √(max(ln(n/(K n_k)), 0) / n_k)``.

    For rewards in [0, 1] and n plays in all; regret at most ``49 √(nK)``.  Source: Audibert & Bubeck 2009, "Minimax
    Policies for Adversarial and Stochastic Bandits", figure 1 and theorem 5.
    """

    choose = staticmethod(_highest)
    update = staticmethod(_moss)

    def state(self, learners: int, n_arms: int, plays: float, cursors: Array | None = None) -> _Bounds:
        return _unplayed(learners, n_arms, 1.0, plays / n_arms)


class _Spread(NamedTuple):
    n: Array  # (L, K)
    s: Array  # (L, K)
    squares: Array  # (L, K)
    t: Array  # (L,)
    zeta: float
    bound: float


@lean
def _explored(state, r):
    return state.zeta * math.log(state.t[r] + 1.0)


@lean
def _ucb_v_index(state, r, k, level):
    n = state.n[r, k]
    mean = state.s[r, k] / n
    variance = max(state.squares[r, k] / n - mean * mean, 0.0)
    return mean + math.sqrt(2.0 * variance * level / n) + 3.0 * state.bound * level / n


@lean
def _add_square(state, r, arm, reward):
    add(state, r, arm, reward)
    state.squares[r, arm] += reward * reward


class UCBV(Policy):
    """UCB-V, which plays each arm once, then the arm with the largest ``μ̂_k + √(2 V_k ℰ_t / n_k) + 3bℰ_t/n_k``.

    ``ℰ_t = ζ ln t``, and V_k is the empirical variance.  Source: Audibert, Munos & Szepesvári 2009,
    "Exploration–exploitation tradeoff using variance estimates in multi-armed bandits", equation 2 with c = 1.

    Parameters
    ----------
    zeta : float
        ζ > 1.
    bound : float
        b: rewards lie in [0, b].
    """

    name = "UCB-V"
    choose = staticmethod(by_index(_ucb_v_index, _explored))
    update = staticmethod(_add_square)

    def __init__(self, zeta: float = 1.2, bound: float = 1.0):
        self.zeta, self.bound = real("zeta", zeta, 1), real("bound", bound, 0)

    def state(self, learners: int, n_arms: int, plays: float, cursors: Array | None = None) -> _Spread:
        n, s, t = sums(learners, n_arms)
        return _Spread(n, s, np.zeros((learners, n_arms)), t, self.zeta, self.bound)


@lean
def _laplace_index(state, r, k, log_t):
    n = state.n[r, k]
    if n <= 4.0 * math.log(state.t[r] + 2.0):  # before play t: N ≤ 4 ln(t + 1)
        return math.inf
    return state.s[r, k] / n + math.sqrt(2.0 * log_t / n) + math.sqrt(32.0 * log_t / (state.parameter**2 * n))


class LDPUCBL(Counting):
    """LDP-UCB-L, with index ``μ̂ + √(2 ln t/N) + √(32 ln t/(ε²N))`` on rewards with Lap(1/ε) noise.

    An arm with ``N ≤ 4 ln(t + 1)`` plays comes before all others.

    Policy and mechanism share ε: a value given to either holds for both; different values raise an error.

    Source: Ren, Zhou, Liu & Shroff 2020, "Multi-Armed Bandits with Local Differential Privacy", LDP-UCB-L.

    Parameters
    ----------
    epsilon : float, optional
        ε of the mechanism; default: that of the env's mechanism, or 1 without one.
    """

    name = "LDP-UCB-L"
    choose = staticmethod(by_index(_laplace_index))
    shared = ("epsilon",)

    def __init__(self, epsilon: float | None = None):
        self.epsilon = epsilon if epsilon is None else divisor("epsilon", epsilon)

    def state(self, learners: int, n_arms: int, plays: float, cursors: Array | None = None) -> Tuned:
        return Tuned(*sums(learners, n_arms), 1.0 if self.epsilon is None else self.epsilon)


class LDPUCBB(UCB1):
    """UCB1 on bits of the Bernoulli mechanism: reward x gives 1 with probability ``(x(e^ε − 1) + 1)/(e^ε + 1)``.

    The replaced rewards are in {0, 1}, and their means are in the order of the arms', nearer to ½ by
    ``(e^ε − 1)/(e^ε + 1)``; its index has no ε, which is the mechanism's alone.  Source: Ren, Zhou, Liu & Shroff 2020,
    LDP-UCB-B.
    """

    name = "LDP-UCB-B"
