"""Policies that explore at random or at the start: ε-greedy, softmax, EXP3, explore-then-commit."""

import math
from typing import NamedTuple

import numpy as np

from hushbandits.core import Array, integer, jit, real
from hushbandits.policies.draws import below, uniform
from hushbandits.policies.policy import Counting, Drawing, Policy, by_index, nothing_shared, sums


@jit
def _mean(state, r, k, _):
    return state.s[r, k] / state.n[r, k]


_greedy = by_index(_mean, nothing_shared)


@jit
def _epsilon_greedy(state, r):
    t, arms = state.t[r] + 1.0, state.n.shape[1]
    epsilon = state.parameter  # −1: the schedule
    if epsilon < 0.0:
        epsilon = (arms * math.log(t) / t) ** (1.0 / 3.0)
    if uniform(state.cursors, r) < epsilon:
        return below(state.cursors, r, arms)
    return _greedy(state, r)


class EpsilonGreedy(Counting):
    """ε-greedy, which plays a uniform arm with probability ε_t, otherwise the arm with the best empirical mean.

    An unplayed arm counts as best.

    Source: Sutton & Barto 1998, section 2.2; the schedule ``ε_t = min(1, (K ln t / t)^(1/3))``: Slivkins 2019,
    "Introduction to Multi-Armed Bandits", theorem 1.6.

    Parameters
    ----------
    epsilon : float, optional
        A constant ε in [0, 1]; default: the schedule.
    """

    name = "epsilon-greedy"
    choose = staticmethod(_epsilon_greedy)
    random = True

    def __init__(self, epsilon: float | None = None):
        self.epsilon = epsilon if epsilon is None else real("epsilon", epsilon, 0, 1, closed="both")

    def state(self, learners: int, n_arms: int, plays: float, cursors: Array | None = None) -> Drawing:
        assert cursors is not None
        return Drawing(*sums(learners, n_arms), cursors, -1.0 if self.epsilon is None else self.epsilon)


@jit
def _boltzmann(state, r):
    arms, best = state.n.shape[1], _greedy(state, r)
    if state.n[r, best] == 0.0:
        return best
    top, total = state.s[r, best] / state.n[r, best], 0.0
    for k in range(arms):
        total += math.exp((state.s[r, k] / state.n[r, k] - top) / state.parameter)
    left = uniform(state.cursors, r) * total
    for k in range(arms - 1):
        left -= math.exp((state.s[r, k] / state.n[r, k] - top) / state.parameter)
        if left < 0.0:
            return k
    return arms - 1


class Softmax(Counting):
    """Boltzmann exploration, which plays each arm once, then arm k with probability proportional to ``exp(μ̂_k/τ)``.

    Its regret is linear for a fixed τ.  Source: Sutton & Barto 1998, section 2.3.

    Parameters
    ----------
    temperature : float
        τ.
    """

    name = "softmax"
    choose = staticmethod(_boltzmann)
    random = True

    def __init__(self, temperature: float = 0.05):
        self.temperature = real("temperature", temperature, 0)

    def state(self, learners: int, n_arms: int, plays: float, cursors: Array | None = None) -> Drawing:
        assert cursors is not None
        return Drawing(*sums(learners, n_arms), cursors, self.temperature)


class _Weights(NamedTuple):
    weight: Array  # (L, K) logarithms of the weights
    chance: Array  # (L, K) probabilities of the last choice
    cursors: Array  # (L, 10)
    gamma: float


@jit
def _exp3_choose(state, r):
    arms, top, total = state.weight.shape[1], state.weight[r].max(), 0.0
    for k in range(arms):
        state.chance[r, k] = math.exp(state.weight[r, k] - top)
        total += state.chance[r, k]
    left, chosen = uniform(state.cursors, r), arms - 1
    for k in range(arms):
        p = (1.0 - state.gamma) * state.chance[r, k] / total + state.gamma / arms
        state.chance[r, k] = p
        if left >= 0.0:
            left -= p
            if left < 0.0:
                chosen = k
    return chosen


@jit
def _exp3_update(state, r, arm, reward):
    arms = state.weight.shape[1]
    state.weight[r, arm] += state.gamma * (reward / state.chance[r, arm]) / arms


class EXP3(Policy):
    """EXP3, which plays arm k with probability ``p_k = (1 − γ) w_k/Σw + γ/K``.

    After its reward x, the weight w_k of the pulled arm is multiplied by ``exp(γ x/(p_k K))``.

    For rewards in [0, 1], of any origin; regret at most ``2√(e − 1) √(nK ln K)``.  Source: Auer, Cesa-Bianchi, Freund
    & Schapire 2002, "The Nonstochastic Multiarmed Bandit Problem", figure 1 and corollary 3.2.

    Parameters
    ----------
    gamma : float, optional
        γ in (0, 1]; default: ``min(1, √(K ln K / ((e − 1) n)))`` for n plays.
    """

    choose = staticmethod(_exp3_choose)
    update = staticmethod(_exp3_update)
    random = True

    def __init__(self, gamma: float | None = None):
        self.gamma = gamma if gamma is None else real("gamma", gamma, 0, 1, closed="high")

    def state(self, learners: int, n_arms: int, plays: float, cursors: Array | None = None) -> _Weights:
        assert cursors is not None
        tuned = min(1.0, math.sqrt(n_arms * math.log(n_arms) / ((math.e - 1.0) * plays)))
        shape = learners, n_arms
        return _Weights(np.zeros(shape), np.zeros(shape), cursors, tuned if self.gamma is None else self.gamma)


class _Phases(NamedTuple):
    n: Array  # (L, K)
    s: Array  # (L, K)
    t: Array  # (L,)
    kept: Array  # (L,) the arm that it has committed to; −1: none yet
    plays: int  # of each arm before


@jit
def _commit(state, r):
    arms = state.n.shape[1]
    if state.t[r] < state.plays * arms:
        return state.t[r] % arms
    if state.kept[r] < 0:
        state.kept[r] = _greedy(state, r)
    return state.kept[r]


class ExploreThenCommit(Counting):
    """Explore-then-commit, which plays each arm m times in turn, then only the arm with the best empirical mean.

    Source: Lattimore & Szepesvári 2020, algorithm 1; the default m: Slivkins 2019, theorem 1.5.

    Parameters
    ----------
    m : int, optional
        Default: ``⌈(n/K)^(2/3) (ln n)^(1/3)⌉`` for n plays.
    """

    name = "ETC"
    choose = staticmethod(_commit)

    def __init__(self, m: int | None = None):
        self.m = m if m is None else integer("m", m, 1)

    def state(self, learners: int, n_arms: int, plays: float, cursors: Array | None = None) -> _Phases:
        tuned = max(1, math.ceil((plays / n_arms) ** (2 / 3) * math.log(max(plays, 2)) ** (1 / 3)))
        return _Phases(*sums(learners, n_arms), np.full(learners, -1), tuned if self.m is None else self.m)
