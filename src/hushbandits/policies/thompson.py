"""Thompson sampling: Beta–Bernoulli and Gaussian."""

import math
from typing import NamedTuple

import numpy as np

from hushbandits.core import Array, lean, real
from hushbandits.policies.draws import largest_beta, normal, uniform
from hushbandits.policies.policy import Counting, Drawing, Policy, by_index, nothing_shared, sums


class _Counts(NamedTuple):
    wins: Array  # (L, K)
    losses: Array  # (L, K)
    cursors: Array  # (L, 10)


@lean
def _draw_beta(state, r):
    return largest_beta(state.cursors, r, state.wins[r], state.losses[r], 1.0)


@lean
def _toss(state, r, arm, reward):
    # a reward between 0 and 1 is tossed to one of the two: algorithm 2 of Agrawal & Goyal
    if reward >= 1.0 or (reward > 0.0 and uniform(state.cursors, r) < reward):
        state.wins[r, arm] += 1.0
    else:
        state.losses[r, arm] += 1.0


class ThompsonSampling(Policy):
    """Beta–Bernoulli Thompson sampling, which plays the arm with the largest draw from ``Beta(S_k + 1, F_k + 1)``.

    A reward in (0, 1) counts as a success with that probability.  Source: Agrawal & Goyal 2012, "Analysis of Thompson
    Sampling for the Multi-armed Bandit Problem", algorithms 1 and 2.
    """

    name = "TS"
    unit_interval = True
    choose = staticmethod(_draw_beta)
    update = staticmethod(_toss)
    random = True

    def state(self, learners: int, n_arms: int, plays: float, cursors: Array | None = None) -> _Counts:
        assert cursors is not None
        return _Counts(np.zeros((learners, n_arms)), np.zeros((learners, n_arms)), cursors)


@lean
def _draw_normal(state, r, k, _):
    n = state.n[r, k] + 1.0
    return state.s[r, k] / n + state.parameter * normal(state.cursors, r) / math.sqrt(n)


class GaussianTS(Counting):
    """Gaussian Thompson sampling, which plays the arm with the largest draw from ``N(s_k/(n_k + 1), σ²/(n_k + 1))``.

    Source: Agrawal & Goyal 2013, "Further Optimal Regret Bounds for Thompson Sampling", algorithm 2 (σ = 1).

    Parameters
    ----------
    sigma : float
        σ of the posterior's law.
    """

    name = "TS-Gaussian"
    choose = staticmethod(by_index(_draw_normal, nothing_shared, once=False))
    random = True

    def __init__(self, sigma: float = 1.0):
        self.sigma = real("sigma", sigma, 0)

    def state(self, learners: int, n_arms: int, plays: float, cursors: Array | None = None) -> Drawing:
        assert cursors is not None
        return Drawing(*sums(learners, n_arms), cursors, self.sigma)
