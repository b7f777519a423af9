"""The continuous Laplace law, as a quantile function."""

from __future__ import annotations

import math

import numpy as np

from hushbandits.core.ground.jit import jit
from hushbandits.core.ground.types import Array


@jit
def laplace(u: float, scale: float) -> float:
    """Laplace(0, b) at the uniform u ∈ [0, 1): ``−b sgn(u − ½) ln(1 − 2|u − ½|)``.

    The scalar rule that compiled episodes and wrappers share.  Seeded floats: a simulation of the noise.
    """
    if u < 0.5:
        return scale * math.log(2.0 * u + 2.0**-53)
    return -scale * math.log(2.0 * (1.0 - u))


@jit
def _fill(u, scale, out):
    for i in range(u.size):
        out[i] = laplace(u[i], scale[i])


def laplaces(u: Array, scale: Array | float) -> Array:
    """`laplace` on arrays: same numbers, any shape."""
    u = np.asarray(u, float)
    out = np.empty(u.size)
    _fill(u.ravel(), np.broadcast_to(np.asarray(scale, float), u.shape).ravel(), out)
    return out.reshape(u.shape)


def discrete_laplaces(u: Array, b: float) -> Array:
    """Lap_ℤ(b) at uniforms in [0, 1), as int64: ``P(x) = (1−a)/(1+a) a^|x|``, ``a = e^(−1/b)``.

    The smallest x with F(x) ≥ u; ``F(x) = a^(−x)/(1+a)`` below 0, ``1 − a^(x+1)/(1+a)`` from 0 on.  A double's 53 bits
    cut the law off beyond about 36b.
    """
    u = np.asarray(u, float) + 2.0**-54  # never 0
    scale = math.log1p(math.exp(-1 / b))
    low = np.ceil(b * (np.log(u) + scale))
    high = np.ceil(-b * (np.log1p(-np.minimum(u, 1 - 2.0**-53)) + scale) - 1)
    out: Array = np.where(low < 0, low, np.maximum(high, 0)).astype(np.int64)
    return out
