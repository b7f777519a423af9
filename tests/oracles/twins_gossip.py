"""Gossiping agents one scalar at a time, from the papers, action for action."""

import math

import numpy as np
from naive_graphs import brute_largest
from naive_policies import Robust
from twin_streams import Steps, generator
from twins_network import MEANS, hops, rewards

from hushbandits.baselines.gossip import second_eigenvalue
from hushbandits.baselines.martinez2019 import chebyshev, stage_length
from hushbandits.core import Streams
from hushbandits.envs.network.graphs import adjacency
from hushbandits.policies import draws

K = len(MEANS)


def averaging(graph, m):
    """P = I − (D − A)/(1 + max degree), row by row."""
    edges = adjacency(graph, m).tolist()
    degree = [sum(row) for row in edges]
    share = 1 / (1 + max(degree))
    return [[1 - degree[a] * share if a == b else share * edges[a][b] for b in range(m)] for a in range(m)]


class World:
    """Rewards of a run, and the senders heard in each round."""

    def __init__(self, seed, graph, m, horizon, rate):
        self.m, self.pull = m, rewards(seed, m, horizon)
        self.lost = Steps(seed, "wrapper/Loss/drop").random((horizon, m)) < rate
        self.p = averaging(graph, m)

    @staticmethod
    def sum(terms):
        total = 0.0  # term by term: on regular graphs arms tie up to rounding
        for x in terms:
            total += x
        return total

    def mixed(self, t, x):
        """Return P x, the agent first and then by name; a lost message's weight goes to the receiver's own value."""
        m = range(self.m)
        gone = [bool(self.lost[t - 1][b]) for b in m]
        return [
            [
                self.sum([self.p[a][b] * x[a if gone[b] else b][k] for b in sorted(m, key=lambda b: b != a)])
                for k in range(K)
            ]
            for a in m
        ]


def highest(index):
    return index.index(max(index))


def naive_excess(p, powers=4000):
    """Return the smallest valid ε_c: a pull's excess over its share of n̂ in M times the variance, power by power."""
    m, power = len(p), np.eye(len(p))
    found = [0.0] * m
    for _ in range(powers):
        power = np.array(p) @ power
        for k in range(m):
            found[k] += sum(max(0.0, m * x**2 - x) for x in power[k].tolist())
    return found


def naive_published(p):
    """ε_c by its sums; only where no eigenvalue is repeated."""
    m = len(p)
    values, vectors = np.linalg.eigh(np.array(p))
    values, vectors = values[::-1].tolist(), vectors[:, ::-1].T.tolist()  # vectors[p][k]
    found = []
    for k in range(m):
        total = 0.0
        for i in range(1, m):
            for j in range(m):
                product = values[i] * values[j]
                each = [vectors[i][d] * vectors[j][d] for d in range(m)]
                plus, minus = sum(x for x in each if x > 0), sum(x for x in each if x < 0)
                u = each[k]
                if product >= 0:
                    a = u * plus if u >= 0 else u * minus
                else:
                    a = abs(u) * max(plus, abs(minus))
                total += abs(product) / (1 - abs(product)) * a
        found.append(m * total)
    return found


def naive_coop(seed, graph, m, horizon, extra, rate=0.0, gamma=1.01, sigma=0.5):
    world = World(seed, graph, m, horizon, rate)
    s, n = [[0.0] * K for _ in range(m)], [[0.0] * K for _ in range(m)]
    actions = []
    for t in range(1, horizon + 1):
        arms = []
        for a in range(m):
            bonus = [
                math.sqrt((n[a][k] + extra[a]) * (2 * gamma * sigma**2 / m * math.log(t))) / n[a][k]
                for k in range(K) if t > K
            ]  # fmt: skip
            arms.append(t - 1 if t <= K else highest([s[a][k] / n[a][k] + bonus[k] for k in range(K)]))
        for a, arm in enumerate(arms):
            s[a][arm] += world.pull(t, a, arm)
            n[a][arm] += 1
        if t > K:
            s, n = world.mixed(t, s), world.mixed(t, n)
        actions.append(arms)
    return actions


def naive_ddub(seed, graph, m, horizon, rate=0.0, eta=2.0, sigma=0.5, epsilon=1 / 22, rechoose_on_stale=False):
    """Algorithm 1; the steps' weights are held against the Chebyshev polynomials elsewhere."""
    world = World(seed, graph, m, horizon, rate)
    second = float(second_eigenvalue(np.array([world.p]))[0])
    length = stage_length(m, second, epsilon)
    weights = chebyshev(second, length).tolist()
    zeros = lambda: [[[0.0] * K for _ in range(m)] for _ in range(2)]  # noqa: E731
    alpha, fresh, done = zeros(), zeros(), zeros()
    chosen, step, known, actions = [0] * m, 0, K, []
    y, before = None, None
    for t in range(1, horizon + 1):
        if t > K and y is None:
            y, before = fresh, zeros()
            alpha = [[[x / m for x in row] for row in one] for one in fresh]
            fresh = zeros()
        for a in range(m):
            if t <= K:
                chosen[a] = t - 1
            elif step == 0 or rechoose_on_stale:
                index = []
                for k in range(K):
                    r, n = alpha[0][a][k], alpha[1][a][k]
                    bonus = 2 * eta * sigma**2 * math.log(known) / m
                    index.append(math.inf if n <= 0 else r / n + math.sqrt(bonus / n))
                chosen[a] = highest(index)
        for a, arm in enumerate(chosen):
            for i, x in enumerate((world.pull(t, a, arm), 1.0)):
                fresh[i][a][arm] += x
                if rechoose_on_stale and t > K:
                    alpha[i][a][arm] += x / m
        actions.append(list(chosen))
        if t <= K:
            continue
        for i in range(2):
            mixed = world.mixed(t, y[i])
            if step == 0:
                y[i], before[i] = mixed, y[i]
            else:
                first, last = weights[step]
                after = [[first * mixed[a][k] - last * before[i][a][k] for k in range(K)] for a in range(m)]
                y[i], before[i] = after, y[i]
        step += 1
        if step == length:
            step, known = 0, (t - length) * m
            done = [[[done[i][a][k] + y[i][a][k] for k in range(K)] for a in range(m)] for i in range(2)]
            alpha = [
                [[done[i][a][k] + (fresh[i][a][k] / m if rechoose_on_stale else 0) for k in range(K)] for a in range(m)]
                for i in range(2)
            ]  # fmt: skip
            y, before, fresh = fresh, zeros(), zeros()
    return actions


def naive_dec_ts(seed, graph, m, horizon, rate=0.0, eta=None):
    world, eta = World(seed, graph, m, horizon, rate), m if eta is None else eta
    uniforms = Streams(seed[None]).below("agent/Dec-TS").cursors(m)
    wins, losses = [[1.0] * K for _ in range(m)], [[1.0] * K for _ in range(m)]
    actions = []
    for t in range(1, horizon + 1):
        arms = [draws.largest_beta(uniforms, a, np.array(wins[a]), np.array(losses[a]), 0.0) for a in range(m)]
        for a, arm in enumerate(arms):
            x = world.pull(t, a, arm)
            wins[a][arm] += eta * x
            losses[a][arm] += eta * (1 - x)
        wins, losses = world.mixed(t, wins), world.mixed(t, losses)
        actions.append(arms)
    return actions


class Led(Robust):
    """Robust UCB by the clock of the network: t is the round."""

    t = 1


def greedily(near):
    """Return the agent with most γ-neighbours among those left."""
    free, leaders = set(range(len(near))), []
    while free:
        best = max(sorted(free), key=lambda a: len(near[a]))
        leaders.append(best)
        free -= {best, *near[best]}
    return leaders


def naive_cmp(seed, graph, m, horizon, max_hops, rate=0.0, partition="largest", **params):
    """A follower's leader is the nearest, the lowest on ties."""
    d, pull = hops(graph, m), rewards(seed, m, horizon)
    max_hops = m if max_hops is None else max_hops
    near = {a: {b for b in range(m) if b != a and d[a][b] <= max_hops} for a in range(m)}
    if partition == "greedy":
        leaders = greedily(near)
    else:
        matrix = np.array([[b in near[a] for b in range(m)] for a in range(m)])
        leaders = brute_largest(matrix, [len(near[a]) for a in range(m)])
    leads = [min(sorted(leaders), key=lambda v: d[a][v]) for a in range(m)]
    lost = Steps(seed, "wrapper/Loss/drop").random((horizon, m)) < rate
    guesses = generator(seed, "agent/CMP-UCB")
    pi = {v: Led(K, m * horizon, **params) for v in leaders}
    log, actions, shown = [], [], [None] * m
    for t in range(1, horizon + 1):
        guess = guesses.integers(K, size=m)
        for v in leaders:
            came = [(d[v][w], w, arm, x) for s, w, arm, x in log if w in near[v] and s == t - d[v][w]]
            for _, _, arm, x in sorted(came):
                pi[v].update(arm, x)
            pi[v].t = t
        for w in range(m):
            v = leads[w]
            if w != v and t > d[v][w] and not lost[t - d[v][w] - 1, v]:
                shown[w] = actions[t - d[v][w] - 1][v]
        arms = [pi[w].choose() if w in pi else int(guess[w]) if shown[w] is None else shown[w] for w in range(m)]
        for v in leaders:
            pi[v].update(arms[v], pull(t, v, arms[v]))
        log += [(t, w, arm, pull(t, w, arm)) for w, arm in enumerate(arms) if not lost[t - 1, w]]
        actions.append(arms)
    return actions
