"""Where agents send their sums: a server that adds up uploads and decides who downloads, or every agent of a graph."""

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from hushbandits.core import Array, Field, Fields, Params, Payload, affordable, jit
from hushbandits.envs.inbox import OneSlot
from hushbandits.envs.network.inbox import Ring, SlotInbox
from hushbandits.envs.network.topology import Places


class Sums(ABC):
    """Base class of transports that add up the fields of messages.

    Attributes
    ----------
    sums : dict of (R, 1 or M, …) arrays
        By field, what a server has added up, or each agent.
    counts : (R, 3) int
        Messages up, messages down, and rounds in which a server wrote to all agents.
    pending : (R, M) bool
        Whether an agent waits for an answer.
    slow : bool
        Whether messages may take more than a round.
    """

    slow = True
    sums: dict[str, Array]

    def reset(self, who: Array, agents: int, fields: Fields, rows: Array | None = None) -> None:
        """Start all runs with messages of these `fields`, or restart the runs `rows`; `who` ``(R, A)`` act first."""
        if rows is None:
            runs = len(who)
            holders, self._rings = self._way(who.shape, agents, fields)
            self.sums = {name: np.zeros((runs, holders, *field.shape), field.dtype) for name, field in fields.items()}
            self.counts, self.pending = np.zeros((runs, 3), np.int64), np.zeros((runs, agents), bool)
            return
        for array in (*self.sums.values(), self.counts, self.pending):
            array[rows] = 0
        for ring in self._rings:
            ring.reset(rows)

    @abstractmethod
    def _way(self, shape: tuple[int, ...], agents: int, fields: Fields) -> tuple[int, tuple[Ring, ...]]:
        """Return how many hold sums, and what holds messages on their way; `shape` is (R, A)."""

    @abstractmethod
    def serve(self, message: Payload, who: Array) -> OneSlot:
        """Take the messages of the agents `who` ``(R, A)``, and return the sums that agents receive in this round."""


class Flood(Sums):
    """Transport that floods messages over a graph, and adds up what each agent has sent and received.

    A message counts once: at its sender at once, and at others hop distance rounds after it was sent.

    Parameters
    ----------
    places : Places
        The graph, and how many hops messages travel.
    """

    rule = "flood"

    def __init__(self, places: Places):
        self._places = places

    def _way(self, shape: tuple[int, ...], agents: int, fields: Fields) -> tuple[int, tuple[Ring, ...]]:
        depth = self._places.slots.depth
        affordable("the messages on their way", Ring.size(fields, depth, *shape))
        return agents, (Ring(fields, depth, *shape),)

    def serve(self, message: Payload, who: Array) -> OneSlot:
        sent, (ring,) = message["sent"], self._rings
        self.counts[:, 0] += np.vecdot(sent, self._places.edges)
        ring.post(message)
        inbox, to = SlotInbox(ring, self._places.slots, 1), sent.copy()
        for name, held in self.sums.items():
            came = inbox.total(name)
            to |= came.any(tuple(range(2, came.ndim)))
            came[sent] += message[name][sent]
            held += came
        return OneSlot(self.sums, to)


#: When the server sends its sums to agents.
RULES = {
    "broadcast": "after every round with an upload, to all agents",
    "answer": "to each agent that uploads",
    "differences": "to each agent for which the determinant of the sums has grown by a factor",
}
#: What the server adds up.
FIELDS = ("gram", "moment", "pulls")
_BROADCAST, _DIFFERENCES = ([*RULES].index(rule) for rule in ("broadcast", "differences"))


class ServerArrays(NamedTuple):
    """The arrays of a `Server`, as compiled code takes them."""

    gram: Array  # (R, 1, d, d)
    moment: Array  # (R, 1, d)
    pulls: Array  # (R, 1)
    known: Array  # (R, M, d, d) what an agent has uploaded and downloaded, by the rule "differences"
    volume: Array  # (R, M) ln det of λI plus that
    counts: Array  # (R, 3) uploads, downloads and synchronisations
    rule: int
    growth: float
    ridge: float


class Server(Sums):
    """Server that adds up uploads and answers by one of the `RULES`.

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
        self.up_delay, self.down_delay, self.slow = up_delay, down_delay, up_delay + down_delay > 0

    def _way(self, shape: tuple[int, ...], agents: int, fields: Fields) -> tuple[int, tuple[Ring, ...]]:
        up = Ring({**fields, "who": Field(dtype="i8")}, self.up_delay + 1, *shape)
        return 1, (up, Ring({**fields, "to": Field((agents,), "?")}, self.down_delay + 1, shape[0], 1))

    def reset(self, who: Array, agents: int, fields: Fields, rows: Array | None = None) -> None:
        """Start all runs with uploads of these `fields`, or restart the runs `rows`; `who` ``(R, A)`` act first."""
        super().reset(who, agents, fields, rows)
        (d,), kept = fields["moment"].shape, agents if self.rule == "differences" else 0
        if rows is None:
            known, volume = np.empty((len(who), kept, d, d)), np.empty((len(who), kept))
            rest: Params = {**self.sums, "known": known, "volume": volume, "counts": self.counts}
            self.arrays = ServerArrays(**rest, rule=[*RULES].index(self.rule), growth=self.growth, ridge=self.ridge)
        at = slice(None) if rows is None else rows
        self.arrays.known[at], self.arrays.volume[at] = 0.0, d * np.log(self.ridge)

    def serve(self, message: Payload, who: Array) -> OneSlot:
        sent, sums, to = message["sent"], self.sums, np.zeros_like(self.pending)
        self.counts[:, 0] += sent.sum(1)
        if not self.slow:
            self._add({**message, "who": who}, to)
            return OneSlot(sums, to)
        up, down = self._rings
        self.pending[np.arange(len(who))[:, None], who] |= sent
        up.post({**message, "who": who})
        self._add(up.past(self.up_delay), to)
        down.post({**sums, "to": to[:, None], "sent": np.asarray(to.any(1, keepdims=True))})
        sums = down.past(self.down_delay)
        to = sums.pop("to")[:, 0].copy()
        self.pending &= ~to
        return OneSlot({name: sums[name] for name in self.sums}, to)

    def _add(self, came: Mapping[str, Array], to: Array) -> None:
        """Add up the uploads that `came`, from the agents ``who``, and mark in `to` ``(R, M)`` whom to answer."""
        _serve(self.arrays, came["sent"], came["who"], *(came[name] for name in FIELDS), to)


@jit
def serve_run(arrays, r, who, sent, gram, moment, pulls, to):  # type: ignore[no-untyped-def]
    """Add the uploads of run r to the server's sums, and mark in `to` ``(M,)`` who downloads.

    Agent ``who[a]`` uploads ``gram[a]``, ``moment[a]`` and ``pulls[a]`` if ``sent[a]``.
    """
    to[:] = False
    if not sent.any():
        return
    ridge = arrays.ridge * np.eye(moment.shape[1])
    for a in np.flatnonzero(sent):
        m = who[a]
        to[m] = True
        arrays.gram[r, 0] += gram[a]
        arrays.moment[r, 0] += moment[a]
        arrays.pulls[r, 0] += pulls[a]
        if arrays.rule == _DIFFERENCES:
            arrays.known[r, m] += gram[a]
            arrays.volume[r, m] = np.linalg.slogdet(arrays.known[r, m] + ridge)[1]
    if arrays.rule == _DIFFERENCES:
        volume = np.linalg.slogdet(arrays.gram[r, 0] + ridge)[1]
        for m in range(to.size):
            to[m] = volume > math.log(arrays.growth) + arrays.volume[r, m]
            if to[m]:
                arrays.known[r, m], arrays.volume[r, m] = arrays.gram[r, 0], volume
    elif arrays.rule == _BROADCAST:
        to[:] = True
        arrays.counts[r, 2] += 1
    arrays.counts[r, 1] += to.sum()


@jit
def _serve(arrays, sent, who, gram, moment, pulls, to):  # type: ignore[no-untyped-def]
    for r in range(len(who)):
        serve_run(arrays, r, who[r], sent[r], gram[r], moment[r], pulls[r], to[r])
