"""Differentially private successive elimination in epochs (Sajed & Sheffet 2019), as in DP-MASE, and its scalar rules.

Several agents share the rules; those in batches are of Chowdhury & Zhou 2023, lemma 2.
"""

import math
from functools import partial

import numpy as np

from hushbandits.best_arm.elimination import epochs, plan_all
from hushbandits.best_arm.routine import Routine
from hushbandits.best_arm.selection import pick_any
from hushbandits.core import lean
from hushbandits.privacy.laplace import laplace


@lean
def epoch_length(m: int, e: int, epsilon: float, beta: float) -> float:
    """Return R(e), the number of pulls of each arm in epoch e with m arms left.

    It is ``⌊max{32 ln(8me²/β)/Δ_e², 8 ln(4me²/β)/(εΔ_e)}⌋ + 1`` with ``Δ_e = 2^(−e)``.

    A float: beyond 2⁵³ it is no exact count, and callers refuse or cut it.
    """
    gap = 2.0**-e
    samples = 32.0 * math.log(8.0 * m * e * e / beta) / (gap * gap)
    private = 8.0 * math.log(4.0 * m * e * e / beta) / (epsilon * gap)
    return np.floor(max(samples, private)) + 1.0  # math.floor, compiled, is an integer of 64 bits


@lean
def radii(m: int, e: int, epsilon: float, beta: float, r: float) -> tuple[float, float]:
    """Return the sampling radius ``h = √(ln(8me²/β)/(2R))`` and the noise radius ``c = ln(4me²/β)/(εR)``.

    m arms remain in epoch e, and R is the number of pulls of each.
    """
    h = math.sqrt(math.log(8.0 * m * e * e / beta) / (2.0 * r))
    c = math.log(4.0 * m * e * e / beta) / (epsilon * r)
    return h, c


@lean
def batch_radius(m: int, b: int, p: float, n: float, sigma: float, h: float) -> float:
    """Return the radius ``β(b) = √(ln(4mb²/p)/(2n)) + σ√ln(2mb²/p)/n + h ln(2mb²/p)/n`` of batch b.

    m arms are active, each with n users.

    σ and h bound the protocol's noise on a sum: ``|noise| ≤ σ√ln(2/p) + h ln(2/p)`` with probability 1 − p
    (Chowdhury & Zhou 2023, lemma 2).
    """
    tail = math.log(2.0 * m * b * b / p)
    return math.sqrt(math.log(4.0 * m * b * b / p) / (2.0 * n)) + sigma * math.sqrt(tail) / n + h * tail / n


@lean
def eliminate(mean, active, width):
    """Drop from `active` each arm whose ``mean + width`` is below the best ``mean − width``; return how many are left.

    Examples
    --------
    >>> import numpy as np
    >>> active = np.array([True, True, False])
    >>> eliminate(np.array([0.9, 0.2, 1.0]), active, 0.3), active.tolist()
    (1, [True, False, False])
    """
    best = -math.inf
    for k in range(mean.size):
        if active[k]:
            best = max(best, mean[k] - width)
    left = 0
    for k in range(mean.size):
        if active[k] and mean[k] + width < best:
            active[k] = False
        left += active[k]
    return left


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
    plan = _plan_turn if single else plan_all
    return Routine(begin, params, plan, _learn, _sync, uniforms=n_arms, several=not single)
