"""QuACK over every policy equals its twin, over a tree and from an election on; lemmas of the paper."""

import math
from collections import Counter

import networkx as nx
import numpy as np
import pytest
from election import best_leader
from helpers import arms_pulled, build, equal
from kinds import each_once, weekly_but
from numba import njit
from twins_network import MEANS, naive_quack

import hushbandits as hb
from hushbandits.agents.howson2024 import QuACK
from hushbandits.baselines.independent import Alone
from hushbandits.core.random.streams import spawn_seeds
from hushbandits.envs.network.graphs import adjacency, graph_median, hop_distances, shortest_path_tree
from hushbandits.policies.registry import list_policies
from hushbandits.policies.ucb import UCB1
from hushbandits.registry import assemble
from hushbandits.wrappers.loss import Loss

T = 40
FOUR = (*MEANS, 0.2)  # two arms duel


def network(agent, runs, m, graph, wrappers=(), means=FOUR, horizon=T, hop_delay=0, **kwargs):
    world = {"graph": graph, "n_agents": m, "horizon": horizon, "means": means, "hop_delay": hop_delay}
    world["permute_arms"] = False
    if isinstance(agent, str):
        return build("CoopNetwork-v0", agent, runs, world, kwargs, wrappers)
    return assemble("CoopNetwork-v0", agent, runs=runs, env=world, wrappers=wrappers), agent


def equals_its_twin(policy, m, graph, twin=None, hop_delay=0, rate=0.0, **kwargs):
    wrappers = (Loss(rate),) if rate else ()
    env, team = network(f"QuACK-{policy}", 2, m, graph, wrappers, hop_delay=hop_delay, **kwargs)
    ours = arms_pulled(env, team, spawn_seeds(11, 2))
    twin = {"leader": kwargs.get("leader")} if twin is None else twin
    for r, seed in enumerate(spawn_seeds(11, 2)):
        theirs = naive_quack(seed, graph, m, T, policy, rate=rate, hop_delay=hop_delay, means=FOUR, **twin)
        assert ours[r].tolist() == theirs


@pytest.mark.parametrize("policy", weekly_but([("UCB1",)], *((name,) for name in list_policies())))
def test_over_every_policy_it_equals_its_twin(policy):
    equals_its_twin(policy, 6, "star", leader=3, rate=0.3, hop_delay=1)
    equals_its_twin(policy, 5, "path")


@each_once
@pytest.mark.parametrize("policy", ["UCB1", "TS"])
@pytest.mark.parametrize(("m", "graph", "kwargs"), [
    (1, "complete", {}), (2, "path", {}), (2, "path", {"leader": 1}), (7, "path", {"leader": 6}), (9, "grid", {}),
    (7, "star", {"leader": 0}), (5, "cycle", {"hop_delay": 3}), (6, "path", {"rate": 0.5, "leader": 0}),
    (6, "path", {"routing": "tree"}), (6, "star", {"routing": "tree", "leader": 2, "hop_delay": 1, "rate": 0.2}),
], ids=str)  # fmt: skip
def test_on_every_graph_it_equals_its_twin(policy, m, graph, kwargs):
    equals_its_twin(policy, m, graph, **kwargs)


@pytest.mark.weekly
@pytest.mark.parametrize(("m", "graph", "routing"), [(1, "path", "flood"), (2, "path", "tree"), (6, "star", "flood")])
def test_a_run_that_begins_with_the_search_for_its_leader(m, graph, routing):
    equals_its_twin("TS", m, graph, {"pause": 3 * m}, elect_leader=True, routing=routing, rate=0.2)
    env, team = network("QuACK-UCB1", 2, m, graph, elect_leader=True, routing=routing)
    found, plain = hb.rollout(env, team, seed=3), best_leader(adjacency(graph, m))
    assert found["setup_rounds"].tolist() == [3 * m] * 2
    assert found["setup_messages"].tolist() == [plain.messages] * 2
    assert (team.state.leader == plain.leader).all()


# -- routing --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("m", "graph", "leader"), [
    (1, "path", None), (2, "path", None), (7, "path", 6), (9, "grid", None), (6, "complete", 4), (8, "star", 3),
])  # fmt: skip
def test_a_tree_takes_the_same_decisions_with_fewer_messages(m, graph, leader):
    distance = hop_distances(adjacency(graph, m))
    root = int(graph_median(distance[None])[0]) if leader is None else leader
    flood, tree = (
        hb.rollout(*network("QuACK-UCB1", 2, m, graph, leader=leader, routing=way), seed=1) for way in ("flood", "tree")
    )
    np.testing.assert_array_equal(flood["agent_regret"], tree["agent_regret"])
    # a round: an instruction along every edge of the tree, and every agent's report on its way to the root
    assert tree["messages"].tolist() == [T * (m - 1 + int(distance[root].sum()))] * 2
    if m > 2:
        assert (tree["messages"] < flood["messages"]).all()


def sent_by_everyone(m, graph, root, rounds):
    """Section 3.1, message by message: messages of each agent in each round, and the reports that reach the root."""
    tree = nx.bfs_tree(nx.from_numpy_array(adjacency(graph, m)), root)
    parent = {w: v for v, w in tree.edges}
    shown, held, sent, arrived = {root}, {w: [] for w in tree}, np.zeros((rounds, m), int), Counter()
    for t in range(rounds):
        news, mail = set(shown), {w: [] for w in tree}
        for w in tree:
            if w in shown:  # the action goes down to every child
                sent[t, w] += tree.out_degree(w)
                news |= set(tree.successors(w))
            if w != root:  # an agent's pair goes up, with those of its children from the last round
                sent[t, w] += 1
                mail[parent[w]] += [(w, t), *held[w]]
        shown, held = news, mail
        arrived.update(held[root])
    return sent, arrived


@pytest.mark.parametrize(("m", "graph", "leader"), [
    (1, "path", None), (2, "path", None), (7, "path", 6), (8, "cycle", None), (9, "grid", None), (6, "complete", 4),
    (8, "star", None), (8, "star", 3),
])  # fmt: skip
def test_the_busiest_agent_of_a_tree(m, graph, leader):
    distance = hop_distances(adjacency(graph, m))
    root = int(graph_median(distance[None])[0]) if leader is None else leader
    sent, arrived = sent_by_everyone(m, graph, root, T)
    for w in set(range(m)) - {root}:  # every report once, after as many hops as there are
        assert [arrived[w, t] for t in range(T)] == [1] * (T - distance[root, w] + 1) + [0] * (distance[root, w] - 1)
    found = hb.rollout(*network("QuACK-UCB", 3, m, graph, leader=leader, routing="tree"), seed=1)
    assert found["messages_most"].tolist() == [sent.max()] * 3
    assert "messages_most" not in hb.rollout(*network("QuACK-UCB", 3, m, graph, leader=leader), seed=1)


def test_the_busiest_agent_is_that_of_each_run_s_own_graph():
    world = {"n_agents": 12, "graph": "erdos-renyi", "edge_probability": 0.3, "horizon": 30, "routing": "tree"}
    env, team = build("CoopNetwork-v0", "QuACK-UCB", 6, world, {"routing": "tree"}, ())
    found = hb.rollout(env, team, seed=2)["messages_most"].tolist()
    degrees = [
        max(dict(nx.from_numpy_array(shortest_path_tree(*graph)).degree).values())
        for graph in zip(env.adjacency, env.distance, env.root, strict=True)
    ]
    assert found == degrees
    assert len(set(found)) > 1


# -- lemmas ---------------------------------------------------------------------------------------------------------


LEADERS = [(7, "path", 6), (8, "star", 3), (9, "grid", None), (2, "path", 1)]
FED = [(policy, *led) for policy in ("UCB1", "TS-Gaussian", "MOSS", "ETC", "Robust-UCB") for led in LEADERS]


@pytest.mark.parametrize(("policy", "m", "graph", "leader"), weekly_but([fed for fed in FED if fed[0] == "UCB1"], *FED))
def test_lemma_2_on_every_path(policy, m, graph, leader):
    """``Σ_w T_a^w(t − d_vw) ≤ T′_a(s_t) + 2 Σ_w d_vw`` for every arm, run and round; queues hold no more either."""
    env, team = network(f"QuACK-{policy}", 4, m, graph, horizon=80, leader=leader)
    fed, queued = [], []

    def look():
        fed.append(team.state.pi.n.copy())
        queued.append(team.state.size.max())

    arms = arms_pulled(env, team, spawn_seeds(2, 4), look)
    v, runs = int(team.state.leader[0]), np.arange(4)[:, None]
    far = hop_distances(adjacency(graph, m))[v]
    for t in range(1, 81):
        plays = np.zeros((4, len(FOUR)))
        for w in range(m):
            for s in range(t - far[w]):
                np.add.at(plays, (runs[:, 0], arms[:, s, w]), 1)
        assert (plays <= fed[t - 1] + 2 * far.sum()).all()
    assert max(queued) <= 2 * far.sum() + m
    assert team.state.queue.shape[2] <= max(16 * m, 1024) + 4 * (far.sum() + m)  # nor is more allocated


# -- user-defined policies -------------------------------------------------------------------------------------------


def ucb1_choose(state, r):
    best, top = 0, -1.0
    for k in range(state.n.shape[1]):
        if state.n[r, k] == 0:
            return k
        x = state.s[r, k] / state.n[r, k] + math.sqrt(2.0 * math.log(state.t[r] + 1.0) / state.n[r, k])
        if x > top:
            best, top = k, x
    return best


def ucb1_update(state, r, arm, reward):
    state.n[r, arm] += 1.0
    state.s[r, arm] += reward
    state.t[r] += 1


class Plain(UCB1):
    """The same policy in plain Python, and compiled by a third party, by phases: the results are equal."""

    choose, update = staticmethod(ucb1_choose), staticmethod(ucb1_update)
    name = "UCB1"


class Compiled(Plain):
    choose, update = staticmethod(njit(ucb1_choose)), staticmethod(njit(ucb1_update))


@pytest.mark.parametrize("own", [Plain, Compiled])
@pytest.mark.parametrize("team", [QuACK, Alone])
def test_ones_own_policies_play_as_those_that_ship(team, own):
    ours = arms_pulled(*network(team(UCB1()), 2, 4, "path"), spawn_seeds(1, 2))
    assert not own().ships
    np.testing.assert_array_equal(arms_pulled(*network(team(own), 2, 4, "path"), spawn_seeds(1, 2)), ours)
    equal(*(hb.rollout(*network(team(policy), 2, 4, "path"), seed=5) for policy in (own(), "UCB1")))


def test_leaders_differ_where_graphs_do():
    graph = nx.Graph([(0, 1), (1, 2), (2, 3), (3, 4), (4, 5), (4, 6), (4, 7)])
    equals_its_twin("UCB1", 8, graph)
    env, team = build("CoopNetwork-v0", "QuACK-UCB1", 6, {"graph": "erdos-renyi", "n_agents": 12, "horizon": 30})
    compiled = hb.rollout(env, team, seed=6)
    assert len(set(team.state.leader.tolist())) > 1
    assert team.state.leader.tolist() == [best_leader(graph).leader for graph in env.adjacency]
    equal(hb.rollout(env, team, seed=6, step=lambda: None), compiled)
