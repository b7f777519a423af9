"""Robust UCB for heavy-tailed rewards with a known bound on a moment (Bubeck, Cesa-Bianchi & Lugosi 2013).

Before play t each estimate holds at confidence ``1 − t⁻²``; the index adds the estimator's radius at it.
"""

import math
from typing import NamedTuple

import numpy as np

from hushbandits.core import Array, affordable, jit, real
from hushbandits.estimators.rules import add as add_exactly
from hushbandits.estimators.rules import evaluate
from hushbandits.policies.policy import Policy, by_index


@jit
def _level(state, r):
    return 2.0 * math.log(state.t[r] + 1.0)


# -- truncated mean -------------------------------------------------------------------------------------------


class _Truncated(NamedTuple):
    n: Array  # (L, K)
    sums: Array  # (L, K, 2) of what is kept, in two doubles
    t: Array  # (L,)
    # Samples that a later threshold will cut, in order of that time: a list per arm in one pool per learner.
    first: Array  # (L, K) −1: none
    used: Array  # (L,)
    next: Array  # (L, n)
    value: Array  # (L, n)
    until: Array  # (L, n) the largest ln t² at which it is kept
    last: float  # ln t² before the last play
    moment: float
    excess: float


@jit
def _take(state, r, arm, reward):
    # X_s counts while |X_s| ≤ (us/ln t²)^(1/(1+e)), that is while ln t² ≤ us/|X_s|^(1+e)
    state.n[r, arm] += 1.0
    size = abs(reward) ** (1.0 + state.excess)
    until = state.moment * state.n[r, arm] / size if size > 0.0 else math.inf
    if until < _level(state, r):
        return
    sums = state.sums[r, arm]
    sums[0], sums[1] = add_exactly(sums[0], sums[1], reward)
    if until >= state.last:
        return
    i, before, after = state.used[r], -1, state.first[r, arm]
    state.used[r] += 1
    state.value[r, i], state.until[r, i] = reward, until
    while after >= 0 and state.until[r, after] < until:
        before, after = after, state.next[r, after]
    state.next[r, i] = after
    if before < 0:
        state.first[r, arm] = i
    else:
        state.next[r, before] = i


@jit
def _keep(state, r, arm, reward):
    _take(state, r, arm, reward)
    state.t[r] += 1


@jit
def _truncated_index(state, r, k, level):
    n = state.n[r, k]
    sums, i = state.sums[r, k], state.first[r, k]
    while i >= 0 and state.until[r, i] < level:
        sums[0], sums[1] = add_exactly(sums[0], sums[1], -state.value[r, i])
        i = state.next[r, i]
    state.first[r, k] = i
    power = 1.0 / (1.0 + state.excess)
    return (sums[0] + sums[1]) / n + 4.0 * state.moment**power * (level / n) ** (state.excess * power)


class TruncatedUCB(Policy):
    """Robust UCB with a truncated mean μ̂ of N samples and index ``μ̂ + 4u^(1/(1+e)) (ln t²/N)^(e/(1+e))``.

    Each arm comes once first.  μ̂ is the sum over samples with ``|X_s| ≤ (us/ln t²)^(1/(1+e))``, s counting the arm's
    samples, divided by N.  A sample once cut stays cut, so that a choice costs no walk over all samples.

    `take` is `update` without the step counter, for a learner whose time differs from its number of samples.

    Source: Bubeck, Cesa-Bianchi & Lugosi 2013, "Bandits with heavy tail", figure 1 with lemma 1.

    Parameters
    ----------
    moment : float
        ``u ≥ E |X|^(1+e)``.
    excess : float
        e in (0, 1].
    """

    name = "Robust-UCB"
    choose = staticmethod(by_index(_truncated_index, _level))
    update = staticmethod(_keep)
    take = staticmethod(_take)

    def __init__(self, moment: float = 1.0, excess: float = 1.0):
        self.moment, self.excess = real("moment", moment, 0), real("excess", excess, 0, 1, closed="high")
        self.order = 1.0 + self.excess

    def state(self, learners: int, n_arms: int, plays: float, cursors: Array | None = None) -> _Truncated:
        pool, shape = (learners, int(plays)), (learners, n_arms)
        affordable(f"policy {self.name} with {learners} learners of {int(plays)} plays", 24.0 * learners * plays)
        return _Truncated(
            np.zeros(shape), np.zeros((*shape, 2)), np.zeros(learners, np.int64), np.full(shape, -1),
            np.zeros(learners, np.int64), np.empty(pool, np.int64), np.empty(pool), np.empty(pool),
            2.0 * math.log(plays), self.moment, self.excess,
        )  # fmt: skip


# -- median of means, Catoni: all samples at hand --------------------------------------------------------------


class _Samples(NamedTuple):
    n: Array  # (L, K)
    sample: Array  # (L, K, n)
    t: Array  # (L,)
    mean: Array  # (L, K) the last estimate
    made: Array  # (L, K, 2) from how many samples, and at which level's number of blocks
    moment: float
    excess: float


@jit
def _store(state, r, arm, reward):
    state.sample[r, arm, int(state.n[r, arm])] = reward
    state.n[r, arm] += 1.0
    state.t[r] += 1


@jit
def _blocks_index(state, r, k, level):
    n = state.n[r, k]
    blocks = float(int(min(1.0 + 8.0 * level, n / 2.0)))
    if state.made[r, k, 0] != n or state.made[r, k, 1] != blocks:
        state.mean[r, k] = evaluate(3, state.sample[r, k, : int(n)], level, 0.0, 0.0)
        state.made[r, k, 0], state.made[r, k, 1] = n, blocks
    power = 1.0 / (1.0 + state.excess)
    radius = (12.0 * state.moment) ** power * (16.0 * (0.125 + level) / n) ** (state.excess * power)
    return state.mean[r, k] + radius


@jit
def _catoni_index(state, r, k, level):
    n = state.n[r, k]
    if n < 4.0 * level:
        return math.inf
    mean = evaluate(4, state.sample[r, k, : int(n)], level, state.moment, 0.0)
    return mean + 2.0 * math.sqrt(state.moment * level / n)


class _Keeping(Policy):
    update = staticmethod(_store)
    _excess: float = 1.0
    _moment: float

    def state(self, learners: int, n_arms: int, plays: float, cursors: Array | None = None) -> _Samples:
        size = 8.0 * learners * n_arms * plays
        affordable(f"policy {self.name} with {learners} learners of {int(plays)} plays", size)
        shape = learners, n_arms
        return _Samples(
            np.zeros(shape), np.empty((*shape, int(plays))), np.zeros(learners, np.int64), np.zeros(shape),
            np.zeros((*shape, 2)), self._moment, self._excess,
        )  # fmt: skip


class MedianOfMeansUCB(_Keeping):
    """Robust UCB with a median of means μ̂ and index ``μ̂ + (12v)^(1/(1+e)) (16 ln(e^(1/8) t²)/N)^(e/(1+e))``.

    μ̂ is the median of the means of ``⌊min(8 ln(e^(1/8) t²), N/2)⌋`` consecutive blocks; each arm once first.

    Source: Bubeck, Cesa-Bianchi & Lugosi 2013, figure 1 with lemma 2.

    Parameters
    ----------
    moment : float
        ``v ≥ E |X − μ|^(1+e)``.
    excess : float
        e in (0, 1].
    """

    name = "Robust-UCB-MoM"
    choose = staticmethod(by_index(_blocks_index, _level))

    def __init__(self, moment: float = 1.0, excess: float = 1.0):
        self._moment, self._excess = real("moment", moment, 0), real("excess", excess, 0, 1, closed="high")
        self.order = 1.0 + self._excess


class CatoniUCB(_Keeping):
    """Robust UCB with Catoni's estimate μ̂ and index ``μ̂ + 2√(v ln t² / N)``; arms with N < 4 ln t² come first.

    A choice reads all samples.  Source: Bubeck, Cesa-Bianchi & Lugosi 2013, section 3 with lemma 3.

    Parameters
    ----------
    variance : float
        v ≥ Var X, which must be finite.
    """

    name = "Robust-UCB-Catoni"
    choose = staticmethod(by_index(_catoni_index, _level))
    order = 2.0

    def __init__(self, variance: float = 0.25):
        self._moment = real("variance", variance, 0)
