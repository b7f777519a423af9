"""Dubey & Pentland 2020, "Private and Byzantine-Proof Cooperative Decision-Making" (AAMAS).

`Multi-UCB` is the non-private multi-agent UCB that the paper compares with; `Private-UCB` is its algorithm 2.
Both are UCB on own pulls plus whatever the inbox adds up to; the noise of algorithm 1 lives in the wrapper
`PrivateMeans`, the decision rule here.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from hushbandits.core.env import Env
from hushbandits.core.jit import jit
from hushbandits.core.messages import Inbox
from hushbandits.core.obs import Obs
from hushbandits.core.team import Protocol, Team
from hushbandits.core.types import Array, Seeds
from hushbandits.core.validate import real
from hushbandits.policies.ucb import ucb1_bonus

__all__ = ["MultiUCB", "PrivateUCB"]


@jit
def _argmax_ucb(s, n, t, arms):  # type: ignore[no-untyped-def]
    # argmax_k s_k/n_k + √(2 ln t / n_k); an arm never seen comes first; ties go to the lowest index
    runs, agents, n_arms = n.shape
    log_t = math.log(t)
    for r in range(runs):
        for m in range(agents):
            best, top = 0, -math.inf
            for k in range(n_arms):
                x = math.inf if n[r, m, k] == 0.0 else s[r, m, k] / n[r, m, k] + ucb1_bonus(log_t, n[r, m, k])
                if x > top:
                    best, top = k, x
            arms[r, m] = best


class MultiUCB(Team):
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

    setting = "network"
    hears: tuple[str, ...] = ("tally",)

    def reset(self, env: Env, seeds: Seeds) -> None:
        """Forget everything."""
        shape = (len(seeds), env.n_agents, env.n_arms)
        self._n, self._s = np.zeros(shape), np.zeros(shape)
        self._arm = np.zeros(shape[:2], np.int64)
        self._seat = np.ix_(np.arange(shape[0]), np.arange(shape[1]))

    def act(self, obs: Obs) -> Array:
        """Arms of the largest index."""
        _argmax_ucb(self._s, self._n, int(obs.t[0]) + 1, self._arm)
        return self._arm

    def speak(self, reward: Array) -> None:
        """Count the own pull; send the standard report."""
        self._n[(*self._seat, self._arm)] += 1
        self._s[(*self._seat, self._arm)] += reward

    def hear(self, inbox: Inbox) -> None:
        """Add what arrived, arm by arm."""
        pulls, sums = inbox.tally()
        self._n += pulls
        self._s += sums


class PrivateUCB(Team):
    """Private Multi-Agent UCB (algorithms 1 and 2).

    First ``K⌈1/ε⌉`` rounds round-robin; then ``argmax_k μ̃_k + √(2 ln t / N_k)`` with
    ``N_k = n_k + Σ n′_k`` and ``μ̃_k = (s_k + Σ n′_k v̂′_k)/N_k`` over the latest message of each origin within γ.
    Own sums are exact; the messages' means are private (see `PrivateMeans` for what that promises, and what not).

    Parameters
    ----------
    epsilon : float
        ε of the private means.
    v : float
        Exponent v ∈ (1, 1.5) of the release schedule and of the noise.

    Examples
    --------
    >>> import hushbandits as hb
    >>> hb.evaluate("CoopNetwork-v0", "Private-UCB", runs=2, env={"n_agents": 4, "horizon": 50}).final("regret").shape
    (2,)
    """

    setting = "network"
    hears = ("mean", "count")

    def __init__(self, epsilon: float = 1.0, v: float = 1.1):
        self.epsilon = real("epsilon", epsilon, 0)
        self.v = real("v", v, 1, 1.5)

    def protocol(self, settings: dict[str, Any]) -> Protocol:
        """Private means at the source."""
        return Protocol(wrappers=(("PrivateMeans", {"epsilon": self.epsilon, "v": self.v}),))

    def reset(self, env: Env, seeds: Seeds) -> None:
        """Forget everything."""
        shape = (len(seeds), env.n_agents, env.n_arms)
        self._own_n, self._own_s = np.zeros(shape), np.zeros(shape)
        self._n, self._s = np.zeros(shape), np.zeros(shape)
        self._arm = np.zeros(shape[:2], np.int64)
        self._seat = np.ix_(np.arange(shape[0]), np.arange(shape[1]))
        self._warm_up = env.n_arms * math.ceil(1 / self.epsilon)  # alg. 2, line 3

    def act(self, obs: Obs) -> Array:
        """Round-robin, then arms of the largest index (alg. 2, lines 3–10)."""
        t = int(obs.t[0]) + 1
        if t <= self._warm_up:
            self._arm[:] = (t - 1) % self._n.shape[2]
        else:
            _argmax_ucb(self._s, self._n, t, self._arm)
        return self._arm

    def speak(self, reward: Array) -> None:
        """Count the own pull exactly; the report is made private on its way out."""
        self._own_n[(*self._seat, self._arm)] += 1
        self._own_s[(*self._seat, self._arm)] += reward

    def hear(self, inbox: Inbox) -> None:
        """Own sums plus the latest released mean of every origin, weighted by its count."""
        self._n = self._own_n + inbox.total("count")
        self._s = self._own_s + inbox.total("mean", weight="count")
