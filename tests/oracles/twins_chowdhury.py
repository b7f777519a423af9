"""The eliminations of Chowdhury & Zhou 2023 and of their comparisons, user by user."""

import math

import numpy as np
from naive_laws import epoch
from twin_streams import generator


def naive_users(env, r, block, arm, n):
    """Rewards of a block, one by one."""
    u = generator(env.seeds[r], "reward", block + 1).random(n)
    return [float(env.law.quantile(np.array([v]), env.locations[r, arm])[0]) for v in u]


def naive_distributed(env, r, epsilon, p, horizon, base):
    """Dist-DP-SE of one run, user by user, from algorithm 1; with the sum of every block."""
    noise = generator(env.seeds[r], "wrapper/DiscreteLaplace", 1)
    active, used, block, regret, b, sums = list(range(env.n_arms)), 0, 0, 0.0, 1, []
    while used < horizon:
        mean = {}
        for a in list(active):
            n = min(base**b if len(active) > 1 else horizon, horizon - used)
            if n == 0:
                break
            g = math.ceil(epsilon * math.sqrt(n))
            tau = math.ceil(g / epsilon * math.log(2 / p))
            m = n * g + 2 * tau + 1
            x = naive_users(env, r, block, a, n)
            coins = noise.random(n)
            q = 1 - math.exp(-epsilon / g)
            plus, minus = noise.negative_binomial(1 / n, q, n), noise.negative_binomial(1 / n, q, n)
            y = 0
            for i in range(n):
                code = math.floor(x[i] * g) + (coins[i] < x[i] * g - math.floor(x[i] * g))
                y = (y + (code + int(plus[i]) - int(minus[i])) % m) % m
            sums.append((y - m) / g if y > n * g + tau else y / g)
            mean[a] = sums[-1] / n
            used, block = used + n, block + 1
            regret += n * env.gaps[r, a]
        if used >= horizon or len(active) == 1:
            continue
        size, users = len(active), base**b
        log = math.log(2 * size * b * b / p)
        beta = math.sqrt(math.log(4 * size * b * b / p) / (2 * users)) + (math.sqrt(2 * log) + log) / epsilon / users
        best = max(mean[a] - beta for a in active)
        active = [a for a in active if mean[a] + beta >= best]
        b += 1
    return regret, active, sums


def naive_central(env, r, epsilon, p, horizon):
    """DP-SE of one run (Sajed & Sheffet 2019); with the noised sum of every block."""
    noise = generator(env.seeds[r], "wrapper/CentralLaplace", 1)
    active, used, block, regret, e, sums = list(range(env.n_arms)), 0, 0, 0.0, 1, []
    while used < horizon:
        m, noisy = len(active), {}
        length, width = epoch(m, e, epsilon, p) if m > 1 else (horizon, 0.0)
        for a in active:
            n = min(length, horizon - used)
            if n == 0:
                break
            sums.append(sum(naive_users(env, r, block, a, n)) + noise.laplace(0, 1 / epsilon))
            noisy[a] = sums[-1] / n
            used, block = used + n, block + 1
            regret += n * env.gaps[r, a]
        if used >= horizon or m == 1:
            continue
        active = [a for a in active if max(noisy.values()) - noisy[a] <= width]
        e += 1
    return regret, active, sums


def naive_binary(env, r, epsilon, delta, p, horizon):
    """VB-SDP-AE of one run, bit by bit: all past data, Bernstein for the noise bits."""
    noise = generator(env.seeds[r], "wrapper/BinarySum", 1)
    arms = range(env.n_arms)
    active, used, block, regret, b, radii = list(arms), 0, 0, 0.0, 1, []
    total, users, variance = [0.0] * len(arms), [0] * len(arms), [0.0] * len(arms)
    while used < horizon:
        for a in list(active):
            n = min(2**b if len(active) > 1 else horizon, horizon - used)
            if n == 0:
                break
            tau = 96 * math.log(2 / delta) / epsilon**2
            k, q = (math.ceil(tau / n), 0.5) if n <= tau else (1, tau / (2 * n))
            x = naive_users(env, r, block, a, n)
            coins, extra = noise.random(n), noise.binomial(k, q, n)
            total[a] += sum(int(coins[i] < x[i]) + int(extra[i]) for i in range(n)) - n * k * q
            users[a] += n
            variance[a] += n * k * q * (1 - q)
            used, block = used + n, block + 1
            regret += n * env.gaps[r, a]
        if used >= horizon or len(active) == 1:
            continue
        log = math.log(4 * len(active) * b * b / p)
        least, loudest = min(users[a] for a in active), max(variance[a] for a in active)
        beta = math.sqrt(log / (2 * least)) + (math.sqrt(2 * loudest * log) + 2 * log / 3) / least
        radii.append(beta)
        mean = {a: total[a] / users[a] for a in active}
        best = max(mean[a] - beta for a in active)
        active = [a for a in active if mean[a] + beta >= best]
        b += 1
    return regret, active, radii
