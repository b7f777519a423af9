"""Gossip: what agents who average their sums with their neighbours' have in common."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from hushbandits.core.jit import jit
from hushbandits.core.messages import Field, Inbox
from hushbandits.core.obs import Obs
from hushbandits.core.team import Protocol
from hushbandits.core.types import Array, Message, Seeds
from hushbandits.core.world import World
from hushbandits.envs.network.episode import NetworkTeam, Rules, for_all_runs
from hushbandits.envs.network.reductions import mix

__all__ = ["Gossip", "copy", "gossip_matrix", "second_eigenvalue"]


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
    one: Array  # (R, M, K) what is sent of rewards, and comes back mixed
    two: Array  # (R, M, K) of pulls
    matrix: Array  # (G, M, M)
    spare: Array  # (R, M, K)
    all: Array  # (R, M) true
    more: int  # mixing steps a round beyond the first


@jit
def copy(source, i, target, j):
    """``target[j] = source[i]`` of two (R, M, K), number by number: Numba's own takes seconds to compile."""
    for m in range(source.shape[1]):
        for k in range(source.shape[2]):
            target[j, m, k] = source[i, m, k]


@jit
def _mix_on(own, sender, degree, r):
    for _ in range(own.more):
        mix(own.one, own.all, sender, degree, own.matrix, r, own.spare)
        copy(own.spare, r, own.one, r)
        mix(own.two, own.all, sender, degree, own.matrix, r, own.spare)
        copy(own.spare, r, own.two, r)


@lru_cache
def _rules(choose: Callable[..., int], learn: Callable[..., None], heard: Callable[..., None]) -> Rules:
    @jit
    def act(own, t, r, arms):
        for m in range(arms.shape[1]):
            arms[r, m] = choose(own.own, r, m, t)

    @jit
    def taken(own, r, arms, rewards):
        for m in range(arms.shape[1]):
            learn(own.own, r, m, arms[r, m], rewards[r, m])

    @jit
    def hear(own, r, mail, t):
        one, two = mail.values
        now = t % mail.sent.shape[0]
        mix(one[now], mail.sent[now], mail.sender, mail.degree, own.matrix, r, own.one)
        mix(two[now], mail.sent[now], mail.sender, mail.degree, own.matrix, r, own.two)
        _mix_on(own, mail.sender, mail.degree, r)
        heard(own.own, r, t)

    return Rules(act, taken, hear, post=_post, fields=("rewards", "pulls"))


@jit
def _post(own, values, now, r, arms, rewards):
    one, two = values
    copy(own.one, r, one[now], r)
    copy(own.two, r, two[now], r)


@lru_cache
def _after(heard: Callable[..., None]) -> Callable[..., None]:
    @jit
    def run(own, sender, degree, t):
        for r in range(own.one.shape[0]):
            _mix_on(own, sender, degree, r)
            heard(own.own, r, t)

    return run


class Gossip(NetworkTeam):
    """Base: once a round, after all pulls, two numbers per arm are averaged with the neighbours', ``x ← Px``.

    A subclass gives `begin`, which makes its state, and three compiled rules:

    ``choose(own, r, m, t) → int``; ``learn(own, r, m, arm, reward)``; ``heard(own, r, t)`` after the mixing.

    `one` and `two`, (R, M, K), are its arrays that travel: posted as they stand after `learn`, mixed in place.  A
    message that is lost counts as the receiver's own.  The first `quiet` rounds go by without messages.
    """

    choose: Callable[..., int]
    learn: Callable[..., None]
    heard: Callable[..., None]
    hears = ("mix",)
    #: Rounds before anybody speaks.
    quiet: int = 0

    def begin(self, env: World, seeds: Seeds, matrix: Array) -> tuple[Any, Array, Array]:
        """Return the algorithm's state, and the arrays `one` and `two`."""
        raise NotImplementedError(f"{type(self).__name__} must define begin(env, seeds, matrix)")

    def steps(self, agents: int) -> int:
        """How often a round's sums are mixed; messages are charged for once."""
        return 1

    fields: Mapping[str, Field] = {"rewards": Field(per_arm=True), "pulls": Field(per_arm=True)}

    def protocol(self, settings: dict[str, object]) -> Protocol:
        """Messages go to neighbours alone."""
        return Protocol(env={"life": 1})

    def reset(self, env: World, seeds: Seeds) -> None:
        """Lay out the averaging; forget everything."""
        matrix = gossip_matrix(env.adjacency)
        own, one, two = self.begin(env, seeds, matrix)
        self._own = _State(
            own, one, two, matrix, np.zeros_like(one), np.ones(one.shape[:2], bool), self.steps(env.n_agents) - 1
        )
        self._slots = env.slots
        self._arm = np.zeros(one.shape[:2], np.int64)
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
        return {"rewards": self._own.one, "pulls": self._own.two, "sent": sent}

    def hear(self, inbox: Inbox) -> None:
        """Average with the neighbours."""
        if self._t <= self.quiet:
            return
        for name, array in (("rewards", self._own.one), ("pulls", self._own.two)):
            array[:] = inbox.mix(name, self._own.matrix)
        _after(self.heard)(self._own, self._slots.sender, self._slots.degree, self._t)

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
