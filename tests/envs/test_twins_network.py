"""Naive scalar twins of the network agents, written from the papers, action for action."""

import math

import networkx as nx
import numpy as np
import pytest
from helpers import build

from hushbandits.agents.howson2024 import QuACK
from hushbandits.core.tapes import run_seeds, stream
from hushbandits.envs.network.graphs import adjacency
from hushbandits.wrappers.loss import Loss

GRAPHS = [("cycle", 7, None), ("star", 5, None), ("grid", 9, 2), ("path", 4, 1), ("complete", 4, None), ("cycle", 6, 0)]
T, MEANS = 60, [0.8, 0.5, 0.45]


def distances(graph, m):
    return dict(nx.all_pairs_shortest_path_length(nx.from_numpy_array(adjacency(graph, m))))


def rewards(seed, m):
    """The reward tape: one uniform per agent and round."""
    u = stream(seed, "reward").random((T, m))
    return lambda t, agent, arm: float(u[t - 1, agent] < MEANS[arm])


def ucb(s, n, t):
    index = [math.inf if n[k] == 0 else s[k] / n[k] + math.sqrt(2 * math.log(t) / n[k]) for k in range(len(n))]
    return index.index(max(index))


def naive_multi_ucb(seed, graph, m, life):
    d, pull = distances(graph, m), rewards(seed, m)
    life = m if life is None else life
    log, actions = [], []
    for t in range(1, T + 1):
        arms = []
        for a in range(m):
            n, s = [0] * 3, [0.0] * 3
            for when, who, arm, x in log:
                # before round t, agent a knows what another did up to round t − d; itself up to t − 1
                if who == a or (d[a][who] <= life and when <= t - d[a][who]):
                    n[arm] += 1
                    s[arm] += x
            arms.append(ucb(s, n, t))
        log += [(t, a, arm, pull(t, a, arm)) for a, arm in enumerate(arms)]
        actions.append(arms)
    return actions


def naive_laplace(u, b):
    return b * math.log(2 * u + 2.0**-53) if u < 0.5 else -b * math.log(2 * (1 - u))


def naive_private_ucb(seed, graph, m, life, epsilon, v):
    d, pull = distances(graph, m), rewards(seed, m)
    life = m if life is None else life
    luck = stream(seed, "wrapper/PrivateMeans").random((T, m))
    own_n, own_s = [[0] * 3 for _ in range(m)], [[0.0] * 3 for _ in range(m)]
    hat = [[0.0] * 3 for _ in range(m)]
    last = [[0] * 3 for _ in range(m)]  # W_n: the count at the last release
    published = []  # per round, per agent: (v̂, n)
    actions = []
    for t in range(1, T + 1):
        arms = []
        for a in range(m):
            if t <= 3 * math.ceil(1 / epsilon):
                arms.append((t - 1) % 3)
                continue
            n, s = own_n[a][:], own_s[a][:]
            for b in range(m):
                if b != a and d[a][b] <= life and t - d[a][b] >= 1:
                    mean, count = published[t - d[a][b] - 1][b]
                    for k in range(3):
                        n[k] += count[k]
                        s[k] += count[k] * mean[k]
            arms.append(ucb(s, n, t))
        for a, k in enumerate(arms):
            own_n[a][k] += 1
            own_s[a][k] += pull(t, a, k)
            n = own_n[a][k]
            if sum(i ** (-v / 2) for i in range(last[a][k] + 1, n + 1)) >= n ** (-v / 2) / epsilon:
                last[a][k] = n
                hat[a][k] = own_s[a][k] / n + naive_laplace(luck[t - 1][a], n ** (v / 2 - 1))
        published.append([(hat[a][:], [own_n[a][k] if last[a][k] else 0 for k in range(3)]) for a in range(m)])
        actions.append(arms)
    return actions


def naive_quack(seed, graph, m, sigma=0.5, leader=None, rate=0.0):
    d, pull = distances(graph, m), rewards(seed, m)
    totals = [sum(d[v].values()) for v in range(m)]
    leader = totals.index(min(totals)) if leader is None else leader
    lost = stream(seed, "wrapper/Loss/messages").random((T, m)) < rate
    guesses = stream(seed, "agent/QuACK-UCB")
    bonus = 2 * math.log(m * T)  # ln(1/δ), δ = 1/(Mn)²
    n, s, queues = [0] * 3, [0.0] * 3, [[] for _ in range(3)]
    log, actions, told = [], [], [None] * m  # the last instruction that reached a follower

    def ask():
        index = [math.inf if n[k] == 0 else s[k] / n[k] + sigma * math.sqrt(2 * bonus / n[k]) for k in range(3)]
        return index.index(max(index))

    def feed(arm, x):
        n[arm] += 1
        s[arm] += x

    for t in range(1, T + 1):
        # what arrives at the leader before round t, in order of distance and then of name
        arrivals = sorted(
            (d[leader][who], who, arm, x) for when, who, arm, x in log if when == t - d[leader][who] and who != leader
        )
        for _, _, arm, x in arrivals:
            queues[arm].append(x)
        arm = ask()
        while queues[arm]:
            feed(arm, queues[arm].pop(0))
            arm = ask()
        guess = guesses.integers(3, size=m)  # one per agent and round, as long as anybody guesses
        for w in range(m):
            said = t - d[leader][w]
            if w != leader and said >= 1 and not lost[said - 1, leader]:
                told[w] = actions[said - 1][leader]
        arms = [arm if w == leader else int(guess[w]) if told[w] is None else told[w] for w in range(m)]
        log += [(t, w, a, pull(t, w, a)) for w, a in enumerate(arms) if not lost[t - 1, w]]
        feed(arm, pull(t, leader, arm))
        actions.append(arms)
    return actions


def actions_of(agent, graph, m, life, wrappers=(), **kwargs):
    """Arms per round, read off the env rather than off messages."""
    env_kwargs = {"graph": graph, "n_agents": m, "life": life, "horizon": T, "means": MEANS}
    env, team = build("CoopNetwork-v0", agent, 3, env_kwargs, kwargs, wrappers)
    obs = env.reset(run_seeds(11, 3))
    team.reset(env, env.seeds)
    arms = []
    while obs.live.any():
        action = team.act(obs).copy()
        arms.append(action)
        obs = env.pull(action)
        obs = env.talk(team.speak(obs.reward))
        team.hear(obs.inbox)
    return np.stack(arms, 1)


@pytest.mark.parametrize(("graph", "m", "life"), GRAPHS)
def test_multi_ucb_equals_its_twin(graph, m, life):
    ours = actions_of("Multi-UCB", graph, m, life)
    for r, seed in enumerate(run_seeds(11, 3)):
        assert ours[r].tolist() == naive_multi_ucb(seed, graph, m, life)


@pytest.mark.parametrize("epsilon", [1.0, 0.3])
@pytest.mark.parametrize(("graph", "m", "life"), GRAPHS)
def test_private_ucb_equals_its_twin(graph, m, life, epsilon):
    ours = actions_of("Private-UCB", graph, m, life, epsilon=epsilon, v=1.2)
    for r, seed in enumerate(run_seeds(11, 3)):
        assert ours[r].tolist() == naive_private_ucb(seed, graph, m, life, epsilon, 1.2)


TAIL = nx.Graph([*nx.star_graph(5).edges, (1, 6), (6, 7), (7, 8), (8, 9)])  # its median is not its centre


@pytest.mark.parametrize(("graph", "m", "kwargs"), [
    ("cycle", 7, {}), ("star", 5, {}), ("grid", 9, {}), ("path", 4, {}), ("complete", 4, {}), (TAIL, 10, {}),
    ("star", 5, {"leader": 3}), ("path", 6, {"leader": 5, "sigma": 0.2}),
    ("star", 8, {"sigma": 0.1, "leader": 1}),
], ids=str)  # fmt: skip
def test_quack_equals_its_twin(graph, m, kwargs):
    ours = actions_of("QuACK-UCB", graph, m, None, **kwargs)
    for r, seed in enumerate(run_seeds(11, 3)):
        assert ours[r].tolist() == naive_quack(seed, graph, m, **kwargs)


@pytest.mark.parametrize(("graph", "m", "leader"), [("cycle", 7, 0), ("path", 12, 0), ("star", 8, 1)])
def test_queues_that_grow_lose_no_reward(monkeypatch, graph, m, leader):
    """They begin with room for one, so that they grow again and again, half eaten as they are."""
    reset = QuACK.reset

    def short(team, env, seeds):
        reset(team, env, seeds)
        team._queue = team._queue[:, :, :1].copy()

    monkeypatch.setattr(QuACK, "reset", short)
    ours = actions_of("QuACK-UCB", graph, m, None, leader=leader)
    for r, seed in enumerate(run_seeds(11, 3)):
        assert ours[r].tolist() == naive_quack(seed, graph, m, leader=leader)


@pytest.mark.parametrize(("graph", "m"), [("path", 6), ("complete", 6)])
def test_quack_whose_messages_get_lost_equals_its_twin(graph, m):
    """Followers go by the last instruction that reached them; the leader never hears of a lost reward."""
    ours = actions_of("QuACK-UCB", graph, m, None, wrappers=(Loss(0.4),))
    for r, seed in enumerate(run_seeds(11, 3)):
        assert ours[r].tolist() == naive_quack(seed, graph, m, rate=0.4)
