"""Transports that add up messages: a server, which answers, at once or after delays; or every agent of a graph."""

from abc import ABC, abstractmethod
from collections.abc import Mapping

import numpy as np

from hushbandits.core import Array, Field, Fields, Payload, affordable
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


class Answers(Sums):
    """Base class of a server that adds up messages and answers.

    Parameters
    ----------
    up_delay, down_delay : int
        Rounds that a message and an answer take.
    """

    def __init__(self, up_delay: int, down_delay: int):
        self.up_delay, self.down_delay, self.slow = up_delay, down_delay, up_delay + down_delay > 0

    def _way(self, shape: tuple[int, ...], agents: int, fields: Fields) -> tuple[int, tuple[Ring, ...]]:
        up = Ring({**fields, "who": Field(dtype="i8")}, self.up_delay + 1, *shape)
        return 1, (up, Ring({**fields, "to": Field((agents,), "?")}, self.down_delay + 1, shape[0], 1))

    @abstractmethod
    def _add(self, came: Mapping[str, Array], to: Array) -> None:
        """Add up the messages that `came`, from the agents ``who``, and mark in `to` ``(R, M)`` whom to answer."""

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
