"""Federated rules in phases (Shi & Shen 2021; Demirel et al. 2022), client by client, and the attack on them."""

import math
import statistics

from scipy.special import ndtri
from twin_streams import Steps, generator

A = {
    "arithmetic": lambda x: (1 + 2 * x) / 2,
    "geometric": lambda x: (2 * x) ** 0.5,
    "harmonic": lambda x: 4 * x / (1 + 2 * x),
    "polynomial": lambda x: x * (2.5 - x),
}


def rewards_of(seed, own, horizon, sigma=0.5):
    """Rewards N(own mean, σ²) from the reward stream; `own`: (M, K)."""
    u = Steps(seed, "reward").random((horizon, len(own)))
    return lambda t, i, a: own[i][a] + sigma * float(ndtri(u[t - 1, i] or 2.0**-54))


def fed1(horizon, m, sigma=0.5):
    """The server's rule of Fed1-UCB: the arms of `left` that it keeps after `pulls` of each, and whether phases end."""

    def server(words, left, pulls, phase):
        heard = {a: [word[a] for word in words if word is not None and word[a] is not None] for a in left}
        mean = {a: running(heard[a]) / len(heard[a]) for a in left}
        width = {a: 2 * sigma * math.sqrt(math.log(horizon) / (len(heard[a]) * pulls)) for a in left}
        best = max(mean[a] - width[a] for a in left)
        return [a for a in left if not mean[a] + width[a] < best], False

    return server


def running(values):
    total = 0.0
    for x in values:
        total += x
    return total


def fed_mom(m, share, mapping, beta, sigma=0.5, sigma_c=0.01):
    """The server's rule of Fed-MoM-UCB."""
    a = A[mapping](share)
    e = (a - share) / a
    size = math.floor(m / math.ceil(m * a))
    count = m // size
    groups = [range(g * size, (g + 1) * size if g < count - 1 else m) for g in range(count)]

    def server(words, left, pulls, phase):
        factor = 2 * math.sqrt(math.log(2) * (4 * e - 1) / ((2 * e - 1) * size))
        width = factor * (sigma / math.sqrt(pulls) + sigma_c)
        middle = {}
        for arm in left:
            averages = []
            for group in groups:
                known = [words[c][arm] for c in group if words[c] is not None and words[c][arm] is not None]
                if known:
                    averages.append(running(known) / len(known))
            middle[arm] = statistics.median(averages)
        best = max(middle.values())
        return [arm for arm in left if middle[arm] > best - 2 * width], width <= beta / 4

    return server


def corrupted(seed, pull, m, share, reading, good, horizon):
    """Return the liars, and clients' own rewards: a liar uses the samples that it fabricates, as others do."""
    order = generator(seed, "wrapper/FalseMeans").permutation(m).tolist()
    liars = set(order[: math.floor(share * m)])
    u = Steps(seed, "wrapper/FalseMeans/samples").random((horizon, m))

    def shown(t, i, a):
        x = pull(t, i, a)
        if i not in liars or (reading == "hide" and a not in good):
            return x
        return (0.0 if a in good else 0.9) + 0.1 * float(u[t - 1, i])

    return liars, shown


def naive_phases(pull, m, k, horizon, length, server, lost=lambda t, i: False):
    """Arms of every round, (T, M) as lists, and posts to the server.

    `length(p)`: pulls of an arm in phase p; `lost(t, i)`: whether what i posts in round t gets lost.
    """
    left = [list(range(k)) for _ in range(m)]
    n, s = [[0] * k for _ in range(m)], [[0.0] * k for _ in range(m)]
    plan = [[a for a in range(k) for _ in range(length(1))] for _ in range(m)]
    phase, pulls, over, turn = [1] * m, [length(1)] * m, [False] * m, [0] * m
    own, heard = [None] * m, [None] * m
    played, uploads = [], 0
    for t in range(1, horizon + 1):
        arms = []
        for i in range(m):
            if over[i]:
                arms.append(left[i][turn[i] % len(left[i])])
                turn[i] += 1
            else:
                arms.append(plan[i].pop(0))
            n[i][arms[i]] += 1
            s[i][arms[i]] += pull(t, i, arms[i])
        due = [i for i in range(m) if not over[i] and not plan[i]]
        uploads += len(due)
        for i in due:
            own[i] = [s[i][a] / n[i][a] for a in range(k)]
            if not lost(t, i):
                heard[i] = own[i]
        for i in due:
            words = [own[c] if c == i else heard[c] for c in range(m)]
            left[i], over[i] = server(words, left[i], pulls[i], phase[i])
            over[i] = over[i] or len(left[i]) == 1
            phase[i] += 1
            if not over[i]:
                plan[i] = [a for a in left[i] for _ in range(length(phase[i]))]
                pulls[i] += length(phase[i])
        played.append(arms)
    return played, uploads
