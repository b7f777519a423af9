"""The flood built explicitly: where edges fail or relays meddle, copies of a post differ by the way they took.

Whoever receives a post for the first time, younger than γ hops, sends it on along each of its edges, one edge per hop;
a copy whose edge is down is lost.  So a post may come late, by a detour, or not at all.  Where nothing fails and nobody
meddles, this is `hushbandits.envs.network.slots` at many times its cost: M times the edges per round, M² per post in
flight.
"""

from __future__ import annotations

import math

import numpy as np

from hushbandits.core.ground.jit import jit
from hushbandits.core.ground.limits import affordable
from hushbandits.core.ground.types import Array
from hushbandits.core.messages import Fields, Inbox
from hushbandits.envs.network.slots import SlotInbox

__all__ = ["Flood", "FloodInbox"]


class Flood:
    """Posts in flight, and who has seen them.

    Parameters
    ----------
    fields : Fields
        What a post holds.
    adjacency : (G, M, M) bool
        The graphs, G = 1 or R.
    life : (G,) int
        γ, in hops.
    pace : int
        Rounds that a hop takes.
    runs, n_arms : int
        R and K.
    meddled : str, optional
        The field that relays may change.

    Attributes
    ----------
    edges : list of G (E, 2) arrays
        The edges u < v, in the order in which their luck is read.
    sends : (R,) int
        Transmissions so far.
    """

    def __init__(
        self,
        fields: Fields,
        adjacency: Array,
        life: Array,
        pace: int,
        runs: int,
        n_arms: int,
        meddled: str | None = None,
    ):
        self.fields, self.pace, self.n_arms, self.meddled = fields, pace, n_arms, meddled
        m = adjacency.shape[1]
        self.lay(adjacency, life)
        # One copy of each post in flight per holder, and what all of them may bring in a round.
        flying = float(self._life.max()) * pace
        held = sum(math.prod(f.shape) * f.form.itemsize for f in fields.values() if f.latest)
        size = runs * float(m) ** 2 * (flying * (13 if meddled is None else 21) + 40 + held)
        affordable(f"runs={runs} of n_agents={m} with posts that fly {flying:.0f} rounds", size)
        self._shape = runs, m
        self.sends = np.zeros(runs, np.int64)
        self.t = 0
        self._posts: list[_Post] = []
        self._newest = np.zeros((runs, m, m), np.int64)  # round of the newest post of each sender that a state holds
        states = {k: f for k, f in fields.items() if f.latest}
        self.held = {k: np.zeros((runs, m, m, *f.shape), f.dtype) for k, f in states.items()}

    def lay(self, adjacency: Array, life: Array) -> None:
        """Lay the edges out."""
        m = adjacency.shape[1]
        self._adjacency, self._life = adjacency, np.asarray(life)
        self.edges = [np.argwhere(np.triu(matrix)) for matrix in adjacency]
        degree = adjacency.sum(2)
        self._neighbour = np.full((len(adjacency), m, max(1, int(degree.max()))), -1, np.int32)
        self._edge = self._neighbour.copy()
        for g, edges in enumerate(self.edges):
            number = np.zeros((m, m), np.int32)
            number[edges[:, 0], edges[:, 1]] = number[edges[:, 1], edges[:, 0]] = np.arange(len(edges))
            for u in range(m):
                near = np.flatnonzero(adjacency[g, u])
                self._neighbour[g, u, : len(near)], self._edge[g, u, : len(near)] = near, number[u, near]

    def put_rows(self, fresh: Flood, rows: Array) -> None:
        """Forget what is in flight in runs that start afresh."""
        for post in self._posts:
            post.head[rows] = post.tail[rows] = 0
        for array in (self.sends, self._newest, *self.held.values()):
            array[rows] = 0

    def post(self, message: dict[str, Array]) -> None:
        """Add a round's posts."""
        self.t += 1
        values = {k: np.array(message[k], f.dtype) for k, f in self.fields.items()}
        self._posts.append(_Post(self.t, values, message["sent"], self.meddled))

    def relays(self) -> list[Array]:
        """``(n, 2)`` per run: (relay, sender) of each copy about to be sent on by others than its sender, in order."""
        found: list[list[Array]] = [[] for _ in range(self._shape[0])]
        for post in self._moving():
            for r in range(self._shape[0]):
                if self._hop(post) <= self._life[r % len(self._life)]:
                    found[r].append(_frontier(post.queue[r], post.head[r], post.tail[r]))
        return [np.concatenate([*pairs, np.zeros((0, 2), np.int64)]) for pairs in found]

    def advance(self, up: list[Array], hits: list[Array], values: list[Array]) -> FloodInbox:
        """Let every post move on by a hop, if its time has come.

        Parameters
        ----------
        up : list of R (E,) bool
            Which edges carry in this round.
        hits, values : lists of R (n,)
            Which copies of `relays` are changed, and to what.
        """
        runs, m = self._shape
        posts = self._moving()  # youngest first, so that slots come in the order of `SlotInbox`
        arrivals: list[Array] = []
        at = np.zeros(runs, np.int64)
        for i, post in enumerate(posts):
            out = np.empty((runs * m * m, 4), np.int64)
            copies = np.empty(runs * m * m)
            count = 0
            for r in range(runs):
                g = r % len(self._neighbour)
                if self._hop(post) > self._life[g]:
                    continue
                count, at[r], sends = _hop(
                    r, post.seen[r], post.copy[r], post.queue[r], post.head[r], post.tail[r], self._neighbour[g],
                    self._edge[g], up[r], hits[r], values[r], at[r], self.meddled is not None, out, copies, count,
                )  # fmt: skip
                self.sends[r] += sends
            arrivals.append(np.column_stack([out[:count], np.full(count, i), copies[:count].view(np.int64)]))
        reached = np.concatenate([*arrivals, np.zeros((0, 6), np.int64)])
        self._keep(reached, posts)
        inbox = FloodInbox(self, posts, reached)
        last = int(self._life.max()) * self.pace
        self._posts = [p for p in self._posts if self.t - p.born + 1 < last and (p.head < p.tail).any()]
        return inbox

    def _hop(self, post: _Post) -> int:
        return (self.t - post.born + 1) // self.pace

    def _moving(self) -> list[_Post]:
        return [p for p in reversed(self._posts) if (self.t - p.born + 1) % self.pace == 0]

    def _keep(self, reached: Array, posts: list[_Post]) -> None:
        if not self.held:
            return
        r, to, who, _, i = reached[:, :5].T
        for j in range(len(posts) - 1, -1, -1):  # oldest first: the newest stays
            new = (i == j) & (self._newest[r, to, who] < posts[j].born)
            seat = r[new], to[new], who[new]
            self._newest[seat] = posts[j].born
            for name, value in self.held.items():
                value[seat] = posts[j].values[name][r[new], who[new]]


class _Post:
    """The posts of one round: who has seen whose, and who sends them on next."""

    def __init__(self, born: int, values: dict[str, Array], sent: Array, meddled: str | None):
        runs, m = sent.shape
        self.born, self.values = born, values
        self.seen = np.zeros((runs, m, m), bool)  # (run, sender, holder)
        self.queue = np.zeros((runs, m, m), np.int32)
        self.head, self.tail = np.zeros((2, runs, m), np.int64)
        everyone = np.arange(m)
        self.seen[:, everyone, everyone] = True
        self.queue[:, :, 0] = everyone
        self.tail[:] = sent
        self.copy = np.zeros((runs, m, m if meddled else 1))
        if meddled:
            self.copy[:, everyone, everyone] = values[meddled]


class FloodInbox(SlotInbox):
    """What reached each agent: slots hold arrivals, nearest first; states stand until a newer one comes."""

    def __init__(self, flood: Flood, posts: list[_Post], reached: Array):
        self._flood, self._posts = flood, posts
        self._clock, self._round = flood, flood.t
        runs, m = flood._shape
        self._n_arms = flood.n_arms
        self._order, self.own = None, {}
        self._fields = (*flood.fields, "sender")
        size = np.bincount(reached[:, 0] * m + reached[:, 1], minlength=runs * m)
        first = np.argsort(reached[:, 0] * m + reached[:, 1], kind="stable")
        place = np.arange(len(reached)) - np.repeat(np.cumsum(size) - size, size)
        width = int(size.max(initial=0))
        #: (R, M, S) sender (−1: empty), index of its post, its copy of the meddled field
        self._sender = np.full((runs, m, width), -1, np.int64)
        self._post = np.zeros((runs, m, width), np.int64)
        self._copy = np.zeros((runs, m, width))
        rows = reached[first]
        seat = rows[:, 0], rows[:, 1], place
        self._sender[seat], self._post[seat] = rows[:, 2], rows[:, 4]
        self._copy[seat] = np.ascontiguousarray(rows[:, 5]).view(float)
        self._reached = reached

    def _crossings(self, run: int) -> Array:
        """``(n, 5)`` first receipts of a run: from, to, sender, round posted, arm reported (−1: none)."""
        mine = self._reached[self._reached[:, 0] == run]
        born = [self._posts[i].born for i in mine[:, 4]]
        said = "arm" in self._flood.fields
        arms = [self._posts[i].values["arm"][run, w] if said else -1 for w, i in mine[:, [2, 4]]]
        return np.column_stack([mine[:, [3, 1, 2]], np.array(born, np.int64), np.array(arms, np.int64)])

    @property
    def _states(self) -> bool:
        return bool(self._flood.held) and len(self._flood.held) == len(self._flood.fields)

    @property
    def arrived(self) -> Array:
        """``(R, M, S)`` bool: arrivals of this round; of states alone, one slot per sender that was ever heard."""
        self._needs()
        return self._arranged(self._flood._newest > 0 if self._states else self._sender >= 0)

    def __getitem__(self, field: str) -> Array:
        self._needs(field)
        if self._states:
            heard = self._flood._newest > 0
            if field == "sender":
                return self._arranged(np.where(heard, np.arange(heard.shape[2]), -1))
            return self._arranged(self._flood.held[field]).copy()
        return self._arranged(self._sender.copy() if field == "sender" else self._values(field))

    def _values(self, field: str) -> Array:
        arrived = self._sender >= 0
        if field == self._flood.meddled:
            return np.where(arrived, self._copy, 0.0)
        kind = self._flood.fields[field]
        out = np.zeros((*arrived.shape, *kind.shape), kind.dtype)
        for i, post in enumerate(self._posts):
            r, m, s = np.nonzero(arrived & (self._post == i))
            out[r, m, s] = post.values[field][r, self._sender[r, m, s]]
        return out

    def of(self, sender: Array, field: str) -> tuple[Array, Array]:
        """As `SlotInbox.of`; of several posts the youngest, which comes first."""
        self._needs_event(field)
        sender = self._agents("sender", sender, *self._flood._shape)
        value, mine = self._values(field), self._sender == sender[:, None, None]
        if not value.shape[2]:
            return np.zeros((*value.shape[:2], *value.shape[3:]), value.dtype), np.zeros(value.shape[:2], bool)
        slot = mine.argmax(2)
        seat = np.ix_(np.arange(value.shape[0]), np.arange(value.shape[1]))
        return value[(*seat, slot)], mine.any(2)

    def mix(self, field: str, matrix: Array) -> Array:
        """Raise ``ValueError``: a flood's copies come by many ways, so a round has no average."""
        return Inbox.mix(self, field, matrix)

    def at(self, receiver: Array, field: str) -> tuple[Array, Array]:
        self._needs_event(field)
        n, m = self._flood._shape
        runs, receiver = np.arange(n), self._agents("receiver", receiver, n, m)
        return self._values(field)[runs, receiver], self._sender[runs, receiver] >= 0

    def tally(self) -> tuple[Array, Array]:
        """Pulls and reward sums per arm of this round's arrivals, each ``(R, M, K)``."""
        self._needs("arm", "reward")
        out = np.zeros((*self._sender.shape[:2], self._n_arms, 2))
        _tally(self._values("arm"), self._values("reward"), self._sender >= 0, out)
        return out[..., 0], out[..., 1]

    def total(self, field: str, weight: str | None = None) -> Array:
        """Sum of `field` (times `weight`) over arrivals; of a state, over all senders ever heard."""
        if field == "sender" or not {field, weight or field} <= set(self._fields):
            return Inbox.total(self, field)
        self._needs()
        held = self._flood.held

        def values(name: str) -> Array:
            return held[name] if field in held else self._values(name)

        value = values(field) if weight is None else values(field) * values(weight)
        out = np.zeros((*value.shape[:2], *value.shape[3:]), np.int64 if value.dtype == bool else value.dtype)
        for s in range(value.shape[2]):  # slot by slot: a sum must not depend on how many slots the batch has
            out += value[:, :, s]
        return out


@jit
def _frontier(queue, head, tail):  # type: ignore[no-untyped-def]
    agents = head.size
    count = 0
    for w in range(agents):
        count += tail[w] - head[w] - (1 if head[w] == 0 and tail[w] > 0 else 0)
    out = np.empty((count, 2), np.int64)
    i = 0
    for w in range(agents):
        for q in range(head[w], tail[w]):
            if queue[w, q] != w:
                out[i, 0], out[i, 1] = queue[w, q], w
                i += 1
    return out


@jit
def _hop(r, seen, copy, queue, head, tail, neighbour, edge, up, hits, values, at, meddled, out, copies, count):  # type: ignore[no-untyped-def]
    sends = 0
    for w in range(head.size):
        end = tail[w]
        last = end
        for q in range(head[w], end):
            u = queue[w, q]
            if meddled and u != w:
                if hits[at]:
                    copy[w, u] = values[at]
                at += 1
            for j in range(neighbour.shape[1]):
                v = neighbour[u, j]
                if v < 0:
                    break
                sends += 1
                if up[edge[u, j]] and not seen[w, v]:
                    seen[w, v] = True
                    queue[w, last] = v
                    last += 1
                    if meddled:
                        copy[w, v] = copy[w, u]
                        copies[count] = copy[w, v]
                    out[count, 0], out[count, 1], out[count, 2], out[count, 3] = r, v, w, u
                    count += 1
        head[w], tail[w] = end, last
    return count, at, sends


@jit
def _tally(arm, reward, arrived, out):  # type: ignore[no-untyped-def]
    runs, agents, slots = arm.shape
    for r in range(runs):
        for m in range(agents):
            for s in range(slots):
                if arrived[r, m, s]:
                    out[r, m, arm[r, m, s], 0] += 1.0
                    out[r, m, arm[r, m, s], 1] += reward[r, m, s]
