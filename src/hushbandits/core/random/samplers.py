"""Compiled samplers of the normal, gamma, binomial, Poisson and negative binomial distributions.

Draws are equal in law to NumPy's, not in number.

Sources: Hörmann 1993, "The generation of binomial random variates" (BTRS); Hörmann 1993, "The transformed rejection
method for generating Poisson random variables" (PTRS); Marsaglia, Tsang 2000, "A simple method for generating gamma
variables"; Marsaglia, Tsang 2000, "The ziggurat method for generating random variables"; Doornik 2005, "An improved
ziggurat method to generate normal random samples".
"""

import math

import numpy as np

from hushbandits.core.random.philox import as_uniform, next_bits, uniform
from hushbandits.core.utils.jit import inlined, lean

#: The normal's 256 layers: where the tail begins, and the area of each (Marsaglia & Tsang 2000, The ziggurat method).
_TAIL, _AREA, _LAYER, _EIGHT = 3.6541528853610088, 0.00492867323399, np.uint64(255), np.uint64(8)


@lean
def binomial(cursors, r, n, p):
    """Return a sample of Bin(n, p): by inversion if n min(p, 1 − p) < 10, else by algorithm BTRS."""
    return n - _rarely(cursors, r, n, 1.0 - p) if p > 0.5 else _rarely(cursors, r, n, p)


@inlined
def _rarely(cursors, r, n, p):
    """Return a sample of Bin(n, p) for p ≤ ½."""
    if n * p < 10.0:
        odds, left, k = p / (1.0 - p), uniform(cursors, r), 0
        mass = math.exp(n * math.log1p(-p))
        while left > mass and k < n:
            left -= mass
            k += 1
            mass *= odds * (n - k + 1) / k
        return k
    spread = math.sqrt(n * p * (1.0 - p))
    b = 1.15 + 2.53 * spread
    a, c, squeeze = -0.0873 + 0.0248 * b + 0.01 * p, n * p + 0.5, 0.92 - 4.2 / b
    while True:
        u, v = uniform(cursors, r) - 0.5, uniform(cursors, r)
        us = 0.5 - abs(u)
        k = math.floor((2.0 * a / us + b) * u + c) if us > 0.0 else -1
        if us >= 0.07 and v <= squeeze:
            return int(k)
        if 0 <= k <= n:
            alpha, odds, mode = (2.83 + 5.1 / b) * spread, math.log(p / (1.0 - p)), math.floor((n + 1) * p)
            height = math.lgamma(mode + 1.0) + math.lgamma(n - mode + 1.0)
            if math.log(v * alpha / (a / (us * us) + b)) <= (
                height - math.lgamma(k + 1.0) - math.lgamma(n - k + 1.0) + (k - mode) * odds
            ):
                return int(k)


@lean
def poisson(cursors, r, rate):
    """Return a sample of Poisson(rate): by inversion below rate 10, else by algorithm PTRS."""
    if rate < 10.0:
        left, k, mass = uniform(cursors, r), 0, math.exp(-rate)
        while left > mass and k < 1000:
            left -= mass
            k += 1
            mass *= rate / k
        return k
    b = 0.931 + 2.53 * math.sqrt(rate)
    a, squeeze = -0.059 + 0.02483 * b, 0.9277 - 3.6224 / (b - 2.0)
    alpha = 1.1239 + 1.1328 / (b - 3.4)
    while True:
        u, v = uniform(cursors, r) - 0.5, uniform(cursors, r)
        us = 0.5 - abs(u)
        k = math.floor((2.0 * a / us + b) * u + rate + 0.43) if us > 0.0 else -1
        if us >= 0.07 and v <= squeeze:
            return int(k)
        if (
            k >= 0
            and (us >= 0.013 or v <= us)
            and math.log(v * alpha / (a / (us * us) + b)) <= (k * math.log(rate) - rate - math.lgamma(k + 1.0))
        ):
            return int(k)


def _layers():
    """Return the right ends of the ziggurat's layers, ``(257,)``, in descending order."""
    ends = np.zeros(257)
    ends[1] = _TAIL
    ends[0] = _AREA * math.exp(0.5 * _TAIL * _TAIL)
    for i in range(2, 256):
        ends[i] = math.sqrt(-2.0 * math.log(_AREA / ends[i - 1] + math.exp(-0.5 * ends[i - 1] ** 2)))
    return ends


_END = _layers()


@inlined
def _ziggurat(cursors, r):
    """Return a standard normal sample and three unused random bits (Doornik 2005)."""
    while True:
        bits = next_bits(cursors, r)
        i, spare, u = np.int64(bits & _LAYER), np.int64(bits >> _EIGHT) & 7, 2.0 * as_uniform(bits) - 1.0
        x, inner = u * _END[i], _END[i + 1]
        if abs(x) < inner:
            return x, spare
        if i == 0:
            return math.copysign(_beyond(cursors, r), u), spare
        low, high = math.exp(0.5 * (x * x - inner * inner)), math.exp(0.5 * (x * x - _END[i] * _END[i]))
        if high + uniform(cursors, r) * (low - high) < 1.0:
            return x, spare


@inlined
def normal(cursors, r):
    """Return a standard normal sample from cursor r."""
    return _ziggurat(cursors, r)[0]


@lean
def _beyond(cursors, r):
    """Return a sample of the normal tail beyond `_TAIL`, where the ziggurat ends (Marsaglia 1964)."""
    while True:
        x = -math.log1p(-uniform(cursors, r)) / _TAIL
        if -2.0 * math.log1p(-uniform(cursors, r)) > x * x:
            return _TAIL + x


@inlined
def gamma(cursors, r, shape):
    """Return a sample of Gamma(shape, 1) (Marsaglia & Tsang 2000; section 6 for shapes below 1)."""
    boost = 1.0
    if shape < 1.0:
        boost = (1.0 - uniform(cursors, r)) ** (1.0 / shape)
        shape += 1.0
    d = shape - 1.0 / 3.0
    c = 1.0 / math.sqrt(9.0 * d)
    while True:
        x, spare = _ziggurat(cursors, r)
        v = 1.0 + c * x
        if v <= 0.0:
            continue
        v, square = v * v * v, x * x
        # their squeeze, by the first three bits of the uniform alone where these decide
        surely = 1.0 - 0.0331 * square * square
        if 0.125 * (spare + 1) <= surely or _accepted(cursors, r, spare, surely, 0.5 * square, d, v):
            return boost * d * v


@lean
def _accepted(cursors, r, spare, surely, half, d, v):
    """Return whether a gamma sample is kept whose squeeze the bits `spare` leave open."""
    u = 0.125 * (spare + 1.0 - uniform(cursors, r))
    return u < surely or math.log(u) < half + d - d * v + d * math.log(v)


@inlined
def _geometric(cursors, r, scale):
    """Return a sample of NB(1, p) by inversion, given `scale` = ln(1 − p)."""
    return int(math.log1p(-uniform(cursors, r)) / scale)


@lean
def negative_binomial(cursors, r, shape, p):
    """Return a sample of NB(shape, p), the number of failures before `shape` successes.

    It is a Poisson sample with a gamma rate.

    Of shape 1 it is geometric, and drawn by inversion.
    """
    if shape == 1.0:
        return _geometric(cursors, r, math.log1p(-p))
    return poisson(cursors, r, gamma(cursors, r, shape) * (1.0 - p) / p)


@lean
def binomials(cursors, n, p, out):
    """Write samples of Bin(n, p) to `out`, ``(R, C)``; row r uses cursor r."""
    for r in range(n.shape[0]):
        for c in range(n.shape[1]):
            out[r, c] = binomial(cursors, r, n[r, c], p[r, c]) if n[r, c] > 0 else 0


@inlined
def difference(cursors, r, a, p, scale):
    """Return the difference of two samples of NB(a, p), or of Poisson(a) if p is NaN; 0 if a is 0.

    `scale` is ln(1 − p).
    """
    if a <= 0.0:
        return 0
    if math.isnan(p):
        return poisson(cursors, r, a) - poisson(cursors, r, a)
    if a == 1.0:  # the usual case
        first = _geometric(cursors, r, scale)
        return first - _geometric(cursors, r, scale)
    first = negative_binomial(cursors, r, a, p)
    return first - negative_binomial(cursors, r, a, p)


@lean
def differences(cursors, a, p, out):
    """Write differences of two samples of NB(a, p), or of Poisson(a) where p is NaN, to `out`, ``(R, C)``."""
    for r in range(a.shape[0]):
        for c in range(a.shape[1]):
            out[r, c] = difference(cursors, r, a[r, c], p[r, c], math.log1p(-p[r, c]))


@lean
def geometric_differences(exponentials, used, p, out):
    """Write differences of two samples ``Generator.geometric(p)``, p < 1/3, to `out`, ``(R, C)``, where p is not 0.

    They are made of the exponentials of row r from number ``used[r]`` on, as in NumPy.
    """
    for r in range(p.shape[0]):
        for c in range(p.shape[1]):
            if p[r, c] > 0.0:
                scale, at = math.log1p(-p[r, c]), used[r]
                first, second = -exponentials[r, at] / scale, -exponentials[r, at + 1] / scale
                out[r, c], used[r] = math.ceil(first) - math.ceil(second), at + 2


@lean
def searched_differences(cursors, p, out):
    """Add differences of two samples ``Generator.geometric(p)``, p ≥ 1/3, to `out`, ``(R, C)``, where p is not 0.

    NumPy makes each sample of one uniform by searching from 1 on.
    """
    for r in range(p.shape[0]):
        for c in range(p.shape[1]):
            for sign in (1, -1):
                if p[r, c] > 0.0:
                    u, tries, mass, total = uniform(cursors, r), 1, p[r, c], p[r, c]
                    while u > total:
                        mass *= 1.0 - p[r, c]
                        total += mass
                        tries += 1
                    out[r, c] += sign * tries
