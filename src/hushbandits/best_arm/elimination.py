"""Successive elimination (Even-Dar, Mannor & Mansour 2006) as a routine of voting agents."""

import math
from typing import NamedTuple

import numpy as np

from hushbandits.best_arm.routine import Routine
from hushbandits.core import Array, lean


def confidence_under_loss(eta: float, xi: float, n_arms: int) -> float:
    """Return ``η_ξ = 1 − (1 − η)/(1 − ξ)^(K−1)``, an agent's failure probability for level η under vote loss ξ.

    Source: Rio et al. 2023, proposition 5.1.

    Raises
    ------
    ValueError
        η_ξ ≤ 0: the method ends at ``ξ = 1 − (1 − η)^(1/(K−1))``.
    """
    value = 1 - (1 - eta) / (1 - xi) ** (n_arms - 1) if xi < 1 else -math.inf
    if value <= 0:
        largest = 1 - (1 - eta) ** (1 / (n_arms - 1))
        raise ValueError(f"xi={xi:g} must be below {largest:.6g} for eta={eta:g} and {n_arms} arms")
    return value


@lean
def elimination_gap(n_arms: int, t: int, failure: float) -> float:
    """Return ``2√(ln(K t²/p)/t)``: after t pulls of each arm, arms this far below the best mean are eliminated.

    Source: Even-Dar et al. 2006, algorithm 3; Rio et al. 2023, algorithm 3.
    """
    return 2.0 * math.sqrt(math.log(n_arms * float(t) * float(t) / failure) / t)


class Epochs(NamedTuple):
    """The samples of agents that pull each remaining arm equally often in an epoch."""

    local: Array  # (R, N, K) 𝒦_n
    sums: Array  # (R, N, K) rewards of each remaining arm, of this epoch if there are any
    pulls: Array  # (R, N) activations
    epoch: Array  # (R, N) e
    due: Array  # (R, N) how many activations this epoch lasts


def epochs(runs: int, n: int, k: int, due: int = 0) -> Epochs:
    """Return the initial state of agents without samples."""
    return Epochs(
        local=np.ones((runs, n, k), bool),
        sums=np.zeros((runs, n, k)),
        pulls=np.zeros((runs, n), np.int64),
        epoch=np.ones((runs, n), np.int64),
        due=np.full((runs, n), due, np.int64),
    )


@lean
def plan_all(state, r, n, p, active, arms, uniforms):
    """Mark in `arms` all remaining arms, or no arm if at most one remains; return the number of marked arms."""
    local = state.local[r, n]
    size = local.sum()
    if size <= 1:
        return 0
    for k in range(arms.size):
        arms[k] = local[k]
    return size


@lean
def _learn(state, r, n, p, arms, reward, uniforms, vote):
    best = -math.inf
    for k in range(arms.size):
        if arms[k]:
            state.sums[r, n, k] += reward[k]
            best = max(best, state.sums[r, n, k])
    state.pulls[r, n] += 1
    t = state.pulls[r, n]
    gap = t * elimination_gap(arms.size, t, p[0])  # compare sums instead of means
    for k in range(arms.size):
        if arms[k] and best - state.sums[r, n, k] >= gap:
            vote[k] = True
            state.local[r, n, k] = False
    return True


@lean
def drop_outsiders(state, r, n, p, active):
    """Remove the arms that are not in 𝒦 (`active`) from the remaining arms of agent n."""
    local = state.local[r, n]
    local &= active


def successive_elimination(failure: float) -> Routine:
    """Return successive elimination, which votes out arms whose mean is at least `elimination_gap` below the best."""
    return Routine(epochs, (failure,), plan_all, _learn, drop_outsiders, several=True)
