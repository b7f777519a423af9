"""Transport of uploads: by a server, which adds them up and decides who downloads the sums, or over a graph."""

from __future__ import annotations

import copy
import math
from collections import deque
from collections.abc import Mapping
from typing import NamedTuple

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
_ANSWER, _DIFFERENCES = (index for index, rule in enumerate(RULES) if rule in ("answer", "differences"))


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


class ServerArrays(NamedTuple):
    """The arrays of a `Server`, as compiled code takes them."""

    gram: Array
    moment: Array
    pulls: Array
    known: Array  # (R, M, d, d) what an agent has uploaded and downloaded, by the rule "differences"
    volume: Array  # (R, M) ln det of λI plus that
    counts: Array  # (3, R) uploads, downloads and synchronisations
    rule: int
    growth: float
    ridge: float


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
            self._coming: deque[tuple[Payload, Array]] = deque()
            self._going: deque[ServerInbox] = deque()
            kept = agents if self.rule == "differences" else 0
            known, volume = np.zeros((runs, kept, d, d)), np.full((runs, kept), d * np.log(self.ridge))
            counts = np.zeros((3, runs), np.int64)
            rule = [*RULES].index(self.rule)
            gram, moment, pulls = self.sums.values()
            self.arrays = ServerArrays(gram, moment, pulls, known, volume, counts, rule, self.growth, self.ridge)
            return
        for array in (*self.sums.values(), self.pending, self.arrays.known):
            array[rows] = 0
        self.arrays.volume[rows], self.arrays.counts[:, rows] = d * np.log(self.ridge), 0
        for message, _ in self._coming:
            message["sent"][rows] = False
        for inbox in self._going:
            inbox._to[rows] = False

    # properties: a view of an array would not be one any more in a pickle
    uploads = property(lambda self: self.arrays.counts[0])
    downloads = property(lambda self: self.arrays.counts[1])
    syncs = property(lambda self: self.arrays.counts[2])

    def serve(self, message: Payload, who: Array) -> ServerInbox:
        """Take the uploads of the agents `who` ``(R, A)``, and return what all agents download in this round."""
        self.arrays.counts[0] += message["sent"].sum(1)
        if self.up_delay or self.down_delay:
            r, a = message["sent"].nonzero()
            self.pending[r, who[r, a]] = True
        to = np.zeros_like(self.pending)
        if self.up_delay:
            self._coming.append((copy.deepcopy(message), who.copy()))
        if not self.up_delay or len(self._coming) > self.up_delay:
            message, who = self._coming.popleft() if self.up_delay else (message, who)
            _serve(self.arrays, message["sent"], who, *(message[name] for name in FIELDS), to)
        if not self.down_delay:
            self.pending &= ~to
            return ServerInbox(self.sums, to)
        self._going.append(ServerInbox({name: value.copy() for name, value in self.sums.items()}, to))
        if len(self._going) <= self.down_delay:
            return ServerInbox(self.sums, np.zeros_like(to))
        inbox = self._going.popleft()
        self.pending &= ~inbox._to
        return inbox


@jit
def serve_run(arrays, r, who, sent, at, gram, moment, pulls, to):  # type: ignore[no-untyped-def]
    """Add the uploads of run r to the server's sums, and mark in `to` ``(M,)`` who downloads.

    Agent ``who[a]`` uploads row ``at[a]`` of `gram`, `moment` and `pulls` if ``sent[a]``.
    """
    to[:] = False
    rule, any_sent, d = arrays.rule, False, moment.shape[1]
    for a in range(sent.size):
        if not sent[a]:
            continue
        n, m = at[a], who[a]
        any_sent = to[m] = True
        arrays.pulls[r, 0] += pulls[n]
        for i in range(d):
            arrays.moment[r, 0, i] += moment[n, i]
            for j in range(d):
                arrays.gram[r, 0, i, j] += gram[n, i, j]
        if rule == _DIFFERENCES:
            arrays.known[r, m] += gram[n]
            arrays.volume[r, m] = np.linalg.slogdet(arrays.known[r, m] + arrays.ridge * np.eye(d))[1]
    if not any_sent or rule == _ANSWER:
        arrays.counts[1, r] += any_sent * to.sum()
        return
    if rule == _DIFFERENCES:
        volume = np.linalg.slogdet(arrays.gram[r, 0] + arrays.ridge * np.eye(d))[1]
        for m in range(to.size):
            to[m] = volume > math.log(arrays.growth) + arrays.volume[r, m]
            if to[m]:
                arrays.known[r, m], arrays.volume[r, m] = arrays.gram[r, 0], volume
    else:
        to[:] = True
        arrays.counts[2, r] += 1
    arrays.counts[1, r] += to.sum()


@jit
def _serve(arrays, sent, who, gram, moment, pulls, to):  # type: ignore[no-untyped-def]
    at = np.arange(who.shape[1])
    for r in range(who.shape[0]):
        serve_run(arrays, r, who[r], sent[r], at, gram[r], moment[r], pulls[r], to[r])


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
