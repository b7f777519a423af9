"""Wang, Hu, Chen & Wang 2020, on distributed linear bandits: DisLinUCB, and synchronisation at fixed times.

"Distributed Bandit Learning: Near-Optimal Regret with Efficient Communication", ICLR.
"""

from __future__ import annotations

import math

import numpy as np

from hushbandits.agents.abbasi2011 import LinearTeam
from hushbandits.core import Array, Inbox, Message, Requirements, Streams, World, integer, real
from hushbandits.core.messages import Observation
from hushbandits.estimators.ridge import Sums


class Synchronized(LinearTeam):
    """Base class of agents that all upload and download at once, and play by their own newest pulls as well."""

    def requirements(self, settings: dict[str, object]) -> Requirements:
        """Require that all agents act in every round, and the server's rule."""
        return Requirements(env={"server": self.server, "activity": "all"})

    def reset(self, env: World, rng: Streams) -> None:
        super().reset(env, rng)
        self.unsent = Sums(len(rng), env.n_agents, env.n_features)

    def act(self, obs: Observation) -> Array:
        self._t = obs.t
        return super().act(obs)

    def compose(self, reward: Array) -> Message:
        self.played.add(self.who, self.x, reward)
        self.unsent.add(self.who, self.x, reward)
        due = self.due() & ~self.env.pending
        return self.unsent.take(self.who, np.repeat(due.any(1, keepdims=True), due.shape[1], 1))

    def due(self) -> Array:
        """Return which agents ask for a synchronisation, ``(R, M)``."""
        raise NotImplementedError(f"{type(self).__name__} must define due()")

    def receive(self, inbox: Inbox) -> None:
        r, m, gram, moment, pulls = self.downloads(inbox)
        own = self.unsent
        self.played.refresh(r, m, gram + own.gram[r, m], moment + own.moment[r, m], pulls + own.pulls[r, m])


class BatchLinUCB(Synchronized):
    """LinUCB with a synchronisation of all agents every B rounds.

    Parameters
    ----------
    batch : int
        B.
    beta, ridge, sigma, delta
        As in `LinearTeam`.

    Notes
    -----
    Source: the baseline without privacy of Zhou & Chowdhury 2024, who set λ = √M.
    """

    def __init__(
        self, batch: int = 25, beta: float | None = 0.5, ridge: float = 1.0, sigma: float = 0.5, delta: float = 0.05
    ):
        super().__init__(beta, ridge, sigma, delta)
        self.batch = integer("batch", batch, 1)

    def due(self) -> Array:
        return np.repeat(((self._t + 1) % self.batch == 0)[:, None], self.env.n_agents, 1)


class DisLinUCB(Synchronized):
    """Distributed LinUCB, which synchronises all agents when one of them has learned enough (Wang et al. 2020).

    All synchronise if ``(t − t_last) ln(det V_i/det V_last) ≥ D`` for an agent i.

    Parameters
    ----------
    threshold : float, optional
        D; by default ``T ln(MT)/(dM)``.
    beta, ridge, sigma, delta
        As in `LinearTeam`.

    Examples
    --------
    >>> import hushbandits as hb
    >>> result = hb.evaluate("FedLinear-All-v0", "DisLinUCB", runs=4, env={"horizon": 300})
    >>> bool((result.final("messages") == 30 * result.final("syncs")).all())
    True
    """

    server = "synchronize"

    def __init__(
        self,
        threshold: float | None = None,
        beta: float | None = 0.5,
        ridge: float = 1.0,
        sigma: float = 0.5,
        delta: float = 0.05,
    ):
        super().__init__(beta, ridge, sigma, delta)
        self.threshold = None if threshold is None else real("threshold", threshold, 0)

    def reset(self, env: World, rng: Streams) -> None:
        super().reset(env, rng)
        m, d, horizon = env.n_agents, env.n_features, env.horizon
        self._least = horizon * math.log(m * horizon) / (d * m) if self.threshold is None else self.threshold
        self._last, self._since = self.played.volume[:, 0].copy(), np.zeros(len(rng), np.int64)

    def due(self) -> Array:
        rounds = self._t + 1 - self._since
        return rounds[:, None] * (self.played.volume - self._last[:, None]) >= self._least

    def receive(self, inbox: Inbox) -> None:
        super().receive(inbox)
        r = inbox.arrived[:, 0, 0].nonzero()[0]
        self._last[r], self._since[r] = self.played.volume[r, 0], self._t[r] + 1
