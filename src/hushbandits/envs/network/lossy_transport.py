"""Transport with failing edges and corrupting relays, which forwards each copy of a post hop by hop.

An agent that receives a post for the first time, after fewer than γ hops, sends it on along each of its edges.  A copy
is lost if its edge fails.  A post may thus arrive late, by a detour, or not at all.  Without failures and corruption
the result equals `hushbandits.envs.network.inbox` at a much higher cost: M times the edges per round, and M² bytes per
post in flight.
"""

import math
from collections.abc import Callable, Sequence

import numpy as np

from hushbandits.core import Array, Inbox, Payload, Streams, World, affordable, jit, set_rows
from hushbandits.core.random.names import EDGES
from hushbandits.envs.network.inbox import Ring, SlotInbox
from hushbandits.envs.rounds.env import added_up, tallied

#: ``relay(run, relays)`` → which copies that agents send on are changed, and the new rewards.
Relay = Callable[[int, Array], tuple[Array, Array]]


class LossyTransport:
    """The posts in transit, and the agents that each post has reached.

    Parameters
    ----------
    env : CoopNetwork
        The env, for its fields, arms, pace and graphs.
    rng : Streams
        Random streams of the runs.
    edge_failure_prob : float
        Probability that an edge fails in a round.
    relays : sequence of callable
        Methods `relay` of wrappers that change rewards which agents send on.
    """

    def __init__(self, env: World, rng: Streams, edge_failure_prob: float, relays: Sequence[Relay]):
        self.n_arms, self.relays = env.n_arms, relays
        self._pace, self._edge_failure_prob, self._rngs = 1 + env.hop_delay, edge_failure_prob, rng.generators(EDGES)
        runs, m = len(rng), env.n_agents
        # An agent sends a copy on only at its first receipt, so no path is longer than M − 1 hops.
        hops = m - 1 if env.max_hops is None or isinstance(env.max_hops, str) else min(env.max_hops, m - 1)
        flying = max(1, hops) * self._pace
        states = {name: field for name, field in env.sent_fields.items() if field.latest}
        held = sum(math.prod(f.shape) * f.form.itemsize for f in states.values())
        size = runs * m**2 * (flying + 48.0 * self._pace + 40 + held) + Ring.size(env.sent_fields, flying, runs, m)
        affordable(f"runs={runs} of n_agents={m} with posts in flight for {flying} rounds", size)
        self.ring = Ring(env.sent_fields, flying, runs, m)
        self._seen = np.zeros((flying, runs, m, m), bool)  # of the round posted: run, sender, holder
        # Copies about to be sent on, the youngest posts first: round posted, run, sender, holder; and their rewards.
        self._front, self._copy = np.zeros((0, 4), np.int64), np.zeros(0)
        self.transmissions = np.zeros(runs, np.int64)  # so far
        #: (R, M, M) receiver × sender: round of the newest post that a state holds, and the states.
        self.newest = np.zeros((runs, m, m), np.int64)
        self.held = {name: np.zeros((runs, m, m, *f.shape), f.dtype) for name, f in states.items()}
        self.lay(env)

    def lay(self, env: World) -> None:
        """Number the edges (u, v), u < v, of each graph in the order in which their random numbers are read."""
        graphs, m, _ = env.adjacency.shape
        self._max_hops = np.resize(env.slots.max_hops if env.max_hops is not None else m - 1, len(self.transmissions))
        self._near = np.full((graphs, m, max(1, int(env.adjacency.sum(2).max()))), -1)
        self._edge, self._edges = self._near.copy(), env.adjacency.sum((1, 2)) // 2
        for near, edge, matrix in zip(self._near, self._edge, env.adjacency, strict=True):
            u, v = matrix.nonzero()
            number, degree = np.zeros((m, m), np.int64), matrix.sum(1)
            number[u[u < v], v[u < v]] = np.arange(len(u) // 2)
            slot = np.arange(len(u)) - np.repeat(np.cumsum(degree) - degree, degree)
            near[u, slot], edge[u, slot] = v, (number + number.T)[u, v]

    def reset(self, rng: Streams, rows: Array) -> None:
        """Delete the posts in transit in the runs `rows`."""
        others = ~np.isin(self._front[:, 1], rows)
        self._front, self._copy = self._front[others], self._copy[others]
        for array in (self.transmissions, self.newest, *self.held.values()):
            array[rows] = 0
        set_rows(self, rows, _rngs=rng.generators(EDGES))

    def carry(self, message: Payload) -> "LossyInbox":
        """Add a round's posts, forward by one hop every copy that is due, and return the inbox."""
        ring, runs = self.ring, len(self.transmissions)
        ring.post(message)
        self._seen[ring.t % ring.depth] = np.eye(self._seen.shape[3], dtype=bool)
        r, who = (message["sent"] & (self._max_hops > 0)[:, None]).nonzero()
        front = np.concatenate([np.column_stack([np.full(len(r), ring.t), r, who, who]), self._front])
        own = message["reward"][r, who] if self.relays else np.zeros(len(r))
        copy = np.concatenate([own, self._copy])
        due = (ring.t - front[:, 0] + 1) % self._pace == 0
        passed = due & (front[:, 2] != front[:, 3])
        for relay in self.relays:
            for run in range(runs):
                mine = np.flatnonzero(passed & (front[:, 1] == run))
                hit, drawn = relay(run, front[mine, 3])
                copy[mine[hit]] = drawn[hit]
        edges = np.resize(self._edges, runs)
        up = np.zeros((runs, max(1, int(edges.max()))), bool)
        for row, n, rng in zip(up, edges, self._rngs, strict=True):
            row[:n] = rng.random(n) >= self._edge_failure_prob
        most = min(int(due.sum()) * self._near.shape[2], self._seen.size)
        came, copies = np.empty((most, 5), np.int64), np.empty(most)
        n = _hop(front[due], copy[due], self._seen, up, self._near, self._edge, self.transmissions, came, copies)
        came, copies = came[:n], copies[:n]
        on = (ring.t - came[:, 0] + 1) // self._pace < self._max_hops[came[:, 1]]
        front, copy = np.concatenate([front[~due], came[on, :4]]), np.concatenate([copy[~due], copies[on]])
        order = np.argsort(-front[:, 0], kind="stable")
        self._front, self._copy = front[order], copy[order]
        return LossyInbox(self, came, copies)


class LossyInbox(SlotInbox):
    """The inbox of lossy transport: slots hold messages, nearest first; newer states replace older states."""

    several = True
    mix = Inbox.mix  # copies arrive over many paths: a round has no average

    def __init__(self, transport: LossyTransport, came: Array, copies: Array):
        self._ring, self._n_arms, self._transport = transport.ring, transport.n_arms, transport
        self._round, self._order, self.own = transport.ring.t, None, {}
        self._fields = (*self._ring.fields, "sender")
        born, r, who, to, via = came.T
        runs, m, _ = transport.newest.shape
        size = np.bincount(r * m + to, minlength=runs * m)
        place = np.empty(len(came), np.int64)
        place[np.argsort(r * m + to, kind="stable")] = np.arange(len(came)) - np.repeat(np.cumsum(size) - size, size)
        seat, shape = (r, to, place), (runs, m, int(size.max(initial=0)))
        said = {name: value[born % self._ring.depth, r, who] for name, value in self._ring.values.items()}
        if transport.relays:
            said["reward"] = copies
        #: (R, M, S) arrivals of this round.
        self._sender, self._values = np.full(shape, -1), {}
        self._sender[seat] = who
        for name, value in said.items():
            self._values[name] = np.zeros((*shape, *value.shape[1:]), value.dtype)
            self._values[name][seat] = value
        self._crossed = np.column_stack([r, via, to, who, born, said.get("arm", np.full(len(r), -1))])
        if transport.held:
            np.maximum.at(transport.newest, (r, to, who), born)
            newest = born == transport.newest[r, to, who]
            for name, value in transport.held.items():
                value[r[newest], to[newest], who[newest]] = said[name][newest]

    def _crossings(self, run: int) -> Array:
        """Return the copies that arrived in this round at agents that no earlier copy had reached, ``(n, 5)``.

        The columns are the agent that forwarded the copy, the agent reached, the sender, the round posted, the arm (−1:
        none).
        """
        return np.compress(self._crossed[:, 0] == run, self._crossed[:, 1:], axis=0)

    @property
    def arrived(self) -> Array:
        """``(R, M, S)`` bool: whether a message arrived in the slot in this round; for states, in any round so far."""
        return self._arranged(self._shown("sender") >= 0)

    def _shown(self, field: str) -> Array:
        self._needs()
        if len(self._transport.held) < len(self._ring.fields):
            return self._sender if field == "sender" else self._values[field]
        heard = self._transport.newest > 0
        return np.where(heard, np.arange(heard.shape[2]), -1) if field == "sender" else self._transport.held[field]

    def __getitem__(self, field: str) -> Array:
        self._needs(field)
        return self._arranged(self._shown(field)).copy()

    def of(self, sender: Array, field: str) -> tuple[Array, Array]:
        """Return the newest `field` values that agents receive from each run's `sender` in this round, and a mask."""
        runs, sender = self._seats("sender", sender, field)
        value, mine = self._values[field], self._sender == sender[:, None, None]
        if not value.shape[2]:
            return np.zeros((*mine.shape[:2], *value.shape[3:]), value.dtype), mine.any(2)
        return value[runs[:, None], np.arange(mine.shape[1]), mine.argmax(2)], mine.any(2)

    def at(self, receiver: Array, field: str) -> tuple[Array, Array]:
        seat = self._seats("receiver", receiver, field)
        return self._values[field][seat], self._sender[seat] >= 0

    def tally(self) -> tuple[Array, Array]:
        """Return pull counts and reward sums per arm of this round's messages, each ``(R, M, K)``."""
        self._needs("arm", "reward")
        return tallied(self._values["arm"], self._values["reward"], self._sender >= 0, self._n_arms)

    def total(self, field: str, weight: str | None = None) -> Array:
        """Return the sum of `field` (times `weight`) over this round's messages.

        If `field` is a state, it is summed over the newest state of each sender.
        """
        if field == "sender" or not {field, weight or field} <= set(self._fields):
            return Inbox.total(self, field)
        self._needs()
        values = self._transport.held if field in self._transport.held else self._values
        return added_up(values[field] if weight is None else values[field] * values[weight])


@jit
def _hop(front, copy, seen, up, near, edge, sends, came, copies):  # type: ignore[no-untyped-def]
    count = 0
    for i in range(len(front)):
        born, r, who, via = front[i, 0], front[i, 1], front[i, 2], front[i, 3]
        g = r % len(near)
        for j in range(near.shape[2]):
            to = near[g, via, j]
            if to < 0:
                break
            sends[r] += 1
            if up[r, edge[g, via, j]] and not seen[born % len(seen), r, who, to]:
                seen[born % len(seen), r, who, to] = True
                came[count, 0], came[count, 1], came[count, 2], came[count, 3], came[count, 4] = born, r, who, to, via
                copies[count] = copy[i]
                count += 1
    return count
