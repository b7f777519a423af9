"""Resilient UCB of Zhu et al. 2023 and its attack, agent by agent."""

import math

from twin_streams import generator
from twins_network import rewards


def naive_resilient(seed, edges, means, horizon, f, kappa, reading, fraction):
    """Return the arms of every round, (T, M) as lists, and the liars."""
    m, k = len(edges), len(means)
    pull = rewards(seed, m, horizon, means)
    order = generator(seed, "wrapper/FalseMeans").permutation(m).tolist()
    liars = set(order[: math.floor(fraction * m)])
    ranked = sorted(range(k), key=lambda a: (-means[a], a))
    lie = [0.0] * k
    if reading == "swap":
        lie = list(means)
        lie[ranked[1]], lie[ranked[0]] = means[ranked[0]], means[ranked[min(2, k - 1)]]
    n, s = [[0] * k for _ in range(m)], [[0.0] * k for _ in range(m)]
    said, played = None, []
    for t in range(1, horizon + 1):
        arms = []
        for i in range(m):
            if t <= k:
                arms.append(t - 1)
                continue
            index = []
            for a in range(k):
                own, trusted = n[i][a], []
                for h in edges[i]:
                    x, count = said[h]
                    if kappa * count[a] >= own:
                        trusted.append(x[a])
                if len(trusted) <= 2 * f:
                    z, g = s[i][a] / own, 1.0
                else:
                    eta = 1 / (len(trusted) - 2 * f + 1)
                    trusted.sort()
                    z = s[i][a] / own
                    for x in trusted[f : len(trusted) - f]:  # term by term: arms tie up to rounding
                        z += x
                    z *= eta
                    g = (4 * eta**2 + kappa * eta + kappa) / 4
                index.append(z + math.sqrt(2 * g * math.log(t - k) / own))
            arms.append(index.index(max(index)))
        for i, a in enumerate(arms):
            n[i][a] += 1
            s[i][a] += pull(t, i, a)
        most = [max(n[i][a] for i in range(m) if i not in liars) for a in range(k)]
        said = [
            (lie, most) if i in liars else ([s[i][a] / max(n[i][a], 1) for a in range(k)], list(n[i])) for i in range(m)
        ]
        played.append(arms)
    return played, liars
