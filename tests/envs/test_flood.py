"""Lossy edges, slow hops and corrupting relays equal a naive flood, message by message."""

import itertools

import networkx as nx
import numpy as np
import pytest
from helpers import build
from kinds import each_once
from naive_flood import naive_flood
from posts import posts_seen
from scipy import stats
from twin_streams import Steps

import hushbandits as hb
from hushbandits.core.random.streams import spawn_seeds
from hushbandits.envs.network.graphs import adjacency
from hushbandits.testing.games import trace
from hushbandits.wrappers.huber import Huber
from hushbandits.wrappers.loss import Loss
from hushbandits.wrappers.shuffle import Shuffle

GRAPHS = ["cycle", "grid", "star", "path", "complete"]


@each_once
@pytest.mark.parametrize("max_hops", [None, 0, 1, 2, 3])
@pytest.mark.parametrize("loss", [0.1, 0.5])
@pytest.mark.parametrize("graph", GRAPHS)
def test_posts_over_failing_edges_arrive_as_in_a_naive_flood(graph, loss, max_hops):
    env = hb.make_batched(
        "CoopNetwork-v0", n_agents=9, graph=graph, max_hops=max_hops, horizon=14, edge_failure_prob=loss
    )
    ours = posts_seen(env, 14)
    expected, sends = naive_flood(graph, 9, 8 if max_hops is None else max_hops, loss, 1, 14, env.seeds[0])
    assert [per_run[0] for per_run in ours] == expected
    assert env.metrics()["messages"][0] == sends


@each_once
@pytest.mark.parametrize("loss", [0.0, 0.3])
@pytest.mark.parametrize("extra", [1, 2])
@pytest.mark.parametrize("graph", ["cycle", "grid"])
def test_extra_delay(graph, extra, loss):
    """A hop takes 1 + extra rounds: without loss a post reaches distance d at the end of s + d(1 + extra) − 1."""
    world = {"graph": graph, "hop_delay": extra, "edge_failure_prob": loss, "max_hops": 3}
    env = hb.make_batched("CoopNetwork-v0", n_agents=9, horizon=20, **world)
    ours = posts_seen(env, 20)
    expected, _ = naive_flood(graph, 9, 3, loss, 1 + extra, 20, env.seeds[0])
    assert [per_run[0] for per_run in ours] == expected
    if not loss:
        d = dict(nx.all_pairs_shortest_path_length(nx.from_numpy_array(adjacency(graph, 9))))
        due = [b for b in range(9) if b and d[0][b] == 2]
        assert [c for c in ours[2 * (1 + extra) - 1][0][0] if c // 1000 == 1] == [1000 + b for b in due]


def test_loss_at_the_source_and_on_the_way():
    env = hb.make_batched("CoopNetwork-v0", n_agents=8, horizon=12, edge_failure_prob=0.3, wrappers=[Loss(0.4)])
    ours = posts_seen(env, 12)
    uniforms = Steps(env.seeds[0], "wrapper/Loss/drop").random((12, 8))
    expected, _ = naive_flood("cycle", 8, 7, 0.3, 1, 12, env.seeds[0], lost=lambda s, w: uniforms[s - 1, w] < 0.4)
    assert [per_run[0] for per_run in ours] == expected


@pytest.mark.parametrize("agent", ["Multi-UCB", "QuACK-UCB", "Byzantine-UCB", "Private-UCB"])
def test_edges_that_never_fail_are_the_plain_network(agent):
    """The explicit flood at a loss rate that never strikes equals the slots: every slot, state and metric.

    Except ``messages``: the flood counts hop by hop, so that what is under way at the end has not been counted whole.
    """
    env = {"n_agents": 9, "graph": "grid", "horizon": 40, "means": [0.8, 0.5, 0.4]}
    *plain, metrics = trace(*build("CoopNetwork-v0", agent, 2, env), spawn_seeds(3, 2)).values()
    failing = build("CoopNetwork-v0", agent, 2, {**env, "edge_failure_prob": 1e-300})
    *flood, others = trace(*failing, spawn_seeds(3, 2)).values()
    assert set(metrics) == set(others)
    for name in set(metrics) - {"messages"}:
        np.testing.assert_array_equal(metrics[name], others[name])
    assert (others["messages"] < metrics["messages"]).all()
    for one, two in zip(plain, flood, strict=True):
        for shown in ("own reward", "own mean", "own count"):
            np.testing.assert_array_equal(one.get(shown, 0), two.get(shown, 0))
        if agent == "Private-UCB":  # states: a slot per sender, here in order of name
            r, m, s = np.nonzero(one["arrived"])
            who = one["sender"][r, m, s]
            assert len(r) == two["arrived"].sum() == two["arrived"][r, m, who].sum()
            for field in ("mean", "count"):
                np.testing.assert_array_equal(one[field][r, m, s], two[field][r, m, who])
            continue
        now = one["arrived"].any((0, 1))  # the flood has only slots that are filled
        for field in ("arrived", "sender", "arm", "reward"):
            np.testing.assert_array_equal(one[field][:, :, now], two[field])


@pytest.mark.parametrize(("edge_failure_prob", "rate"), [(0.6, 0.0), (0.0, 0.6), (0.4, 0.4)])
def test_states_stand_until_a_newer_one_comes(edge_failure_prob, rate):
    """Losses on the way or at the source change no message that a receiver got before: value and name."""
    wrappers = [Loss(rate)] if rate else []
    env = hb.make_batched(
        "PrivateNetwork-v0",
        n_agents=6,
        edge_failure_prob=edge_failure_prob,
        horizon=40,
        means=[0.5, 0.5],
        wrappers=wrappers,
    )
    obs, seed = env.reset(1), env.seeds[0]
    posted, newest = [], {}
    uniforms = Steps(seed, "wrapper/Loss/drop").random((40, 6))
    heard = naive_flood("cycle", 6, 5, edge_failure_prob, 1, 40, seed, lost=lambda s, w: uniforms[s - 1, w] < rate)[0]
    while obs.running.any():
        env.pull(np.full((1, 6), int(obs.t[0]) % 2))
        obs = env.communicate()
        wrapper = env.wrappers[-1]
        posted.append((wrapper._own.mean[0].copy(), wrapper._own.pulls[0].copy()))
        for m, codes in enumerate(heard[int(obs.t[0]) - 1]):
            for s, w in (divmod(c, 1000) for c in codes):
                newest[m, w] = max(s, newest.get((m, w), 0))
        arrived, who, mean, count = obs.inbox.arrived[0], *(obs.inbox[f][0] for f in ("sender", "mean", "count"))
        total, weighted = obs.inbox.total("mean")[0], obs.inbox.total("mean", weight="count")[0]
        for m in range(6):
            last = {w: [x[w] for x in posted[newest[m, w] - 1]] for w in range(6) if (m, w) in newest}
            assert sorted(who[m, arrived[m]]) == sorted(last)
            assert (who[m, ~arrived[m]] == -1).all()
            for s in np.flatnonzero(arrived[m]):
                np.testing.assert_array_equal([mean[m, s], count[m, s]], last[who[m, s]])
            np.testing.assert_allclose(total[m], sum((x for x, _ in last.values()), np.zeros(2)), atol=1e-12)
            np.testing.assert_allclose(weighted[m], sum((x * n for x, n in last.values()), np.zeros(2)), atol=1e-12)


# -- relays ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("edge_failure_prob", "max_hops", "rates"), [
    (0.0, None, (0.15,)), (0.3, None, (0.15,)), (0.0, 3, (0.15,)), (0.0, None, (0.04, 0.12)),
], ids=str)  # fmt: skip
def test_relays_corrupt_what_they_send_on_for_all_behind_them(edge_failure_prob, max_hops, rates):
    m, rounds, clean = 7, 300, np.prod(1 - np.array(rates))
    hubers = [Huber(rate, law="constant", location=7.0, relays=True, name=f"Huber {rate}") for rate in rates]
    env = hb.make_batched(
        "CoopNetwork-v0",
        n_agents=m,
        graph="path",
        max_hops=max_hops,
        horizon=rounds,
        edge_failure_prob=edge_failure_prob,
        wrappers=hubers,
    )
    obs = env.reset(2)
    seen = {}
    while obs.running.any():
        env.pull(np.zeros((1, m), int))
        obs = env.communicate({"arm": np.zeros((1, m), int), "reward": np.zeros((1, m))})
        inbox, t = obs.inbox, int(obs.t[0])
        for a in range(m):
            for s in np.flatnonzero(inbox.arrived[0, a]):
                w, x = int(inbox["sender"][0, a, s]), inbox["reward"][0, a, s]
                assert x in (0.0, 7.0)
                seen[t - abs(a - w) + 1, w, a] = x
    bad = {d: [x == 7.0 for (_, w, a), x in seen.items() if abs(a - w) == d] for d in range(1, m)}
    for d, hits in bad.items():  # the source, and d − 1 relays
        assert bool(hits) == (d <= (max_hops or m))
        assert not hits or stats.binomtest(sum(hits), len(hits), 1 - clean**d).pvalue > 1e-6
    for (s, w, a), x in seen.items():  # once corrupt, corrupt for all further down the path
        further = a + (1 if a > w else -1)
        if x == 7.0 and (s, w, further) in seen:
            assert seen[s, w, further] == 7.0


def test_relays_corrupt_at_their_rate():
    env = hb.make_batched("CoopNetwork-v0", n_agents=3, graph="path", wrappers=[Huber(0.15, relays=True)])
    env.reset(0)
    hit, _ = env.wrappers[0].relay(0, np.ones(100_000, int))
    assert stats.binomtest(int(hit.sum()), 100_000, 0.15).pvalue > 1e-6  # a tenth more or less is 13 deviations


def test_only_byzantine_relays_corrupt_and_reports_of_neighbours_are_theirs():
    huber = Huber(1.0, law="constant", location=7.0, fraction=0.2, relays=True)
    env = hb.make_batched("CoopNetwork-v0", n_agents=5, graph="star", horizon=3, wrappers=[huber], runs=30)
    env.reset(0)
    for _ in range(3):
        env.pull(np.zeros((30, 5), int))
        inbox = env.communicate({"arm": np.zeros((30, 5), int), "reward": np.zeros((30, 5))}).inbox
    bad = env.wrappers[0].byzantine
    centre = bad[:, 0]
    assert 0 < centre.sum() < 30
    for r, leaf in np.ndindex(30, 4):
        for who, x in zip(inbox["sender"][r, leaf + 1], inbox["reward"][r, leaf + 1], strict=True):
            if who >= 0:  # from another leaf, by way of the centre; or from the centre itself
                assert (x == 7.0) == (bad[r, who] or bool(centre[r]))


def test_shuffled_floods_hide_their_senders():
    env = hb.make_batched(
        "CoopNetwork-v0", n_agents=9, graph="grid", edge_failure_prob=0.3, horizon=10, wrappers=[Shuffle()]
    )
    ours = posts_seen(env, 10)
    expected, _ = naive_flood("grid", 9, 8, 0.3, 1, 10, env.seeds[0])
    assert [per_run[0] for per_run in ours] == expected


def test_shuffled_floods_are_in_uniform_order():
    """The order holds also where several posts of one sender arrive at once."""
    world = {"n_agents": 6, "graph": "complete", "edge_failure_prob": 0.6}
    env = hb.make_batched("CoopNetwork-v0", horizon=800, wrappers=[Shuffle()], **world)
    obs = env.reset(0)
    orders = {False: [], True: []}
    while obs.running.any():
        env.pull(np.zeros((1, 6), int))
        code = 1000.0 * (int(obs.t[0]) + 1) + np.arange(6)
        obs = env.communicate({"arm": np.zeros((1, 6), int), "reward": code[None]})
        for a in range(6):
            codes = obs.inbox["reward"][0, a][obs.inbox.arrived[0, a]]
            if len(codes) == 4:
                orders[len(np.unique(codes % 1000)) < 4].append(tuple(np.argsort(np.argsort(codes))))
    for seen in orders.values():
        counts = [seen.count(order) for order in itertools.permutations(range(4))]
        assert min(counts) > 0
        assert stats.chisquare(counts).pvalue > 1e-6


def test_shuffled_states_are_as_many_and_add_up():
    kwargs = {"n_agents": 6, "edge_failure_prob": 0.4, "horizon": 30, "means": [0.5, 0.5]}
    plain, shuffled = (hb.make_batched("PrivateNetwork-v0", wrappers=w, **kwargs) for w in ([], [Shuffle()]))
    plain.reset(0)
    shuffled.reset(0)
    moved = False
    for _ in range(30):
        for env in (plain, shuffled):
            env.pull(np.zeros((1, 6), int))
        named, hidden = plain.communicate().inbox, shuffled.communicate().inbox
        assert "sender" not in hidden.fields
        np.testing.assert_array_equal(named.total("mean"), hidden.total("mean"))
        for m in range(6):
            ours, theirs = (box["mean"][0, m][box.arrived[0, m]].tolist() for box in (named, hidden))
            assert sorted(ours) == sorted(theirs)
            moved |= ours != theirs
    assert moved


@pytest.mark.parametrize("env", [
    {}, {"max_hops": 1}, {"edge_failure_prob": 0.3}, {"hop_delay": 1},
    {"graph": "erdos-renyi", "edge_probability": 0.3},
], ids=str)  # fmt: skip
def test_crossings_are_how_each_arrival_came(env):
    """A message on an edge comes from a neighbour one hop nearer to its sender, and equals what its receiver gets."""
    kwargs = {"n_agents": 9, "graph": "grid", "horizon": 12, "wrappers": [Loss(0.2)], "runs": 2}
    core = hb.make_batched("CoopNetwork-v0", **{**kwargs, **env})
    obs, rng = core.reset(3), np.random.default_rng(0)
    assert core.crossings(1).shape == (0, 5)
    pace = 1 + env.get("hop_delay", 0)
    while obs.running.any():
        core.pull(rng.integers(10, size=(2, 9)))
        obs = core.communicate()
        inbox, t = obs.inbox, int(obs.t[0])
        for r in range(2):
            g = r % len(core.adjacency)
            found = set()
            for via, to, who, posted, arm in core.crossings(r).tolist():
                assert core.adjacency[g, via, to]
                hops = (t - posted + 1) // pace
                if not env.get("edge_failure_prob"):
                    assert core.distance[g, who, to] == hops == core.distance[g, who, via] + 1
                found.add((to, who, arm))
            seats = zip(*np.nonzero(inbox.arrived[r]), strict=True)
            assert found == {(m, inbox["sender"][r, m, s], inbox["arm"][r, m, s]) for m, s in seats}
