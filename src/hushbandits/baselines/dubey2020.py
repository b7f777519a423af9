"""The non-private multi-agent UCB that Dubey & Pentland 2020 compare with."""

from __future__ import annotations

from typing import Any

import numpy as np

from hushbandits.core.world import World
from hushbandits.core.messages import Inbox
from hushbandits.core.obs import Obs
from hushbandits.core.team import Team
from hushbandits.core.types import Array, Seeds
from hushbandits.policies.ucb import argmax_ucb1

__all__ = ["MultiUCB"]


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
