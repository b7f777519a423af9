"""Dubey & Pentland 2020 and Howson et al. 2024 one scalar at a time, from the papers, action for action."""

import math

import networkx as nx
from naive_estimators import naive_trimmed
from naive_laws import naive_laplace
from naive_policies import naive_policy
from twin_streams import Steps, generator

from hushbandits.core import Streams
from hushbandits.envs.network.graphs import adjacency
from hushbandits.estimators.robust import make_estimator

MEANS = [0.8, 0.5, 0.45]


def hops(graph, m):
    return dict(nx.all_pairs_shortest_path_length(nx.from_numpy_array(adjacency(graph, m))))


def rewards(seed, m, horizon, means=MEANS):
    """The reward stream: one uniform per agent and round."""
    u = Steps(seed, "reward").random((horizon, m))
    return lambda t, agent, arm: float(u[t - 1, agent] < means[arm])


def ucb(s, n, t):
    index = [math.inf if n[k] == 0 else s[k] / n[k] + math.sqrt(2 * math.log(t) / n[k]) for k in range(len(n))]
    return index.index(max(index))


def naive_multi_ucb(seed, graph, m, max_hops, horizon):
    d, pull = hops(graph, m), rewards(seed, m, horizon)
    max_hops = m if max_hops is None else max_hops
    log, actions = [], []
    for t in range(1, horizon + 1):
        arms = []
        for a in range(m):
            n, s = [0] * 3, [0.0] * 3
            for when, who, arm, x in log:
                # before round t, agent a knows what another did up to round t − d; itself up to t − 1
                if who == a or (d[a][who] <= max_hops and when <= t - d[a][who]):
                    n[arm] += 1
                    s[arm] += x
            arms.append(ucb(s, n, t))
        log += [(t, a, arm, pull(t, a, arm)) for a, arm in enumerate(arms)]
        actions.append(arms)
    return actions


def naive_private_ucb(seed, graph, m, max_hops, horizon, epsilon, v, own="true"):
    """An agent that sees its own rewards noised takes its own releases as those of others, a round later."""
    d, pull = hops(graph, m), rewards(seed, m, horizon)
    max_hops = m if max_hops is None else max_hops
    uniforms = Steps(seed, "wrapper/PrivateMeans").random((horizon, m))
    own_n, own_s = [[0] * 3 for _ in range(m)], [[0.0] * 3 for _ in range(m)]
    hat = [[0.0] * 3 for _ in range(m)]
    last = [[0] * 3 for _ in range(m)]  # W_n: the count at the last release
    published = []  # per round, per agent: (v̂, n)
    actions = []
    for t in range(1, horizon + 1):
        arms = []
        for a in range(m):
            if t <= 3 * math.ceil(1 / epsilon):
                arms.append((t - 1) % 3)
                continue
            n, s = (own_n[a][:], own_s[a][:]) if own == "true" else ([0] * 3, [0.0] * 3)
            for b in range(m):
                late = max(d[a][b], 1)
                if (b != a or own == "private") and d[a][b] <= max_hops and t - late >= 1:
                    mean, count = published[t - late - 1][b]
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
                mean = own_s[a][k] / n + naive_laplace(uniforms[t - 1][a], n ** (v / 2 - 1))
                hat[a][k] = round(mean * 2**30) / 2**30
        published.append([(hat[a][:], [own_n[a][k] if last[a][k] else 0 for k in range(3)]) for a in range(m)])
        actions.append(arms)
    return actions


def naive_quack(
    seed, graph, m, horizon, policy="UCB", leader=None, rate=0.0, hop_delay=0, pause=0, means=MEANS, **params
):
    d, pull, k = hops(graph, m), rewards(seed, m, horizon, means), len(means)
    totals = [sum(d[v].values()) for v in range(m)]
    leader = totals.index(min(totals)) if leader is None else leader
    late = {w: d[leader][w] * (1 + hop_delay) for w in range(m)}
    lost = Steps(seed, "wrapper/Loss/drop").random((horizon, m)) < rate
    guesses = generator(seed, f"agent/QuACK-{policy}")
    uniforms = Streams(seed[None]).below(f"agent/QuACK-{policy}").cursors(1, "policy")
    pi = naive_policy(policy, k, m * horizon, uniforms, **params)
    queues = [[] for _ in range(k)]
    log, actions, shown = [], [], [None] * m  # the last instruction that reached a follower
    for t in range(1, horizon + 1):
        guess = guesses.integers(k, size=m)  # one per agent and round, as long as any agent guesses
        if t <= pause:
            actions.append(guess.tolist())
            continue
        # messages that reach the leader before round t, in order of distance and then of name
        arrivals = sorted(
            (late[who], who, arm, x) for when, who, arm, x in log if when == t - late[who] and who != leader
        )
        for _, _, arm, x in arrivals:
            queues[arm].append(x)
        arm = pi.choose()
        while queues[arm]:
            pi.update(arm, queues[arm].pop(0))
            arm = pi.choose()
        for w in range(m):
            said = t - late[w]
            if w != leader and said > pause and not lost[said - 1, leader]:
                shown[w] = actions[said - 1][leader]
        arms = [arm if w == leader else int(guess[w]) if shown[w] is None else shown[w] for w in range(m)]
        log += [(t, w, a, pull(t, w, a)) for w, a in enumerate(arms) if not lost[t - 1, w]]
        pi.update(arm, pull(t, leader, arm))
        actions.append(arms)
    return actions


def naive_byzantine_ucb(seed, graph, m, max_hops, horizon, epsilon, rate, fraction, mean, sigma=0.5):
    d, max_hops = hops(graph, m), m if max_hops is None else max_hops
    u = Steps(seed, "reward").random((horizon, m))
    uniforms = Steps(seed, "wrapper/Huber/replace").random((horizon, 2, m))
    byzantine = generator(seed, "wrapper/Huber").permutation(m)[: math.floor(fraction * m)].tolist()
    twins = {"trimmed": lambda s, d: naive_trimmed(s, d, epsilon), "mean": lambda s, d: math.fsum(s) / len(s)}
    estimate = twins[mean] if mean in twins else make_estimator(mean, epsilon)  # itself equal to a twin
    samples = [[[] for _ in MEANS] for _ in range(m)]
    reports, actions = [], []
    for t in range(1, horizon + 1):
        arms = []
        for a in range(m):
            if t <= 3:
                arms.append(t - 1)
                continue
            index = []
            for s in samples[a]:
                radius = sigma * math.sqrt(epsilon) + sigma * math.sqrt(2 * math.log(t) / len(s))
                index.append(estimate(s, math.exp(-2 * math.log(t))) + radius)
            arms.append(index.index(max(index)))
        rewards = [float(u[t - 1, a] < MEANS[arm]) for a, arm in enumerate(arms)]
        for a, arm in enumerate(arms):
            samples[a][arm].append(rewards[a])  # the own reward is clean
        hit = [a in byzantine and uniforms[t - 1, 0, a] < rate for a in range(m)]
        reports.append([(arms[a], uniforms[t - 1, 1, a] if hit[a] else rewards[a]) for a in range(m)])
        for a in range(m):
            for far, b in sorted((d[a][b], b) for b in range(m) if b != a and d[a][b] <= min(max_hops, t)):
                arm, x = reports[t - far][b]
                samples[a][arm].append(x)
        actions.append(arms)
    return actions
