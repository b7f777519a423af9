"""Estimators written straight from their definitions."""

import math
import statistics
from statistics import fmean


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
