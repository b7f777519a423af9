"""Private-UCB and Byzantine-UCB by hand.

They use the package's random numbers, so their regret is identical to the package's.
"""

import math
from functools import cache
from itertools import pairwise

import numba
import numpy as np

from benchmarks.loops import coins
from benchmarks.loops.coins import kept
from benchmarks.loops.world import MEANS, of_wrapper, slots, streams, uniforms
from hushbandits.core.random.quantiles import tabled
from hushbandits.core.random.rewards import Beta
from hushbandits.privacy.laplace import release_counts


@numba.njit
def private_ucb(means, gaps, uniforms, noises, first, receiver, delay, due, scale, grid, regret):
    """Play one run of Private-UCB; a report adds its change of an arm's released sum to all who receive it."""
    (rounds, agents), n_arms = uniforms.shape, means.size
    n, s = np.zeros((agents, n_arms)), np.zeros((agents, n_arms))  # what an agent knows
    own_n, own_s = np.zeros((agents, n_arms), np.int64), np.zeros((agents, n_arms))
    mean, shown = np.zeros((agents, n_arms)), np.zeros((agents, n_arms), np.int64)
    arms, more, sums = np.zeros((rounds, agents), np.int64), np.zeros((rounds, agents)), np.zeros((rounds, agents))
    for t in range(rounds):
        log_t = math.log(t + 1.0)
        for m in range(agents):
            best, highest = t, -math.inf
            if t >= n_arms:
                for k in range(n_arms):
                    index = math.inf
                    if n[m, k] > 0.0:
                        index = s[m, k] / n[m, k] + math.sqrt(2.0 * log_t / n[m, k])
                    if index > highest:
                        best, highest = k, index
            regret[m] += gaps[best]
            own_n[m, best] += 1
            own_s[m, best] += uniforms[t, m] < means[best]
            count, before = own_n[m, best], shown[m, best] * mean[m, best]
            arms[t, m] = best
            if due[count]:
                u = noises[t, m]
                noise = math.log(2.0 * u + 2.0**-53) if u < 0.5 else -math.log(2.0 * (1.0 - u))
                mean[m, best] = np.rint((own_s[m, best] / count + scale[count] * noise) * grid) / grid
            elif shown[m, best] == 0:
                continue  # nothing is released yet
            more[t, m] = count - shown[m, best]
            shown[m, best] = count
            sums[t, m] = count * mean[m, best] - before
            n[m, best] += more[t, m]
            s[m, best] += sums[t, m]
        for m in range(agents):
            for slot in range(first[m], first[m + 1]):
                posted = t + 1 - delay[slot]
                if posted >= 0:
                    k, to = arms[posted, m], receiver[slot]
                    n[to, k] += more[posted, m]
                    s[to, k] += sums[posted, m]


@numba.njit
def put(y, size, keep, value):
    """Insert a value of Y into sorted `y`, the `keep` lowest and highest; return the size and whether it changed."""
    if size < 2 * keep:
        p = size
        while p > 0 and y[p - 1] > value:
            y[p] = y[p - 1]
            p -= 1
        y[p] = value
        return size + 1, True
    if value < y[keep - 1]:
        p = keep - 1
        while p > 0 and y[p - 1] > value:
            y[p] = y[p - 1]
            p -= 1
    elif value > y[keep]:
        p = keep
        while p < size - 1 and y[p + 1] < value:
            y[p] = y[p + 1]
            p += 1
    else:
        return size, False
    y[p] = value
    return size, True


@numba.njit
def shortest(y, size, n, q):
    """Return the ends of the shortest interval with q of the n points Y; of equal ones the one nearest the middle."""
    low, high, length, off = 0.0, 0.0, math.inf, 0
    for i in range(n - q + 1):
        reach, centre = y[q - 1 + i - (n - size)] - y[i], abs(2 * i - (n - q))
        if reach < length or (reach == length and centre < off):
            low, high, length, off = y[i], y[q - 1 + i - (n - size)], reach, centre
    return low, high


@numba.njit
def outside(x, size, full, inner_low, inner_high, low, high):
    """Drop from `x` what lies between the tails of Y; return its size, and sum and number of what is outside 𝒵."""
    left, total, count = 0, 0.0, 0
    for j in range(size):
        if not (full and inner_low <= x[j] <= inner_high):
            x[left] = x[j]
            left += 1
            if x[j] < low or x[j] > high:
                total += x[j]
                count += 1
    return left, total, count


@numba.njit
def trimmed(a, x, y, n, sizes, known, log_inverse_delta, epsilon, keep):
    """Return the trimmed mean of sample a; `known` holds the cut, what is outside 𝒵, the last X and all X's sum."""
    half = n // 2
    q = kept(half, log_inverse_delta, epsilon) if half else 0
    if q <= 0:
        held = np.empty(n)
        held[:half], held[half : 2 * half] = x[a, :half], y[a, :half]
        if n % 2:
            held[-1] = known[a, 3]
        return np.median(held)
    if known[a, 0] != half - q:
        low, high = shortest(y[a], sizes[a, 1], half, q)
        full = sizes[a, 1] == 2 * keep
        left, total, count = outside(x[a], sizes[a, 0], full, y[a, keep - 1], y[a, keep], low, high)
        sizes[a, 0] = left
        known[a, 0], known[a, 1], known[a, 2], known[a, 5] = half - q, total, count, 0.5 * (low + high)
    inside = half - known[a, 2]
    return (known[a, 4] - known[a, 1]) / inside if inside else known[a, 5]


@numba.njit
def take(a, value, x, y, n, sizes, known, keep):
    """Take in a value of sample a: the halves X and Y get values in turn."""
    n[a] += 1
    if n[a] % 2:
        known[a, 3] = value
        return
    first = known[a, 3]
    known[a, 4] += first
    full = sizes[a, 1] == 2 * keep
    if full and y[a, keep - 1] <= value <= y[a, keep] and y[a, keep - 1] <= first <= y[a, keep]:
        return
    sizes[a, 1], changed = put(y[a], sizes[a, 1], keep, value)
    if not full or not y[a, keep - 1] <= first <= y[a, keep]:
        x[a, sizes[a, 0]] = first
        sizes[a, 0] += 1
        changed = True
    if sizes[a, 0] == x.shape[1]:
        sizes[a, 0], _, _ = outside(x[a], sizes[a, 0], True, y[a, keep - 1], y[a, keep], 0.0, 0.0)
    if changed:
        known[a, 0] = -1.0


@numba.njit
def byzantine_ucb(rewards, gaps, hits, lies, first, receiver, delay, epsilon, sigma, regret):
    """Play one run of Byzantine-UCB with trimmed means; ``rewards[t, m, k]`` is what arm k would pay."""
    rounds, agents, n_arms = rewards.shape
    most, log_last = max(1, rounds * agents // 2), 2.0 * math.log(rounds)
    keep = min(most, most - kept(most, log_last, epsilon) + 2)
    shape = agents * n_arms
    x, y, n = np.empty((shape, 8 * keep)), np.empty((shape, 2 * keep)), np.zeros(shape, np.int64)
    sizes, known, mean = np.zeros((shape, 2), np.int64), np.zeros((shape, 6)), np.zeros(shape)
    known[:, 0] = -1.0
    arms, said = np.zeros((rounds, agents), np.int64), np.zeros((rounds, agents))
    for t in range(1, rounds + 1):
        level, bias = 2.0 * math.log(t), sigma * math.sqrt(epsilon)
        for m in range(agents):
            best, highest = t - 1, -math.inf
            if t > n_arms:
                for k in range(n_arms):
                    a, index = m * n_arms + k, math.inf
                    if n[a]:
                        mean[a] = trimmed(a, x, y, n[a], sizes, known, level, epsilon, keep)
                        index = mean[a] + (bias + sigma * math.sqrt(level / n[a]))
                    if index > highest:
                        best, highest = k, index
            arms[t - 1, m], value = best, rewards[t - 1, m, best]
            regret[m] += gaps[best]
            said[t - 1, m] = lies[t - 1, m] if hits[t - 1, m] else value
            take(m * n_arms + best, value, x, y, n, sizes, known, keep)
        for m in range(agents):
            for slot in range(first[m], first[m + 1]):  # the sender's are its receivers as well; nearest first
                posted = t - delay[slot]
                if posted < 0:
                    break
                w = receiver[slot]
                take(m * n_arms + arms[posted, w], said[posted, w], x, y, n, sizes, known, keep)


@cache
def nearest(graph, n_agents):
    """Return `slots` with the nearest senders of each agent first."""
    first, sender, delay = slots(graph, n_agents)
    order = np.concatenate([i + np.argsort(delay[i:j], kind="stable") for i, j in pairwise(first)])
    return first, sender[order], delay[order]


@cache
def schedule(horizon, n_agents, epsilon=1.0, v=1.1):
    """Return by count whether a mean is released, and the scale of its noise; and the grid of the means."""
    due, counts = np.zeros(horizon + 1, np.bool_), np.arange(1, horizon + 1)
    due[release_counts(epsilon, v, horizon)] = True
    scale = np.array([0.0, *(math.pow(n, v / 2 - 1) for n in counts.tolist())])
    most = n_agents * (horizon + 37.0 * math.pow(horizon, v / 2))
    return due, scale, 2.0 ** min(30, 52 - math.frexp(most)[1])


def by_hand(agent, graph, n_agents, horizon, runs, rewards="bernoulli", means=MEANS):
    """Play Private-UCB or Byzantine-UCB; return the regret of every run and agent, ``(R, M)``."""
    private, regret = agent == "Private-UCB", np.zeros((runs, n_agents))
    env_id = "PrivateNetwork-v0" if private else "ByzantineNetwork-v0"
    rng = streams(env_id, graph, n_agents, horizon, runs, means, rewards)
    mu = np.array(means)
    law = tabled(Beta(), mu) if rewards == "beta" else None
    for r in range(runs):
        u = uniforms(rng, horizon, n_agents, r)
        if private:
            noises = of_wrapper(rng, "PrivateMeans", horizon, (n_agents,), r)
            private_ucb(mu, mu.max() - mu, u, noises, *slots(graph, n_agents), *schedule(horizon, n_agents), regret[r])
        else:
            tosses, lies = np.moveaxis(of_wrapper(rng, "Huber", horizon, (2, n_agents), r, "replace"), 1, 0)
            world = tosses < 1e-3, 0.5 + (lies - 0.5), *nearest(graph, n_agents), 1e-3, 0.5, regret[r]
            if rewards == "bernoulli":
                coins.byzantine_ucb(mu, mu.max() - mu, u, *world)
            else:
                byzantine_ucb(law.quantile(u[..., None], mu), mu.max() - mu, *world)
    return regret
