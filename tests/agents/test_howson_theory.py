"""Theorem 1 holds in runs, constants of heavy tails equal other formulas, and the experiments match the paper."""

import math
from itertools import product

import networkx as nx
import numpy as np
import pytest
from kinds import each_once, weekly_but
from paper_bounds import robust_pulls, stable_moment

import hushbandits as hb
from hushbandits.agents import howson2024_theory as theory
from hushbandits.baselines.dubey2020_heavy import CMPUCB, max_hops_of, partition
from hushbandits.baselines.landgren2016 import CoopUCB
from hushbandits.envs.network.graphs import adjacency, hop_distances
from hushbandits.experiments import howson2024 as declared
from hushbandits.registry import assemble

GRAPHS = ("cycle", "grid", "star")


@each_once
@pytest.mark.parametrize("graph", [*GRAPHS, "path", "complete"])
@pytest.mark.parametrize("n_agents", [1, 4, 9, 16])
def test_reach_is_the_median_s_total_distance(graph, n_agents):
    matrix = adjacency(graph, n_agents)
    lengths = dict(nx.all_pairs_shortest_path_length(nx.from_numpy_array(matrix)))
    assert theory.reach(hop_distances(matrix)) == min(sum(d.values()) for d in lengths.values())


def test_bounds_equal_their_formulas_term_by_term():
    gaps = [0.0, 0.1, 0.4]
    alone = 3 * 0.5 + 4 * math.log(600) / 0.1 + 4 * math.log(600) / 0.4  # 16σ² = 4
    assert theory.ucb_regret(gaps, 600) == pytest.approx(alone)
    assert theory.ucb_regret(gaps, 600, sigma=1.0) == pytest.approx(1.5 + 4 * (alone - 1.5))
    assert theory.quack_regret(alone, gaps, 7) == pytest.approx(alone + 10.5)
    curve = theory.quack_regret(theory.ucb_regret(gaps, np.array([600, 1200])), gaps, 7)
    assert curve.shape == (2,)
    assert curve[0] == pytest.approx(alone + 10.5)


def test_the_constants_of_heavy_tails_cover_every_arm_and_are_the_best_exponent():
    assert 1 + declared.EXCESS < 1.9
    for location in declared.LOCATIONS:
        assert stable_moment(1 + declared.EXCESS, location) <= declared.MOMENT
    gap = max(declared.LOCATIONS) - min(declared.LOCATIONS)
    need = {
        e: robust_pulls(gap, stable_moment(1 + e, max(declared.LOCATIONS)), e)
        for e in (0.3, 0.5, 0.6, 0.7, 0.75, 0.8, 0.85, 0.88)
    }
    assert min(need, key=lambda e: need[e]) == declared.EXCESS
    # at that many pulls the interval's width is the gap
    pulls = need[declared.EXCESS]
    power = 1 / (1 + declared.EXCESS)
    radius = 4 * declared.MOMENT**power * (2 / pulls) ** (declared.EXCESS * power)
    assert 2 * radius == pytest.approx(gap, rel=1e-3)
    heavy = {agent.name: agent.params for agent in declared.FIGURE_7.agents}
    assert {(p["moment"], p["excess"]) for p in heavy.values()} == {(declared.MOMENT, declared.EXCESS)}


@each_once
@pytest.mark.parametrize("graph", GRAPHS)
@pytest.mark.parametrize("n_agents", [4, 16, 36, pytest.param(64, marks=pytest.mark.weekly)])
@pytest.mark.parametrize("leaders", [1, 2, 3, 4])
def test_no_max_hops_comes_nearer_to_the_number_of_leaders(graph, n_agents, leaders):
    distance = hop_distances(adjacency(graph, n_agents))
    counts = {max_hops: len(partition(distance, max_hops)[0]) for max_hops in range(1, int(distance.max()) + 1)}
    max_hops = max_hops_of(graph, n_agents, leaders)
    away = abs(counts[max_hops] - leaders)
    assert away == min(abs(n - leaders) for n in counts.values())
    for other, n in counts.items():
        if abs(n - leaders) == away:
            assert n >= counts[max_hops]
            assert n > counts[max_hops] or other <= max_hops


def test_a_largest_set_is_searched_for_up_to_64_agents():
    distance = hop_distances(adjacency("cycle", 65))
    assert len(partition(distance, 3, "greedy")[0]) > 0
    env = {"n_agents": 65, "max_hops": 3, "horizon": 5}
    kwargs = {"partition": "greedy", "excess": 0.8}
    assert hb.evaluate("HeavyTailedNetwork-v0", "CMP-UCB", runs=1, env=env, agent_kwargs=kwargs)


def test_leaders_set_max_hops_and_play_as_cmp_ucb_does(monkeypatch):
    monkeypatch.setattr(CMPUCB, "name", "CMP-UCB")  # streams go by names
    env = {"n_agents": 16, "graph": "grid", "horizon": 60}
    played = []
    for agent, more, params in (
        ("CMP-UCB-leaders", {}, {"leaders": 2}), ("CMP-UCB", {}, {"leaders": 2}), ("CMP-UCB", {"max_hops": 5}, {}),
        ("CMP-UCB", {}, {"gamma": 5}),
    ):  # fmt: skip
        team = hb.make_team(agent, excess=0.8, **params)
        core = assemble("HeavyTailedNetwork-v0", team, runs=3, env={**env, **more})
        played.append(hb.rollout(core, team, 0))
    for metric in ("regret", "messages"):
        for other in played[1:]:
            np.testing.assert_array_equal(played[0][metric], other[metric])


@pytest.mark.parametrize(
    ("policy", "graph"),
    weekly_but([("UCB1", graph) for graph in GRAPHS], *product(("UCB1", "UCB", "MOSS", "epsilon-greedy"), GRAPHS)),
)
def test_theorem_1_with_the_regret_of_the_policy_alone(policy, graph):
    """R ≤ S_π(Mn) + 3 Σ d Σ Δ, S_π(Mn) measured; the slack, two standard errors of a few runs, is far below it."""
    n_agents, rounds, means = 9, 150, [0.7, 0.5, 0.4]
    gaps = 0.7 - np.array(means)
    base = {"graph": graph, "means": means, "permute_arms": True}
    run = [
        hb.evaluate("CoopNetwork-v0", agent, runs=20, env={**base, **env}).final("regret")
        for agent, env in (
            (f"QuACK-{policy}", {"n_agents": n_agents, "horizon": rounds}),
            (policy, {"n_agents": 1, "horizon": n_agents * rounds}),
        )
    ]
    most = theory.quack_regret(run[1].mean(), gaps, theory.reach(hop_distances(adjacency(graph, n_agents))))
    error = math.hypot(*(r.std(ddof=1) / math.sqrt(20) for r in run))
    assert run[0].mean() < most + 2 * error
    assert run[0].mean() < theory.quack_regret(0.0, gaps, 0) + n_agents * rounds * gaps.max()


def test_dashed_lines_are_theorem_1_and_of_quack_ucb_alone():
    env = {"graph": "star", "n_agents": 16, "horizon": 1000, "means": declared.MEANS}
    time = np.array([1, 10, 1000])
    line = declared.theorem_1(env, declared.QUACK.params, time)
    assert line[-1] == pytest.approx(3 * 0.45 + 9 * 4 * math.log(16_000) / 0.05 + 3 * 15 * 0.45)
    assert declared.theorem_1_sizes(env, declared.QUACK.params, np.array([16]))[0] == pytest.approx(line[-1])
    for other in (*declared.PEERS, declared.TS, declared.DEC_TS):
        assert np.isnan(declared.theorem_1(env, other.params, time)).all()
        assert np.isnan(declared.theorem_1_sizes(env, other.params, np.array([4, 9]))).all()


def test_what_the_declarations_state_in_numbers_is_what_theory_gives():
    sizes = (*declared.SIZES, declared.LARGEST)
    for graph in GRAPHS:
        env = {"graph": graph, "horizon": declared.HORIZON}
        line = declared.theorem_1_sizes(env, declared.QUACK.params, np.array(sizes))
        assert declared.MOST[graph] == pytest.approx(line, abs=0.006)
    assert theory.quack_regret(0.0, declared.GAPS, 64) == pytest.approx(declared.EXTRA)
    assert theory.reach(hop_distances(adjacency("cycle", declared.SMALL))) == 64
    distances = {graph: hop_distances(adjacency(graph, declared.LARGEST)) for graph in GRAPHS}
    assert {graph: int(d.max()) for graph, d in distances.items()} == declared.DIAMETERS
    # the two radii are one: 4σ² ln(Mn) = 2γσ² ln n, and ln(1/δ) = γ ln n
    n = declared.HORIZON
    assert declared.AS_QUACK.params["gamma"] * math.log(n) == pytest.approx(2 * math.log(16 * n))
    assert -math.log(declared.AS_COOP.params["delta"]) == pytest.approx(CoopUCB().gamma * math.log(n))
