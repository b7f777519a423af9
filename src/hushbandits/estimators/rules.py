"""The compiled rules of the robust means, which are scalar functions of one sample.

`hushbandits.estimators.robust` names them, with formula and source; `hushbandits.estimators.running` follows growing
samples with the same rules.
"""

import math

import numpy as np

from hushbandits.core import jit, lean


@lean
def kept_points(n: int, log_inverse_delta: float, epsilon: float) -> int:
    """Return how many of n points the interval of `TrimmedMean` holds; no interval exists if the number is ≤ 0.

    The number is ``⌊n(1 − 2α − √(2αL) − L)⌋`` with ``α = max(ϵ, ln(1/δ)/n)`` and ``L = ln(4/δ)/n``.
    """
    ell = (log_inverse_delta + math.log(4.0)) / n
    alpha = max(epsilon, log_inverse_delta / n)
    return math.floor(n * (1.0 - 2.0 * alpha - math.sqrt(2.0 * alpha * ell) - ell))


@lean
def clipped_points(n: int, log_inverse_delta: float, epsilon: float) -> int:
    """Return the number of points clipped at each end, ``⌈8ηn + 12 ln(4/δ)⌉`` with η = `epsilon`."""
    return math.ceil(8.0 * epsilon * n + 12.0 * (log_inverse_delta + math.log(4.0)))


@lean
def add(high: float, low: float, x: float) -> tuple[float, float]:
    """Return ``high + low + x`` as a double-double (Knuth's two-sum); rounding errors of sums become negligible."""
    total = high + x
    part = total - high
    return total, low + ((high - (total - part)) + (x - part))


@jit
def _mean(x):
    high, low = 0.0, 0.0
    for value in x:
        high, low = add(high, low, value)
    return (high + low) / x.size


@lean
def shortest_window(y, n, q, gap, guess):
    """Return the rank of the lower end of the shortest interval with q of n order statistics.

    `y` holds the order statistics in ascending order, without the `gap` middle ones.  The search is faster if `guess`
    is near the rank.
    """
    last, up = n - q, q - 1 - gap
    best = min(guess, last)
    length, off = y[up + best] - y[best], abs(2 * best - last)
    i, step = 0, 1
    while i <= last:
        end = min(i + step - 1, last)
        least = y[up + i] - y[end]  # of all intervals from rank i to `end`
        if least > length or (least == length and (2 * i - last > off or last - 2 * end > off)):
            i, step = end + 1, 2 * step
        elif step > 1:
            step = 1
        else:
            centre = abs(2 * i - last)
            if least < length or centre < off or (centre == off and i < best):
                best, length, off = i, least, centre
            i += 1
    return best


@jit
def _trimmed(sample, log_inverse_delta, epsilon):
    n = sample.size // 2
    q = kept_points(n, log_inverse_delta, epsilon) if n else 0
    if q > 0:
        y = np.sort(sample[1 : 2 * n : 2])
        best = shortest_window(y, n, q, 0, 0)
        low, high = y[best], y[best + q - 1]
        total, rest, inside = 0.0, 0.0, 0
        for x in sample[0 : 2 * n : 2]:
            if low <= x <= high:
                total, rest = add(total, rest, x)
                inside += 1
        return (total + rest) / inside if inside else low + 0.5 * (high - low)
    return np.median(sample)


@jit
def _lugosi(sample, log_inverse_delta, epsilon):
    n = sample.size // 2
    q = clipped_points(n, log_inverse_delta, epsilon)
    if 2 * q > n:
        return np.median(sample)
    y = np.sort(sample[1 : 2 * n : 2])
    low, high = y[q - 1], y[n - q]
    total, rest = 0.0, 0.0
    for x in sample[0 : 2 * n : 2]:
        total, rest = add(total, rest, min(max(x, low), high))
    return (total + rest) / n


@jit
def _median_of_means(x, log_inverse_delta):
    blocks = max(1, int(min(1.0 + 8.0 * log_inverse_delta, x.size / 2.0)))
    size = x.size // blocks
    means = np.empty(blocks)
    for b in range(blocks):
        means[b] = _mean(x[b * size : (b + 1) * size])
    return np.median(means)


@jit
def _influence(x, alpha, theta):
    # Σ ψ(α(x − θ)) with ψ(z) = sgn(z) ln(1 + |z| + z²/2)
    total = 0.0
    for value in x:
        z = alpha * (value - theta)
        psi = math.log1p(abs(z) + 0.5 * z * z)
        total += psi if z > 0.0 else -psi
    return total


@jit
def _catoni(x, log_inverse_delta, variance):
    n = x.size
    if n <= 2.0 * log_inverse_delta:
        return np.median(x)
    spread = variance * (1.0 + 2.0 * log_inverse_delta / (n - 2.0 * log_inverse_delta))
    alpha = math.sqrt(2.0 * log_inverse_delta / (n * spread))
    low, high = x.min(), x.max()
    while True:  # bisection to the last bit: the influence falls in θ
        middle = low + 0.5 * (high - low)
        if not low < middle < high:
            return middle
        if _influence(x, alpha, middle) > 0.0:
            low = middle
        else:
            high = middle


@jit
def _truncated(x, log_inverse_delta, moment, excess):
    high, low = 0.0, 0.0
    for s in range(x.size):
        if abs(x[s]) <= (moment * (s + 1) / log_inverse_delta) ** (1.0 / (1.0 + excess)):
            high, low = add(high, low, x[s])
    return (high + low) / x.size


@jit
def evaluate(kind, x, log_inverse_delta, a, b):
    """Return the value of the estimator `kind`, with parameters a and b, on the sample `x`."""
    if kind == 0:
        return _mean(x)
    if kind == 1:
        return _trimmed(x, log_inverse_delta, a)
    if kind == 2:
        return _lugosi(x, log_inverse_delta, a)
    if kind == 3:
        return _median_of_means(x, log_inverse_delta)
    if kind == 4:
        return _catoni(x, log_inverse_delta, a)
    return _truncated(x, log_inverse_delta, a, b)
