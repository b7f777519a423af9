"""Communication graphs: adjacency, hop distances, and the graph parameters in regret bounds.

Clique number, clique cover number and independence number are NP-hard: their functions return `Bounds`, which are exact
on small graphs.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

import networkx as nx
import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import shortest_path

from hushbandits.core import Array, affordable, count, nearest, shown
from hushbandits.envs.network.bfs import Links, connected, hops_from, links

_SMALL = 24  # agents up to which the hard numbers are exact


def _grid(m: int) -> nx.Graph:
    side = math.isqrt(m)
    if side * side != m:
        raise ValueError(f"n_agents={m} must be a square for graph='grid' (nearest: {side**2} or {(side + 1) ** 2})")
    return nx.convert_node_labels_to_integers(nx.grid_2d_graph(side, side), ordering="sorted")


#: Deterministic graphs by name; ``erdos-renyi`` is drawn per run.
GRAPHS: dict[str, Callable[[int], nx.Graph]] = {
    "cycle": nx.cycle_graph,
    "grid": _grid,
    "star": lambda m: nx.star_graph(m - 1),
    "complete": nx.complete_graph,
    "path": nx.path_graph,
}


def adjacency(graph: str | nx.Graph, n_agents: int) -> Array:
    """Return the adjacency of an undirected graph, named or given, ``(M, M)`` bool."""
    return graph_links(graph, count("n_agents", n_agents, 1), everyone=True).matrix


def graph_links(graph: str | nx.Graph, n_agents: int, everyone: bool) -> Links:
    """Return a named or given undirected graph as `Links`.

    If `everyone` is true, the memory check counts the distances of all pairs, too.
    """
    named = graph if isinstance(graph, str) else shown(graph)
    # networkx takes about 500 bytes for a node or an edge; a pair of agents takes at least 12
    pairs = 400.0 * (named == "complete") + 12.0 * everyone
    affordable(f"n_agents={n_agents} on graph={named:.40}", 1500.0 * n_agents + pairs * n_agents**2)
    if isinstance(graph, nx.Graph):
        if graph.is_directed():
            raise ValueError("graph must be undirected")
        if graph.number_of_nodes() != n_agents:
            raise ValueError(f"n_agents={n_agents} must be the graph's number of nodes, {graph.number_of_nodes()}")
        found = graph
    elif isinstance(graph, str) and graph in GRAPHS:
        found = GRAPHS[graph](n_agents)
    else:
        meant = nearest(str(graph), [*GRAPHS, "erdos-renyi"])
        own = "no networkx graph (TOML: { Graph = { nodes = 3, edges = [[0, 1], [1, 2]] } }) and no known name"
        raise ValueError(f"graph={shown(graph)} is {own}{meant}")
    return links(nx.to_scipy_sparse_array(found, weight=None))


def hop_distances(matrix: Array) -> Array:
    """Return hop distances, ``(M, M)`` int; raise ``ValueError`` on a disconnected graph."""
    return hops_from(connected(links(matrix)))


def connected_erdos_renyi(n_agents: int, p: float, rng: np.random.Generator, tries: int = 1000) -> Array:
    """Return the adjacency of a connected G(M, p) graph, ``(M, M)``; disconnected samples are rejected.

    Raises
    ------
    ValueError
        None of `tries` draws was connected: p is too small for M agents.
    """
    for _ in range(tries):
        upper = np.triu(rng.random((n_agents, n_agents)) < p, 1)
        matrix: Array = upper | upper.T
        if np.isfinite(shortest_path(csr_array(matrix, dtype=float), unweighted=True, directed=False, indices=0)).all():
            return matrix
    raise ValueError(
        f"edge_probability={p:g} gave no connected graph of {n_agents} agents in {tries} draws; "
        f"use at least about ln(n_agents)/n_agents = {math.log(max(2, n_agents)) / n_agents:.3g}"
    )


def graph_median(distance: Array) -> Array:
    """Return the graph medians ``argmin_v Σ_w d(v, w)``, ``(G,)``; the lowest index on ties."""
    return distance.sum(2).argmin(1)


def shortest_path_tree(matrix: Array, distance: Array, root: int) -> Array:
    """Return the adjacency of a shortest-path tree, ``(M, M)``; a parent is the first neighbour nearer to `root`."""
    nearer = matrix & (distance[root][None, :] == distance[root][:, None] - 1)
    tree, others = np.zeros_like(matrix), np.delete(np.arange(len(matrix)), root)
    tree[others, nearer[others].argmax(1)] = True
    return tree | tree.T


def power_graph(distance: Array, max_hops: int) -> Array:
    """Return the adjacency of 𝒢_γ, ``(M, M)``, which joins agents at hop distances from 1 to γ = `max_hops`."""
    return (distance > 0) & (distance <= max_hops)


@dataclass(frozen=True)
class Bounds:
    """A number that is known to lie in ``[low, high]``.

    Examples
    --------
    >>> Bounds(2, 3).exact
    False
    """

    low: int
    high: int

    @property
    def exact(self) -> bool:
        """Whether the two bounds are equal."""
        return self.low == self.high


def independent_set(matrix: Array, weight: Array | None = None) -> list[int]:
    """Return a maximal independent set, built greedily from the heaviest vertex on.

    By default, vertices with fewer neighbours are heavier.
    """
    heavy = -matrix.sum(1) if weight is None else np.asarray(weight)
    left = np.ones(len(matrix), bool)
    chosen = []
    for v in np.argsort(-heavy, kind="stable").tolist():
        if left[v]:
            chosen.append(v)
            left &= ~matrix[v]
    return chosen


def largest_independent_set(matrix: Array, weight: Array | None = None) -> list[int]:
    """Return the largest independent set, by branch and bound.

    Among sets of equal size, the heaviest wins, then the lexicographically first.

    The search may take exponential time.  With 64 vertices it took up to two seconds on cycles, grids, stars, trees,
    tori and random regular graphs; with 100 vertices up to minutes.

    Parameters
    ----------
    matrix : (M, M) bool
        Adjacency.
    weight : (M,) array of int, optional
        At least 0; default: 0 for every vertex.

    Returns
    -------
    list of int, ascending
    """
    m = len(matrix)
    heavy = [0] * m if weight is None else [int(w) for w in weight]
    most = 1 + sum(heavy)
    complement = nx.from_numpy_array(~matrix & ~np.eye(m, dtype=bool))
    for v in range(m):
        # size, weight and indices are digits of one integer, so no two sets tie
        complement.nodes[v]["rank"] = ((most + heavy[v]) << m) + (1 << (m - 1 - v))
    return sorted(nx.max_weight_clique(complement, weight="rank")[0])


def clique_cover(matrix: Array) -> list[list[int]]:
    """Return a partition of the vertices into cliques, whose number is an upper bound on χ̄.

    It is the best of four greedy colourings of the complement (networkx: largest first, smallest last, saturation, and
    connected sequential).
    """
    complement = nx.from_numpy_array(~matrix & ~np.eye(len(matrix), dtype=bool))
    strategies = ("largest_first", "smallest_last", "DSATUR", "connected_sequential_bfs")
    colourings = (nx.greedy_color(complement, strategy) for strategy in strategies)
    best = min(colourings, key=lambda c: max(c.values()))
    return [sorted(v for v in best if best[v] == colour) for colour in range(max(best.values()) + 1)]


def independence_number(matrix: Array) -> Bounds:
    """Return bounds on α, the size of the largest independent set.

    They are exact up to 24 vertices (largest clique of the complement).  Otherwise a greedy independent set is the
    lower bound and a greedy clique cover the upper bound, since each clique holds at most one vertex of the set.
    """
    if len(matrix) <= _SMALL:
        size = len(largest_independent_set(matrix))
        return Bounds(size, size)
    return Bounds(len(independent_set(matrix)), len(clique_cover(matrix)))


def clique_number(matrix: Array) -> Bounds:
    """Return bounds on ω, the size of the largest clique, from the independence number of the complement."""
    return independence_number(~matrix & ~np.eye(len(matrix), dtype=bool))


def clique_cover_number(matrix: Array) -> Bounds:
    """Return bounds on χ̄, the smallest number of cliques that cover the vertices.

    They are exact up to 24 vertices, by an optimal colouring of the complement.  Otherwise the independence number's
    lower bound and a greedy cover are the bounds.
    """
    low, high = independence_number(matrix).low, len(clique_cover(matrix))
    if len(matrix) <= _SMALL:
        low = high = next(k for k in range(low, high + 1) if k == high or _covers(matrix, k))
    return Bounds(low, high)


def _covers(matrix: Array, k: int) -> bool:
    """Return whether k cliques can cover all vertices, by exhaustive search."""
    order = np.argsort(matrix.sum(1), kind="stable").tolist()

    def place(i: int, cliques: list[list[int]]) -> bool:
        if i == len(order):
            return True
        for clique in [*cliques, []] if len(cliques) < k else cliques:
            others = [other for other in cliques if other is not clique]
            if matrix[order[i], clique].all() and place(i + 1, [*others, [*clique, order[i]]]):
                return True
        return False

    return place(0, [])
