"""Martínez-Rubio, Kanade & Rebeschini 2019, "Decentralized Cooperative Stochastic Bandits": DDUCB."""

import math
from typing import NamedTuple

import numpy as np

from hushbandits.baselines.gossip import Gossip, gossip, gossip_matrix, second_eigenvalue
from hushbandits.core import Array, Guarantee, Streams, World, divisor, flag, lean, real
from hushbandits.policies.policy import argmax


def stage_length(agents: int, second: float, epsilon: float) -> int:
    """Return ``C = ⌈ln(2M/ε) / √(2 ln(1/|λ₂|))⌉``, the rounds after which a mixed sum is within ε of the average."""
    if second <= 0.0:
        return 1
    return max(1, math.ceil(math.log(2 * agents / epsilon) / math.sqrt(-2 * math.log(second))))


def chebyshev(second: float, steps: int) -> Array:
    """Return an array ``(steps, 2)`` of the coefficients (a, b) of gossip steps ``y_{r+1} = a P y_r − b y_{r−1}``.

    After r steps y is ``T_r(P/|λ₂|) y₀ / T_r(1/|λ₂|)`` with T the Chebyshev polynomials: ``w_{r+1} = 2w_r/|λ₂| −
    w_{r−1}`` from w₀ = 1 and w₁ = 1/|λ₂|, ``a = 2w_r/(|λ₂| w_{r+1})``, ``b = w_{r−1}/w_{r+1}``; the first step is P.
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
    sums: Array  # (R, M, K, 2) β: sums and counts that are being mixed
    matrix: Array  # (G, M, M) P
    before: Array  # (R, M, K, 2) β a step earlier
    mixed: Array  # (R, M, K, 2) what earlier stages have mixed
    fresh: Array  # (R, M, K, 2) γ: this stage's own
    usable: Array  # (R, M, K, 2) α: of the average agent
    bound: Array  # (R, M, K) of α
    step: Array  # (R,)
    known: Array  # (R,) s: pulls of the network that α stands for
    length: Array  # (G,) C
    weight: Array  # (G, C, 2)
    scale: float  # 2ησ²
    rechoose_on_stale: bool


@lean
def _explored(own, r):
    return own.scale * math.log(own.known[r]) / own.sums.shape[1]


@lean
def _index(s, n, explored):
    # accelerated mixing may leave a count at or below 0: such an arm is not known
    return math.inf if n <= 0.0 else s / n + math.sqrt(explored / n)


@lean
def _choose(own, t, r, arms):
    n_arms = own.sums.shape[2]
    if t <= n_arms:
        arms[r] = t - 1
        return
    if own.known[r] == 0.0:
        own.known[r] = n_arms
    if own.step[r] == 0:
        explored, usable, index = _explored(own, r), own.usable[r].reshape(-1), own.bound[r].reshape(-1)
        for i in range(index.size):
            index[i] = _index(usable[2 * i], usable[2 * i + 1], explored)
    if own.rechoose_on_stale or own.step[r] == 0:
        for m in range(arms.shape[1]):
            arms[r, m] = argmax(own.bound[r], m)  # else they stay those of the stage


@lean
def _learn(own, r, arms, rewards):
    agents, first = arms.shape[1], own.known[r] == 0.0  # the first pull of each arm
    explored = 0.0 if first else _explored(own, r)
    for m in range(agents):
        k, x = arms[r, m], rewards[r, m]
        if first:
            own.sums[r, m, k, 0], own.sums[r, m, k, 1] = x, 1.0
        else:
            own.fresh[r, m, k, 0] += x
            own.fresh[r, m, k, 1] += 1.0
        if first or own.rechoose_on_stale:
            own.usable[r, m, k, 0] += x / agents
            own.usable[r, m, k, 1] += 1.0 / agents
            own.bound[r, m, k] = _index(own.usable[r, m, k, 0], own.usable[r, m, k, 1], explored)


@lean
def _heard(own, r, posted, t):
    g, agents = r % own.length.size, own.sums.shape[1]
    a, b = own.weight[g, own.step[r], 0], own.weight[g, own.step[r], 1]  # b is 0 in a stage's first step
    y, now, before = own.sums[r].reshape(-1), posted[r].reshape(-1), own.before[r].reshape(-1)
    for i in range(y.size):
        y[i] = a * y[i] - b * before[i]
        before[i] = now[i]
    own.step[r] += 1
    if own.step[r] < own.length[g]:
        return
    own.step[r] = 0
    own.known[r] = (t - own.length[g]) * agents
    mixed, fresh, usable = own.mixed[r].reshape(-1), own.fresh[r].reshape(-1), own.usable[r].reshape(-1)
    for i in range(y.size):
        mixed[i] += y[i]
        # what is still to be mixed has entered as u/M already
        usable[i] = mixed[i] + fresh[i] / agents if own.rechoose_on_stale else mixed[i]
        y[i], fresh[i] = fresh[i], 0.0


class DDUCB(Gossip):
    """DDUCB, in which stages of C rounds mix the sums of the previous stage by accelerated gossip.

    Index ``α_r/α_n + √(2ησ² ln s / (M α_n))`` on what is mixed already; ``C = ⌈ln(2M/ε)/√(2 ln(1/|λ₂|))⌉``; s counts
    the network's pulls in α.  One pull of each arm first, without messages; until the first stage ends α is the agent's
    own share of those.  Source: Martínez-Rubio et al. 2019.

    Parameters
    ----------
    eta : float
        η > 1.
    sigma : float
        Sub-Gaussian constant; ½ for rewards in [0, 1].
    epsilon : float
        ε, the mixing's precision.
    rechoose_on_stale : bool
        False: the arm stays for a stage, as published (algorithm 1).  True: it is chosen anew every round, and own
        rewards enter at once as u/M, as in the authors' code.
    """

    rules = gossip(_choose, _learn, _heard)

    def __init__(self, eta: float = 2.0, sigma: float = 0.5, epsilon: float = 1 / 22, rechoose_on_stale: bool = False):
        self.eta, self.sigma = real("eta", eta, 1), real("sigma", sigma, 0)
        self.epsilon = divisor("epsilon", epsilon, 1)
        self.rechoose_on_stale = flag("rechoose_on_stale", rechoose_on_stale)

    def claimed_guarantees(self, env: World) -> tuple[Guarantee, ...]:
        """Return no guarantees, because ε is the precision of gossip, not a privacy parameter."""
        return ()

    @property
    def name(self) -> str:
        return "DDUCB-rechoosing" if self.rechoose_on_stale else "DDUCB"

    def begin(self, env: World, rng: Streams) -> _Buffers:
        runs, agents, arms, matrix = len(rng), env.n_agents, env.n_arms, gossip_matrix(env.adjacency)
        self.quiet = arms
        second = second_eigenvalue(matrix)
        length = np.array([stage_length(agents, float(x), self.epsilon) for x in second])
        weight = np.zeros((len(matrix), int(length.max()), 2))
        for g, (x, steps) in enumerate(zip(second, length, strict=True)):
            weight[g, :steps] = chebyshev(float(x), int(steps))
        sums, before, mixed, fresh, usable = (np.zeros((runs, agents, arms, 2)) for _ in range(5))
        return _Buffers(
            sums, matrix, before, mixed, fresh, usable, bound=np.zeros((runs, agents, arms)),
            step=np.zeros(runs, np.int64), known=np.zeros(runs), length=length, weight=weight,
            scale=2.0 * self.eta * self.sigma**2, rechoose_on_stale=self.rechoose_on_stale,
        )  # fmt: skip
