"""Transport of uploads: by a server, which adds them up and decides who downloads the sums, or over a graph."""

import math
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from hushbandits.core import Array, Field, Fields, Inbox, Payload, affordable, jit, set_rows
from hushbandits.envs.network.inbox import Ring, SlotInbox
from hushbandits.envs.network.topology import Places

#: When the server sends its sums to agents.
RULES = {
    "broadcast": "after every round with an upload, to all agents",
    "answer": "to each agent that uploads",
    "differences": "to each agent for which the determinant of the sums has grown by a factor",
}
#: What the server adds up.
FIELDS = ("gram", "moment", "pulls")
_BROADCAST, _DIFFERENCES = ([*RULES].index(rule) for rule in ("broadcast", "differences"))


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
    counts: Array  # (R, 3) uploads, downloads and synchronisations
    rule: int
    growth: float
    ridge: float


class Sums:
    """Base class of what carries the uploads of R runs, and adds them up.

    Attributes
    ----------
    sums : dict of (R, 1 or M, …) arrays
        What a server has added up, or each agent.
    counts : (R, 3) int
        Uploads, downloads and synchronisations.
    pending : (R, M) bool
        Whether an agent waits for an answer.
    """

    counts: Array
    pending: Array

    def _start(self, runs: int, holders: int, agents: int, fields: Fields, rows: Array | None) -> None:
        fresh = {name: np.zeros((runs, holders, *field.shape), field.dtype) for name, field in fields.items()}
        set_rows(self, rows, pending=np.zeros((runs, agents), bool), counts=np.zeros((runs, 3), np.int64), **fresh)

    @property
    def sums(self) -> dict[str, Array]:
        return {name: getattr(self, name) for name in FIELDS}


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

    known: Array
    volume: Array

    def __init__(self, rule: str, growth: float, ridge: float, up_delay: int, down_delay: int):
        self.rule, self.growth, self.ridge = rule, growth, ridge
        self.up_delay, self.down_delay, self.slow = up_delay, down_delay, up_delay + down_delay > 0

    def reset(self, who: Array, agents: int, fields: Fields, rows: Array | None = None) -> None:
        """Start all runs with uploads of these `fields`, or restart the runs `rows`; `who` ``(R, A)`` act first."""
        (runs, acting), (d,) = who.shape, fields["moment"].shape
        kept = agents if self.rule == "differences" else 0
        self._start(runs, 1, agents, fields, rows)
        volume = np.full((runs, kept), d * np.log(self.ridge))
        set_rows(self, rows, known=np.zeros((runs, kept, d, d)), volume=volume)
        if rows is None:
            self._up = Ring({**fields, "who": Field(dtype="i8")}, self.up_delay + 1, runs, acting)
            self._down = Ring({**fields, "to": Field((agents,), "?")}, self.down_delay + 1, runs, 1)
        else:
            self._up.reset(rows)
            self._down.reset(rows)

    @property
    def arrays(self) -> ServerArrays:
        """Return the arrays for compiled code."""
        rule = [*RULES].index(self.rule)
        rest = {"known": self.known, "volume": self.volume, "counts": self.counts}
        return ServerArrays(**self.sums, **rest, rule=rule, growth=self.growth, ridge=self.ridge)

    def serve(self, message: Payload, who: Array) -> ServerInbox:
        """Take the uploads of the agents `who` ``(R, A)``, and return what all agents download in this round."""
        to, sums, came = np.zeros_like(self.pending), self.sums, {**message, "who": who}
        self.counts[:, 0] += message["sent"].sum(1)
        if self.slow:
            self.pending[np.arange(len(who))[:, None], who] |= message["sent"]
            self._up.post(came)
            came = self._up.past(self.up_delay)
        _serve(self.arrays, came["sent"], came["who"], *(came[name] for name in FIELDS), to)
        if self.slow:
            self._down.post({**sums, "to": to[:, None], "sent": np.asarray(to.any(1, keepdims=True))})
            sums = self._down.past(self.down_delay)
            to = sums.pop("to")[:, 0].copy()
            self.pending &= ~to
        return ServerInbox(sums, to)


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


class Flood(Sums):
    """Transport that floods increments over a graph, so that every agent keeps sums of its own.

    An agent adds each increment once, hop distance rounds after its upload, and its own at once.

    Parameters
    ----------
    places : Places
        The graph, and how many hops messages travel.
    """

    rule, slow = "flood", True

    def __init__(self, places: Places):
        self._places = places

    def reset(self, who: Array, agents: int, fields: Fields, rows: Array | None = None) -> None:
        """Start all runs with uploads of these `fields`, or restart the runs `rows`."""
        runs, depth = len(who), self._places.slots.depth
        self._start(runs, agents, agents, fields, rows)
        if rows is None:
            affordable("the messages on their way", Ring.size(fields, depth, runs, agents))
            self._ring = Ring(fields, depth, runs, agents)
        else:
            self._ring.reset(rows)

    def serve(self, message: Payload, who: Array) -> ServerInbox:
        """Send the increments on their way, and return the sums of the agents that have received any."""
        self.counts[:, 0] += np.vecdot(message["sent"], self._places.edges)
        self._ring.post(message)
        inbox, to = SlotInbox(self._ring, self._places.slots, 1), message["sent"].copy()
        for name, held in self.sums.items():
            came = inbox.total(name)
            to |= came.any(tuple(range(2, came.ndim)))
            held += came + _only(message["sent"], message[name])
        return ServerInbox(self.sums, to)


def _only(there: Array, value: Array) -> Array:
    """Return `value` ``(R, 1 or M, …)`` for the agents that are `there` ``(R, M)``, and zeros for all others."""
    return np.where(there.reshape(*there.shape, *(1,) * (value.ndim - 2)), value, np.zeros((), value.dtype))
