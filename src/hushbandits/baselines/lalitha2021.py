"""Lalitha & Goldsmith 2021, "Bayesian Algorithms for Decentralized Stochastic Bandits": Dec-TS."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from hushbandits.baselines.gossip import Gossip
from hushbandits.core.jit import jit
from hushbandits.core.tapes import streams
from hushbandits.core.types import Array, Seeds
from hushbandits.core.validate import real
from hushbandits.core.world import World
from hushbandits.policies.luck import beta, words

__all__ = ["DecTS"]


class _Posteriors(NamedTuple):
    alpha: Array  # (R, M, K)
    beta: Array  # (R, M, K)
    luck: Array  # (R·M, 4)
    rate: float


@jit
def _choose(own, r, m, t):
    best, top = 0, -1.0
    row = r * own.alpha.shape[1] + m
    for k in range(own.alpha.shape[2]):
        x = beta(own.luck, row, own.alpha[r, m, k], own.beta[r, m, k])
        if x > top:
            best, top = k, x
    return best


@jit
def _learn(own, r, m, arm, reward):
    x = min(max(reward, 0.0), 1.0)  # a Beta law has no parameters below 0
    own.alpha[r, m, arm] += own.rate * x
    own.beta[r, m, arm] += own.rate * (1.0 - x)


@jit
def _heard(own, r, t):
    pass


class DecTS(Gossip):
    """Decentralised Thompson sampling: Beta posteriors whose parameters are averaged with the neighbours'.

    Priors Beta(1, 1); after a round's pulls ``α += ηr``, ``β += η(1 − r)`` on the pulled arm, then ``α ← Pα`` and
    ``β ← Pβ``.  For rewards in [0, 1]; one beyond counts as the nearer end.

    Parameters
    ----------
    rate : float, optional
        η; default: M (their theorem 1).

    Examples
    --------
    >>> import hushbandits as hb
    >>> hb.evaluate("CoopNetwork-v0", "Dec-TS", runs=2, env={"n_agents": 4, "horizon": 50}).final("regret").shape
    (2,)
    """

    choose = staticmethod(_choose)
    learn = staticmethod(_learn)
    heard = staticmethod(_heard)

    def __init__(self, rate: float | None = None):
        self.rate = rate if rate is None else real("rate", rate, 0)

    @property
    def name(self) -> str:
        """As registered."""
        return "Dec-TS"

    def begin(self, env: World, seeds: Seeds, matrix: Array) -> tuple[_Posteriors, Array, Array]:
        """Uniform priors."""
        shape = len(seeds), env.n_agents, env.n_arms
        wins, losses = np.ones(shape), np.ones(shape)
        luck = words(streams(seeds, f"agent/{self.name}"), env.n_agents)
        return _Posteriors(wins, losses, luck, float(env.n_agents) if self.rate is None else self.rate), wins, losses
