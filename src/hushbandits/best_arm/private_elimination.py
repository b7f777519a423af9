"""Differentially private successive elimination in epochs (Sajed & Sheffet 2019), as in DP-MASE."""

import math
from functools import partial

from hushbandits.best_arm.elimination import epochs, plan_all
from hushbandits.best_arm.routine import Routine
from hushbandits.best_arm.selection import pick_any
from hushbandits.best_arm.successive import epoch_length, radii
from hushbandits.core import lean
from hushbandits.privacy.laplace import laplace


@lean
def _plan_turn(state, r, n, p, active, arms, uniforms):
    # R pulls of the first arm that is left, then of the next one
    local = state.local[r, n]
    if local.sum() <= 1:
        return 0
    return pick_any(local, arms, state.pulls[r, n] // state.due[r, n])


@lean
def _learn(state, r, n, p, arms, reward, uniforms, vote):
    local, sums, due = state.local[r, n], state.sums[r, n], state.due[r, n]
    epsilon, beta, single = p
    for k in range(arms.size):
        if arms[k]:
            sums[k] += reward[k]
    state.pulls[r, n] += 1
    if state.pulls[r, n] < (due * local.sum() if single else due):
        return False
    h, c = radii(local.sum(), state.epoch[r, n], epsilon, beta, due)
    best = -math.inf
    for k in range(local.size):  # sums become noisy means μ̃; they are reset right after
        if local[k]:
            sums[k] = sums[k] / due + laplace(uniforms[k], 1.0 / (epsilon * due))
            best = max(best, sums[k])
    for k in range(local.size):
        if local[k] and best - sums[k] > 2.0 * (h + c):
            vote[k] = True
            local[k] = False
    return True


@lean
def _sync(state, r, n, p, active):
    # End of the epoch: 𝒦_n ← 𝒦_n ∩ 𝒦, forget the means, and on to the next.
    local = state.local[r, n]
    local &= active
    state.sums[r, n] = 0.0
    state.pulls[r, n] = 0
    state.epoch[r, n] += 1
    m = local.sum()
    if m > 1:
        due = epoch_length(m, state.epoch[r, n], p[0], p[1])
        if due > 2.0**53:
            raise ValueError("epsilon is so small that an epoch would last more than 2^53 activations")
        state.due[r, n] = due


def private_elimination(n_arms: int, epsilon: float, beta: float, single: bool = False) -> Routine:
    """Return private elimination, which votes out arms by noised means after each epoch.

    Epoch e pulls every remaining arm R(e) times (`epoch_length`).

    `single`: one arm in an activation, R(e) times, then the next.  Source: Rio et al. 2023, algorithm 4; Sajed &
    Sheffet 2019.
    """
    first = epoch_length(n_arms, 1, epsilon, beta)
    if first > 2**53:
        raise ValueError(f"epsilon={epsilon:g} makes epoch 1 last {first:.3g} activations; at most 2^53 are allowed")
    begin, params = partial(epochs, due=int(first)), (epsilon, beta, float(single))
    if single:
        return Routine(begin, params, _plan_turn, _learn, _sync, uniforms=n_arms)
    return Routine(begin, params, plan_all, _learn, _sync, uniforms=n_arms, several=True)
