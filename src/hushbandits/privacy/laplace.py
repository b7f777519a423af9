"""The continuous Laplace law, as a quantile function."""

from __future__ import annotations

import math

import numpy as np

from hushbandits.core.jit import jit
from hushbandits.core.types import Array

__all__ = ["laplace", "laplaces"]


@jit
def laplace(u: float, scale: float) -> float:
    """Laplace(0, b) at the uniform u ∈ [0, 1): ``−b sgn(u − ½) ln(1 − 2|u − ½|)``.

    The scalar rule that compiled episodes and wrappers share.  Seeded floats: a simulation of the noise.

    Examples
    --------
    >>> laplace(0.5, 1.0)
    -0.0
    """
    if u < 0.5:
        return scale * math.log(2.0 * u + 2.0**-53)
    return -scale * math.log(2.0 * (1.0 - u))


@jit
def _fill(u, scale, out):  # type: ignore[no-untyped-def]
    for i in range(u.size):
        out[i] = laplace(u[i], scale[i])


def laplaces(u: Array, scale: Array | float) -> Array:
    """`laplace` on arrays: same numbers, any shape.

    Examples
    --------
    >>> laplaces(np.array([0.25, 0.75]), 2.0).round(3).tolist()
    [-1.386, 1.386]
    """
    u = np.asarray(u, float)
    out = np.empty(u.size)
    _fill(u.ravel(), np.broadcast_to(np.asarray(scale, float), u.shape).ravel(), out)
    return out.reshape(u.shape)
