"""Lalitha & Goldsmith 2021, "Bayesian Algorithms for Decentralized Stochastic Bandits": Dec-TS."""

from typing import NamedTuple

import numpy as np

from hushbandits.baselines.gossip import Gossip, gossip, gossip_matrix
from hushbandits.core import Array, Streams, World, lean, real
from hushbandits.policies.draws import largest_beta
from hushbandits.policies.policy import check_unit_rewards


class _Posteriors(NamedTuple):
    sums: Array  # (R, M, K, 2) α and β
    matrix: Array  # (G, M, M) P
    cursors: Array  # (R·M, 4)
    rate: float


@lean
def _choose(own, t, r, arms):
    for m in range(arms.shape[1]):
        alpha, beta = own.sums[r, m, :, 0], own.sums[r, m, :, 1]
        arms[r, m] = largest_beta(own.cursors, r * arms.shape[1] + m, alpha, beta, 0.0)


@lean
def _learn(own, r, arms, rewards):
    for m in range(arms.shape[1]):
        x = min(max(rewards[r, m], 0.0), 1.0)  # noise may take it further, and a Beta law has no parameters below 0
        own.sums[r, m, arms[r, m], 0] += own.rate * x
        own.sums[r, m, arms[r, m], 1] += own.rate * (1.0 - x)


class DecTS(Gossip):
    """Decentralised Thompson sampling, which averages the parameters of Beta posteriors among neighbours.

    Priors Beta(1, 1); after a round's pulls ``α += ηr``, ``β += η(1 − r)`` on the pulled arm, then ``α ← Pα`` and
    ``β ← Pβ``.  For rewards in [0, 1]; an env that pays others is refused.  Source: Lalitha & Goldsmith 2021.

    Parameters
    ----------
    rate : float, optional
        η; default: M (their theorem 1).
    """

    name = "Dec-TS"
    rules = gossip(_choose, _learn)

    def __init__(self, rate: float | None = None):
        self.rate = rate if rate is None else real("rate", rate, 0)

    def validate_env(self, env: World) -> None:
        check_unit_rewards(self.name, env)

    def begin(self, env: World, rng: Streams) -> _Posteriors:
        self.validate_env(env)  # a team may be started without a meeting
        sums = np.ones((len(rng), env.n_agents, env.n_arms, 2))
        rate = float(env.n_agents) if self.rate is None else self.rate
        return _Posteriors(sums, gossip_matrix(env.adjacency), rng.cursors(env.n_agents), rate)
