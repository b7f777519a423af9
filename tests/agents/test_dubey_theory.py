"""Graph numbers equal brute force, and regret stays below the bounds."""

import itertools
import math

import networkx as nx
import numpy as np
import pytest
from naive_graphs import brute_cover, brute_independence, brute_largest

import hushbandits as hb
from hushbandits.agents import dubey2020_theory as theory
from hushbandits.envs.network.graphs import (
    adjacency,
    clique_cover,
    clique_cover_number,
    clique_number,
    hop_distances,
    independence_number,
    independent_set,
    largest_independent_set,
    power_graph,
)


@pytest.mark.parametrize("seed", range(6))
def test_hard_numbers_of_small_graphs_are_exact(seed):
    graph = nx.gnp_random_graph(7, 0.2 + 0.1 * seed, seed=seed)
    matrix = nx.to_numpy_array(graph) > 0
    alpha, cover, omega = independence_number(matrix), clique_cover_number(matrix), clique_number(matrix)
    assert alpha.exact
    assert alpha.low == brute_independence(matrix)
    assert cover.exact
    assert cover.low == brute_cover(matrix)
    assert omega.low == omega.high == max(len(c) for c in nx.find_cliques(graph))


@pytest.mark.parametrize("seed", range(12))
def test_largest_independent_sets_equal_brute_force(seed):
    rng = np.random.default_rng(seed)
    matrix = nx.to_numpy_array(nx.gnp_random_graph(int(rng.integers(1, 11)), rng.random(), seed=seed)) > 0
    plain = np.zeros(len(matrix), int)
    for weight in (plain, matrix.sum(1), rng.integers(0, 5, len(matrix)), 10**12 * plain + 10**15):
        assert largest_independent_set(matrix, weight) == brute_largest(matrix, weight)
    assert largest_independent_set(matrix) == brute_largest(matrix, plain)
    assert len(largest_independent_set(matrix)) == brute_independence(matrix)


@pytest.mark.parametrize("m", [30, 60])
def test_bounds_of_large_graphs_hold(m):
    graph = nx.gnp_random_graph(m, 0.4, seed=m)
    matrix = nx.to_numpy_array(graph) > 0
    alpha = len(nx.max_weight_clique(nx.complement(graph), weight=None)[0])
    assert independence_number(matrix).low <= alpha <= independence_number(matrix).high
    cover = clique_cover_number(matrix)  # at least α, and at most what any cover takes
    assert len(independent_set(matrix)) <= cover.low <= cover.high == len(clique_cover(matrix))
    assert cover.high >= alpha
    assert not independence_number(matrix).exact
    omega = len(nx.max_weight_clique(graph, weight=None)[0])
    assert clique_number(matrix).low <= omega <= clique_number(matrix).high


@pytest.mark.parametrize("max_hops", [1, 2, 3])
def test_covers_are_cliques_of_the_power_graph(max_hops):
    matrix = power_graph(hop_distances(adjacency("grid", 36)), max_hops)
    expected = nx.to_numpy_array(nx.power(nx.from_numpy_array(adjacency("grid", 36)), max_hops)) > 0
    np.testing.assert_array_equal(matrix, expected)
    cover = clique_cover(matrix)
    assert sorted(itertools.chain(*cover)) == list(range(36))
    for clique in cover:
        assert all(matrix[u, v] for u, v in itertools.combinations(clique, 2))
    chosen = independent_set(matrix)
    assert not matrix[np.ix_(chosen, chosen)].any()
    assert all(v in chosen or matrix[v, chosen].any() for v in range(36))
    assert independent_set(matrix, np.arange(36))[0] == 35
    assert independent_set(matrix)[0] == 0  # a corner: fewest neighbours, lowest index


def test_bounds_equal_their_formulas_term_by_term():
    gaps, t, m, max_hops, cover, epsilon = [0.0, 0.2, 0.4], 500, 10, 2, 3, 0.5
    zeta = 2.6123753486854883
    private = cover * (8 * math.log(t) / 0.2 + 8 * math.log(t) / 0.4) + 0.6 * (cover * 22 + m * (2 + zeta))
    assert theory.private_regret(gaps, t, m, max_hops, cover, epsilon) == pytest.approx(private)
    byzantine = cover * sum(g * 2 * math.log(t) / (g - 0.1) ** 2 for g in (0.2, 0.4)) + (30 + 2 * cover * 9) * 0.6
    assert theory.byzantine_regret(gaps, t, m, max_hops, cover, 0.01) == pytest.approx(byzantine)
    assert np.isinf(theory.byzantine_regret(gaps, np.array([1, 2]), m, max_hops, cover, 0.04)).all()  # √ϵ = Δ_min/(2σ)


@pytest.mark.parametrize("max_hops", [0, 1, 2, "diameter"])
@pytest.mark.parametrize(("env_id", "agent", "kwargs"), [
    ("CoopNetwork-v0", "Private-UCB", {"epsilon": 0.5}),
    ("ByzantineNetwork-v0", "Byzantine-UCB", {"epsilon": 1e-3}),
])  # fmt: skip
def test_regret_stays_under_the_bounds(env_id, agent, kwargs, max_hops):
    """Claim 5, on an instance whose gaps are not tiny."""
    means = [0.8, 0.6, 0.5, 0.3]
    env = {"n_agents": 16, "graph": "grid", "max_hops": max_hops, "horizon": 400, "means": means}
    core = hb.make_batched(env_id, **env)
    gamma = int(core.slots.max_hops[0])
    cover = clique_cover_number(power_graph(core.distance[0], gamma)).high
    bound = {"Private-UCB": theory.private_regret, "Byzantine-UCB": theory.byzantine_regret}[agent]
    most = bound(0.8 - np.array(means), 400, 16, gamma, cover, kwargs["epsilon"])
    regret = hb.evaluate(env_id, agent, runs=10, env=env, agent_kwargs=kwargs).final("regret")
    assert regret.max() < most
