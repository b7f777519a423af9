"""Landgren, Srivastava & Leonard 2016, "Distributed Cooperative Decision-Making in Multiarmed Bandits": coop-UCB."""

import math
from functools import lru_cache
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from scipy.sparse import csr_array

from hushbandits.baselines.gossip import Gossip, gossip, gossip_matrix, second_eigenvalue
from hushbandits.core import Array, Streams, World, choice, lean, real
from hushbandits.policies.policy import argmax

_NEAR = 1e-9  # how much of itself, or of one pull, a constant may lie above the smallest


def smallest_exploration(matrix: Array) -> Array:
    """Return each agent k's smallest valid exploration constant ``ε_c^k = Σ_{s≥1} Σ_j max(0, M (Pˢ)²_kj − (Pˢ)_kj)``.

    A pull of agent j that has been mixed s times stands in ŝ_k with weight ``(Pˢ)_kj``, and in n̂_k as well.  So
    ``Var ŝ_k ≤ σ² Σ (Pˢ)²_kj``, and that this is at most ``σ² (n̂_k + ε_c^k)/M`` for every sequence of pulls is what is
    said above: each pull that exceeds its share is taken once, the others never.

    The sum ends where what is left of it, which is bounded by powers of ``|λ₂|`` and added, is a billionth: some
    20/(1 − ``|λ₂|``) products with P.

    Examples
    --------
    >>> from hushbandits.baselines.gossip import gossip_matrix
    >>> from hushbandits.envs.network.graphs import adjacency
    >>> smallest_exploration(gossip_matrix(adjacency("cycle", 16)[None])[0])[:2].round(3).tolist()
    [27.973, 27.973]
    """
    agents, second = len(matrix), float(second_eigenvalue(matrix[None])[0])
    mix, apart, total = csr_array(matrix), np.eye(agents) - 1.0 / agents, np.zeros((agents, agents))
    while True:
        # with x = Pˢ − 1/M, M (Pˢ)² − Pˢ = x + M x², which is positive where x is
        for _ in range(32):
            apart = mix @ apart
            x = np.maximum(apart, 0.0)
            total += x + agents * x * x
        found: Array = total.sum(1)
        # Σ_j of the positive x is at most half of √M ‖x‖, and ‖x‖ shrinks by |λ₂| a step.
        size = agents * (apart**2).sum(1)
        left = 0.5 * np.sqrt(size) * second / (1.0 - second) + size * second**2 / (1.0 - second**2)
        if (left <= _NEAR * np.maximum(1.0, found)).all():
            return found + left


def published_exploration(matrix: Array) -> Array:
    """Return the paper's constant ``ε_c^k = M Σ_{p≥2} Σ_{j≥1} |λ_p λ_j| / (1 − |λ_p λ_j|) a_pj(k)`` of each agent k.

    λ_p and u_p are the eigenvalues and eigenvectors of the gossip matrix, from the largest eigenvalue on.

    With u = u_p^k u_j^k and ν± the sums of the positive and negative ``u_p^d u_j^d`` over d: ``a = uν⁺`` where
    λ_pλ_j ≥ 0 and u ≥ 0, ``uν⁻`` where λ_pλ_j ≥ 0 and u ≤ 0, else ``|u| max(ν⁺, |ν⁻|)``.

    It depends on the eigenvectors that are taken where an eigenvalue is repeated, as on cycles and grids; here those
    that Gram and Schmidt make of the projections of the agents' unit vectors, in their order.
    """
    agents = len(matrix)
    values, vectors = np.linalg.eigh(matrix)
    values, vectors = values[::-1], _settled(values[::-1], vectors[:, ::-1])
    total = np.zeros(agents)
    for p in range(1, agents):
        product = values[p] * values  # (M,) over j
        rate = np.abs(product) / (1.0 - np.abs(product))
        u = vectors[:, [p]] * vectors  # (k, j), and (d, j)
        up, down = np.maximum(u, 0.0).sum(0), np.minimum(u, 0.0).sum(0)
        same = np.where(u >= 0, u * up, u * down)
        a = np.where(product >= 0, same, np.abs(u) * np.maximum(up, -down))
        total += (rate * a).sum(1)
    return agents * total


def _settled(values: Array, vectors: Array) -> Array:
    """Return eigenvectors that do not depend on the machine, even for repeated eigenvalues."""
    settled = np.empty_like(vectors)
    for start, stop in pairwise([0, *(np.flatnonzero(-np.diff(values) >= 1e-9) + 1), len(values)]):  # equal values
        space, found = vectors[:, start:stop], start
        for k in range(len(vectors)):
            taken = settled[:, start:found]
            left = space @ space[k] - taken @ taken[k]
            size = float(np.linalg.norm(left))
            if size > 1e-6:
                settled[:, found] = left / size
                found += 1
    return settled


#: ε_c by name.
CONSTANTS = {"smallest": smallest_exploration, "published": published_exploration}


@lru_cache(maxsize=16)  # all runs on one graph share it; on a cycle of 196 it takes four seconds
def _explored(constant: str, agents: int, matrix: bytes) -> Array:
    return CONSTANTS[constant](np.frombuffer(matrix).reshape(agents, agents))


class _Estimates(NamedTuple):
    sums: Array  # (R, M, K, 2) ŝ and n̂
    matrix: Array  # (G, M, M) P
    extra: Array  # (G, M, K) ε_c
    bound: Array  # (M, K)
    scale: float  # 2γσ²/M


@lean
def _choose(own, t, r, arms):
    if t <= own.bound.shape[1]:
        arms[r] = t - 1
        return
    explored = own.scale * math.log(t)
    sums, extra, index = own.sums[r].reshape(-1), own.extra[r % own.extra.shape[0]].reshape(-1), own.bound.reshape(-1)
    for i in range(index.size):  # all agents' arms in a row: LLVM takes several at once
        n = sums[2 * i + 1]
        index[i] = sums[2 * i] / n + math.sqrt((n + extra[i]) * explored) / n
    for m in range(arms.shape[1]):
        arms[r, m] = argmax(own.bound, m)


@lean
def _learn(own, r, arms, rewards):
    for m in range(arms.shape[1]):
        own.sums[r, m, arms[r, m], 0] += rewards[r, m]
        own.sums[r, m, arms[r, m], 1] += 1.0


class CoopUCB(Gossip):
    """coop-UCB, in which each agent estimates the network's average sums and counts.

    One pull of each arm, without messages; then, once a round after all pulls, ``ŝ ← P(ŝ + reward)`` and
    ``n̂ ← P(n̂ + pull)``.  Index ``ŝ/n̂ + √((n̂ + ε_c) · 2γσ² ln t / (M n̂²))``, the lowest arm on ties.

    In the paper (Landgren et al. 2016) the first pulls stand outside the regret; here they are rounds like all others.

    Parameters
    ----------
    gamma : float
        γ > 1.
    sigma : float
        Sub-Gaussian constant; ½ for rewards in [0, 1].
    constant : str
        ε_c: ``"smallest"`` that is valid (`smallest_exploration`), or as ``"published"`` (`published_exploration`),
        which is larger, and on graphs with repeated eigenvalues depends on the choice of eigenvectors.
    """

    name = "coop-UCB"
    rules = gossip(_choose, _learn)

    def __init__(self, gamma: float = 1.01, sigma: float = 0.5, constant: str = "smallest"):
        self.gamma, self.sigma = real("gamma", gamma, 1), real("sigma", sigma, 0)
        self.constant = choice("constant", constant, CONSTANTS)

    def begin(self, env: World, rng: Streams) -> _Estimates:
        agents, arms, matrix = env.n_agents, env.n_arms, gossip_matrix(env.adjacency)
        self.quiet = arms
        sums = np.zeros((len(rng), agents, arms, 2))
        constants = [_explored(self.constant, agents, one.tobytes()) for one in matrix]
        extra = np.repeat(constants, arms).reshape(-1, agents, arms)
        return _Estimates(sums, matrix, extra, np.zeros((agents, arms)), 2.0 * self.gamma * self.sigma**2 / agents)
