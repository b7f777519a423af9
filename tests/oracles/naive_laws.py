"""Quantile functions and laws of sums, from their definitions."""

import math


def naive_laplace(u, b):
    return b * math.log(2 * u + 2.0**-53) if u < 0.5 else -b * math.log(2 * (1 - u))
