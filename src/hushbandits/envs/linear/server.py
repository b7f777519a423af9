"""Transport of uploads: by a server, which adds them up and decides who downloads the sums, or over a graph."""

from __future__ import annotations

import copy
import math
from collections import deque
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from hushbandits.core import Array, Fields, Inbox, Payload, affordable, jit
from hushbandits.envs.network.inbox import Ring, SlotInbox
from hushbandits.envs.network.topology import Places

#: When the server sends its sums to agents.
RULES = {
    "broadcast": "after every round with an upload, to all agents",
    "answer": "to each agent that uploads",
    "synchronize": "if any agent asks for it: all agents upload and download",
    "differences": "to each agent for which the determinant of the sums has grown by a factor",
}
#: What the server adds up.
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
        return _only(self._to, self._sums[field])

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

    Attributes
    ----------
    pending : (R, M) bool
        Whether an agent waits for an answer.
    """

    def __init__(self, rule: str, growth: float, ridge: float, up_delay: int, down_delay: int):
        self.rule, self.growth, self.ridge = rule, growth, ridge
        self.up_delay, self.down_delay = up_delay, down_delay

    def reset(self, runs: int, agents: int, fields: Fields, rows: Array | None = None) -> None:
        """Start `runs` runs with uploads of these `fields`, or restart the runs `rows`."""
        (d,) = fields["moment"].shape
        if rows is None:
            self.sums, self.pending = _zeros(runs, 1, fields), np.zeros((runs, agents), bool)
            self._coming: deque[tuple[Payload, Array] | None] = deque([None] * self.up_delay)
            self._going: deque[ServerInbox | None] = deque([None] * self.down_delay)
            kept = agents if self.rule == "differences" else 0
            self.arrays = ServerArrays(
                **self.sums, known=np.zeros((runs, kept, d, d)), volume=np.full((runs, kept), d * np.log(self.ridge)),
                counts=np.zeros((3, runs), np.int64), rule=[*RULES].index(self.rule), growth=self.growth,
                ridge=self.ridge,
            )  # fmt: skip
            return
        for array in (*self.sums.values(), self.pending, self.arrays.known):
            array[rows] = 0
        self.arrays.volume[rows], self.arrays.counts[:, rows] = d * np.log(self.ridge), 0
        for message, _ in filter(None, self._coming):
            message["sent"][rows] = False
        for inbox in filter(None, self._going):
            inbox._to[rows] = False

    @property
    def counts(self) -> Array:
        """Return uploads, downloads and synchronisations, ``(3, R)``."""
        return self.arrays.counts

    def serve(self, message: Payload, who: Array) -> ServerInbox:
        """Take the uploads of the agents `who` ``(R, A)``, and return what all agents download in this round."""
        self.counts[0] += message["sent"].sum(1)
        to, sums = np.zeros_like(self.pending), self.sums
        if self.up_delay or self.down_delay:
            r, a = message["sent"].nonzero()
            self.pending[r, who[r, a]] = True
            message, who = copy.deepcopy((message, who))
        self._coming.append((message, who))
        if (came := self._coming.popleft()) is not None:
            message, who = came
            _serve(self.arrays, message["sent"], who, *(message[name] for name in FIELDS), to)
        if self.down_delay:
            sums = copy.deepcopy(sums)
        self._going.append(ServerInbox(sums, to))
        inbox = self._going.popleft() or ServerInbox(self.sums, np.zeros_like(to))
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

    def reset(self, runs: int, agents: int, fields: Fields, rows: Array | None = None) -> None:
        """Start `runs` runs with uploads of these `fields`, or restart the runs `rows`."""
        if rows is None:
            self.sums, self.pending = _zeros(runs, agents, fields), np.zeros((runs, agents), bool)
            self.counts = np.zeros((3, runs), np.int64)
            affordable("the messages on their way", Ring.size(fields, self._places.slots.depth, runs, agents))
            self._ring = Ring(fields, self._places.slots.depth, runs, agents)
            return
        self._ring.reset(rows)
        for array in (*self.sums.values(), self.counts.T):
            array[rows] = 0

    def serve(self, message: Payload, who: Array) -> ServerInbox:
        """Send the increments on their way, and return the sums of the agents that have received any."""
        self.counts[0] += np.vecdot(message["sent"], self._places.edges)
        self._ring.post(message)
        inbox, to = SlotInbox(self._ring, self._places.slots, 1), message["sent"].copy()
        for name, held in self.sums.items():
            came = inbox.total(name)
            to |= came.any(tuple(range(2, came.ndim)))
            held += came + _only(message["sent"], message[name])
        return ServerInbox(self.sums, to)


def _zeros(runs: int, agents: int, fields: Fields) -> dict[str, Array]:
    return {name: np.zeros((runs, agents, *field.shape), field.dtype) for name, field in fields.items()}


def _only(there: Array, value: Array) -> Array:
    """Return `value` ``(R, 1 or M, …)`` for the agents that are `there` ``(R, M)``, and zeros for all others."""
    return np.where(there.reshape(*there.shape, *(1,) * (value.ndim - 2)), value, np.zeros((), value.dtype))
