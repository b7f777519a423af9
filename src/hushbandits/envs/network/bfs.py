"""Breadth-first search in a sparse graph, which finds the agents within a number of hops of each agent.

Its cost is the number of edges within γ − 1 hops of each agent, and its memory the number of pairs found.  So 10⁴
agents on a cycle with γ = 2 take milliseconds, while the distances of all pairs take 800 MB.
"""

from typing import NamedTuple

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components, shortest_path

from hushbandits.core import Array, affordable, jit


class Links(NamedTuple):
    """A sparse graph, in which ``near[start[m] : start[m + 1]]`` are the neighbours of agent m, ascending."""

    start: Array  # (M + 1,)
    near: Array  # (2E,)

    @property
    def degree(self) -> Array:
        """Number of neighbours of each agent, ``(M,)``."""
        return np.diff(self.start)

    @property
    def matrix(self) -> Array:
        """Return the adjacency, ``(M, M)`` bool."""
        return np.asarray(_sparse(self).astype(bool).toarray())


def links(matrix: Array | csr_array) -> Links:
    """Return the sparse graph of an adjacency matrix, without self-loops."""
    edges = csr_array(matrix).tocoo()
    other = (edges.row != edges.col) & (edges.data > 0)
    kept = csr_array((edges.data[other], (edges.row[other], edges.col[other])), edges.shape)
    found = Links(kept.indptr.astype(np.int64), kept.indices.astype(np.int64))
    for array in found:  # envs with equal parameters share them
        array.flags.writeable = False
    return found


def connected(graph: Links) -> Links:
    """Return the graph if it is connected, otherwise raise ``ValueError``."""
    parts = connected_components(_sparse(graph), directed=False, return_labels=False)
    if parts > 1:
        raise ValueError(f"graph must be connected, but has {parts} components")
    return graph


class Near(NamedTuple):
    """The agents that reach each agent: nearest first, then by index; empty slots hold sender −1 and hops 0."""

    sender: Array  # (M, S) int32
    hops: Array  # (M, S) int32
    degree: Array  # (M,)

    def padded(self, width: int) -> "Near":
        """Return a copy with `width` slots per agent."""
        more = ((0, 0), (0, width - self.sender.shape[1]))
        return Near(np.pad(self.sender, more, constant_values=-1), np.pad(self.hops, more), self.degree)


@jit
def _sort(x):
    """Sort x in place by Shell's method, which compiles in a tenth of the time of Numba's own sort."""
    gap = x.size
    while gap > 1:
        gap = max(5 * gap // 11, 1)
        for i in range(gap, x.size):
            value, at = x[i], i
            while at >= gap and x[at - gap] > value:
                x[at] = x[at - gap]
                at -= gap
            x[at] = value


@jit
def _search(start, near, max_hops, first, found, hops, degree, queue, seen):
    """Search from one agent after another, beginning with agent `first`, until `found` is full.

    Return the next agent, and the number of pairs (agent, found agent).
    """
    agents, size = degree.size, 0
    for m in range(first, agents):
        low, high, hop, seen[m], queue[0] = 0, 1, 0, m, m
        while hop < max_hops and low < high < agents:
            hop += 1
            last = high
            for i in range(low, last):
                if high == agents:
                    break
                for e in range(start[queue[i]], start[queue[i] + 1]):
                    w = near[e]
                    if seen[w] != m:
                        seen[w] = m
                        queue[high] = w
                        high += 1
            _sort(queue[last:high])
            if size + high - 1 > found.size:
                return m, size
            hops[size + last - 1 : size + high - 1] = hop
            low = last
        degree[m] = high - 1
        for i in range(1, high):
            found[size] = queue[i]
            size += 1
    return agents, size


def reach(graph: Links, max_hops: int) -> Near:
    """Return all agents within `max_hops` hops of each agent.

    Raises
    ------
    ValueError
        The result exceeds the memory limit.
    """
    agents = len(graph.start) - 1
    degree, queue, seen = np.zeros(agents, np.int64), np.empty(agents, np.int32), np.empty(agents, np.int64)
    parts: list[tuple[Array, Array]] = []
    first, room = 0, max(agents, 1 << 16)
    while first < agents:
        held = 16.0 * (room + sum(len(ids) for ids, _ in parts))
        affordable(f"n_agents={agents} that hear each other over {max_hops} hops", held)
        found, hops = np.empty(room, np.int32), np.empty(room, np.int32)
        seen[:] = -1  # an agent without room is searched again
        first, size = _search(graph.start, graph.near, max_hops, first, found, hops, degree, queue, seen)
        parts.append((found[:size], hops[:size]))
        room *= 2
    width = int(degree.max(initial=0))
    affordable(f"n_agents={agents} that hear up to {width} others over {max_hops} hops", 12.0 * agents * width)
    near = Near(np.full((agents, width), -1, np.int32), np.zeros((agents, width), np.int32), degree)
    real = np.arange(width) < degree[:, None]
    near.sender[real], near.hops[real] = (np.concatenate(column) for column in zip(*parts, strict=True))
    return near


def tree_reach(graph: Links, root: int, max_hops: int) -> Near:
    """Return the agents that reach each agent with tree routing, where all messages go to or from `root`."""
    agents = len(graph.start) - 1
    hops = hops_from(graph, root)
    order = np.lexsort((np.arange(agents), hops))[1:]
    order = order[hops[order] <= max_hops]
    width = len(order)
    near = Near(np.full((agents, width), -1, np.int32), np.zeros((agents, width), np.int32), np.zeros(agents, np.int64))
    near.sender[order, :1], near.hops[order, :1], near.degree[order] = root, hops[order, None], 1
    near.sender[root], near.hops[root], near.degree[root] = order, hops[order], width
    return near


def hops_from(graph: Links, root: int | None = None) -> Array:
    """Return hop distances in a connected graph from `root` to all agents, ``(M,)``, or between all, ``(M, M)``."""
    if root is not None:
        return shortest_path(_sparse(graph), unweighted=True, directed=False, indices=root).astype(np.int64)
    agents = len(graph.start) - 1
    near, hops = reach(graph, agents), np.zeros((agents, agents), np.int64)
    hops[np.repeat(np.arange(agents), near.degree), near.sender[near.sender >= 0]] = near.hops[near.sender >= 0]
    return hops


def _sparse(graph: Links) -> csr_array:
    m = len(graph.start) - 1
    near, start = graph.near.astype(np.int32), graph.start.astype(np.int32)  # SciPy before 1.15 accepts int32 only
    return csr_array((np.ones(len(near)), near, start), shape=(m, m))
