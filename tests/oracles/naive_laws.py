"""Quantile functions, and the divergence of Bernoulli laws, and private epochs, from their definitions."""

import math


def naive_laplace(u, b):
    return b * math.log(2 * u + 2.0**-53) if u < 0.5 else -b * math.log(2 * (1 - u))


def kl(p, q):
    total = 0.0
    if p > 0:
        total += p * math.log(p / q) if q > 0 else math.inf
    if p < 1:
        total += (1 - p) * math.log((1 - p) / (1 - q)) if q < 1 else math.inf
    return total


def kl_edge(mean, level, end):
    """Furthest q between the mean and `end` (0 or 1) with kl(mean, q) ≤ level, by bisection."""
    inside, outside = mean, end
    if kl(mean, outside) <= level:
        return outside
    for _ in range(80):
        middle = (inside + outside) / 2
        if kl(mean, middle) <= level:
            inside = middle
        else:
            outside = middle
    return inside


def epoch(m, e, epsilon, beta):
    """Return the pulls per arm in epoch e of m arms, and how far below the best arms leave (Sajed & Sheffet 2019)."""
    log8, log4, gap = math.log(8 * m * e * e / beta), math.log(4 * m * e * e / beta), 2.0**-e
    length = math.floor(max(32 * log8 / gap**2, 8 * log4 / (epsilon * gap))) + 1
    return length, 2 * (math.sqrt(log8 / (2 * length)) + log4 / (epsilon * length))
