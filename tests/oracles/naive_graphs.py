"""Graph numbers by brute force, and graphs to compare on."""

import itertools

import networkx as nx
import numpy as np
from hypothesis import strategies as st


@st.composite
def graphs(draw):
    """Draw the adjacency of a connected graph."""
    m = draw(st.integers(1, 14))
    edges = [(draw(st.integers(0, i - 1)), i) for i in range(1, m)]
    edges += draw(st.lists(st.tuples(st.integers(0, m - 1), st.integers(0, m - 1)), max_size=20))
    graph = nx.empty_graph(m)
    graph.add_edges_from((a, b) for a, b in edges if a != b)
    return nx.to_numpy_array(graph).astype(bool)


def brute_independence(matrix):
    m = len(matrix)
    return max(
        len(s)
        for size in range(m + 1)
        for s in itertools.combinations(range(m), size)
        if not matrix[np.ix_(s, s)].any()
    )


def brute_largest(matrix, weight):
    """The largest independent set, then the heaviest, then the first in order of names."""
    m = len(matrix)
    for size in range(m, -1, -1):
        found = [s for s in itertools.combinations(range(m), size) if not matrix[np.ix_(s, s)].any()]
        if found:
            return list(max(found, key=lambda s: (sum(weight[v] for v in s), [-v for v in s])))
    raise AssertionError


def brute_cover(matrix):
    m = len(matrix)
    for k in range(1, m + 1):  # k colours of the complement
        for colours in itertools.product(range(k), repeat=m):
            if all(matrix[u, v] or colours[u] != colours[v] for u, v in itertools.combinations(range(m), 2)):
                return k
    raise AssertionError
