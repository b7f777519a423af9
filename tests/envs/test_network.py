"""The delayed graph: messages arrive at the right time and place, and nowhere else."""

import networkx as nx
import numpy as np
import pytest
from helpers import begin
from kinds import each_once
from posts import posts_seen
from scipy import stats

import hushbandits as hb
from hushbandits.core import Field
from hushbandits.core.random.arms import make_law
from hushbandits.core.random.rewards import LAWS
from hushbandits.envs.network.graphs import adjacency, hop_distances
from hushbandits.envs.network.inbox import Ring
from hushbandits.wrappers.huber import Huber
from hushbandits.wrappers.loss import Loss
from hushbandits.wrappers.shuffle import Shuffle

SHARES_OF_DIAMETER = [None, 0, 1, 2, "diameter", "diameter/2", "floor(diameter/2)", "ceil(diameter/2)"]


@each_once
@pytest.mark.parametrize("max_hops", SHARES_OF_DIAMETER)
@pytest.mark.parametrize("graph", ["cycle", "grid", "star", "path", "complete"])
@pytest.mark.parametrize("wrappers", [(), (Shuffle(),)], ids=["plain", "shuffled"])
def test_a_post_reaches_distance_d_at_the_end_of_round_s_plus_d_minus_1(graph, max_hops, wrappers):
    env = hb.make_batched("CoopNetwork-v0", n_agents=9, graph=graph, max_hops=max_hops, horizon=12, wrappers=wrappers)
    d = dict(nx.all_pairs_shortest_path_length(nx.from_numpy_array(adjacency(graph, 9))))
    diameter = max(max(row.values()) for row in d.values())
    named = {None: diameter, "diameter": diameter, "ceil(diameter/2)": -(-diameter // 2)}
    named |= dict.fromkeys(("diameter/2", "floor(diameter/2)"), diameter // 2)
    gamma = named.get(max_hops, max_hops)
    for t, per_run in enumerate(posts_seen(env, 12), 1):
        for a in range(9):
            due = [
                1000 * (t - d[a][b] + 1) + b for b in range(9) if b != a and d[a][b] <= gamma and t - d[a][b] + 1 >= 1
            ]
            assert per_run[0][a] == sorted(due)


def test_a_lost_post_is_lost_to_all():
    env = hb.make_batched("CoopNetwork-v0", n_agents=8, graph="cycle", horizon=30, wrappers=[Loss(0.4)], runs=3)
    seen = posts_seen(env, 30)
    for r in range(3):
        heard = {}
        for t, per_run in enumerate(seen, 1):
            for a, codes in enumerate(per_run[r]):
                for code in codes:
                    heard.setdefault(code, []).append((t, a))
        for code, places in heard.items():
            s, b = divmod(code, 1000)
            ring = [min((a - b) % 8, (b - a) % 8) for a in range(8)]
            expected = sorted((s + ring[a] - 1, a) for a in range(8) if a != b and s + ring[a] - 1 <= 30)
            assert sorted(places) == expected
        lost = 8 * 26 - len([c for c in heard if c < 27_000])
        assert stats.binomtest(lost, 8 * 26, 0.4).pvalue > 1e-6


both = pytest.mark.parametrize("more", [{}, {"edge_failure_prob": 0.4}], ids=["slots", "flood"])


@both
def test_reductions_equal_gathered_sums(more):
    env = hb.make_batched(
        "CoopNetwork-v0", n_agents=10, graph="erdos-renyi", edge_probability=0.3, runs=3, horizon=20, **more
    )
    obs, rng = env.reset(4), np.random.default_rng(0)
    while obs.running.any():
        env.pull(rng.integers(10, size=(3, 10)))
        obs = env.communicate()
        inbox = obs.inbox
        pulls, sums = inbox.tally()
        hot = (inbox["arm"][..., None] == np.arange(10)) & inbox.arrived[..., None]
        np.testing.assert_array_equal(pulls, hot.sum(2))
        np.testing.assert_allclose(sums, (hot * inbox["reward"][..., None]).sum(2), atol=1e-12)
        np.testing.assert_allclose(inbox.total("reward"), inbox["reward"].sum(2), atol=1e-12)


@both
def test_one_sender_and_one_receiver(more):
    env = hb.make_batched("CoopNetwork-v0", n_agents=9, graph="grid", runs=2, horizon=8, **more)
    env.reset(0)
    sender = np.array([4, 0])
    for _ in range(8):
        env.pull(np.random.default_rng(1).integers(10, size=(2, 9)))
        inbox = env.communicate().inbox
        value, shown = inbox.of(sender, "arm")
        who, arm = inbox["sender"], inbox["arm"]
        for r in range(2):
            for m in range(9):
                slot = np.flatnonzero(who[r, m] == sender[r])
                assert shown[r, m] == bool(len(slot))
                if len(slot):
                    assert value[r, m] == arm[r, m, slot[0]]
        values, mask = inbox.at(sender, "reward")
        for r in range(2):
            np.testing.assert_array_equal(
                values[r][mask[r]], inbox["reward"][r, sender[r]][inbox.arrived[r, sender[r]]]
            )


@pytest.mark.parametrize(("graph", "m", "max_hops", "expected"), [
    ("cycle", 6, None, [2 * 5] * 6), ("cycle", 6, 1, [2] * 6), ("cycle", 6, 0, [0] * 6), ("complete", 4, 1, [3] * 4),
    ("star", 5, 1, [4, 1, 1, 1, 1]), ("star", 5, 2, [4 + 4, *[1 + 4] * 4]),
    ("path", 4, 2, [1 + 2, 2 + 1 + 2, 2 + 1 + 2, 1 + 2]),
])  # fmt: skip
def test_messages_count_transmissions(graph, m, max_hops, expected):
    """Each agent's post separately: over all senders the sum would be over the same degrees."""
    env = hb.make_batched("CoopNetwork-v0", n_agents=m, graph=graph, max_hops=max_hops, horizon=m)
    env.reset(0)
    for sender in range(m):
        before = env.metrics()["messages"][0]
        env.pull(np.zeros((1, m), int))
        env.communicate(
            {"arm": np.zeros((1, m), int), "reward": np.zeros((1, m)), "sent": np.arange(m)[None] == sender}
        )
        assert env.metrics()["messages"][0] - before == expected[sender]


def test_byzantine_reports_are_contaminated_and_own_statistics_clean():
    env = hb.make_batched("CoopNetwork-v0", n_agents=10, graph="complete", means=[0.5, 0.5], horizon=400, runs=2,
                      wrappers=[Huber(0.25, law="constant", location=7.0, fraction=0.5)])  # fmt: skip
    obs = env.reset(1)
    hits = np.zeros((2, 10))
    while obs.running.any():
        obs = env.pull(np.zeros((2, 10), int))
        assert set(np.unique(obs.reward)) <= {0.0, 1.0}
        obs = env.communicate()
        reward, who = obs.inbox["reward"], obs.inbox["sender"]
        hits += np.array([[(reward[r][who[r] == m] == 7.0).any() for m in range(10)] for r in range(2)])
    byzantine = env.wrappers[0].byzantine
    assert (byzantine.sum(1) == 5).all()
    assert (hits[~byzantine] == 0).all()
    assert all(stats.binomtest(int(h), 400, 0.25).pvalue > 1e-7 for h in hits[byzantine])


def test_shuffled_slots_are_in_uniform_order():
    env = hb.make_batched("CoopNetwork-v0", n_agents=4, graph="path", horizon=3000, wrappers=[Shuffle()])
    obs = env.reset(0)
    first = []
    while obs.running.any():
        env.pull(np.zeros((1, 4), int))
        obs = env.communicate({"arm": np.arange(4)[None] % 2, "reward": np.arange(4.0)[None]})
        if obs.t[0] > 3:
            first.append(obs.inbox["reward"][0, 0, 0])
    _, counts = np.unique(first, return_counts=True)
    assert stats.chisquare(counts).pvalue > 1e-6
    assert len(counts) == 3


VARIANCES = {
    "bernoulli": lambda p: p * (1 - p), "gaussian": lambda p: 0.25, "beta": lambda p: p * (1 - p) / 5,
    "uniform": lambda p: 1 / 12, "constant": lambda p: 0.0,
}  # fmt: skip


@pytest.mark.parametrize("name", sorted(LAWS))
def test_laws_have_the_mean_they_claim_and_the_variance_of_their_name(name):
    law = make_law(name)
    location = np.array([0.5]) if name == "uniform" else np.array([0.2, 0.5, 0.9])
    u = (np.arange(200_000) + 0.5) / 200_000  # the midpoint rule: E f = ∫ quantile(u) du
    x = law.quantile(u[:, None], location)
    np.testing.assert_allclose(x.mean(0), law.mean(location), atol=1e-4)
    assert (np.diff(x, axis=0) >= 0).all() or (np.diff(x, axis=0) <= 0).all()
    assert np.isfinite(law.quantile(np.array([0.0, 1 - 2.0**-53]), location[:1])).all()
    if name in VARIANCES:
        np.testing.assert_allclose(x.var(0), VARIANCES[name](location) + 0 * location, atol=1e-4)
    if law.unit_interval:
        assert x.min() >= 0
        assert x.max() <= 1


def test_random_agents_pull_uniformly_and_vote_at_their_rate():
    env, team = hb.make_batched("CoopNetwork-v0", n_agents=9, horizon=300), hb.make_team("Random")
    obs = begin(env, team, 0)
    counts = sum(np.bincount(team.act(obs).ravel(), minlength=10) for _ in range(300))
    assert stats.chisquare(counts).pvalue > 1e-6
    env, team = hb.make_batched("DPMASE-v0"), hb.make_team("Random", rate=0.2)
    obs = begin(env, team, 0)
    assert team.act(obs).all()
    votes = sum(int(team.compose(np.zeros((1, 1, 10)))["vote"].sum()) for _ in range(300))
    assert stats.binomtest(votes, 3000, 0.2).pvalue > 1e-6
    env, team = hb.make_batched("DistDP-v0"), hb.make_team("Random", block=7)
    obs = begin(env, team, 0)
    assert (team.act(obs)[1] == 7).all()


def test_random_graphs_are_connected_and_differ_by_run():
    env = hb.make_batched("CoopNetwork-v0", n_agents=30, graph="erdos-renyi", edge_probability=0.15, runs=4)
    env.reset(0)
    for r in range(4):
        assert nx.is_connected(nx.from_numpy_array(env.adjacency[r]))
        np.testing.assert_array_equal(env.distance[r], hop_distances(env.adjacency[r]))
    assert len({env.adjacency[r].tobytes() for r in range(4)}) == 4


def test_random_graphs_have_each_edge_with_probability_p():
    env = hb.make_batched("CoopNetwork-v0", n_agents=30, graph="erdos-renyi", edge_probability=0.4, runs=60)
    env.reset(0)  # unconnected with probability about 30·.6²⁹ = 10⁻⁵: the condition changes nothing
    upper = env.adjacency[:, *np.triu_indices(30, 1)]
    np.testing.assert_array_equal(env.adjacency, env.adjacency.transpose(0, 2, 1))
    assert not env.adjacency[:, np.arange(30), np.arange(30)].any()
    assert stats.binomtest(int(upper.sum()), upper.size, 0.4).pvalue > 1e-6
    assert stats.chisquare(upper.sum(0)).pvalue > 1e-6  # no edge is favoured


def test_a_ring_that_is_deepened_keeps_its_posts():
    fields = {"x": Field(), "level": Field(latest=True)}
    short, deep = Ring(fields, 3, 2, 2), Ring(fields, 5, 2, 2)
    rng = np.random.default_rng(0)
    for t in range(9):
        message = {name: rng.random((2, 2)) for name in fields} | {"sent": rng.random((2, 2)) < 0.5}
        short.post(message)
        deep.post(message)
        if t == 6:
            short.deepen(2)
            assert short.depth == 3
            short.deepen(5)
    assert short.depth == deep.depth
    for at in (deep.t - np.arange(5)) % 5:  # three posts before it was deepened, and two after
        assert np.array_equal(short.sent[at], deep.sent[at])
        assert np.array_equal(short.held[at], deep.held[at])
        assert all(np.array_equal(short.values[name][at], deep.values[name][at]) for name in fields)
