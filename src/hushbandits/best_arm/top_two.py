"""AdaP-TT (Azize, Jourdan, Al Marjani & Basu 2023) as a routine: top two under differential privacy."""

import math
from typing import NamedTuple

import numpy as np

from hushbandits.best_arm.routine import SILENT, VOTES, Routine
from hushbandits.best_arm.selection import keep_only
from hushbandits.core import Array, lean
from hushbandits.privacy.laplace import laplace


class TopTwo(NamedTuple):
    """The samples of all agents, divided into phases separately for each arm."""

    local: Array  # (R, N, K) 𝒦_n: all arms until it stops
    mean: Array  # (R, N, K) μ̃, of the last phase
    closed: Array  # (R, N, K) N, pulls of all closed phases
    last: Array  # (R, N, K) s, pulls of the last of them
    open: Array  # (R, N, K) P, pulls of the open phase
    sums: Array  # (R, N, K) and their rewards
    noise: Array  # (R, N) noise of a phase that closes now


def _begin(runs: int, n: int, k: int) -> TopTwo:
    mean, closed, last, opened, sums = np.zeros((5, runs, n, k))
    return TopTwo(np.ones((runs, n, k), bool), mean, closed, last, opened, sums, np.zeros((runs, n)))


@lean
def top_two_threshold(b: float, j: float, epsilon: float, delta: float) -> float:
    """Return AdaP-TT's threshold ``ln(1/δ) + ln(1 + ln s_b) + ln(1 + ln s_j) + (1/s_b + 1/s_j) ln²(1/δ)/ε²``.

    `b` and `j` are s_b and s_j, the numbers of pulls of two arms in their last phases.
    """
    log = -math.log(delta)
    return log + math.log(1.0 + math.log(b)) + math.log(1.0 + math.log(j)) + (1.0 / b + 1.0 / j) * (log / epsilon) ** 2


@lean
def _leader(mean, last, log_n, epsilon):
    # line 3: B, the first one on ties
    best, top = 0, -math.inf
    for k in range(mean.size):
        x = mean[k] + log_n / (epsilon * last[k]) + math.sqrt(log_n / (2.0 * last[k]))
        if x > top:
            best, top = k, x
    return best


@lean
def _challenger(state, r, n, best, total):
    # line 4: C, of the smallest transportation cost, with κ(n) = 1/(1 + √n)
    mean, closed, opened = state.mean[r, n], state.closed[r, n], state.open[r, n]
    rival, least = -1, math.inf
    for k in range(mean.size):
        if k != best:
            spread = math.sqrt(1.0 / (closed[best] + opened[best]) + 1.0 / (closed[k] + opened[k]))
            x = (mean[best] - mean[k] + 1.0 / (1.0 + math.sqrt(total))) / spread
            if x < least:
                rival, least = k, x
    return rival


@lean
def _plan(state, r, n, p, active, arms, uniforms):
    if state.local[r, n].sum() <= 1:
        return 0
    closed = state.closed[r, n]
    state.noise[r, n] = uniforms[1]
    for k in range(arms.size):
        if closed[k] == 0.0:  # line 1
            arms[k] = True
            return 1
    total = closed.sum()
    best = _leader(state.mean[r, n], state.last[r, n], math.log(total), p[0])
    arms[best if uniforms[0] < p[2] else _challenger(state, r, n, best, total)] = True  # line 5
    return 1


@lean
def _stops(mean, last, best, epsilon, delta):
    # line 8, of gaps' positive parts
    for k in range(mean.size):
        if k != best:
            gap = max(mean[best] - mean[k], 0.0)
            threshold = top_two_threshold(last[best], last[k], epsilon, delta)
            if 0.5 * gap * gap / (1.0 / last[best] + 1.0 / last[k]) < threshold:
                return False
    return True


@lean
def _learn(state, r, n, p, arms, reward, uniforms, vote):
    mean, closed, last, opened = state.mean[r, n], state.closed[r, n], state.last[r, n], state.open[r, n]
    pulled = arms.argmax()
    state.sums[r, n, pulled] += reward[pulled]
    opened[pulled] += 1.0
    length = opened[pulled]
    if length < closed[pulled]:
        return SILENT
    # line 7; of the first pull, line 1
    mean[pulled] = state.sums[r, n, pulled] / length + laplace(state.noise[r, n], 1.0 / (p[0] * length))
    last[pulled], opened[pulled], state.sums[r, n, pulled] = length, 0.0, 0.0
    closed[pulled] += length
    if closed[pulled] == 1.0:
        return SILENT
    best = _leader(mean, last, math.log(closed.sum()), p[0])
    if not _stops(mean, last, best, p[0], p[1]):
        return SILENT
    keep_only(state.local[r, n], best, vote)
    return VOTES


def top_two(epsilon: float, delta: float, beta: float) -> Routine:
    """Return AdaP-TT, which pulls the leader with probability β, else the challenger; noised means decide on both.

    Source: Azize, Jourdan, Al Marjani & Basu 2023, AdaP-TT, with the empirical threshold (`top_two_threshold`).
    """
    return Routine(_begin, (epsilon, delta, beta), _plan, _learn, draws=2)
