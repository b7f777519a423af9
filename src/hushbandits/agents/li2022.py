"""Li & Wang 2022, "Asynchronous Upper Confidence Bound Algorithms for Federated Linear Bandits": Async-LinUCB.

Agents upload, and the server sends, whatever has made a determinant grow by a factor γ.
"""

from __future__ import annotations

import math

import numpy as np

from hushbandits.agents.abbasi2011 import LinearTeam
from hushbandits.core import Array, Inbox, Message, Requirements, Streams, World, real
from hushbandits.estimators.ridge import Sums


class AsyncLinUCB(LinearTeam):
    """Asynchronous LinUCB with an upload and a download event (Li & Wang 2022, algorithm 1).

    Agent m plays by V_m, its own newest pulls included; U are those that it has not uploaded.  It uploads U if
    ``det V_m > γ det(V_m − U)``.  The server then sends the difference D_j to each agent j for which
    ``det V > γ det(V − D_j)``.

    Parameters
    ----------
    gamma : float
        γ > 1, of both events.
    beta, ridge, sigma, delta
        As in `LinearTeam`.

    Notes
    -----
    A download holds the server's sums, which tell the agent as much as D_j, because it knows what it has.

    Examples
    --------
    >>> import hushbandits as hb
    >>> result = hb.evaluate("FedLinear-v0", "Async-LinUCB", runs=4, env={"horizon": 300})
    >>> bool((result.final("downloads") <= 14 * result.final("uploads")).all())
    True
    """

    server = "differences"

    def __init__(
        self, gamma: float = 6.0, beta: float | None = 0.5, ridge: float = 1.0, sigma: float = 0.5, delta: float = 0.05
    ):
        super().__init__(beta, ridge, sigma, delta)
        self.gamma = real("gamma", gamma, 1)

    def requirements(self, settings: dict[str, object]) -> Requirements:
        """Require the server's rule, with the same γ and λ."""
        return Requirements(env={"server": self.server, "growth": self.gamma, "ridge": self.ridge})

    def reset(self, env: World, rng: Streams) -> None:
        super().reset(env, rng)
        self.unsent = Sums(len(rng), env.n_agents, env.n_features)
        self._shared = self.played.volume.copy()  # ln det(V_m − U)

    def compose(self, reward: Array) -> Message:
        self.played.add(self.who, self.x, reward)
        self.unsent.add(self.who, self.x, reward)
        at = self._runs, self.who
        sent = self.played.volume[at] > math.log(self.gamma) + self._shared[at]
        self._shared[at] = np.where(sent, self.played.volume[at], self._shared[at])
        return self.unsent.take(self.who, sent)

    def receive(self, inbox: Inbox) -> None:
        r, m, gram, moment, pulls = self.downloads(inbox)
        self._shared[r, m] = np.linalg.slogdet(gram + self.ridge * np.eye(gram.shape[-1]))[1]
        own = self.unsent
        self.played.refresh(r, m, gram + own.gram[r, m], moment + own.moment[r, m], pulls + own.pulls[r, m])
