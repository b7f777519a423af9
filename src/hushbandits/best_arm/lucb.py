"""Arm selection by confidence bounds on the best arm and a challenger: LUCB, KL-LUCB and UGapEc.

They play the empirically best arm and its strongest challenger until the gap between them is known to be small
enough; then all arms but the best are given up at once.
"""

import math
from functools import partial

from hushbandits.best_arm.racing import kl_level
from hushbandits.best_arm.routine import SILENT, VOTES, Routine
from hushbandits.best_arm.selection import best_mean, keep_only, least_pulled, observe, samples, settle
from hushbandits.core import lean
from hushbandits.policies.kl import kl_lower, kl_upper


@lean
def lucb_rate(n_arms: int, t: int, eta: float) -> float:
    """Return the rate ``½ ln(5Kt⁴/(4η))`` in round t; an arm pulled N times has the radius ``√(rate/N)``.

    Source: Kalyanakrishnan et al. 2012, section 3.1, with ``k₁ = 5/4``.
    """
    return 0.5 * math.log(1.25 * n_arms * float(t) ** 4 / eta)


@lean
def ugapec_rate(n_arms: int, total: int, eta: float) -> float:
    """Return the rate ``½ ln(4K(t − 1)³/η)`` after t − 1 = `total` pulls.

    The radius of an arm pulled N times is ``√(rate/N)``.

    Source: Gabillon, Ghavamzadeh & Lazaric 2012, eq. 3 with ``c = 1/2`` and ``b = 1``.
    """
    return 0.5 * math.log(4.0 * n_arms * float(total) ** 3 / eta)


@lean
def _duel(state, r, n, p):
    # The best arm, the one of the largest upper bound among the others, and the gap between their bounds in round t:
    # a KL ball around the mean, or Hoeffding's radius (Pinsker's inequality makes it contain the ball).
    local, sums, pulls, t = state.local[r, n], state.sums[r, n], state.pulls[r, n], state.stage[r, n]
    divergence = p[2] > 0.0
    rate = 0.5 * kl_level(local.size, t, p[0]) if divergence else lucb_rate(local.size, t, p[0])
    best = best_mean(local, sums, pulls)
    rival, top = -1, -math.inf
    for k in range(local.size):
        if local[k] and k != best:
            mean = sums[k] / pulls[k]
            upper = mean + math.sqrt(rate / pulls[k])
            if divergence and upper > top:
                upper = kl_upper(mean, 2.0 * rate / pulls[k])
            if upper > top:
                rival, top = k, upper
    mean = sums[best] / pulls[best]
    lower = kl_lower(mean, 2.0 * rate / pulls[best]) if divergence else mean - math.sqrt(rate / pulls[best])
    return best, rival, top - lower


@lean
def _simple_regret(state, r, n, p):
    # J = argmin_k B_k with B_k = max_{l ≠ k} U_l − L_k, the challenger u = argmax_{l ≠ J} U_l, and B_J.
    local, sums, pulls = state.local[r, n], state.sums[r, n], state.pulls[r, n]
    rate = ugapec_rate(local.size, pulls.sum(), p[0])
    first, second, top, runner_up = -1, -1, -math.inf, -math.inf
    for k in range(local.size):
        if local[k]:
            upper = sums[k] / pulls[k] + math.sqrt(rate / pulls[k])
            if upper > top:
                first, second, top, runner_up = k, first, upper, top
            elif upper > runner_up:
                second, runner_up = k, upper
    best, least = -1, math.inf
    for k in range(local.size):
        if local[k]:
            lower = sums[k] / pulls[k] - math.sqrt(rate / pulls[k])
            value = (runner_up if k == first else top) - lower
            if value < least:
                best, least = k, value
    return best, second if best == first else first, least


@lean
def _learn_pair(state, r, n, p, arms, reward, uniforms, vote):
    local, pulls = state.local[r, n], state.pulls[r, n]
    pulled = observe(local, state.sums[r, n], pulls, arms, reward)
    if pulled < 0 or pulls[least_pulled(local, pulls)] == 0:
        return SILENT
    second = state.mark[r, n]
    if second >= 0:
        if pulled != second:
            return SILENT
        state.mark[r, n] = -1
        state.stage[r, n] += 1
    best, _, gap = _duel(state, r, n, p)
    if gap < p[1]:
        keep_only(local, best, vote)
        return VOTES
    return SILENT


@lean
def _learn_one(state, r, n, p, arms, reward, uniforms, vote):
    local, pulls = state.local[r, n], state.pulls[r, n]
    if observe(local, state.sums[r, n], pulls, arms, reward) < 0 or pulls[least_pulled(local, pulls)] == 0:
        return SILENT
    best, rival, gap = _simple_regret(state, r, n, p)
    if gap < p[1]:
        keep_only(local, best, vote)
        return VOTES
    state.mark[r, n] = rival if pulls[rival] < pulls[best] else best  # the larger radius is that of fewer pulls
    state.stage[r, n] = local.sum()  # as long as 𝒦_n has so many arms
    return SILENT


@lean
def _plan_pair(state, r, n, p, active, arms, uniforms):
    local, pulls = state.local[r, n], state.pulls[r, n]
    settled = settle(local, pulls, active, arms)
    if settled >= 0:
        return settled
    second = state.mark[r, n]
    if second < 0 or not local[second]:  # a round that others cut short begins again
        best, second, _ = _duel(state, r, n, p)
        state.mark[r, n] = second
        arms[best] = True
    else:
        arms[second] = True
    return 1


@lean
def _plan_one(state, r, n, p, active, arms, uniforms):
    local, pulls = state.local[r, n], state.pulls[r, n]
    settled = settle(local, pulls, active, arms)
    if settled >= 0:
        return settled
    if state.mark[r, n] < 0 or state.stage[r, n] != local.sum():
        best, rival, _ = _simple_regret(state, r, n, p)
        state.mark[r, n] = rival if pulls[rival] < pulls[best] else best
    arms[state.mark[r, n]] = True
    return 1


#: The arm that is played next, where it is known: of a pair, the challenger.
_state = partial(samples, mark=-1)


def lucb(n_arms: int, eta: float, epsilon: float) -> Routine:
    """Return LUCB, which plays the best arm and its challenger until ``U(challenger) − L(best) < ε``.

    Source: Kalyanakrishnan, Tewari, Auer & Stone 2012, algorithm LUCB1 with m = 1.
    """
    return Routine(_state, (eta, epsilon, 0.0), _plan_pair, _learn_pair)


def kl_lucb(n_arms: int, eta: float, epsilon: float) -> Routine:
    """Return KL-LUCB: LUCB with KL confidence bounds (Kaufmann & Kalyanakrishnan 2013, algorithm 2 with m = 1)."""
    return Routine(_state, (eta, epsilon, 1.0), _plan_pair, _learn_pair, unit_interval=True)


def ugapec(n_arms: int, eta: float, epsilon: float) -> Routine:
    """Return UGapEc, which pulls arm J or its challenger, the one with the larger radius, until ``B_J < ε``.

    ``B_k`` is an upper bound of arm k's simple regret, and J is the arm with the smallest bound.

    Source: Gabillon et al. 2012, figures 1 and 2 with m = 1.
    """
    return Routine(_state, (eta, epsilon), _plan_one, _learn_one)
