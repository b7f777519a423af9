"""Transports that add up messages: what they share, and the flooding of a graph, by which every agent adds up."""

from abc import ABC, abstractmethod

import numpy as np

from hushbandits.core import Array, Fields, Payload, affordable
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
