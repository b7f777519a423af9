"""Quantiles of symmetric α-stable distributions, whose moments of order α and beyond are infinite."""

import math
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from hushbandits.core.utils import Array

if TYPE_CHECKING:
    from scipy.interpolate import CubicSpline

_NODES = 3000
_LEAST = 2.0**-54


def stable_tail(x: Array, alpha: float) -> Array:
    """Return ``P(X > x)``, x > 0, for X with characteristic function ``exp(−|t|^α)``, 1 < α < 2.

    ``(1/π) ∫₀^{π/2} exp(−x^{α/(α−1)} V(θ)) dθ`` with ``V(θ) = (cos θ / sin αθ)^{α/(α−1)} cos((α−1)θ)/cos θ``; the two
    ends, where the integrand may rise or fall in a sliver, by the logarithm of their distance.

    Source: Zolotarev 1986, "One-dimensional Stable Distributions", section 2.2; Nolan 1997.
    """
    power = alpha / (alpha - 1.0)
    node, weight = np.polynomial.legendre.leggauss(400)
    low, high = -90.0, math.log(math.pi / 4)
    away = np.exp(0.5 * (high - low) * node + 0.5 * (high + low))
    total = np.zeros(np.shape(x))
    # near π/2 the cosine is the sine of the distance, which does not cancel
    for cosine, turned in ((np.sin(away), 0.5 * math.pi - away), (np.cos(away), away)):
        height = power * (np.log(cosine) - np.log(np.sin(alpha * turned))) - np.log(cosine)
        height += np.log(np.cos((alpha - 1.0) * turned))
        exponent = power * np.log(np.asarray(x, float))[..., None] + height
        total += np.exp(-np.exp(np.minimum(exponent, 700.0))) @ (weight * away)
    found: Array = total * 0.5 * (high - low) / math.pi
    return found


@lru_cache
def _inverse(alpha: float) -> "CubicSpline":
    from scipy.interpolate import CubicSpline  # a fifth of what importing the package would take

    # arsinh of the quantile over the logarithm of the tail: smooth, from the middle to the last double
    far = math.asinh((1e3 * _LEAST) ** (-1.0 / alpha) * 1e3)
    steps = np.linspace(0.0, far, _NODES)
    tail = np.concatenate([[0.5], stable_tail(np.sinh(steps[1:]), alpha)])
    order = np.arange(len(tail))[::-1]
    return CubicSpline(np.log(tail[order]), steps[order])


def stable_quantile(u: Array, alpha: float) -> Array:
    """Return the quantile at u in [0, 1) from a spline, with a relative error of 1e-6 in the tail probability."""
    u = np.asarray(u, float)
    tail = np.maximum(np.minimum(u, 1.0 - u), _LEAST)
    size = np.sinh(_inverse(alpha)(np.log(tail)))
    value: Array = np.where(u < 0.5, -size, size)
    return np.where(u == 0.5, 0.0, value)
