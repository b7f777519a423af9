"""GosInE of Chawla et al. 2020 agent by agent: at the end of a phase one neighbour is asked directly."""

import math

from twin_streams import generator
from twins_network import rewards

MEANS = (0.2, 0.5, 0.9, 0.4, 0.6, 0.3, 0.1, 0.7, 0.35)
K = len(MEANS)


def naive_gosine(seed, edges, horizon, alpha=4.0, slack=None, shares=True):
    """Arms of every round, (T, M) as lists; the final lists; and how many names were asked for.

    `edges`: the neighbours of each agent, ascending.
    """
    m = len(edges)
    pull = rewards(seed, m, horizon, MEANS)
    uniforms = generator(seed, "agent/GosInE" if slack is None else "agent/GosInE-async")
    c = min(math.ceil(K / m), K - 2)
    lists = [[(p * c + q) % K for q in range(c + 2)] if shares else list(range(K)) for p in range(m)]
    n, s = ([[0] * K for _ in range(m)] for _ in range(2))
    phase, last, number, asked = [[0] * K for _ in range(m)], [[0] * K for _ in range(m)], [1] * m, 0

    def length(j, u):
        whole = j**3 - (j - 1) ** 3
        return whole if slack is None else whole + int(u * (math.ceil((1 + slack) * whole) - whole + 1))

    first = uniforms.random((m, 2)).tolist() if shares else []
    end = [length(1, first[p][1]) for p in range(m)] if shares else [math.inf] * m
    played = []
    for t in range(1, horizon + 1):
        arms = []
        for p in range(m):
            index = [math.inf if n[p][k] == 0 else s[p][k] / n[p][k] + math.sqrt(alpha * math.log(t) / n[p][k])
                     for k in lists[p]]  # fmt: skip
            arms.append(lists[p][index.index(max(index))])
        for p, k in enumerate(arms):
            n[p][k] += 1
            s[p][k] += pull(t, p, k)
            phase[p][k] += 1
        played.append(arms)
        due = [p for p in range(m) if end[p] == t]
        u = uniforms.random((m, 2)).tolist() if due else []
        for p in due:
            last[p], phase[p] = phase[p], [0] * K
        old = [list(it) for it in lists]
        for p in due:
            *_, upper, lower = lists[p]
            if last[p][upper] < last[p][lower]:
                lists[p][-2:] = [lower, upper]
            if edges[p]:
                whom, asked = edges[p][int(u[p][0] * len(edges[p]))], asked + 1
                most = max(last[whom][k] for k in old[whom])
                best = next(k for k in old[whom] if last[whom][k] == most)
                if best not in lists[p]:
                    lists[p][-1] = best
            number[p] += 1
            end[p] += length(number[p], u[p][1])
    return played, lists, asked
