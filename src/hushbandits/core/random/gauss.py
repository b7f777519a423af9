"""Quantiles of the standard normal distribution in compiled code."""

import math

import numpy as np
import scipy

from hushbandits.core.utils import Array
from hushbandits.core.utils.jit import inlined, lean

TINY = 2.0**-54  # keeps the quantile of u = 0 finite
_SMALL, _BLOCK = 256, 1024  # values that are worth a compiled call, and whose intermediate results stay in the cache
_EDGE, _ROOT = 0.13533528323661269189, 2.50662827463100050242  # e⁻² and √(2π)
#: Numerator and denominator, highest power first: between the tails, in (p − ½)²; in the tails, in 1/√(−2 ln p).
_MIDDLE = (
    (-59.9633501014107895267, 98.0010754185999661536, -56.6762857469070293439, 13.9312609387279679503,
     -1.23916583867381258016),
    (1.0, 1.95448858338141759834, 4.67627912898881538453, 86.3602421390890590575, -225.462687854119370527,
     200.260212380060660359, -82.0372256168333339912, 15.9056225126211695515, -1.18331621121330003142),
)  # fmt: skip
_TAIL = (
    (4.05544892305962419923, 31.5251094599893866154, 57.1628192246421288162, 44.0805073893200834700,
     14.6849561928858024014, 2.18663306850790267539, -0.140256079171354495875, -0.0350424626827848203418,
     -8.57456785154685413611e-4),
    (1.0, 15.7799883256466749731, 45.3907635128879210584, 41.3172038254672030440, 15.0425385692907503408,
     2.50464946208309415979, -0.142182922854787788574, -0.0380806407691578277194, -9.33259480895457427372e-4),
)  # fmt: skip


@inlined
def _polynomial(x, coefficients):
    total = coefficients[0]
    for c in coefficients[1:]:
        total = total * x + c
    return total


@lean
def _quantiles(u, out, at, x, found):
    # every step is a loop of its own: most then work on several values at once
    far = 0
    for start in range(0, u.size, at.size):
        p, z = u[start : start + at.size], out[start : start + at.size]
        for i in range(p.size):
            y = p[i] - 0.5
            square = y * y
            ratio = square * _polynomial(square, _MIDDLE[0]) / _polynomial(square, _MIDDLE[1])
            z[i] = (y + y * ratio) * _ROOT
        count = 0
        for i in range(p.size):
            at[count], x[count] = i, p[i] if p[i] <= _EDGE else 1.0 - p[i]
            count += not _EDGE < p[i] <= 1.0 - _EDGE
        for j in range(count):
            x[j] = math.sqrt(-2.0 * math.log(x[j]))
        for j in range(count):
            found[j] = x[j] - math.log(x[j]) / x[j]
        for j in range(count):
            y = 1.0 / x[j]
            found[j] -= y * _polynomial(y, _TAIL[0]) / _polynomial(y, _TAIL[1])
        for j in range(count):
            far += not x[j] < 8.0
            z[at[j]] = -found[j] if p[at[j]] <= _EDGE else found[j]
    return far


def normal(u: Array) -> Array:
    """Return standard normal samples, given uniform samples `u`: those of `scipy.special.ndtri`, in half its time.

    Source: Moshier, Cephes Mathematical Library, ``ndtri``; SciPy computes small arrays, and tails beyond e⁻³².
    """
    if np.size(u) < _SMALL:
        small: Array = scipy.special.ndtri(np.maximum(u, TINY))
        return small
    p, out, (x, found) = np.ravel(u), np.empty(np.shape(u)), np.empty((2, _BLOCK))
    if _quantiles(p, out.reshape(-1), np.empty(_BLOCK, np.int64), x, found):
        far = np.minimum(u, 1.0 - u) < 2e-14
        out[far] = scipy.special.ndtri(np.maximum(u[far], TINY))
    return out
