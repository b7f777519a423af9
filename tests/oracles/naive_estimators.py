"""Estimators written straight from their definitions."""

import math
import statistics
from statistics import fmean

from scipy import optimize


def naive_trimmed(sample, delta, epsilon):
    n = len(sample) // 2
    xs, ys = list(sample[0 : 2 * n : 2]), sorted(sample[1 : 2 * n : 2])
    if n:
        inverse = -math.log(delta)
        ell = (inverse + math.log(4)) / n
        alpha = max(epsilon, inverse / n)
        q = math.floor(n * (1 - 2 * alpha - math.sqrt(2 * alpha * ell) - ell))
        if q > 0:
            windows = [(ys[i + q - 1] - ys[i], abs(2 * i - (n - q)), i) for i in range(n - q + 1)]
            _, _, i = min(windows)
            inside = [x for x in xs if ys[i] <= x <= ys[i + q - 1]]
            return fmean(inside) if inside else ys[i] + 0.5 * (ys[i + q - 1] - ys[i])
    return statistics.median(sample)


def naive_lugosi(sample, delta, epsilon):
    n = len(sample) // 2
    q = math.ceil(8 * epsilon * n + 12 * (-math.log(delta) + math.log(4)))
    if 2 * q > n:
        return statistics.median(sample)
    ys = sorted(sample[1 : 2 * n : 2])
    return fmean([min(max(x, ys[q - 1]), ys[n - q]) for x in sample[0 : 2 * n : 2]])


def naive_median_of_means(sample, delta):
    k = max(1, math.floor(min(1 - 8 * math.log(delta), len(sample) / 2)))
    size = len(sample) // k
    return statistics.median([fmean(sample[b * size : (b + 1) * size]) for b in range(k)])


def naive_catoni(sample, delta, v):
    n, inverse = len(sample), -math.log(delta)
    if n <= 2 * inverse:
        return statistics.median(sample)
    alpha = math.sqrt(2 * inverse / (n * (v + 2 * v * inverse / (n - 2 * inverse))))
    psi = lambda z: math.copysign(math.log(1 + abs(z) + z * z / 2), z)  # noqa: E731
    return optimize.brentq(lambda th: sum(psi(alpha * (x - th)) for x in sample), min(sample), max(sample), xtol=1e-15)


def naive_truncated(sample, delta, u, e):
    kept = [x for s, x in enumerate(sample, 1) if abs(x) <= (u * s / -math.log(delta)) ** (1 / (1 + e))]
    return math.fsum(kept) / len(sample)
