"""Breadth-first searches up to γ hops equal all-pairs distances, in memory proportional to their results."""

import tracemalloc

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import hushbandits as hb
from hushbandits.envs.network.bfs import hops_from, links, reach
from hushbandits.envs.network.graphs import hop_distances
from hushbandits.envs.network.topology import placed


@st.composite
def graphs(draw):
    m = draw(st.integers(1, 14))
    graph = nx.random_labeled_tree(m, seed=draw(st.integers(0, 99)))
    graph.add_edges_from(draw(st.lists(st.tuples(st.integers(0, m - 1), st.integers(0, m - 1)), max_size=12)))
    return graph


def from_all_pairs(distance, max_hops, pace, ways):
    """Return senders, delays, degrees and lags from the distances of all pairs."""
    m = len(distance)
    heard = [[w for w in range(m) if 0 < distance[v, w] <= max_hops and ways[v, w]] for v in range(m)]
    width = max(map(len, heard))
    sender, delay = np.full((m, width), -1), np.zeros((m, width), int)
    lag = np.zeros((m, m), int)
    for v, others in enumerate(heard):
        for s, w in enumerate(sorted(others, key=lambda w: (distance[v, w], w))):
            sender[v, s], delay[v, s] = w, distance[v, w] * pace
            lag[v, w] = distance[v, w] * pace
    return sender, delay, [len(others) for others in heard], lag


def transmissions(matrix, distance, max_hops, root):
    """Of one post, agent by agent."""
    m = len(matrix)
    if root is None:
        return [int(matrix[[w for w in range(m) if distance[v, w] <= max_hops - 1]].sum()) for v in range(m)]
    down = sum(0 < distance[root, w] <= max_hops for w in range(m))
    return [down if v == root else min(int(distance[root, v]), max_hops) for v in range(m)]


@settings(max_examples=50, deadline=None)
@given(
    graph=graphs(),
    max_hops=st.one_of(st.integers(0, 6), st.sampled_from([None, "diameter", "diameter/2", "ceil(diameter/2)"])),
    routing=st.sampled_from(["flood", "tree"]),
    hop_delay=st.integers(0, 2),
)
def test_slots_and_costs_are_those_of_all_pairs(graph, max_hops, routing, hop_delay):
    m = len(graph)
    env = hb.make_batched(
        "CoopNetwork-v0", n_agents=m, graph=graph, max_hops=max_hops, routing=routing, hop_delay=hop_delay, horizon=3
    )
    matrix = nx.to_numpy_array(graph) > 0
    np.fill_diagonal(matrix, False)
    distance = hop_distances(matrix)
    far = int(distance.max())
    gamma = {None: far, "diameter": far, "diameter/2": far // 2, "ceil(diameter/2)": (far + 1) // 2}.get(
        max_hops, max_hops
    )
    root = int(distance.sum(1).argmin()) if routing == "tree" else None
    ends = np.arange(m) == root
    ways = np.ones((m, m), bool) if root is None else ends[:, None] | ends
    found = env.slots.sender[0], env.slots.delay[0], env.slots.degree[0], env.slots.lag[0]
    for one, two in zip(found, from_all_pairs(distance, gamma, 1 + hop_delay, ways), strict=True):
        np.testing.assert_array_equal(one, two)
    assert env._edges[0].tolist() == transmissions(matrix, distance, gamma, root)
    np.testing.assert_array_equal(env.adjacency[0], matrix)
    np.testing.assert_array_equal(env.distance[0], distance)
    for s, shell in enumerate(env.slots.shell[0]):
        assert [int((env.slots.delay[0, s, : found[2][s]] <= d).sum()) for d in range(len(shell))] == shell.tolist()


@settings(max_examples=50, deadline=None)
@given(graph=graphs())
def test_links_keep_a_graph(graph):
    matrix = nx.to_numpy_array(graph) > 0
    np.fill_diagonal(matrix, False)
    found = links(matrix)
    np.testing.assert_array_equal(found.matrix, matrix)
    np.testing.assert_array_equal(found.degree, matrix.sum(1))
    np.testing.assert_array_equal(hops_from(found, 0), hop_distances(matrix)[0])


def test_a_search_goes_on_where_its_room_was_full():
    """All agents hear all others: more pairs than the initial buffer holds."""
    m = 400
    near = reach(links(nx.to_scipy_sparse_array(nx.complete_graph(m))), 1)
    assert m * (m - 1) > 1 << 16
    others = [[w for w in range(m) if w != v] for v in range(m)]
    np.testing.assert_array_equal(near.sender, others)


@pytest.mark.parametrize(("graph", "width"), [("cycle", 4), pytest.param("grid", 12, marks=pytest.mark.weekly)])
def test_ten_thousand_agents_take_little_memory(graph, width):
    hb.make_batched("CoopNetwork-v0", n_agents=9, graph=graph, max_hops=2)  # compile before the measurement
    tracemalloc.start()
    env = hb.make_batched("CoopNetwork-v0", n_agents=10_000, graph=graph, max_hops=2, horizon=5)
    env.reset(0)
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert env.slots.sender.shape == (1, 10_000, width)
    assert most < 1e8
    with pytest.raises(ValueError, match=r"all pairs of n_agents=100000 would take .* GiB"):
        _ = hb.make_batched("CoopNetwork-v0", n_agents=100_000, graph="path", max_hops=1).distance


@pytest.mark.parametrize("routing", ["flood", "tree"])
def test_what_envs_that_are_built_alike_share_cannot_be_written_to(routing):
    places = placed("grid", 9, None, 1, routing, "median")
    assert placed("grid", 9, None, 1, routing, "median") is places
    shared = [places.edges, places.adjacency, places.distance, places.diameter, places.root, *places.graphs[0]]
    for array in [*shared, places.slots.sender, places.slots.delay, places.slots.lag]:
        with pytest.raises(ValueError, match="read-only"):
            array[:] = 0
