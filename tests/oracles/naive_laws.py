"""Quantile functions and laws of sums, from their definitions."""

import math

import numpy as np


def naive_laplace(u, b):
    return b * math.log(2 * u + 2.0**-53) if u < 0.5 else -b * math.log(2 * (1 - u))


def wrapped_sum(cf, n, m):
    """Law mod m of a sum of n symmetric integers: ``P(k) = (1/m) Σ_j cf(2πj/m)^n cos(2πjk/m)``."""
    return np.fft.irfft(cf(2 * np.pi * np.arange(m // 2 + 1) / m) ** n, m)
