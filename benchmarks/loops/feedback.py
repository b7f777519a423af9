"""Batched successive elimination by hand, with discrete Laplace noise on the sum of a block of users.

Dist-DP-SE, CDP-SE and Shuffle-DP-SE are one game: their sums have one law, and Shuffle-DP-SE begins with larger blocks.
Random numbers are the package's generators of binomial samples on a stream of its own: regret is equal in law.
"""

import math

import numba
import numpy as np

from hushbandits.core.random.philox import uniform
from hushbandits.core.random.samplers import binomial, normal
from hushbandits.core.random.streams import Streams, spawn_seeds

SIGMA = 0.1  # of the rewards, before they are clipped to [0, 1]


@numba.njit
def overshoot(x):
    """Return E (Z − x)₊ of a standard normal Z."""
    return math.exp(-0.5 * x * x) / math.sqrt(2.0 * math.pi) - 0.5 * x * math.erfc(x / math.sqrt(2.0))


@numba.njit
def rounded_sum(cursors, n, mu, g):
    """Return the sum of n users' rewards, each rounded at random to a multiple of 1/g, times g."""
    total = 0
    if 2 * g > n:  # fewer users than cells
        for _ in range(n):
            x = g * min(max(mu + SIGMA * normal(cursors, 0), 0.0), 1.0)
            total += math.floor(x + uniform(cursors, 0))
        return total
    # cell j has probability E (1 − |gX − j|)₊, a second difference of the ramps E (j/g − X)₊
    start = SIGMA * overshoot(mu / SIGMA)
    before, ramp, left, mass = 0.0, 0.0, n, 1.0
    for j in range(g):
        after = SIGMA * overshoot((mu - (j + 1) / g) / SIGMA) - start
        p = max(g * (before - 2.0 * ramp + after), 0.0)
        count = binomial(cursors, 0, left, min(p / mass, 1.0)) if p > 0.0 else 0
        total, left, mass = total + count * j, left - count, mass - p
        before, ramp = ramp, after
        if left == 0 or mass <= 0.0:
            return total
    return total + left * g


@numba.njit
def decoded(cursors, n, mu, epsilon, p):
    """Return what the server decodes of the noisy sum of n users."""
    g = math.ceil(epsilon * math.sqrt(n) * (1.0 - 1e-12))
    tau = math.ceil(g / epsilon * math.log(2.0 / p) * (1.0 - 1e-12))
    y = rounded_sum(cursors, n, mu, g)
    for sign in (1, -1):  # a discrete Laplace number is a difference of two geometric ones
        y += sign * int(math.log1p(-uniform(cursors, 0)) * g / -epsilon)
    modulus = n * g + 2 * tau + 1
    y %= modulus
    return (y - modulus if y > n * g + tau else y) / g


@numba.njit
def elimination(cursors, means, horizon, epsilon, p, first):
    """Play one server; return its regret."""
    n_arms, regret, b, users = means.size, 0.0, 1, 0
    arms, mean, m, best = np.arange(n_arms), np.empty(n_arms), n_arms, means.max()
    while users < horizon:
        length, fewest = first * 2 ** (b - 1) if m > 1 else horizon, horizon
        for k in arms[:m]:
            n = min(length, horizon - users)
            if n == 0:
                return regret
            mean[k] = decoded(cursors, n, means[k], epsilon, p) / n
            users, fewest = users + n, min(fewest, n)
            regret += n * (best - means[k])
        tail = math.log(2.0 * m * b * b / p)
        width = math.sqrt(math.log(4.0 * m * b * b / p) / (2.0 * fewest))
        width += math.sqrt(2.0) / epsilon * math.sqrt(tail) / fewest + tail / (epsilon * fewest)
        top, left = mean[arms[:m]].max() - width, 0
        for k in arms[:m]:
            if mean[k] + width >= top:
                arms[left] = k
                left += 1
        m, b = left, b + 1
    return regret


def by_hand(agent, runs, horizon, seed=0, epsilon=1.0, p=0.1):
    """Play Dist-DP-SE, CDP-SE or Shuffle-DP-SE; return the regret of every run."""
    locations = np.random.default_rng(seed).uniform(0.25, 0.75, (runs, 10))
    cursors, first = Streams(spawn_seeds(seed, runs)).cursors(), 32 if agent == "Shuffle-DP-SE" else 2
    return np.array([elimination(cursors[r : r + 1], locations[r], horizon, epsilon, p, first) for r in range(runs)])
