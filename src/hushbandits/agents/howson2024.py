"""Howson, Filippi & Pike-Burke 2024, "QuACK: A Multipurpose Queuing Algorithm for Cooperative k-Armed Bandits".

One leader runs a single-agent algorithm π on everybody's rewards, which wait in a queue per arm; the others
repeat its arms as the instructions reach them.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from hushbandits.core.jit import jit
from hushbandits.core.messages import Inbox
from hushbandits.core.obs import Obs
from hushbandits.core.tapes import LONGEST, streams
from hushbandits.core.types import Array, Seeds
from hushbandits.core.validate import integer, real
from hushbandits.core.world import World
from hushbandits.envs.network.episode import NetworkTeam, Rules
from hushbandits.policies.ucb import ucb_bonus

__all__ = ["QuACKUCB", "graph_median"]


def graph_median(distance: Array) -> Array:
    """``(G,)`` leaders ``argmin_v Σ_w d(v, w)``, lowest index on ties.

    Examples
    --------
    >>> graph_median(np.array([[[0, 1, 2], [1, 0, 1], [2, 1, 0]]])).tolist()
    [1]
    """
    leaders: Array = distance.sum(2).argmin(1)
    return leaders


@jit
def _next_arm(s, n, sigma, log_inverse_delta):
    best, top = 0, -math.inf
    for k in range(n.size):
        x = math.inf if n[k] == 0.0 else s[k] / n[k] + ucb_bonus(sigma, log_inverse_delta, n[k])
        if x > top:
            best, top = k, x
    return best


@jit
def _append(k, x, r, queue, head, size):
    queue[r, k, (head[r, k] + size[r, k]) % queue.shape[2]] = x
    size[r, k] += 1


@jit
def _enqueue(arm, reward, arrived, queue, head, size):
    runs, slots = arm.shape
    for r in range(runs):
        for i in range(slots):
            if arrived[r, i]:
                _append(arm[r, i], reward[r, i], r, queue, head, size)


@jit
def _lead_run(s, n, queue, head, size, sigma, log_inverse_delta, r):
    depth = queue.shape[2]
    k = _next_arm(s[r], n[r], sigma, log_inverse_delta)
    while size[r, k] > 0:  # π is fed from the queue until it asks for an arm whose queue is empty
        s[r, k] += queue[r, k, head[r, k]]
        n[r, k] += 1.0
        head[r, k] = (head[r, k] + 1) % depth
        size[r, k] -= 1
        k = _next_arm(s[r], n[r], sigma, log_inverse_delta)
    return k


@jit
def _lead(s, n, queue, head, size, sigma, log_inverse_delta, arms):
    for r in range(arms.size):
        arms[r] = _lead_run(s, n, queue, head, size, sigma, log_inverse_delta, r)


class _Queues(NamedTuple):
    leader: Array  # (R,)
    chosen: Array  # (R,) the leader's arm
    arm: Array  # (R, M) last instructions
    n: Array  # (R, K)
    s: Array  # (R, K)
    queue: Array  # (R, K, depth)
    head: Array  # (R, K)
    size: Array  # (R, K)
    sigma: float
    log_inverse_delta: float


@jit
def _act(own, t, r, arms):
    k = _lead_run(own.s, own.n, own.queue, own.head, own.size, own.sigma, own.log_inverse_delta, r)
    own.chosen[r] = arms[r, own.leader[r]] = k


@jit
def _learn(own, r, arms, rewards):
    k = own.chosen[r]
    own.n[r, k] += 1.0
    own.s[r, k] += rewards[r, own.leader[r]]


@jit
def _hear(own, r, mail, t):
    g, v, depth = r % mail.lag.shape[0], own.leader[r], mail.sent.shape[0]
    for w in range(mail.lag.shape[2]):
        lag = mail.lag[g, v, w]
        i = (t - lag + 1) % depth
        if 0 < lag <= t and mail.sent[i, r, v]:
            own.arm[r, w] = mail.arm[i, r, v]
    for s in range(mail.degree[g, v]):
        lag, w = mail.delay[g, v, s], mail.sender[g, v, s]
        i = (t - lag + 1) % depth
        if lag <= t and mail.sent[i, r, w]:
            _append(mail.arm[i, r, w], mail.reward[i, r, w], r, own.queue, own.head, own.size)


class QuACKUCB(NetworkTeam):
    """QuACK with π = UCB.

    The leader v appends every reward that arrives to its arm's queue Q_a.  In round t it asks π for an arm a;
    while Q_a is not empty, π takes a reward from it and is asked again; then v plays a, and π takes its own
    reward.  A follower w plays ``A^v_{t−d}`` once t > d = d(v, w), a uniform arm before that; where messages get
    lost, the last instruction that reached it.
    π: index ``μ̂ + σ√(2 ln(1/δ)/N)`` with ``δ = 1/(Mn)²`` over a horizon of n rounds; an arm without a reward
    comes first, ties go to the lowest index.

    Everyone's standard report floods the graph, so the life γ must reach from the leader to everyone.

    Parameters
    ----------
    sigma : float
        Sub-Gaussian constant; ½ for rewards in [0, 1].
    leader : int, optional
        Default: the graph median, ``argmin_v Σ_w d(v, w)``.

    Raises
    ------
    ValueError
        γ is shorter than the way from the leader to somebody.

    Examples
    --------
    >>> import hushbandits as hb
    >>> hb.evaluate("CoopNetwork-v0", "QuACK-UCB", runs=2, env={"n_agents": 4, "horizon": 50}).final("regret").shape
    (2,)
    """

    hears = ("sender", "arm", "reward")
    rules = Rules(_act, _learn, _hear)

    def __init__(self, sigma: float = 0.5, leader: int | None = None):
        self.sigma = real("sigma", sigma, 0)
        self.leader = leader if leader is None else integer("leader", leader, 0)

    @property
    def name(self) -> str:
        """As registered."""
        return "QuACK-UCB"

    def reset(self, env: World, seeds: Seeds) -> None:
        """Choose leaders; empty the queues."""
        runs, agents, n_arms = len(seeds), env.n_agents, env.n_arms
        distance: Array = env.distance
        graph = np.arange(runs) % len(distance)
        if self.leader is not None and self.leader >= agents:
            raise ValueError(f"leader={self.leader} must be an agent: 0..{agents - 1}")
        leaders = graph_median(distance) if self.leader is None else np.full(len(distance), self.leader)
        reach = distance[np.arange(len(distance)), leaders].max(1)
        life: Array = env.slots.life
        if (life < reach).any():
            raise ValueError(
                f"life={int(life.min())} is too short for QuACK: the leader is {int(reach.max())} hops from somebody"
            )
        self._leader = leaders[graph]
        self._runs = np.arange(runs)
        self._queue = np.zeros((runs, n_arms, 16 * agents))
        self._head = np.zeros((runs, n_arms), np.int64)
        self._size = np.zeros((runs, n_arms), np.int64)
        self._n, self._s = np.zeros((runs, n_arms)), np.zeros((runs, n_arms))
        self._log_inverse_delta = 2.0 * math.log(agents * env.horizon)
        self._arm = np.zeros((runs, agents), np.int64)
        self._told = np.zeros((runs, agents), bool)
        self._rngs = streams(seeds, f"agent/{self.name}")
        self._chosen = np.zeros(runs, np.int64)
        self._n_arms = n_arms
        self._slots: int = env.slots.sender.shape[2]

    def act(self, obs: Obs) -> Array:
        """Leaders ask π; followers repeat their last instruction, or guess until the first."""
        if not self._told.all():
            for r, rng in enumerate(self._rngs):
                guess = rng.integers(self._n_arms, size=self._arm.shape[1])
                self._arm[r] = np.where(self._told[r], self._arm[r], guess)
        _lead(self._s, self._n, self._queue, self._head, self._size, self.sigma, self._log_inverse_delta, self._chosen)
        self._arm[self._runs, self._leader] = self._chosen
        return self._arm

    def speak(self, reward: Array) -> None:
        """Π takes the leader's own reward; everyone reports."""
        own = reward[self._runs, self._leader]
        self._n[self._runs, self._chosen] += 1
        self._s[self._runs, self._chosen] += own

    def hear(self, inbox: Inbox) -> None:
        """Followers take the instruction, the leader the rewards."""
        instruction, told = inbox.of(self._leader, "arm")
        self._arm = np.where(told, instruction, self._arm)
        self._told |= told
        self._told[self._runs, self._leader] = True
        arm, arrived = inbox.at(self._leader, "arm")
        reward, _ = inbox.at(self._leader, "reward")
        if self._size.max() + arm.shape[1] > self._queue.shape[2]:
            self._grow(2 * self._queue.shape[2] + arm.shape[1])
        _enqueue(arm, reward, arrived, self._queue, self._head, self._size)

    def _grow(self, depth: int) -> None:
        old = self._queue.shape[2]
        order = (self._head[:, :, None] + np.arange(old)) % old
        queue = np.zeros((*self._queue.shape[:2], depth))
        queue[:, :, :old] = np.take_along_axis(self._queue, order, 2)
        self._queue, self._head = queue, np.zeros_like(self._head)

    def state(self) -> _Queues:
        """Instructions, queues, and what π has been told."""
        return _Queues(
            self._leader, self._chosen, self._arm, self._n, self._s, self._queue, self._head, self._size, self.sigma,
            self._log_inverse_delta,
        )  # fmt: skip

    def ahead(self) -> int:
        """Nobody guesses any more, and no queue can overflow."""
        if not self._told.all():
            return 0
        return int(self._queue.shape[2] - self._size.max()) // self._slots if self._slots else LONGEST
