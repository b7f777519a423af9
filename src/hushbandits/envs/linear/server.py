"""Transport of uploads: by a server, which adds them up and decides who downloads the sums, or over a graph."""

from __future__ import annotations

import copy
from collections import deque
from collections.abc import Mapping

import numpy as np

from hushbandits.core import Array, Field, Inbox, Payload, affordable, jit
from hushbandits.envs.network.inbox import Ring, SlotInbox
from hushbandits.envs.network.topology import Places

#: When the server sends its sums to agents.
RULES = {
    "broadcast": "after every round with an upload, to all agents",
    "answer": "to each agent that uploads",
    "synchronize": "if any agent asks for it: all agents upload and download",
    "differences": "to each agent for which the determinant of the sums has grown by a factor",
}
FIELDS = ("gram", "moment", "pulls")


class ServerInbox(Inbox):
    """An inbox with one slot per agent, active or not, for sums of everything that has been uploaded.

    Parameters
    ----------
    sums : dict of (R, 1 or M, …) arrays
        ``gram``, ``moment`` and ``pulls``, the same for all agents or one per agent.
    to : (R, M) bool
        Who receives them.
    """

    fields = FIELDS

    def __init__(self, sums: Mapping[str, Array], to: Array):
        self._sums, self._to = sums, to

    @property
    def arrived(self) -> Array:
        return self._to[..., None]

    def __getitem__(self, field: str) -> Array:
        return self.total(field)[:, :, None]

    def total(self, field: str, weight: str | None = None) -> Array:
        """Return the sums of `field`, ``(R, M, …)``, and zeros for agents that receive nothing."""
        if weight is not None or field not in self._sums:
            return super().total(field, weight)
        value = self._sums[field]
        return np.where(self._to.reshape(*self._to.shape, *(1,) * (value.ndim - 2)), value, np.zeros((), value.dtype))

    def arrivals(self, field: str) -> Array:
        """Return the values that arrived, ``(n, …)``, in the order of ``arrived[..., 0].nonzero()``."""
        r, m = self._to.nonzero()
        value = self._sums[field]
        return value[r, m if value.shape[1] > 1 else 0]


class Server:
    """Server of R runs, which adds up uploads and answers by one of the `RULES`.

    Parameters
    ----------
    rule : str
    growth : float
        γ of the rule ``differences``: an agent downloads if the determinant of λI plus the sums exceeds γ times that of
        λI plus what the agent has uploaded and downloaded.
    ridge : float
        λ of these determinants.
    up_delay, down_delay : int
        Rounds that an upload and a download take.
    """

    def __init__(self, rule: str, growth: float, ridge: float, up_delay: int, down_delay: int):
        self.rule, self.growth, self.ridge = rule, growth, ridge
        self.up_delay, self.down_delay = up_delay, down_delay

    def reset(self, runs: int, agents: int, d: int, rows: Array | None = None) -> None:
        """Start `runs` runs, or restart the runs `rows`."""
        if rows is None:
            self.sums = _zeros(runs, 1, d)
            #: (R, M) whether an agent waits for an answer.
            self.pending = np.zeros((runs, agents), bool)
            self.uploads, self.downloads, self.syncs = np.zeros((3, runs), np.int64)
            self._coming: deque[tuple[Payload, Array]] = deque()
            self._going: deque[ServerInbox] = deque()
            if self.rule == "differences":
                self._known = np.zeros((runs, agents, d, d))
                self._volume = np.full((runs, agents), d * np.log(self.ridge))
            return
        for array in (*self.sums.values(), self.pending, self.uploads, self.downloads, self.syncs):
            array[rows] = 0
        for message, _ in self._coming:
            message["sent"][rows] = False
        for inbox in self._going:
            inbox._to[rows] = False
        if self.rule == "differences":
            self._known[rows], self._volume[rows] = 0.0, d * np.log(self.ridge)

    def serve(self, message: Payload, who: Array) -> ServerInbox:
        """Take the uploads of the agents `who` ``(R, A)``, and return what all agents download in this round."""
        self.uploads += message["sent"].sum(1)
        if self.up_delay:
            self._wait(message["sent"], who)
            self._coming.append((copy.deepcopy(message), who.copy()))
            if len(self._coming) <= self.up_delay:
                return self._send(np.zeros_like(self.pending))
            message, who = self._coming.popleft()
        elif self.down_delay:
            self._wait(message["sent"], who)
        to = np.zeros_like(self.pending)
        merged = _merge(message["sent"], who, *(message[name] for name in FIELDS), *self.sums.values(), to)
        if merged.any():
            to = self._decide(to, merged, message, who)
        return self._send(to)

    def _wait(self, sent: Array, who: Array) -> None:
        r, a = sent.nonzero()
        self.pending[r, who[r, a]] = True

    def _decide(self, uploaded: Array, merged: Array, message: Payload, who: Array) -> Array:
        """Return which agents download, ``(R, M)``, given who has uploaded and in which runs anyone has."""
        if self.rule == "answer":
            return uploaded
        if self.rule != "differences":
            self.syncs += merged
            return np.repeat(merged[:, None], uploaded.shape[1], 1)
        d = self._known.shape[2]
        r, a = message["sent"].nonzero()
        m = who[r, a]
        self._known[r, m] += message["gram"][r, a]
        self._volume[r, m] = np.linalg.slogdet(self.ridge * np.eye(d) + self._known[r, m])[1]
        rows = merged.nonzero()[0]
        volume = np.full(len(merged), -np.inf)
        volume[rows] = np.linalg.slogdet(self.ridge * np.eye(d) + self.sums["gram"][rows, 0])[1]
        to = volume[:, None] > np.log(self.growth) + self._volume
        r, m = to.nonzero()
        self._known[r, m], self._volume[r, m] = self.sums["gram"][r, 0], volume[r]
        return to

    def _send(self, to: Array) -> ServerInbox:
        self.downloads += to.sum(1)
        if not self.down_delay:
            if self.up_delay:
                self.pending &= ~to
            return ServerInbox(self.sums, to)
        self._going.append(ServerInbox({name: value.copy() for name, value in self.sums.items()}, to))
        if len(self._going) <= self.down_delay:
            return ServerInbox(self.sums, np.zeros_like(to))
        inbox = self._going.popleft()
        self.pending &= ~inbox._to
        return inbox


class Flood:
    """Transport that floods increments over a graph, so that every agent keeps sums of its own.

    An agent adds each increment once, hop distance rounds after its upload, and its own at once.

    Parameters
    ----------
    places : Places
        The graph, and how many hops messages travel.
    """

    rule, up_delay, down_delay = "flood", 0, 0

    def __init__(self, places: Places):
        self._places = places

    def reset(self, runs: int, agents: int, d: int, rows: Array | None = None) -> None:
        """Start `runs` runs, or restart the runs `rows`."""
        if rows is None:
            self.sums, self.pending = _zeros(runs, agents, d), np.zeros((runs, agents), bool)
            self.uploads, self.downloads, self.syncs = np.zeros((3, runs), np.int64)
            fields = {"gram": Field((d, d)), "moment": Field((d,)), "pulls": Field(dtype="i8")}
            affordable("the messages on their way", Ring.size(fields, self._places.slots.depth, runs, agents))
            self._ring = Ring(fields, self._places.slots.depth, runs, agents)
            return
        self._ring.reset(rows)
        for array in (*self.sums.values(), self.uploads):
            array[rows] = 0

    def serve(self, message: Payload, who: Array) -> ServerInbox:
        """Send the increments on their way, and return the sums of the agents that have received any."""
        self.uploads += np.vecdot(message["sent"], self._places.edges)
        self._ring.post(message)
        inbox, to = SlotInbox(self._ring, self._places.slots, 1), message["sent"].copy()
        for name, held in self.sums.items():
            came = inbox.total(name)
            to |= came.any(tuple(range(2, came.ndim)))
            held += came + np.where(message["sent"].reshape(*to.shape, *(1,) * (held.ndim - 2)), message[name], 0)
        return ServerInbox(self.sums, to)


def _zeros(runs: int, agents: int, d: int) -> dict[str, Array]:
    return {
        "gram": np.zeros((runs, agents, d, d)),
        "moment": np.zeros((runs, agents, d)),
        "pulls": np.zeros((runs, agents), np.int64),
    }


@jit
def _merge(sent, who, gram, moment, pulls, grams, moments, counts, to):  # type: ignore[no-untyped-def]
    """Add uploads to the server's sums, mark their senders in `to`, and return which runs have an upload, ``(R,)``."""
    runs, agents = sent.shape
    d = moment.shape[2]
    merged = np.zeros(runs, np.bool_)
    for r in range(runs):
        for a in range(agents):
            if not sent[r, a]:
                continue
            merged[r] = to[r, who[r, a]] = True
            counts[r, 0] += pulls[r, a]
            for i in range(d):
                moments[r, 0, i] += moment[r, a, i]
                for j in range(d):
                    grams[r, 0, i, j] += gram[r, a, i, j]
    return merged
