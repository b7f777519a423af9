"""Martínez-Rubio, Kanade & Rebeschini 2019, "Decentralized Cooperative Stochastic Bandits": DDUCB."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from hushbandits.baselines.gossip import Gossip, second_eigenvalue
from hushbandits.core.jit import jit
from hushbandits.core.types import Array, Seeds
from hushbandits.core.validate import flag, real
from hushbandits.core.world import World

__all__ = ["DDUCB", "chebyshev", "stage_length"]


def stage_length(agents: int, second: float, epsilon: float) -> int:
    """``C = ⌈ln(2M/ε) / √(2 ln(1/|λ₂|))⌉``, at least 1: rounds until a mixed sum is within ε of the average.

    Examples
    --------
    >>> stage_length(16, 0.9, 1 / 22), stage_length(16, 0.0, 1 / 22)
    (15, 1)
    """
    if second <= 0.0:
        return 1
    return max(1, math.ceil(math.log(2 * agents / epsilon) / math.sqrt(-2 * math.log(second))))


def chebyshev(second: float, steps: int) -> Array:
    """Coefficients (a, b) of ``y_{r+1} = a P y_r − b y_{r−1}``, r = 0 … steps − 1, ``(steps, 2)``.

    After r steps y is ``T_r(P/|λ₂|) y₀ / T_r(1/|λ₂|)`` with T the Chebyshev polynomials: ``w_{r+1} = 2w_r/|λ₂| −
    w_{r−1}`` from w₀ = 1 and w₁ = 1/|λ₂|, ``a = 2w_r/(|λ₂| w_{r+1})``, ``b = w_{r−1}/w_{r+1}``; the first step is P.

    Examples
    --------
    >>> chebyshev(0.5, 2).round(4).tolist()
    [[1.0, 0.0], [1.1429, 0.1429]]
    """
    found = np.zeros((steps, 2))
    found[0] = 1.0, 0.0
    ratio = second  # w_{r−1}/w_r, which stays finite where w does not
    for r in range(1, steps):
        after = 1.0 / (2.0 / second - ratio)  # w_r/w_{r+1}
        found[r] = 2.0 * after / second, ratio * after
        ratio = after
    return found


class _Buffers(NamedTuple):
    usable: Array  # (2, R, M, K) α: sums and counts, of the average agent
    mixed: Array  # (2, R, M, K) what earlier stages have mixed
    fresh: Array  # (2, R, M, K) γ: this stage's own
    one: Array  # (R, M, K) β's sums
    two: Array  # (R, M, K) and counts
    now: Array  # (2, R, M, K) β before this step
    before: Array  # (2, R, M, K) and a step earlier
    arm: Array  # (R, M) the stage's
    step: Array  # (R,)
    known: Array  # (R,) s: pulls of the network that α stands for
    length: Array  # (G,) C
    weight: Array  # (G, C, 2)
    scale: float  # 2ησ²
    rechoose: bool
    arms: int


@jit
def _best(own, r, m):
    agents, best, top = own.usable.shape[2], 0, -math.inf
    explored = own.scale * math.log(own.known[r]) / agents
    for k in range(own.arms):
        n = own.usable[1, r, m, k]
        # accelerated mixing may leave a count at or below 0: such an arm is not known
        x = math.inf if n <= 0.0 else own.usable[0, r, m, k] / n + math.sqrt(explored / n)
        if x > top:
            best, top = k, x
    return best


@jit
def _choose(own, r, m, t):
    if t <= own.arms:
        return t - 1
    if own.known[r] == 0.0:
        own.known[r] = own.arms
    if own.rechoose or own.step[r] == 0:
        own.arm[r, m] = _best(own, r, m)
    return own.arm[r, m]


@jit
def _learn(own, r, m, arm, reward):
    agents = own.usable.shape[2]
    if own.known[r] == 0.0:  # the first pull of each arm
        own.one[r, m, arm] = own.now[0, r, m, arm] = reward
        own.two[r, m, arm] = own.now[1, r, m, arm] = 1.0
    else:
        own.fresh[0, r, m, arm] += reward
        own.fresh[1, r, m, arm] += 1.0
        if not own.rechoose:
            return
    own.usable[0, r, m, arm] += reward / agents
    own.usable[1, r, m, arm] += 1.0 / agents


@jit
def _step(own, r, y, i, a, b):
    now, before = own.now[i, r], own.before[i, r]
    for m in range(now.shape[0]):
        for k in range(now.shape[1]):
            x = a * y[r, m, k] - b * before[m, k]
            before[m, k], now[m, k], y[r, m, k] = now[m, k], x, x


# Number by number: a slice of arrays assigned takes Numba seconds to compile.
@jit
def _forget(arrays, r):
    for i in range(arrays.shape[0]):
        for m in range(arrays.shape[2]):
            for k in range(arrays.shape[3]):
                arrays[i, r, m, k] = 0.0


@jit
def _begin_stage(own, r, y, i):
    fresh, mixed, agents = own.fresh, own.mixed, own.usable.shape[2]
    for m in range(agents):
        for k in range(own.arms):
            mixed[i, r, m, k] += y[r, m, k]
            y[r, m, k] = own.now[i, r, m, k] = fresh[i, r, m, k]
            own.usable[i, r, m, k] = mixed[i, r, m, k]
            if own.rechoose:  # what is still to be mixed has entered as u/M already
                own.usable[i, r, m, k] += fresh[i, r, m, k] / agents


@jit
def _heard(own, r, t):
    g, agents = r % own.length.size, own.usable.shape[2]
    if own.step[r] == 0:
        _forget(own.before, r)
    a, b = own.weight[g, own.step[r], 0], own.weight[g, own.step[r], 1]
    _step(own, r, own.one, 0, a, b)
    _step(own, r, own.two, 1, a, b)
    own.step[r] += 1
    if own.step[r] < own.length[g]:
        return
    own.step[r] = 0
    own.known[r] = (t - own.length[g]) * agents
    for i in range(2):
        _begin_stage(own, r, own.two if i else own.one, i)
    _forget(own.fresh, r)


class DDUCB(Gossip):
    """DDUCB: stages of C rounds; each mixes the previous stage's sums by accelerated gossip, a step a round.

    Index ``α_r/α_n + √(2ησ² ln s / (M α_n))`` on what is mixed already; C = ⌈ln(2M/ε)/√(2 ln(1/|λ₂|))⌉; s counts the
    network's pulls in α.  One pull of each arm first, without messages; until the first stage ends α is the agent's own
    share of those.

    Parameters
    ----------
    eta : float
        η > 1.
    sigma : float
        Sub-Gaussian constant; ½ for rewards in [0, 1].
    epsilon : float
        ε, the mixing's precision.
    rechoose : bool
        False: the arm stays for a stage, as published (algorithm 1).  True: it is chosen anew every round, and own
        rewards enter at once as u/M, as in the authors' code.

    Examples
    --------
    >>> import hushbandits as hb
    >>> hb.evaluate("CoopNetwork-v0", "DDUCB", runs=2, env={"n_agents": 4, "horizon": 50}).final("regret").shape
    (2,)
    """

    choose = staticmethod(_choose)
    learn = staticmethod(_learn)
    heard = staticmethod(_heard)

    def __init__(self, eta: float = 2.0, sigma: float = 0.5, epsilon: float = 1 / 22, rechoose: bool = False):
        self.eta, self.sigma = real("eta", eta, 1), real("sigma", sigma, 0)
        self.epsilon, self.rechoose = real("epsilon", epsilon, 0, 1), flag("rechoose", rechoose)

    @property
    def name(self) -> str:
        """As registered."""
        return "DDUCB-rechoosing" if self.rechoose else "DDUCB"

    def begin(self, env: World, seeds: Seeds, matrix: Array) -> tuple[_Buffers, Array, Array]:
        """Nothing is known."""
        runs, agents, arms = len(seeds), env.n_agents, env.n_arms
        self.quiet = arms
        second = second_eigenvalue(matrix)
        length = np.array([stage_length(agents, float(x), self.epsilon) for x in second])
        weight = np.zeros((len(matrix), int(length.max()), 2))
        for g, (x, steps) in enumerate(zip(second, length, strict=True)):
            weight[g, :steps] = chebyshev(float(x), int(steps))
        one, two = np.zeros((runs, agents, arms)), np.zeros((runs, agents, arms))
        five = [np.zeros((2, runs, agents, arms)) for _ in range(5)]
        own = _Buffers(
            five[0], five[1], five[2], one, two, five[3], five[4], np.zeros((runs, agents), np.int64),
            np.zeros(runs, np.int64), np.zeros(runs), length, weight, 2.0 * self.eta * self.sigma**2, self.rechoose,
            arms,
        )  # fmt: skip
        return own, one, two
