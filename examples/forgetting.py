"""A user-defined compiled network agent: discounted UCB on own pulls and received reports.

Phases and compiled rounds use the same rules.  In this folder:
``hushbandits run quickstart-network --quick --agents forgetting:ForgettingUCB --out runs/forgetting``.
"""

import math
from typing import NamedTuple

import numpy as np

from hushbandits.core import jit
from hushbandits.envs.network.episode import NetworkTeam
from hushbandits.envs.network.rules import Rules


class Memory(NamedTuple):
    n: np.ndarray  # (R, M, K) discounted pulls
    s: np.ndarray  # (R, M, K) discounted rewards
    gamma: float
    xi: float
    bound: float


@jit
def _act(own, t, r, arms):
    for m in range(arms.shape[1]):
        n, top = own.n[r, m], -math.inf
        level = own.xi * math.log(max(n.sum(), 1.0))
        for k in range(n.size):
            index = math.inf if n[k] == 0.0 else own.s[r, m, k] / n[k] + 2.0 * own.bound * math.sqrt(level / n[k])
            if index > top:
                arms[r, m], top = k, index


@jit
def _learn(own, r, arms, rewards):
    for m in range(arms.shape[1]):
        for k in range(own.n.shape[2]):
            own.n[r, m, k] *= own.gamma
            own.s[r, m, k] *= own.gamma
        own.n[r, m, arms[r, m]] += 1.0
        own.s[r, m, arms[r, m]] += rewards[r, m]


@jit
def _hear(own, r, heard, t):
    for m in range(heard.shape[0]):
        for k in range(heard.shape[1]):
            own.n[r, m, k] += heard[m, k, 0]
            own.s[r, m, k] += heard[m, k, 1]


class ForgettingUCB(NetworkTeam):
    """Index ``X̄_k(γ) + 2B √(ξ ln n(γ) / N_k(γ))``; past rewards are discounted by γ in every round.

    Without messages it is D-UCB of Garivier & Moulines 2011, with their γ = 1 − √(Υ/T)/(4B) for Υ changes in T rounds
    and ξ > ½.  A report counts from the round in which it arrives.
    """

    required_inbox = ("tally",)
    rules = Rules(_act, _learn, _hear, takes="tally")

    def __init__(self, changes=1, xi=0.6, bound=1.0):
        self.changes, self.xi, self.bound = changes, xi, bound

    def begin(self, env, rng):
        shape = len(rng), env.n_agents, env.n_arms
        gamma = 1.0 - math.sqrt(self.changes / env.horizon) / (4.0 * self.bound)
        return Memory(np.zeros(shape), np.zeros(shape), gamma, self.xi, self.bound)
