"""Topology of a network: its graphs, the agents that reach each other, and the cost of a post.

Properties of all pairs of agents are computed on demand; the slots of a sparse graph do not need them.
"""

from collections.abc import Callable, Sequence
from functools import cached_property, lru_cache

import networkx as nx
import numpy as np

from hushbandits.core import Array, affordable, locked
from hushbandits.envs.network.bfs import Links, Near, connected, hops_from, reach, tree_reach
from hushbandits.envs.network.graphs import graph_links, graph_median, hop_distances, shortest_path_tree
from hushbandits.envs.network.inbox import Slots

#: Maximal hops of a message, as a function of the graph's diameter.
SHARES_OF_DIAMETER = ("diameter", "diameter/2", "floor(diameter/2)", "ceil(diameter/2)")
_SMALL = 256  # agents up to which the last named graph is cached: some megabytes at most


class Places:
    """Graphs of M agents, and the paths that posts take in them.

    Parameters
    ----------
    graphs : sequence of G Links
        Connected; G = 1 (one graph for all runs) or R.
    max_hops : int, str or None
        γ in hops, one of `SHARES_OF_DIAMETER`, or unlimited.
    pace : int
        Rounds that a hop takes.
    routing : str
        ``"flood"`` or ``"tree"``.
    root : int or str
        The root of the tree: an agent, or ``"median"``.

    Attributes
    ----------
    slots : Slots
        The senders that reach each agent, and their delays.
    edges : (G, M) int
        Transmissions of one post.
    """

    def __init__(self, graphs: Sequence[Links], max_hops: int | str | None, pace: int, routing: str, root: int | str):
        self.graphs, self._routing, self._root = graphs, routing, root
        agents = len(graphs[0].degree)
        if isinstance(max_hops, str):
            whole, less, more = self.diameter, self.diameter // 2, (self.diameter + 1) // 2
            gamma = dict(zip(SHARES_OF_DIAMETER, (whole, less, less, more), strict=True))[max_hops]
        else:
            gamma = np.full(len(graphs), max(1, agents - 1) if max_hops is None else max_hops)
        near = [self._near(g, int(max_hops)) for g, max_hops in enumerate(gamma)]
        far = np.array([it.hops.max(initial=0) for it in near])
        width = max(it.sender.shape[1] for it in near)
        depth = max(1, int(far.max())) * pace
        size = len(graphs) * agents * (32.0 * width + 24.0 * (depth + 1))  # what the slots take
        affordable(f"hop_delay={pace - 1} over {far.max()} hops", size)
        if max_hops is None:
            gamma = far
        self.slots = Slots(near, gamma, pace)
        # Envs with equal parameters share them.
        self.edges = locked(np.stack([self._edges(g, near[g], int(max_hops)) for g, max_hops in enumerate(gamma)]))

    def _near(self, g: int, max_hops: int) -> Near:
        if self._routing == "tree":
            return tree_reach(self.graphs[g], int(self.root[g]), max_hops)
        return reach(self.graphs[g], max_hops)

    def _edges(self, g: int, near: Near, max_hops: int) -> Array:
        if self._routing == "tree":
            far = hops_from(self.graphs[g], int(self.root[g]))
            up = np.minimum(far, max_hops)  # hop by hop to the root, at most γ hops
            return np.where(np.arange(len(far)) == self.root[g], ((up > 0) & (far <= max_hops)).sum(), up)
        degree = self.graphs[g].degree
        holds = (near.sender >= 0) & (near.hops <= max_hops - 1)  # agents that pass it on, besides its sender
        return (holds * degree[near.sender]).sum(1) + (degree if max_hops > 0 else 0)

    @cached_property
    def adjacency(self) -> Array:
        """Adjacency of each graph, ``(G, M, M)`` bool."""
        return self._of_pairs(lambda graph: graph.matrix)

    @cached_property
    def distance(self) -> Array:
        """Hop distances in each graph, ``(G, M, M)``."""
        return self._of_pairs(hops_from)

    @cached_property
    def diameter(self) -> Array:
        """Diameter of each graph, ``(G,)``."""
        return locked(self.distance.max((1, 2)))

    @cached_property
    def root(self) -> Array:
        """Root of the shortest-path tree of each graph, ``(G,)``."""
        median = self._root == "median"
        return locked(graph_median(self.distance) if median else np.full(len(self.graphs), int(self._root)))

    @cached_property
    def trees(self) -> tuple[Array, Array]:
        """Adjacency and hop distances, each ``(G, M, M)``, of each graph or, with tree routing, of the graph's tree."""
        if self._routing == "flood":
            return self.adjacency, self.distance
        trees = [shortest_path_tree(*of) for of in zip(self.adjacency, self.distance, self.root, strict=True)]
        return np.stack(trees), np.stack([hop_distances(tree) for tree in trees])

    def _of_pairs(self, matrix: Callable[[Links], Array]) -> Array:
        agents = len(self.graphs[0].degree)
        affordable(f"all pairs of n_agents={agents}", 32.0 * agents**2 * len(self.graphs))
        return locked(np.stack([matrix(graph) for graph in self.graphs]))


def placed(graph: str | nx.Graph, n_agents: int, *rest: int | str | None) -> Places:
    """Return the topology of one graph, named or given; the last topology of a small named graph is cached."""
    place: Callable[..., Places] = _last if isinstance(graph, str) and n_agents <= _SMALL else _laid
    return place(graph, n_agents, *rest)


def _laid(
    graph: str | nx.Graph, n_agents: int, max_hops: int | str | None, pace: int, routing: str, root: int | str
) -> Places:
    links = connected(graph_links(graph, n_agents, everyone=not isinstance(max_hops, int)))
    return Places([links], max_hops, pace, routing, root)


_last = lru_cache(maxsize=1, typed=True)(_laid)
