"""Quantile functions, and the divergence of Bernoulli laws, from their definitions."""

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
