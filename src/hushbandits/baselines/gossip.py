"""Gossip: what agents who average their sums with their neighbours' have in common."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from hushbandits.core.ground.jit import jit
from hushbandits.core.ground.types import Array, Message, Seeds
from hushbandits.core.messages import Field, Inbox
from hushbandits.core.obs import Obs
from hushbandits.core.team import Protocol
from hushbandits.core.world import World
from hushbandits.envs.network.episode import NetworkTeam, Rules, for_all_runs
from hushbandits.envs.network.reductions import mix

__all__ = ["Gossip", "gossip_matrix", "nothing", "second_eigenvalue"]


def gossip_matrix(adjacency: Array) -> Array:
    """``P = I − (D − A)/(1 + max degree)``, symmetric and doubly stochastic.

    Parameters
    ----------
    adjacency : (G, M, M) bool

    Returns
    -------
    (G, M, M) array

    Examples
    --------
    >>> from hushbandits.envs.network.graphs import adjacency
    >>> gossip_matrix(adjacency("path", 3)[None])[0].round(3).tolist()
    [[0.667, 0.333, 0.0], [0.333, 0.333, 0.333], [0.0, 0.333, 0.667]]
    """
    edges = adjacency.astype(float)
    degree = edges.sum(2)
    share = 1.0 / (1.0 + degree.max(1))
    matrix: Array = edges * share[:, None, None]
    agents = np.arange(edges.shape[1])
    matrix[:, agents, agents] = 1.0 - degree * share[:, None]
    return matrix


def second_eigenvalue(matrix: Array) -> Array:
    """``(G,)`` |λ₂|, the second largest modulus of P's eigenvalues; 0 for a single agent.

    Examples
    --------
    >>> from hushbandits.envs.network.graphs import adjacency
    >>> second_eigenvalue(gossip_matrix(adjacency("path", 3)[None])).round(6).tolist()
    [0.666667]
    """
    if matrix.shape[1] == 1:
        return np.zeros(len(matrix))
    values: Array = np.sort(np.abs(np.linalg.eigvalsh(matrix)), axis=1)[:, -2]
    return np.where(values < 1e-12, 0.0, values)


class _State(NamedTuple):
    own: Any  # the algorithm's
    sums: Array  # (R, M, 2K) what is sent, and comes back mixed
    matrix: Array  # (G, M, M)


@jit
def _copied(source, target):
    # number by number: a slice of arrays assigned takes Numba a second to compile
    for i in range(source.size):
        target[i] = source[i]


@lru_cache
def _rules(choose: Callable[..., None], learn: Callable[..., None], heard: Callable[..., None]) -> Rules:
    @jit
    def act(own, t, r, arms):
        choose(own.own, r, t, arms)

    @jit
    def taken(own, r, arms, rewards):
        learn(own.own, r, arms, rewards)

    @jit
    def hear(own, r, mail, t):
        now = t % mail.sent.shape[0]
        posted = mail.values[0][now].reshape(own.sums.shape)
        mix(posted, mail.sent[now], mail.sender, mail.degree, own.matrix, r, own.sums)
        heard(own.own, r, t, posted)

    return Rules(act, taken, hear, post=_post, fields=("sums",))


@jit
def _post(own, values, now, r, arms, rewards):
    _copied(own.sums[r].reshape(-1), values[0][now, r].reshape(-1))


@jit
def nothing(own, r, t, posted):
    """Do nothing after the mixing."""


@lru_cache
def _after(heard: Callable[..., None]) -> Callable[..., None]:
    @jit
    def run(own, posted, t):
        for r in range(own.sums.shape[0]):
            heard(own.own, r, t, posted)

    return run


#: What the env's parameters must be for everyone to hear all neighbours at once.
_NEEDED = {"extra_delay": 0, "edge_loss": 0.0, "routing": "flood"}


class Gossip(NetworkTeam):
    """Base: once a round, after all pulls, two numbers per arm are averaged with the neighbours', ``x ← Px``.

    A subclass gives `begin`, which makes its state, and three compiled rules:

    ``choose(own, r, t, arms)`` writes everyone's arm to ``arms[r]``; ``learn(own, r, arms, rewards)`` takes rewards in;
    ``heard(own, r, t, posted)`` comes after the mixing of what was `posted`, (R, M, 2K).

    `sums`, (R, M, K, 2), is its array that travels: posted as it stands after `learn`, mixed in place.  A message that
    is lost counts as the receiver's own.  The first `quiet` rounds go by without messages.
    """

    choose: Callable[..., None]
    learn: Callable[..., None]
    heard: Callable[..., None]
    hears = ("mix",)
    #: Rounds before anybody speaks.
    quiet: int = 0

    def begin(self, env: World, seeds: Seeds, matrix: Array) -> tuple[Any, Array]:
        """Return the state of all runs of `env` (`seeds`: one each; `matrix`: P), and the array `sums`."""
        raise NotImplementedError(f"{type(self).__name__} must define begin(env, seeds, matrix)")

    fields: Mapping[str, Field] = {"sums": Field(shape=(2,), per_arm=True)}

    def protocol(self, settings: dict[str, object]) -> Protocol:
        """Messages go to neighbours alone, over every edge in every round; ``ValueError`` where `settings` differ."""
        for parameter, needed in _NEEDED.items():
            if settings.get(parameter, needed) != needed:
                raise ValueError(
                    f"{parameter}={settings[parameter]!r} must be {needed!r} for {self.name}, which averages with all "
                    f"its neighbours within the round"
                )
        return Protocol(env={"life": 1})

    def reset(self, env: World, seeds: Seeds) -> None:
        """Lay out the averaging; forget everything."""
        matrix = gossip_matrix(env.adjacency)
        own, self._sums = self.begin(env, seeds, matrix)
        who = self._sums.shape[:2]
        flat = self._sums.reshape(*who, -1)
        self._own = _State(own, flat, matrix)
        self._arm = np.zeros(who, np.int64)
        self._t = 0

    def act(self, obs: Obs) -> Array:
        """Everyone chooses."""
        self._t = int(obs.t[0]) + 1
        for_all_runs(self.rules)[0](self._own, self._t, self._arm)
        return self._arm

    def speak(self, reward: Array) -> Message:
        """Everyone takes its reward, and posts what it knows."""
        for_all_runs(self.rules)[1](self._own, self._arm, np.ascontiguousarray(reward))
        sent = np.full(reward.shape, self._t > self.quiet)
        return {"sums": self._sums, "sent": sent}

    def hear(self, inbox: Inbox) -> None:
        """Average with the neighbours."""
        if self._t <= self.quiet:
            return
        posted = self._own.sums.copy()
        self._sums[:] = inbox.mix("sums", self._own.matrix)
        _after(self.heard)(self._own, posted, self._t)

    @property
    def rules(self) -> Rules:  # type: ignore[override]
        """Compiled around the algorithm's."""
        return _rules(self.choose, self.learn, self.heard)

    def state(self) -> _State:
        """The algorithm's, what travels, and P."""
        return self._own

    def ahead(self) -> int:
        """The quiet rounds go by the beats."""
        return super().ahead() if self._t >= self.quiet else 0
