"""The non-private multi-agent UCB that Dubey & Pentland 2020 compare with."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from hushbandits.core.ground.jit import jit
from hushbandits.core.ground.types import Array, Seeds
from hushbandits.core.messages import Inbox
from hushbandits.core.obs import Obs
from hushbandits.core.world import World
from hushbandits.envs.network.episode import NetworkTeam, Rules
from hushbandits.envs.network.reductions import tally
from hushbandits.policies.policy import Sums, everyone, sums
from hushbandits.policies.ucb import UCB1

__all__ = ["MultiUCB"]


_choose = UCB1.choose


class _Heard(NamedTuple):
    sums: Sums  # a learner per run and agent
    heard: Array  # (1, M, K, 2) room for a round's arrivals


@jit
def _act(own, t, r, arms):
    agents = arms.shape[1]
    for m in range(agents):
        own.sums.t[r * agents + m] = t - 1
        arms[r, m] = _choose(own.sums, r * agents + m)


@jit
def _learn(own, r, arms, rewards):
    agents = arms.shape[1]
    for m in range(agents):
        own.sums.n[r * agents + m, arms[r, m]] += 1.0
        own.sums.s[r * agents + m, arms[r, m]] += rewards[r, m]


@jit
def _hear(own, r, mail, t):
    n, s, heard = own.sums.n, own.sums.s, own.heard
    heard[:] = 0.0
    arm, reward = mail.values
    tally(arm, reward, mail.sent, mail.sender, mail.shell, t, r, heard)
    first = r * heard.shape[1]
    for m in range(heard.shape[1]):
        for k in range(n.shape[1]):
            n[first + m, k] += heard[0, m, k, 0]
            s[first + m, k] += heard[0, m, k, 1]


class MultiUCB(NetworkTeam):
    """UCB1 on everything an agent has heard: own pulls, and every report within γ hops.

    Index ``s_k/N_k + √(2 ln t / N_k)`` with N_k, s_k over own and received pulls; an arm without one is
    played first, ties go to the lowest index.  Dubey & Pentland 2020 compare with it.

    Examples
    --------
    >>> import hushbandits as hb
    >>> results = hb.evaluate("CoopNetwork-v0", "Multi-UCB", runs=2, env={"n_agents": 4, "horizon": 50})
    >>> results.final("regret").shape
    (2,)
    """

    hears: tuple[str, ...] = ("tally",)
    rules = Rules(_act, _learn, _hear)

    def reset(self, env: World, seeds: Seeds) -> None:
        """Forget everything."""
        runs, agents = len(seeds), env.n_agents
        self._sums = sums(runs * agents, env.n_arms)
        self._arm = np.zeros((runs, agents), np.int64)
        self._learners = np.arange(runs * agents)

    def act(self, obs: Obs) -> Array:
        """Arms of the largest index."""
        self._sums.t[:] = int(obs.t[0])
        everyone(_choose)(self._sums, self._arm.reshape(-1))
        return self._arm

    def speak(self, reward: Array) -> dict[str, Any] | None:
        """Count the own pull; send the standard report."""
        own = self._learners, self._arm.reshape(-1)
        self._sums.n[own] += 1
        self._sums.s[own] += reward.reshape(-1)
        return None

    def hear(self, inbox: Inbox) -> None:
        """Add what arrived, arm by arm."""
        pulls, heard = inbox.tally()
        n, s = self._sums.n, self._sums.s
        n += pulls.reshape(n.shape)
        s += heard.reshape(s.shape)

    def state(self) -> _Heard:
        """Counts and sums."""
        return _Heard(self._sums, np.zeros((1, self._arm.shape[1], self._sums.n.shape[1], 2)))
