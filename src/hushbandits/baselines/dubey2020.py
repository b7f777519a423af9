"""The non-private multi-agent UCB that Dubey & Pentland 2020 compare with."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from hushbandits.core.jit import jit
from hushbandits.core.messages import Inbox
from hushbandits.core.obs import Obs
from hushbandits.core.types import Array, Seeds
from hushbandits.core.world import World
from hushbandits.envs.network.episode import NetworkTeam, Rules
from hushbandits.envs.network.reductions import tally
from hushbandits.policies.ucb import argmax_ucb1, argmax_ucb1_run

__all__ = ["MultiUCB", "act", "learn"]


class _Sums(NamedTuple):
    n: Array  # (R, M, K)
    s: Array  # (R, M, K)
    heard: Array  # (1, M, K, 2) room for a round's arrivals


@jit
def act(own, t, r, arms):
    """Arms of the largest index."""
    argmax_ucb1_run(own.s, own.n, t, r, arms)


@jit
def learn(own, r, arms, rewards):
    """Count the own pulls."""
    n, s = own.n, own.s
    for m in range(n.shape[1]):
        n[r, m, arms[r, m]] += 1.0
        s[r, m, arms[r, m]] += rewards[r, m]


@jit
def _hear(own, r, mail, t):
    n, s, heard = own.n, own.s, own.heard
    heard[:] = 0.0
    tally(mail.arm, mail.reward, mail.sent, mail.sender, mail.shell, t, r, heard)
    for m in range(n.shape[1]):
        for k in range(n.shape[2]):
            n[r, m, k] += heard[0, m, k, 0]
            s[r, m, k] += heard[0, m, k, 1]


class MultiUCB(NetworkTeam):
    """UCB1 on everything an agent has heard: own pulls, and every report within γ hops.

    Index ``s_k/N_k + √(2 ln t / N_k)`` with N_k, s_k over own and received pulls; an arm without one is
    played first, ties go to the lowest index.

    Examples
    --------
    >>> import hushbandits as hb
    >>> results = hb.evaluate("CoopNetwork-v0", "Multi-UCB", runs=2, env={"n_agents": 4, "horizon": 50})
    >>> results.final("regret").shape
    (2,)
    """

    hears: tuple[str, ...] = ("tally",)
    rules = Rules(act, learn, _hear)

    def reset(self, env: World, seeds: Seeds) -> None:
        """Forget everything."""
        shape = (len(seeds), env.n_agents, env.n_arms)
        self._n, self._s = np.zeros(shape), np.zeros(shape)
        self._arm = np.zeros(shape[:2], np.int64)
        self._seat = np.ix_(np.arange(shape[0]), np.arange(shape[1]))

    def act(self, obs: Obs) -> Array:
        """Arms of the largest index."""
        argmax_ucb1(self._s, self._n, int(obs.t[0]) + 1, self._arm)
        return self._arm

    def speak(self, reward: Array) -> dict[str, Any] | None:
        """Count the own pull; send the standard report."""
        self._n[(*self._seat, self._arm)] += 1
        self._s[(*self._seat, self._arm)] += reward
        return None

    def hear(self, inbox: Inbox) -> None:
        """Add what arrived, arm by arm."""
        pulls, sums = inbox.tally()
        self._n += pulls
        self._s += sums

    def state(self) -> _Sums:
        """Counts and sums."""
        return _Sums(self._n, self._s, np.zeros((1, *self._n.shape[1:], 2)))
