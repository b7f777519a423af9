"""Inboxes of a network with delays, which read the posts of each slot's sender from a ring buffer.

Every agent posts once per round; the post of round s reaches hop distance d at the end of round s + d − 1.
No post is copied on its way: the ring keeps the last rounds' posts, and a slot is (sender, delay).
The reductions are compiled and visit the senders in index order, so a sum never depends on the batch.  They read a post
once per hop distance and add it to all receivers there, so that no addition waits for the previous one.
"""

import copy
import math
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import ClassVar, NamedTuple

import numpy as np

from hushbandits.core import Array, Field, Fields, Inbox, affordable, as_array, checked, index_field, locked
from hushbandits.envs.inbox import OneSlot
from hushbandits.envs.network.bfs import Near
from hushbandits.envs.network.reductions import gather, mix, tally, total


class Slots:
    """The senders that reach each agent, and their delays.

    Parameters
    ----------
    near : sequence of G Near
        The agents that reach each agent, and their hops; the relation is symmetric.  G = 1 (one graph for all runs)
        or R.
    max_hops : sequence of G ints
        γ, the most hops that a message travels.
    pace : int
        Rounds that a hop takes.

    Attributes
    ----------
    sender, delay : (G, M, S) int
        Slot s of agent m holds the posts of `sender`, `delay` rounds away; nearest first, padded with −1 and 0.
    degree : (G, M) int
        How many slots are in use.
    shell : (G, M, depth + 1) int
        Slots ``shell[d − 1] … shell[d] − 1`` of an agent are the agents d rounds away.
    """

    def __init__(self, near: Sequence[Near], max_hops: Array, pace: int = 1):
        width = max(it.sender.shape[1] for it in near)
        sender, hops, degree = zip(*(it.padded(width) for it in near), strict=True)
        self.max_hops = np.array(max_hops)
        self.sender, self.degree = np.stack(sender), np.stack(degree)
        self.delay = np.stack(hops) * np.int32(pace)
        self.depth = int(self.delay.max(initial=1))
        graphs, agents = self.degree.shape
        rows = graphs * agents
        at = np.arange(rows)[:, None] * (self.depth + 1) + self.delay.reshape(rows, width)
        late = np.bincount(at[self.sender.reshape(rows, width) >= 0], minlength=rows * (self.depth + 1))
        self.shell = np.cumsum(late.reshape(graphs, agents, self.depth + 1), axis=2).astype(np.uint32)
        # Teams read them, and compiled code indexes with them.
        for array in (self.max_hops, self.degree, self.sender, self.delay, self.shell):
            array.flags.writeable = False

    @cached_property
    def lag(self) -> Array:
        """Number of rounds that a message takes from one agent to another, ``(G, M, M)`` int; 0 if it never arrives."""
        graphs, agents = self.degree.shape
        affordable(f"delays between all pairs of n_agents={agents}", 8.0 * graphs * agents**2)
        lag = np.zeros((graphs, agents, agents), np.int64)
        g, m, s = np.nonzero(self.sender >= 0)
        lag[g, m, self.sender[g, m, s]] = self.delay[g, m, s]
        lag.flags.writeable = False
        return lag


class Ring:
    """Ring buffer of the posts of the last rounds.

    Parameters
    ----------
    fields : Fields
        The fields of a post.
    depth, runs, agents : int
        How many rounds to keep, and R and M.
    """

    def __init__(self, fields: Fields, depth: int, runs: int, agents: int):
        self.fields = fields
        self.depth = max(1, depth)
        shape = (self.depth, runs, agents)
        self.values = {k: np.zeros((*shape, *f.shape), f.dtype) for k, f in fields.items()}
        self.sent = np.zeros(shape, bool)
        #: For states (`Field.latest`): whether the sender has posted in any round up to that one.
        self.held = np.zeros(shape, bool)
        self.t = 0

    @staticmethod
    def size(fields: Fields, depth: int, runs: int, agents: int) -> float:
        """Return the number of bytes that a ring needs."""
        post = sum(math.prod(f.shape) * f.form.itemsize for f in fields.values()) + 2
        return float(max(1, depth)) * runs * agents * post

    def reset(self, rows: Array) -> None:
        """Delete the posts of the runs `rows`; the round number continues."""
        for array in (self.sent, self.held, *self.values.values()):
            array[:, rows] = 0

    def deepen(self, depth: int) -> None:
        """Keep the posts of the last `depth` rounds from now on, if the ring keeps fewer."""
        if depth <= self.depth:
            return
        posted = self.t - np.arange(self.depth)
        old, new = posted % self.depth, posted % depth

        def deep(array: Array) -> Array:
            out = np.zeros((depth, *array.shape[1:]), array.dtype)
            out[new] = array[old]
            return out

        self.values = {name: deep(array) for name, array in self.values.items()}
        self.sent, self.held, self.depth = deep(self.sent), deep(self.held), depth

    def post(self, message: dict[str, Array]) -> None:
        """Store a round's messages; where an agent sends none, keep its last values in fields declared `latest`."""
        before, self.t = self.t % self.depth, self.t + 1
        now = self.t % self.depth
        sent = message["sent"]
        for name, field in self.fields.items():
            value = message[name]
            if field.latest:
                mask = sent.reshape(*sent.shape, *(1,) * len(field.shape))
                value = np.where(mask, value, self.values[name][before])
            self.values[name][now] = value
        self.held[now] = sent | self.held[before]
        self.sent[now] = sent

    def past(self, rounds: int) -> dict[str, Array]:
        """Return what was posted `rounds` rounds before the last post, by field and ``sent``; zeros if nothing was."""
        at = (self.t - rounds) % self.depth
        return {"sent": self.sent[at], **{name: value[at] for name, value in self.values.items()}}


class Mail(NamedTuple):
    """The arrays of a `Ring`, ``(depth, R, M, …)``, and of `Slots`, for compiled code."""

    values: tuple[Array, ...]  # one array per requested field
    sent: Array
    held: Array
    sender: Array
    delay: Array
    degree: Array
    shell: Array

    @classmethod
    def of(cls, ring: Ring, slots: Slots, fields: tuple[str, ...]) -> "Mail":
        """Return the arrays of `fields` in the ring, and the arrays of the slots."""
        values = tuple(map(ring.values.__getitem__, fields))
        return cls(values, ring.sent, ring.held, slots.sender, slots.delay, slots.degree, slots.shell)


class SlotInbox(Inbox):
    """The inbox of each agent at the end of a round.

    Valid until the next round: later it raises.  ``sender`` (the sender) is a field unless a wrapper hid it; then no
    public name leads to it.
    """

    #: Whether several posts of one sender may arrive at once.
    several: ClassVar[bool] = False
    _drawn: Array | None = None  # what `_order` returns, once a slot is read

    def __init__(self, ring: Ring, slots: Slots, n_arms: int):
        self._ring, self._slots, self._n_arms = ring, slots, n_arms
        self._round = ring.t
        self._fields: tuple[str, ...] = (*ring.fields, "sender")
        # Reorders gathered slots; set by a wrapper that hides senders.
        self._order: Callable[[], Array] | None = None
        self.own = {}

    @property
    def fields(self) -> tuple[str, ...]:  # type: ignore[override]
        """The names of the fields that can be read."""
        return self._fields

    def _hide_senders(self, order: Callable[[], Array]) -> "SlotInbox":
        """Return a copy without the field ``sender``, with slots in the order ``(R, M, S)`` that `order` returns."""
        inbox = copy.copy(self)
        inbox._fields = tuple(f for f in self._fields if f != "sender")
        inbox._order, inbox._drawn = order, None
        return inbox

    def _needs(self, *fields: str) -> None:
        for field in fields:
            if field not in self._fields:
                raise KeyError(f"no field {field!r} in this inbox; its fields: {', '.join(self._fields)}")
        if self._round != (now := self._ring.t):
            raise RuntimeError(f"an inbox of round {self._round} is read in round {now}: read each inbox in its round")

    def _needs_event(self, field: str) -> None:
        self._needs("sender", field)
        if field == "sender":
            raise KeyError(f"field='sender' must be one of: {', '.join(f for f in self._fields if f != field)}")

    def _seats(self, what: str, agents: Array, field: str) -> tuple[Array, Array]:
        """Return the runs and the agent in each of them, ``(R,)``, whose values of `field` are asked for."""
        self._needs_event(field)
        _, runs, m = self._ring.sent.shape
        return np.arange(runs), checked(what, agents, index_field(m), (runs,))

    def _mail(self, fields: tuple[str, ...]) -> tuple[Mail, int]:
        # the ring's arrays of all agents, and the number of rounds posted: for compiled code alone
        self._needs("sender", *fields)
        return Mail.of(self._ring, self._slots, fields), self._round

    # -- gathered -------------------------------------------------------------------------------------------

    def _arranged(self, value: Array) -> Array:
        if self._order is None:
            return value
        if self._drawn is None:
            self._drawn = self._order()
        return np.take_along_axis(value, self._drawn.reshape(*self._drawn.shape, *(1,) * (value.ndim - 3)), 2)

    def _gathered(self, values: Array, mask: Array, empty: int = 0) -> Array:
        ring, slots = self._ring, self._slots
        flat = values.reshape(*ring.sent.shape, -1)
        out = np.full((*ring.sent.shape[1:], slots.sender.shape[2], flat.shape[3]), empty, flat.dtype)
        gather(flat, mask, slots.sender, slots.delay, slots.degree, ring.t, out)
        return self._arranged(out.reshape(*out.shape[:3], *values.shape[3:]))

    @property
    def arrived(self) -> Array:
        """``(R, M, S)`` bool: whether a slot holds a message of this round or, if all fields are states, a state."""
        self._needs()
        return self._gathered(self._there, self._there)

    @property
    def _there(self) -> Array:
        # the posts that fill a slot; if all fields are states, the sender's last post
        ring = self._ring
        return ring.held if all(f.latest for f in ring.fields.values()) else ring.sent

    def __getitem__(self, field: str) -> Array:
        self._needs(field)
        ring = self._ring
        if field == "sender":
            names = np.broadcast_to(np.arange(ring.sent.shape[2], dtype=np.int32), ring.sent.shape)
            return self._gathered(names, self._there, -1)
        return self._gathered(ring.values[field], ring.held if ring.fields[field].latest else ring.sent)

    def of(self, sender: Array, field: str) -> tuple[Array, Array]:
        """Return the values of `field` that agents receive from each run's `sender` in this round, and a mask.

        Parameters
        ----------
        sender : (R,) int
            The sender of interest.
        field : str

        Returns
        -------
        value : (R, M, …)
        arrived : (R, M) bool
        """
        runs, sender = self._seats("sender", sender, field)
        lag = self._slots.lag[runs % len(self._slots.lag), sender]
        posted = self._ring.t - lag + 1
        index = posted % self._ring.depth, runs[:, None], sender[:, None]
        return self._ring.values[field][index], (lag > 0) & (posted >= 1) & self._ring.sent[index]

    def at(self, receiver: Array, field: str) -> tuple[Array, Array]:
        """Return the values of `field` that reached the `receiver` of each run, ``(R, S, …)``, and a mask.

        The mask, ``(R, S)``, marks the slots that hold a value.
        """
        runs, receiver = self._seats("receiver", receiver, field)
        graph = runs % len(self._slots.sender)
        sender, delay = self._slots.sender[graph, receiver], self._slots.delay[graph, receiver]
        posted = self._ring.t - delay + 1
        index = posted % self._ring.depth, runs[:, None], sender
        return self._ring.values[field][index], (sender >= 0) & (posted >= 1) & self._ring.sent[index]

    # -- reduced --------------------------------------------------------------------------------------------

    def tally(self) -> tuple[Array, Array]:
        """Return pull counts and reward sums per arm of the messages that arrived in this round, each ``(R, M, K)``."""
        if not {"arm", "reward"} <= set(self._fields):
            return super().tally()
        self._needs()
        ring, slots = self._ring, self._slots
        out = np.zeros((*ring.sent.shape[1:], self._n_arms, 2))
        tally(ring.values["arm"], ring.values["reward"], ring.sent, slots.sender, slots.shell, ring.t, 0, out)
        return out[..., 0], out[..., 1]

    def total(self, field: str, weight: str | None = None) -> Array:
        """Return the sum of `field` (times `weight`, of the same shape) over the slots, ``(R, M, …)``."""
        if field not in self._ring.values or not {field, weight or field} <= set(self._fields):
            return super().total(field)
        self._needs()
        ring, slots = self._ring, self._slots
        kind, values = ring.fields[field], ring.values[field]
        flat = (values if weight is None else values * ring.values[weight]).reshape(*ring.sent.shape, -1)
        out = np.zeros(flat.shape[1:], np.int64 if flat.dtype == bool else flat.dtype)  # True counts as 1
        total(flat, ring.held if kind.latest else ring.sent, slots.sender, slots.shell, ring.t, out)
        return out.reshape(*ring.sent.shape[1:], *kind.shape)

    def mix(self, field: str, matrix: Array) -> Array:
        """Return ``Σ_w P_mw x_w``, the average of `field` with weights P = `matrix`, ``(R, M, …)``: one step of gossip.

        Parameters
        ----------
        field : str
            A field of the last posts.
        matrix : (G, M, M) array
            P, 0 between agents that are no neighbours, G = 1 or R.  The agent's own value replaces a lost value of a
            neighbour.

        Raises
        ------
        ValueError
            Messages travel beyond neighbours, or take more than a round.
        """
        self._needs_event(field)
        ring, slots = self._ring, self._slots
        if slots.depth != 1:
            raise ValueError("mix needs max_hops=1 and hop_delay=0, so that messages arrive within the round")
        _, runs, m = ring.sent.shape
        given = as_array(matrix)
        graphs = given.shape[0] if given.ndim == 3 and given.shape[0] in (1, runs) else 1
        matrix = checked("matrix", given, Field((m, m)), (graphs,))
        now = ring.t % ring.depth
        flat = np.ascontiguousarray(ring.values[field][now].reshape(*ring.sent.shape[1:], -1), float)
        out = np.empty(flat.shape)
        for r in range(len(flat)):
            mix(flat, ring.sent[now], slots.sender, slots.degree, matrix, r, out)
        return out.reshape(ring.values[field].shape[1:])


class TallyInbox(OneSlot):
    """An inbox with sums per arm only, as secure aggregation releases them.

    Parameters
    ----------
    tally : (R, M, 2, K) array
        Pulls and sums.
    opened : (R, M) bool
        Whether there is a sum.
    """

    def __init__(self, tally: Array, opened: Array):
        super().__init__({"tally": locked(tally)}, locked(opened))

    def tally(self) -> tuple[Array, Array]:
        both = self._values["tally"]
        return both[:, :, 0], both[:, :, 1]
