"""Arm selection by successive elimination: SE, SER3, SER4 and KL-Racing.

All remaining arms are pulled once per pass; after a pass, what is surely not the best is given up.
"""

import math

from hushbandits.best_arm.routine import RESETS, SILENT, VOTES, Routine
from hushbandits.best_arm.selection import add, best_mean, least_pulled, pick, pick_any, read, samples
from hushbandits.core import lean
from hushbandits.core.utils.jit import inlined
from hushbandits.policies.kl import kl_lower, kl_upper


@lean
def pass_gap(n_arms: int, tau: int, eta: float) -> float:
    """Return the gap ``2√(ln(4Kτ²/η)/(2τ))`` that eliminates an arm after pass τ.

    Arm k is eliminated after pass τ if ``μ̂_max − μ̂_k + ε`` is at least this gap.

    Source: Even-Dar et al. 2006, algorithm 2; Allesiardo, Féraud & Maillard 2017, SER3.
    """
    return 2.0 * math.sqrt(math.log(4.0 * n_arms * float(tau) * float(tau) / eta) / (2.0 * tau))


@lean
def kl_level(n_arms: int, t: int, eta: float) -> float:
    """Return ``ln(405.5 K t^1.1/η)``, the exploration rate of KL-Racing and KL-LUCB.

    Source: Kaufmann & Kalyanakrishnan 2013, theorem 1, at α = 1.1 (whose k₁ is 405.5).
    """
    return math.log(405.5 * n_arms * float(t) ** 1.1 / eta)


@lean
def _plan(state, r, n, p, active, arms, uniforms):
    # A pass goes through the remaining arms with the fewest pulls.  SER3 draws the next of them; so does SER4, and
    # the die of the reset.
    local, pulls, rank = state.local[r, n], state.pulls[r, n], 0
    size = read(local, active)
    state.stage[r, n] = 0
    if uniforms.size > 1:
        state.mark[r, n] = uniforms[1] < p[2]  # whether this activation resets
        if size == 0:  # it plays on: whatever the others still hold
            return pick_any(active, arms, int(uniforms[0] * active.sum()))
    if size == 0:
        return 0
    fewest, ties = pulls[least_pulled(local, pulls)], 0
    for k in range(local.size):
        ties += local[k] and pulls[k] == fewest
    state.stage[r, n] = ties if size > 1 else 0  # arms left in the pass
    if uniforms.size > 0:
        rank = int(uniforms[0] * ties)
    return pick(local, pulls, fewest, arms, rank)


@inlined
def _pass(state, r, n, arms, reward):
    # Take the reward in; return τ if that completes a pass over two arms or more, else 0.
    pulls, left = state.pulls[r, n], state.stage[r, n]
    if left == 0:
        return 0
    pulled = add(state.sums[r, n], pulls, arms, reward)
    return pulls[pulled] if left == 1 else 0


@lean
def _learn(state, r, n, p, arms, reward, uniforms, vote):
    if state.mark[r, n]:
        if not p[3]:
            return RESETS
        state.local[r, n] = True
        state.sums[r, n] = 0.0
        state.pulls[r, n] = 0
        return SILENT
    tau = _pass(state, r, n, arms, reward)
    if tau == 0:
        return SILENT
    local, sums, pulls = state.local[r, n], state.sums[r, n], state.pulls[r, n]
    best = best_mean(local, sums, pulls)
    top, gap, dropped = sums[best] / tau, pass_gap(arms.size, tau, p[0]), SILENT
    for k in range(arms.size):
        if local[k] and k != best and top - sums[k] / tau + p[1] >= gap:
            local[k] = False
            vote[k] = not p[3]
            dropped = VOTES
    return dropped


@lean
def _learn_kl(state, r, n, p, arms, reward, uniforms, vote):
    tau = _pass(state, r, n, arms, reward)
    if tau == 0:
        return SILENT
    local, sums, pulls = state.local[r, n], state.sums[r, n], state.pulls[r, n]
    best = best_mean(local, sums, pulls)
    worst, bottom = -1, math.inf
    for k in range(arms.size):
        if local[k] and k != best and sums[k] <= bottom:
            worst, bottom = k, sums[k]
    level = kl_level(arms.size, tau, p[0]) / tau
    if kl_upper(sums[worst] / tau, level) - kl_lower(sums[best] / tau, level) < p[1]:
        local[worst] = False
        vote[worst] = True
        return VOTES
    return SILENT


def successive_elimination_by_passes(n_arms: int, eta: float, epsilon: float) -> Routine:
    """Return successive elimination with passes in index order (Even-Dar et al. 2006, algorithm 2)."""
    return Routine(samples, (eta, epsilon, 0.0, 0.0), _plan, _learn)


def ser3(n_arms: int, eta: float, epsilon: float) -> Routine:
    """Return SER3, successive elimination that shuffles the arms in every pass (Allesiardo et al. 2017)."""
    return Routine(samples, (eta, epsilon, 0.0, 0.0), _plan, _learn, draws=1)


def ser4(n_arms: int, eta: float, epsilon: float, phi: float = 1e-4, alone: bool = False) -> Routine:
    """Return SER4, a SER3 in which each pull causes a reset with probability φ (Allesiardo et al. 2017).

    Parameters
    ----------
    phi : float
        φ: probability of a reset.
    alone : bool
        Whether a reset affects this player only, which never votes; otherwise all players and all votes.
    """
    params, resets = (eta, epsilon, phi, float(alone)), phi > 0 and not alone
    return Routine(samples, params, _plan, _learn, draws=2, resets=resets)


def kl_racing(n_arms: int, eta: float, epsilon: float) -> Routine:
    """Return KL-Racing: the worst arm is eliminated if its upper bound is less than ε above the best arm's lower bound.

    Source: Kaufmann & Kalyanakrishnan 2013, algorithm 1 with m = 1, where the best can be accepted only once the
    worst can be given up, and the worst comes first.
    """
    return Routine(samples, (eta, epsilon, 0.0, 0.0), _plan, _learn_kl, unit_interval=True)
