"""Abbasi-Yadkori, Pál & Szepesvári 2011, "Improved Algorithms for Linear Stochastic Bandits": OFUL.

A learner plays the arm with the largest ``x·θ̂ + β ‖x‖`` in the norm of V⁻¹, where V = λI + Σ x xᵀ and θ̂ = V⁻¹ Σ r x.
The federated algorithms differ in whose pulls V holds, and when.
"""

from __future__ import annotations

import math

import numpy as np

from hushbandits.core import Array, Inbox, Message, Requirements, Streams, Team, World, probability, real
from hushbandits.core.messages import Observation
from hushbandits.core.random.names import DRAWS
from hushbandits.envs.linear.contexts import normal
from hushbandits.envs.linear.server import FIELDS, ServerInbox
from hushbandits.estimators.ridge import Ridge


class LinearTeam(Team):
    """Base class of agents that play by confidence ellipsoids, each by a ridge regression of its own.

    Parameters
    ----------
    beta : float or None
        β; by default the radius of theorem 2, ``σ√(2 ln(1/δ) + d ln(1 + n/(dλ))) + √λ`` for n pulls in V and ‖θ‖ ≤ 1.
    ridge : float
        λ.
    sigma, delta : float
        σ and δ of the radius.
    """

    setting = "linear"
    required_inbox: tuple[str, ...] = FIELDS
    #: The rule of the server that the algorithm needs.
    server = "broadcast"

    def __init__(self, beta: float | None = None, ridge: float = 1.0, sigma: float = 0.5, delta: float = 0.05):
        self.beta = None if beta is None else real("beta", beta, 0, closed="low")
        self.ridge, self.sigma, self.delta = (
            real("ridge", ridge, 0),
            real("sigma", sigma, 0),
            probability("delta", delta),
        )

    def requirements(self, settings: dict[str, object]) -> Requirements:
        """Require the server's rule."""
        return Requirements(env={"server": self.server})

    def reset(self, env: World, rng: Streams) -> None:
        self.env, self._runs = env, np.arange(len(rng))[:, None]
        self.played = self.ridges(len(rng), env)

    def ridges(self, runs: int, env: World) -> Ridge:
        """Return empty regressions of all agents."""
        return Ridge(runs, env.n_agents, env.n_features, self.ridge)

    def width(self, pulls: Array) -> Array:
        """Return β for `pulls` pulls in V."""
        if self.beta is not None:
            return np.full(pulls.shape, self.beta)
        d, lam = self.env.n_features, self.ridge
        return self.sigma * np.sqrt(2 * math.log(1 / self.delta) + d * np.log1p(pulls / (d * lam))) + math.sqrt(lam)

    def act(self, obs: Observation) -> Array:
        self.who, features = obs.active_agents, self.env.features
        learners = self.learners(self.who)
        arm = self.played.choose(learners, features, self.width(self.played.pulls[self._runs, learners]))
        self.x = picked(features, arm)
        return arm

    @staticmethod
    def downloads(inbox: Inbox) -> tuple[Array, Array, Array, Array, Array]:
        """Return run and agent of each of n downloads, and the server's ``gram``, ``moment`` and ``pulls`` in it."""
        assert isinstance(inbox, ServerInbox)
        r, m = inbox.arrived[..., 0].nonzero()
        gram, moment, pulls = map(inbox.arrivals, FIELDS)
        return r, m, gram, moment, pulls

    def learners(self, who: Array) -> Array:
        """Return the regressions by which the agents `who` play, ``(R, A)``."""
        return who


def picked(features: Array, arm: Array) -> Array:
    """Return the features of the arms `arm`, ``(R, A, d)``."""
    chosen: Array = np.take_along_axis(features, arm[:, :, None, None], 2)[:, :, 0]
    return chosen


class LinUCB(LinearTeam):
    """OFUL on the pulls of all agents: everybody uploads every pull, and downloads the sums in every round.

    Source: Abbasi-Yadkori et al. 2011, theorem 2; the central baseline of He et al. 2022.
    """

    def ridges(self, runs: int, env: World) -> Ridge:
        return Ridge(runs, 1, env.n_features, self.ridge)  # all agents download the same sums

    def learners(self, who: Array) -> Array:
        return np.zeros_like(who)

    def receive(self, inbox: Inbox) -> None:
        r, m, *sums = self.downloads(inbox)
        self.played.refresh(r[m == 0], m[m == 0], *(value[m == 0] for value in sums))


class LinUCBAlone(LinearTeam):
    """OFUL of each agent on its own pulls, without messages."""

    required_inbox = ()

    def compose(self, reward: Array) -> Message:
        self.played.add(self.who, self.x, reward)
        return {**self.env.standard_report(), "sent": np.zeros(reward.shape, bool)}


class LinTS(LinUCB):
    """Thompson sampling on the pulls of all agents: ``argmax x·θ̃`` with θ̃ ∼ N(θ̂, v² V⁻¹).

    Parameters
    ----------
    v : float
        v.

    Notes
    -----
    Source: Agrawal & Goyal 2013, "Thompson Sampling for Contextual Bandits with Linear Payoffs", algorithm 1.
    """

    def __init__(self, v: float = 0.5, ridge: float = 1.0):
        super().__init__(beta=0.0, ridge=ridge)
        self.v = real("v", v, 0)

    def reset(self, env: World, rng: Streams) -> None:
        super().reset(env, rng)
        acting = env.n_agents if env.activity == "all" else 1
        self._draws = rng.reader((acting, env.n_features), DRAWS)

    def act(self, obs: Observation) -> Array:
        spread = np.linalg.cholesky(self.played.inverse[:, 0])
        noise = self.v * np.einsum("rij,raj->rai", spread, normal(self._draws.next()))
        features, sample = self.env.features, self.played.theta[:, :1] + noise
        arm = np.einsum("rakd,rad->rak", features, sample).argmax(2)
        self.who, self.x = obs.active_agents, picked(features, arm)
        return arm
