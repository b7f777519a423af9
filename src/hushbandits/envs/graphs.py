"""Communication graphs: adjacency and hop distances."""

from __future__ import annotations

import math
from collections.abc import Callable

import networkx as nx
import numpy as np
from scipy.sparse.csgraph import shortest_path

from hushbandits.core.types import Array
from hushbandits.core.validate import nearest

__all__ = ["GRAPHS", "adjacency", "connected_erdos_renyi", "hop_distances"]


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
    """``(M, M)`` bool adjacency of a named or given undirected graph.

    Examples
    --------
    >>> int(adjacency("cycle", 5).sum())
    10
    """
    if isinstance(graph, nx.Graph):
        if graph.is_directed():
            raise ValueError("graph must be undirected")
        if graph.number_of_nodes() != n_agents:
            raise ValueError(f"n_agents={n_agents} but the graph has {graph.number_of_nodes()} nodes")
        matrix = nx.to_numpy_array(graph, weight=None) > 0
    elif isinstance(graph, str) and graph in GRAPHS:
        matrix = nx.to_numpy_array(GRAPHS[graph](n_agents), weight=None) > 0
    else:
        raise ValueError(f"graph={graph!r} is no graph{nearest(str(graph), [*GRAPHS, 'erdos-renyi'])}")
    np.fill_diagonal(matrix, False)
    return matrix


def hop_distances(matrix: Array) -> Array:
    """``(M, M)`` int hop distances; raises ``ValueError`` on a disconnected graph.

    Examples
    --------
    >>> int(hop_distances(adjacency("path", 4)).max())
    3
    """
    distance = shortest_path(matrix.astype(float), unweighted=True, directed=False)
    if np.isinf(distance).any():
        parts = len({tuple(np.isfinite(row)) for row in distance})
        raise ValueError(f"graph must be connected: it falls into {parts} parts")
    return distance.astype(np.int64)


def connected_erdos_renyi(n_agents: int, p: float, rng: np.random.Generator, tries: int = 1000) -> Array:
    """``(M, M)`` adjacency of G(M, p), conditioned on being connected by drawing again.

    Raises
    ------
    ValueError
        No draw of `tries` was connected: p is too small for M agents.
    """
    for _ in range(tries):
        upper = np.triu(rng.random((n_agents, n_agents)) < p, 1)
        matrix: Array = upper | upper.T
        if np.isfinite(shortest_path(matrix.astype(float), unweighted=True, directed=False, indices=0)).all():
            return matrix
    raise ValueError(
        f"edge_probability={p:g} gave no connected graph of {n_agents} agents in {tries} draws; "
        f"connectedness needs about ln(n_agents)/n_agents = {math.log(max(2, n_agents)) / n_agents:.3g}"
    )
