"""Gossip: the matrix, the mixing, and agents that equal their twins."""

import math
from itertools import product

import networkx as nx
import numpy as np
import pytest
from helpers import arms_pulled, build
from hypothesis import assume, given, settings
from kinds import each_once
from naive_graphs import graphs
from twins_gossip import averaging, naive_cmp, naive_coop, naive_ddub, naive_dec_ts, naive_excess, naive_published
from twins_network import MEANS

import hushbandits as hb
from hushbandits.baselines.gossip import gossip_matrix, second_eigenvalue
from hushbandits.baselines.landgren2016 import CONSTANTS, published_exploration, smallest_exploration
from hushbandits.baselines.martinez2019 import chebyshev, stage_length
from hushbandits.core.messages import Field
from hushbandits.core.random.streams import spawn_seeds
from hushbandits.envs.network.graphs import adjacency
from hushbandits.wrappers.loss import Loss

T = 60
TAIL = nx.Graph([(0, 1), (1, 2), (2, 3), (1, 3), (3, 4)])  # no eigenvalue is repeated
GRAPHS = [("path", 5), ("star", 6), ("cycle", 6), ("grid", 9), ("complete", 4), ("path", 2), ("path", 1), (TAIL, 5)]


@settings(deadline=None)
@given(graphs())
def test_the_matrix_is_doubly_stochastic(edges):
    p = gossip_matrix(edges[None])[0]
    assert (p >= -1e-15).all()
    assert np.abs(p.sum(0) - 1).max() <= 1e-12
    assert np.abs(p.sum(1) - 1).max() <= 1e-12
    np.testing.assert_array_equal(p, p.T)
    assert not p[~edges & ~np.eye(len(p), dtype=bool)].any()
    second = second_eigenvalue(p[None])[0]
    assert second == pytest.approx(sorted(abs(np.linalg.eigvals(p)))[-2] if len(p) > 1 else 0.0, abs=1e-9)
    assert 0 <= second < 1  # connected, and every agent keeps a share


@pytest.mark.parametrize(("graph", "m"), GRAPHS, ids=str)
def test_the_matrix_is_the_papers(graph, m):
    np.testing.assert_allclose(gossip_matrix(adjacency(graph, m)[None])[0], averaging(graph, m), atol=1e-15)


@pytest.mark.parametrize(("graph", "shape"), [("grid", (3,)), ("star", ()), ("erdos-renyi", (2, 2))])
def test_an_inbox_mixes_as_a_matrix_does(graph, shape):
    fields = {"x": Field(shape=shape), "n": Field(dtype="i8", low=0, high=9)}
    env = hb.make_batched("CoopNetwork-v0", runs=3, n_agents=9, graph=graph, max_hops=1, horizon=4, fields=fields)
    env.reset(3)
    rng = np.random.default_rng(1)
    for _ in range(4):
        env.pull(np.zeros((3, 9), int))
        sent, x, n = rng.random((3, 9)) < 0.7, rng.normal(size=(3, 9, *shape)), rng.integers(0, 9, (3, 9))
        inbox = env.communicate({"x": x, "n": n, "sent": sent}).inbox
        p = gossip_matrix(env.adjacency)
        for name, value in (("x", x), ("n", n)):
            mixed = inbox.mix(name, p)
            assert mixed.shape == value.shape
            for r in range(3):
                heard = p[r % len(p)] * sent[r]
                np.fill_diagonal(heard, 0)
                heard += np.diag(1 - heard.sum(1))  # the weight of a lost message stays with the agent
                np.testing.assert_allclose(mixed[r], np.tensordot(heard, value[r], 1), atol=1e-12)


def actions_of(agent, graph, m, rate=0.0, max_hops=1, agent_rate=None, **kwargs):
    kwargs |= {"rate": agent_rate} if agent_rate else {}
    world = {"graph": graph, "n_agents": m, "horizon": T, "means": MEANS}
    if agent == "CMP-UCB":
        world["max_hops"] = max_hops
    env, team = build("CoopNetwork-v0", agent, 2, world, kwargs, (Loss(rate),) if rate else ())
    return arms_pulled(env, team, spawn_seeds(11, 2)).tolist()


def twins(naive, *given, **kwargs):
    return [naive(seed, *given, **kwargs) for seed in spawn_seeds(11, 2)]


@each_once
@pytest.mark.parametrize("rate", [0.0, 0.4])
@pytest.mark.parametrize(("graph", "m"), GRAPHS, ids=str)
def test_gossiping_agents_equal_their_twins(graph, m, rate):
    for constant, found in CONSTANTS.items():
        extra = found(gossip_matrix(adjacency(graph, m)[None])[0]).tolist()
        ours = actions_of("coop-UCB", graph, m, rate, constant=constant)
        assert ours == twins(naive_coop, graph, m, T, extra, rate)
        ours = actions_of("coop-UCB", graph, m, rate, gamma=1.5, sigma=0.3, constant=constant)
        assert ours == twins(naive_coop, graph, m, T, extra, rate, 1.5, 0.3)
    for rechoose_on_stale in (False, True):
        ours = actions_of("DDUCB", graph, m, rate, rechoose_on_stale=rechoose_on_stale)
        assert ours == twins(naive_ddub, graph, m, T, rate, rechoose_on_stale=rechoose_on_stale)
    assert actions_of("Dec-TS", graph, m, rate) == twins(naive_dec_ts, graph, m, T, rate)
    assert actions_of("Dec-TS", graph, m, rate, agent_rate=0.5) == twins(naive_dec_ts, graph, m, T, rate, 0.5)
    for max_hops, how in (*product((1, 2), ("largest", "greedy")), (0, "largest"), (None, "largest")):
        ours = actions_of("CMP-UCB", graph, m, rate, max_hops, moment=0.5, excess=0.6, partition=how)
        assert ours == twins(naive_cmp, graph, m, T, max_hops, rate, moment=0.5, excess=0.6, partition=how)


@pytest.mark.parametrize("step", [None, lambda: None])
@pytest.mark.parametrize(("graph", "max_hops"), [("grid", 2), ("star", 1), ("cycle", None)])
def test_a_leaders_clock_counts_rounds_however_much_it_hears(graph, max_hops, step):
    env, team = build(
        "CoopNetwork-v0", "CMP-UCB", 2, {"graph": graph, "n_agents": 9, "max_hops": max_hops, "horizon": T}
    )
    hb.rollout(env, team, seed=2, step=step)
    leads, pi = team.state.leader.ravel() >= 0, team.state.pi
    assert (pi.n.sum(1)[leads] > T).any() or graph == "star"  # leaves that lead a star at γ = 1 hear its centre
    assert (pi.t[leads] == T - 1).all()


# -- closed forms ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("graph", "m"), [("path", 2), ("path", 5), ("path", 8), (TAIL, 5)], ids=str)
def test_the_published_constant_is_its_sums(graph, m):
    p = gossip_matrix(adjacency(graph, m)[None])[0]
    np.testing.assert_allclose(published_exploration(p), naive_published(p.tolist()), rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize(("graph", "m"), [*GRAPHS, ("cycle", 16), ("star", 16), ("grid", 16), ("complete", 9)], ids=str)
def test_the_smallest_constant_is_its_sum_over_powers(graph, m):
    p = gossip_matrix(adjacency(graph, m)[None])[0]
    found = smallest_exploration(p)
    np.testing.assert_allclose(found, naive_excess(p.tolist(), 800), rtol=1e-8, atol=1e-8)
    assert (found >= 0).all()
    assert (found <= published_exploration(p) + 1e-8).all()  # by another way to the same bound


@settings(max_examples=25, deadline=None)
@given(graphs())
def test_the_smallest_constant_of_any_graph(edges):
    p = gossip_matrix(edges[None])[0]
    assume(second_eigenvalue(p[None])[0] < 0.98)
    np.testing.assert_allclose(smallest_exploration(p), naive_excess(p.tolist(), 1200), rtol=1e-7, atol=1e-7)


def excess(p, pulls, k):
    """``M Var ŝ_k/σ² − n̂_k`` after pulls (T, M) of one arm, by the recurrence that the agents play."""
    m = len(p)
    weights, n = np.zeros((m, 0)), np.zeros(m)
    for row in pulls:
        weights, n = p @ np.hstack([weights, np.diag(row)]), p @ (n + row)
    return m * (weights[k] ** 2).sum() - n[k]


@pytest.mark.parametrize(("graph", "m"), [("cycle", 8), ("star", 7), ("grid", 9), (TAIL, 5), ("complete", 4)], ids=str)
def test_no_smaller_constant_is_valid(graph, m):
    """Pulling only where a pull counts more than its share comes arbitrarily close."""
    p, rounds = gossip_matrix(adjacency(graph, m)[None])[0], 250
    bound = smallest_exploration(p)
    powers = np.stack([np.linalg.matrix_power(p, s) for s in range(rounds, 0, -1)])  # of pulls in round 1, 2, …
    for k in range(m):
        assert excess(p, powers[:, k] > 1 / m, k) == pytest.approx(bound[k], abs=1e-6)


def rotated(p, seed):
    """P from other eigenvectors: those of a repeated eigenvalue are rotated at random."""
    values, vectors = np.linalg.eigh(p)
    rng, start = np.random.default_rng(seed), 0
    for stop in range(1, len(values) + 1):
        if stop == len(values) or values[stop] - values[start] > 1e-9:
            q, _ = np.linalg.qr(rng.normal(size=(stop - start, stop - start)))
            vectors[:, start:stop] = vectors[:, start:stop] @ q
            start = stop
    return values, vectors


@pytest.mark.parametrize(("graph", "m"), [("cycle", 8), ("grid", 16), ("star", 7), ("complete", 5)])
def test_exploration_does_not_hang_on_who_finds_the_eigenvectors(graph, m, monkeypatch):
    """With repeated eigenvalues, every rotation of their vectors gives the same result."""
    p = gossip_matrix(adjacency(graph, m)[None])[0]
    found = {constant: rule(p) for constant, rule in CONSTANTS.items()}
    turned = rotated(p, 5)
    monkeypatch.setattr(np.linalg, "eigh", lambda matrix: turned)
    for constant, rule in CONSTANTS.items():
        assert (found[constant] >= 0).all()
        np.testing.assert_allclose(rule(p), found[constant], rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize("second", [0.2, 0.9, 0.9999])
def test_accelerated_mixing_is_chebyshevs(second):
    rng = np.random.default_rng(0)
    p = np.diag([1.0, second, -second, 0.3 * second])
    y, before = rng.normal(size=4), np.zeros(4)
    start = y.copy()
    for r, (a, b) in enumerate(chebyshev(second, 12), 1):
        y, before = a * p @ y - b * before, y
        term = np.polynomial.chebyshev.Chebyshev.basis(r)
        np.testing.assert_allclose(y, term(np.diag(p) / second) / term(1 / second) * start, rtol=1e-9)


@pytest.mark.parametrize(("m", "second", "epsilon"), [(16, 0.9, 1 / 22), (196, 0.999, 0.01), (3, 1e-9, 0.5)])
def test_a_stage_is_as_long_as_published(m, second, epsilon):
    length = stage_length(m, second, epsilon)
    assert length >= 1
    assert length == max(1, math.ceil(math.log(2 * m / epsilon) / math.sqrt(2 * math.log(1 / second))))
    # and then what is not average has shrunk by ε/(2M) or more
    shrunk = 1 / np.polynomial.chebyshev.Chebyshev.basis(length)(1 / second)
    assert shrunk <= epsilon / m


@pytest.mark.weekly
def test_nobody_speaks_in_the_rounds_of_first_pulls():
    for agent, silent in (("coop-UCB", 3), ("DDUCB", 3), ("Dec-TS", 0)):
        world = {"n_agents": 5, "horizon": 10, "means": MEANS}
        found = hb.rollout(*build("CoopNetwork-v0", agent, 2, world), seed=0)
        assert found["messages"].tolist() == [(10 - silent) * 10] * 2  # two edges each
