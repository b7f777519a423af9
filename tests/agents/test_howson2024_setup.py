"""Bellman–Ford, leader election and the best leader by messages equal networkx; their cost."""

import networkx as nx
import numpy as np
from election import bellman_ford, best_leader, elect
from hypothesis import given, settings
from hypothesis import strategies as st
from naive_graphs import graphs

from hushbandits.agents.howson2024 import search_messages
from hushbandits.envs.network.graphs import adjacency, hop_distances


@settings(deadline=None)
@given(graphs(), st.data())
def test_on_random_graphs_they_are_networkxs(matrix, data):
    m, graph = len(matrix), nx.from_numpy_array(matrix)
    hops = dict(nx.all_pairs_shortest_path_length(graph))
    sources = data.draw(st.lists(st.integers(0, m - 1), min_size=1, max_size=m, unique=True))
    ways = bellman_ford(matrix, np.array(sources))
    for i, v in enumerate(sources):
        assert ways.distance[i].tolist() == [hops[v][w] for w in range(m)]
        for w, p in enumerate(ways.parent[i].tolist()):
            assert p == min((x for x in graph[w] if hops[v][x] == hops[v][w] - 1), default=-1)
    edges = 2 * graph.number_of_edges()
    parents = sum(len({int(p) for p in ways.parent[:, w] if p >= 0}) for w in range(m))
    assert (ways.rounds, ways.messages) == (m, edges * (m - 1) + parents)

    cost = data.draw(st.lists(st.integers(0, 3), min_size=m, max_size=m))
    assert tuple(elect(matrix, np.array(cost))) == (cost.index(min(cost)), m, edges * m)

    total = [sum(hops[v].values()) for v in range(m)]
    found = best_leader(matrix)
    assert found.leader == total.index(min(total))
    assert found.leader in nx.barycenter(graph)
    assert found.rounds == 3 * m
    assert found.messages == search_messages(matrix, hop_distances(matrix))


def test_counts_by_hand():
    """A path of three: 4 directed edges; an agent's parents, for every source, are its neighbours."""
    path = adjacency("path", 3)
    ways = bellman_ford(path, np.arange(3))
    assert ways.parent.tolist() == [[-1, 0, 1], [1, -1, 1], [1, 2, -1]]
    assert (ways.rounds, ways.messages) == (3, 2 * 4 + 4)
    assert tuple(elect(path, np.array([2, 2, 1]))) == (2, 3, 3 * 4)
    # Bellman–Ford; every agent's table to its parents, for M rounds; the election
    assert tuple(best_leader(path)) == (1, 9, 12 + 3 * 4 + 12)
