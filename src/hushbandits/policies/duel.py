"""Relative UCB for dueling bandits: actions are pairs of arms."""

import math
from typing import NamedTuple

import numpy as np

from hushbandits.core import Array, jit, real
from hushbandits.policies.draws import below, uniform
from hushbandits.policies.policy import Policy


class _Duels(NamedTuple):
    wins: Array  # (L, A, A) of the first over the second
    t: Array  # (L,)
    champion: Array  # (L,) 𝓑, −1: none
    strong: Array  # (L, A) buffer for 𝓒
    cursors: Array  # (L, 10)
    alpha: float


@jit
def _bound(state, r, i, j, log_t):
    # u_ij = w_ij/(w_ij + w_ji) + √(α ln t/(w_ij + w_ji)), x/0 = 1, u_ii = ½
    if i == j:
        return 0.5
    n = state.wins[r, i, j] + state.wins[r, j, i]
    return 2.0 if n == 0.0 else state.wins[r, i, j] / n + math.sqrt(state.alpha * log_t / n)


@jit
def _challenge(state, r):
    arms, log_t = state.wins.shape[1], math.log(state.t[r] + 1.0)
    strong, size = state.strong[r], 0
    for i in range(arms):
        strong[i] = True
        for j in range(arms):
            if _bound(state, r, i, j, log_t) < 0.5:
                strong[i] = False
        size += strong[i]
    b = state.champion[r]
    if b >= 0 and not strong[b]:
        b = -1
    if size == 1:
        for i in range(arms):
            if strong[i]:
                b = i
    state.champion[r] = b
    first = b
    if size == 0:
        first = below(state.cursors, r, arms)
    elif size > 1 and (b < 0 or uniform(state.cursors, r) >= 0.5):
        rank = below(state.cursors, r, size - (b >= 0))  # among 𝓒 without 𝓑
        for i in range(arms):
            if strong[i] and i != b:
                if rank == 0:
                    first = i
                rank -= 1
    second, top = first, -1.0
    for j in range(arms):
        x = _bound(state, r, j, first, log_t)
        if x > top:
            second, top = j, x
    return first * arms + second


@jit
def _settle(state, r, pair, reward):
    arms = state.wins.shape[1]
    first, second = pair // arms, pair % arms
    if reward > 0.5:
        state.wins[r, first, second] += 1.0
    else:
        state.wins[r, second, first] += 1.0
    state.t[r] += 1


class RelativeUCB(Policy):
    """RUCB: actions are pairs ``first · A + second`` of A arms; the reward is 1 if the first arm wins.

    With ``u_ij = w_ij/(w_ij + w_ji) + √(α ln t/(w_ij + w_ji))``: 𝓒 are the arms whose u is at least ½ against all.  The
    first arm is drawn from 𝓒, with probability ½ the hypothesised winner 𝓑 if there is one; the second has the largest
    ``u_{·,first}``, the lowest index on ties.

    Source: Zoghi, Whiteson, Munos & de Rijke 2014, "Relative Upper Confidence Bound for the K-Armed Dueling Bandit
    Problem", algorithm 1.

    Parameters
    ----------
    alpha : float
        α > ½.
    """

    name = "RUCB"
    choose = staticmethod(_challenge)
    update = staticmethod(_settle)
    random = True

    def __init__(self, alpha: float = 0.51):
        self.alpha = real("alpha", alpha, 0.5)

    def state(self, learners: int, n_arms: int, plays: float, cursors: Array | None = None) -> _Duels:
        """Return the initial state, without any duels.

        Raises
        ------
        ValueError
            The number of actions is not a square.
        """
        assert cursors is not None
        arms = math.isqrt(n_arms)
        if arms * arms != n_arms:
            raise ValueError(f"policy RUCB plays pairs: n_arms={n_arms} must be a square, as in DuelingNetwork-v0")
        return _Duels(
            np.zeros((learners, arms, arms)), np.zeros(learners, np.int64), np.full(learners, -1),
            np.zeros((learners, arms), np.bool_), cursors, self.alpha,
        )  # fmt: skip
