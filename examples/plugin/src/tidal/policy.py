"""A policy."""

from typing import NamedTuple

import numpy as np

from hushbandits import Policy
from hushbandits.policies.draws import uniform


class _Known(NamedTuple):
    n: np.ndarray  # (L, K) plays
    s: np.ndarray  # (L, K) rewards
    cursors: np.ndarray  # (L, 4)


class HalfGreedy(Policy):
    """Plays a uniform arm half of the time, otherwise the best so far: a baseline with much exploration."""

    name = "Half-Greedy"
    random = True

    def state(self, learners, n_arms, plays, cursors=None):
        return _Known(np.zeros((learners, n_arms)), np.zeros((learners, n_arms)), cursors)

    @staticmethod
    def choose(state, r):
        n_arms = state.n.shape[1]
        if uniform(state.cursors, r) < 0.5:
            return int(uniform(state.cursors, r) * n_arms)
        return int((state.s[r] / (state.n[r] + 1e-9)).argmax())

    @staticmethod
    def update(state, r, arm, reward):
        state.n[r, arm] += 1
        state.s[r, arm] += reward
