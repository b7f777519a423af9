"""AdaP-TT (Azize et al. 2023), and DP-SE that pulls one arm in a round, pull by pull."""

import math

from naive_laws import epoch, naive_laplace
from twin_streams import Steps, generator


def _pulls(seed, means):
    uniforms = Steps(seed, "reward")

    def pull(k):
        return float(uniforms.random(len(means))[k] < means[k])

    return pull


def naive_top_two(seed, means, epsilon, delta, beta):
    """Return the pulled arms, in order, and the recommended arm."""
    k, pull, uniforms = len(means), _pulls(seed, means), Steps(seed, "agent/AdaP-TT/draws")
    mu, closed, last, opened, arms = [], [1] * k, [1] * k, [[] for _ in means], []
    for a in range(k):
        _, u = uniforms.random(2)
        arms.append(a)
        mu.append(pull(a) + naive_laplace(u, 1 / epsilon))

    def leader():
        n = sum(closed)
        index = [mu[a] + math.log(n) / (epsilon * last[a]) + math.sqrt(math.log(n) / (2 * last[a])) for a in range(k)]
        return index.index(max(index))

    def challenger(b):
        kappa, cost = 1 / (1 + math.sqrt(sum(closed))), [math.inf] * k
        for j in range(k):
            if j != b:
                n_b, n_j = closed[b] + len(opened[b]), closed[j] + len(opened[j])
                cost[j] = (mu[b] - mu[j] + kappa) / math.sqrt(1 / n_b + 1 / n_j)
        return cost.index(min(cost))

    def enough(b, j):
        log = math.log(1 / delta)
        c = log + math.log(1 + math.log(last[b])) + math.log(1 + math.log(last[j]))
        c += (1 / last[b] + 1 / last[j]) * log**2 / epsilon**2
        return max(mu[b] - mu[j], 0) ** 2 / 2 / (1 / last[b] + 1 / last[j]) >= c

    while True:
        coin, u = uniforms.random(2)
        b = leader()
        a = b if coin < beta else challenger(b)
        arms.append(a)
        opened[a].append(pull(a))
        if len(opened[a]) == closed[a]:
            size = len(opened[a])
            mu[a], last[a] = sum(opened[a]) / size + naive_laplace(u, 1 / (epsilon * size)), size
            closed[a], opened[a] = closed[a] + size, []
            b = leader()
            if all(enough(b, j) for j in range(k) if j != b):
                return arms, b


def naive_dp_se(seed, means, epsilon, delta):
    """Return the number of pulls, and the recommended arm."""
    pull, uniforms = _pulls(seed, means), generator(seed, "agent/DP-SE-alone/noise")
    active, pulls, e = [*range(len(means))], 0, 1
    while len(active) > 1:
        m = len(active)
        r, width = epoch(m, e, epsilon, delta)
        sums = {a: sum(pull(a) for _ in range(r)) for a in active}
        noise = uniforms.random(len(means))
        mu = {a: sums[a] / r + naive_laplace(noise[a], 1 / (epsilon * r)) for a in active}
        active, pulls, e = [a for a in active if max(mu.values()) - mu[a] <= width], pulls + r * m, e + 1
    return pulls, active[0]
