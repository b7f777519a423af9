"""Fixed-design arm selection: naive and median elimination (Even-Dar, Mannor & Mansour 2006)."""

import math
from functools import partial

from hushbandits.best_arm.routine import SILENT, VOTES, Routine
from hushbandits.best_arm.selection import best_mean, keep_only, least_pulled, observe, read, samples
from hushbandits.core import lean


def naive_length(n_arms: int, eta: float, epsilon: float) -> int:
    """Return the number of pulls of each arm, ``⌈(4/ε²) ln(2K/η)⌉`` (Even-Dar et al. 2006, algorithm 1)."""
    return math.ceil(4 / epsilon**2 * math.log(2 * n_arms / eta))


@lean
def median_length(epoch: int, eta: float, epsilon: float) -> int:
    """Return the pulls of each arm in epoch l: ``⌈(4/ε_l²) ln(3/η_l)⌉``, ``ε_l = (ε/4)(3/4)^(l−1)``, ``η_l = η/2^l``.

    Source: Even-Dar et al. 2006, algorithm 3 (median elimination).
    """
    precision = epsilon / 4.0 * 0.75 ** (epoch - 1)
    return math.ceil(4.0 / (precision * precision) * math.log(3.0 * 2.0**epoch / eta))


@lean
def _plan(state, r, n, p, active, arms, uniforms):
    local, pulls = state.local[r, n], state.pulls[r, n]
    if read(local, active) == 0:
        return 0
    arms[least_pulled(local, pulls)] = True
    return 1


@lean
def _learn(state, r, n, p, arms, reward, uniforms, vote):
    local, sums, pulls = state.local[r, n], state.sums[r, n], state.pulls[r, n]
    if observe(local, sums, pulls, arms, reward) < 0:
        return SILENT
    for k in range(local.size):
        if local[k] and pulls[k] < state.mark[r, n]:  # the pulls of each arm that are due in this epoch
            return SILENT
    halved, eta, epsilon = p
    if not halved:
        keep_only(local, best_mean(local, sums, pulls), vote)
        return VOTES
    for _ in range(local.sum() // 2):  # the lower half, the last one on ties
        worst, bottom = -1, math.inf
        for k in range(local.size):
            if local[k] and sums[k] / pulls[k] <= bottom:
                worst, bottom = k, sums[k] / pulls[k]
        local[worst] = False
        vote[worst] = True
    sums[:] = 0.0
    pulls[:] = 0
    state.stage[r, n] += 1
    state.mark[r, n] = median_length(state.stage[r, n], eta, epsilon)
    return VOTES


def naive_elimination(n_arms: int, eta: float, epsilon: float) -> Routine:
    """Return naive elimination, which pulls every arm `naive_length` times and keeps the best."""
    return Routine(partial(samples, mark=naive_length(n_arms, eta, epsilon)), (0.0, eta, epsilon), _plan, _learn)


def median_elimination(n_arms: int, eta: float, epsilon: float) -> Routine:
    """Return median elimination, which eliminates arms below the median after `median_length` new pulls per arm.

    Exactly half of them, rounded down, so that ⌈log₂ K⌉ epochs suffice; of equal arms the later ones.
    """
    return Routine(partial(samples, mark=int(median_length(1, eta, epsilon))), (1.0, eta, epsilon), _plan, _learn)
