"""Compiled binomial and multinomial samples that equal those of NumPy 2.0 to 2.4 to the bit, from the same uniforms.

Source: Kachitvichyanukul & Schmeiser 1988, "Binomial random variate generation" (algorithm BTPE, whose steps and
symbols stand here; inversion for small means).
"""

import math

from hushbandits.core.random.philox import uniform
from hushbandits.core.utils.jit import inlined, lean


@lean
def numpy_binomial(cursors, r, n, p):  # type: ignore[no-untyped-def]
    """Return what ``Generator.binomial(n, p)`` returns from the uniforms of cursor r."""
    if n == 0 or p == 0.0:
        return 0
    if p <= 0.5:
        return _inversion(cursors, r, n, p) if n * p <= 30.0 else _btpe(cursors, r, n, p)
    q = 1.0 - p
    return n - (_inversion(cursors, r, n, q) if n * q <= 30.0 else _btpe(cursors, r, n, q))


@inlined
def _inversion(cursors, r, n, p):  # type: ignore[no-untyped-def]
    """Return a sample of Bin(n, p) by inversion, which starts anew ten standard deviations above the mean."""
    u = uniform(cursors, r)
    if u <= 1.0 - n * p - 1e-12:  # P(0) ≥ 1 − np: the logarithm is not needed
        return 0
    q = 1.0 - p
    none = math.exp(n * math.log1p(-p))
    bound = min(float(n), n * p + 10.0 * math.sqrt(n * p * q + 1.0)) // 1.0
    x, mass = 0, none
    while u > mass:
        x += 1
        if x > bound:
            x, mass, u = 0, none, uniform(cursors, r)
        else:
            u -= mass
            mass = ((n - x + 1) * p * mass) / (x * q)
    return x


@lean
def _btpe(cursors, r, n, p):  # type: ignore[no-untyped-def]
    """Return a sample of Bin(n, p) for np > 30 and p ≤ ½ by algorithm BTPE."""
    q = 1.0 - p
    npq = n * p * q
    f_m = n * p + p
    mode = math.floor(f_m)
    p1 = math.floor(2.195 * math.sqrt(npq) - 4.6 * q) + 0.5
    x_m = mode + 0.5
    x_l, x_r = x_m - p1, x_m + p1
    c = 0.134 + 20.5 / (15.3 + mode)
    a = (f_m - x_l) / (f_m - x_l * p)
    lambda_l = a * (1.0 + a / 2.0)
    a = (x_r - f_m) / (x_r * q)
    lambda_r = a * (1.0 + a / 2.0)
    p2 = p1 * (1.0 + 2.0 * c)
    p3 = p2 + c / lambda_l
    p4 = p3 + c / lambda_r
    while True:
        u, v = uniform(cursors, r) * p4, uniform(cursors, r)
        if u <= p1:  # the triangle
            return math.floor(x_m - p1 * v + u)
        if u <= p2:  # the parallelograms
            x = x_l + (u - p1) / c
            v = v * c + 1.0 - abs(mode - x + 0.5) / p1
            if v > 1.0:
                continue
            y = math.floor(x)
        elif u <= p3:  # the left tail
            x = math.floor(x_l + math.log(v) / lambda_l) if v > 0.0 else -1.0
            if x < 0.0:
                continue
            y, v = int(x), v * (u - p2) * lambda_l
        else:  # the right tail
            x = math.floor(x_r - math.log(v) / lambda_r) if v > 0.0 else n + 1.0
            if x > n:
                continue
            y, v = int(x), v * (u - p3) * lambda_r
        if _accepted(n, p, q, npq, mode, x_m, y, v):
            return y


@inlined
def _accepted(n, p, q, npq, mode, x_m, y, v):  # type: ignore[no-untyped-def]
    """Return whether ``v ≤ f(y)/f(mode)``: by the recursion, by a squeeze, or by Stirling's formula (step 5)."""
    k = abs(y - mode)
    if k <= 20 or k >= npq / 2.0 - 1.0:
        s = p / q
        a, ratio = s * (n + 1), 1.0
        for i in range(mode + 1, y + 1):
            ratio *= a / i - s
        for i in range(y + 1, mode + 1):
            ratio /= a / i - s
        return v <= ratio
    rho = (k / npq) * ((k * (k / 3.0 + 0.625) + 0.16666666666666666) / npq + 0.5)
    t, log_v = -k * k / (2 * npq), math.log(v)
    if log_v < t - rho:
        return True
    if log_v > t + rho:
        return False
    x, f, z, w = y + 1.0, mode + 1.0, n + 1.0 - mode, n - y + 1.0
    most = x_m * math.log(f / x) + (n - mode + 0.5) * math.log(z / w) + (y - mode) * math.log(w * p / (x * q))
    return log_v <= most + _series(f) + _series(z) + _series(x) + _series(w)


@inlined
def _series(x):  # type: ignore[no-untyped-def]
    """Return the correction of Stirling's formula for (x − 1)!."""
    y = x * x
    return (13680.0 - (462.0 - (132.0 - (99.0 - 140.0 / y) / y) / y) / y) / x / 166320.0


@lean
def add_binomials(cursors, at, n, p, g, total):  # type: ignore[no-untyped-def]
    """Add g[b] times what ``Generator.binomial(n[b], p[b])`` would return from cursor b to ``total[b]``, b in `at`."""
    for b in at:
        total[b] += numpy_binomial(cursors, b, n[b], p[b]) * g[b]


@lean
def add_multinomials(cursors, at, n, kind, low, g, pmf, total):  # type: ignore[no-untyped-def]
    """Add ``Σ j X_j`` to ``total[b]``, given what ``Generator.multinomial(n[b], p)`` would return as X from cursor b.

    The blocks b in `at` are in order of their `kind`.  Kinds from `low` on have g + 1 probabilities p, which `pmf`
    holds kind after kind, each after a 0; blocks of other kinds are left out.
    """
    k, start = low, 1
    for i in range(at.size):
        if not low <= kind[i] < low + g.size:
            continue
        while k < kind[i]:
            start += g[k - low] + 2
            k += 1
        b, rest, most = at[i], 1.0, g[k - low]
        left = n[b]
        for j in range(most):
            p = pmf[start + j]
            count = numpy_binomial(cursors, b, left, p / rest)
            total[b] += count * j
            left -= count
            if left <= 0:
                break
            rest -= p
        total[b] += left * most
