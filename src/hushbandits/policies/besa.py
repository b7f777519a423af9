"""BESA, best empirical sampled average, which compares arms on samples of equal size."""

from typing import NamedTuple

import numpy as np

from hushbandits.core import Array, affordable, jit
from hushbandits.policies.draws import below, uniform
from hushbandits.policies.policy import Policy


class _Rewards(NamedTuple):
    n: Array  # (L, K)
    first: Array  # (L, K) an arm's last reward in the pool, −1: none; each points to the one before
    used: Array  # (L,)
    next: Array  # (L, n)
    value: Array  # (L, n)
    seeds: Array  # (L, K) room for a tournament
    cursors: Array  # (L, 10)


@jit
def _sampled_mean(state, r, k, m):
    """Return the mean of m rewards of arm k, drawn without replacement (Knuth's selection sampling)."""
    left, wanted, total, i = state.n[r, k], m, 0.0, state.first[r, k]
    while wanted > 0:
        if left <= wanted or uniform(state.cursors, r) * left < wanted:
            total += state.value[r, i]
            wanted -= 1
        left -= 1
        i = state.next[r, i]
    return total / m


@jit
def _duel(state, r, a, b):
    fewest = min(state.n[r, a], state.n[r, b])
    if fewest == 0:
        return a if state.n[r, a] == 0 else b
    x, y = _sampled_mean(state, r, a, fewest), _sampled_mean(state, r, b, fewest)
    if x != y:
        return a if x > y else b
    return a if state.n[r, a] <= state.n[r, b] else b  # on a tie, the arm played less


@jit
def _tournament(state, r):
    arms = state.n.shape[1]
    seeds = state.seeds[r]
    for k in range(arms):
        seeds[k] = k
    for k in range(arms - 1, 0, -1):
        j = below(state.cursors, r, k + 1)
        seeds[k], seeds[j] = seeds[j], seeds[k]
    while arms > 1:  # each pass halves the arms: winners of pairs go on, and the last of an odd number
        for i in range(arms // 2):
            seeds[i] = _duel(state, r, seeds[2 * i], seeds[2 * i + 1])
        if arms % 2:
            seeds[arms // 2] = seeds[arms - 1]
        arms = (arms + 1) // 2
    return seeds[0]


@jit
def _append(state, r, arm, reward):
    i = state.used[r]
    state.used[r] += 1
    state.value[r, i], state.next[r, i] = reward, state.first[r, arm]
    state.first[r, arm] = i
    state.n[r, arm] += 1


class BESA(Policy):
    """BESA: a tournament of arms in random order, which compares two arms on random samples of equal size.

    Samples are drawn without replacement; on a tie the arm played less goes on.  A choice reads all rewards, so a run
    takes time quadratic in its plays.

    Source: Baransi, Maillard & Mannor 2014, "Sub-sampling for Multi-armed Bandits", BESA.
    """

    choose = staticmethod(_tournament)
    update = staticmethod(_append)
    random = True

    def state(self, learners: int, n_arms: int, plays: float, cursors: Array | None = None) -> _Rewards:
        assert cursors is not None
        pool, shape = (learners, int(plays)), (learners, n_arms)
        affordable(f"policy {self.name} with {learners} learners of {int(plays)} plays", 16.0 * learners * plays)
        return _Rewards(
            np.zeros(shape, np.int64), np.full(shape, -1), np.zeros(learners, np.int64), np.empty(pool, np.int64),
            np.empty(pool), np.zeros(shape, np.int64), cursors,
        )  # fmt: skip
