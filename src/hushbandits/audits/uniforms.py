"""Tests of draws for a uniform law, repeated values and dependence, which return evidence in nats.

Each evidence is a bound on −ln of a probability.
"""

import math

import numpy as np
from scipy import special, stats

from hushbandits.core import Array

_SEEN = 14.0  # expected draws in a tail above which an empty tail is unlikely


def distance(u: Array) -> float:
    """Return the evidence that `u` is not uniform, by its Kolmogorov distance (Massart's inequality)."""
    u, n = np.sort(u, axis=None), u.size
    far = max((np.arange(1, n + 1) / n - u).max(initial=0.0), (u - np.arange(n) / n).max(initial=0.0))
    return max(0.0, 2 * n * float(far) ** 2 - math.log(2))


def _width(u: Array) -> float:
    """Return ``Σ −ln(2 min(u, 1 − u))``: Gamma(n) for n uniform draws, and Σ |noise|/scale for Laplace noise."""
    return float(-np.log(2 * np.clip(np.minimum(u, 1 - u), 1e-300, 0.5)).sum())


def scale(u: Array) -> float:
    """Return the evidence that the noise with uniforms `u` is narrower or wider than its law."""
    tails = stats.gamma.logcdf(_width(u), u.size), stats.gamma.logsf(_width(u), u.size)
    return max(0.0, -min(tails) - math.log(2)) if u.size else 0.0


def scale_between(u: Array, level: float) -> tuple[float, float]:
    """Return an estimate and a lower bound, at `level`, of the factor by which Laplace noise is too narrow."""
    width = max(_width(u), 1e-300)
    return u.size / width, float(stats.gamma.ppf(level, u.size)) / width


def factor(n: int, level: float) -> float:
    """Return the smallest factor of narrowing that n draws of Laplace noise detect with 90 % power.

    Examples
    --------
    >>> round(factor(32_000, 1e-6), 2), round(factor(10, 1e-6))
    (1.04, 12)
    """
    low = stats.gamma.ppf(level / 2, n) / n
    worst = stats.gamma.isf(0.1, n) / n  # the mean that chance exceeds with probability 10 %
    return float(worst / low) if low > 0 and worst / low < 1e3 else math.inf


def tails(u: Array) -> float:
    """Return the evidence that the tails of probability 2^−3, 2^−4, … contain too few or too many draws."""
    depths = 2.0 ** -np.arange(3, max(4, math.floor(math.log2(max(u.size, 1) / _SEEN)) + 1))
    counts = np.array([[(x < p).sum() for p in depths] for x in (u, 1 - u)])
    log_p = stats.binom.logcdf(counts, u.size, depths), stats.binom.logsf(counts - 1, u.size, depths)
    return max(0.0, -float(np.min(log_p)) - math.log(4 * len(depths)))


def share(hits: Array, mean: Array) -> float:
    """Return ``n KL(share ‖ mean)``, Hoeffding's evidence that true values in `hits` are more frequent than `mean`."""
    if not hits.size:
        return 0.0
    found, p = float(hits.mean()), min(max(float(mean.mean()), 1e-300), 1.0)
    if found <= p:
        return 0.0
    return hits.size * float(special.rel_entr(found, p) + special.rel_entr(1 - found, 1 - p))


def repeats(u: Array, alike: float) -> float:
    """Return the evidence of too many pairs within the distance `alike`, by Markov's bound or the second moment."""
    pairs, expected = int((np.diff(np.sort(u, axis=None)) <= alike).sum()), u.size**2 * alike
    if not pairs:
        return 0.0
    return max(0.0, -math.log(expected if pairs == 1 else expected**2 + (2 * u.size * alike) ** 2 * u.size))


def _unlikely(turns: list[Array], plain: list[Array], n: Array) -> Array:
    """Return the largest evidence against independence in sums of n products: complex sums `turns`, real sums `plain`.

    ``cos 2π(u′ ± u)`` of independent u are independent of one another, with ``E e^(λ cos) = I₀(λ) ≤ e^(λ²/4)``.
    Given all before it, ``(2u − 1)x`` has ``E e^(λ·) ≤ e^(λ²x²/6)``; and Σx², of mean n/3, stays below `spent` except
    with probability e^−40.
    """
    n = np.maximum(n, 1.0)
    best = np.max([part**2 for s in turns for part in (s.real, s.imag)], axis=0) / n
    spent = np.minimum(n / 3 + np.sqrt(20.0 * n), n)
    return np.maximum(best, np.minimum(np.max([s**2 for s in plain], axis=0) * 1.5 / spent, 39.0))


def _forms(u: Array) -> list[Array]:
    """Return ``e^(2πiu)``, its conjugate, ``2u − 1``, and ``2|2u − 1| − 1``; 0 for a missing draw."""
    there = ~np.isnan(u)
    turn = np.where(there, np.exp(2j * np.pi * np.nan_to_num(u)), 0)
    rank = np.where(there, 2 * np.nan_to_num(u) - 1, 0)
    return [turn, turn.conj(), rank, np.where(there, 2 * np.abs(rank) - 1, 0)]


def at_any_distance(u: Array) -> tuple[float, tuple[int, int, int, int]]:
    """Return the largest evidence that draws ``(B, R, A)`` at some distance are correlated, and this distance.

    The result includes the distance in rows and in runs, and the two seats.
    """
    b, r, a = u.shape
    shape = tuple(1 << (2 * n - 1).bit_length() if n > 1 else 1 for n in (b, r))
    forms = [np.fft.fft2(x, shape, axes=(0, 1)) for x in _forms(u)]
    far = [np.fft.fftfreq(n, 1 / n).round().astype(int) for n in shape]
    n = np.maximum(b - np.abs(far[0]), 0)[:, None] * np.maximum(r - np.abs(far[1]), 0)
    here = far[0][:, None] == 0
    later = (far[0][:, None] > 0) | (here & (far[1] > 0))
    best, kinds = (0.0, (0, 0, 0, 0)), 12 * a * a * max(int((later & (n > 0)).sum()) + 1, 1)
    for i, j in np.ndindex(a, a):
        use = (n > 0) & (later | (here & (far[1] == 0) & (j > i)))
        turns = [np.fft.ifft2(f[..., i].conj() * forms[0][..., j]) for f in forms[:2]]
        plain = [np.fft.ifft2(f[..., i].conj() * f[..., j]).real for f in forms[2:]]
        found = np.where(use, _unlikely(turns, plain, n), 0.0)
        at = np.unravel_index(found.argmax(), found.shape)
        lag = int(far[0][at[0]]), int(far[1][at[1]]), i, j
        best = max(best, (float(found[at]) - math.log(kinds), lag))
    return best


def at_places(u: Array, other: Array, pairs: Array) -> tuple[float, tuple[int, int]]:
    """Return the largest evidence that a row of `u` and a row of `other` are correlated, and these two rows."""
    left, right = _forms(u), _forms(other)
    turns = [left[0] @ x.T for x in right[:2]]
    found = _unlikely(turns, [x @ y.T for x in left[2:] for y in right[2:]], np.array(u.shape[1]))
    found = np.where(pairs, found, 0.0)
    at = np.unravel_index(found.argmax(), found.shape)
    return float(found[at]) - math.log(2 * 8 * max(int(pairs.sum()), 1)), (int(at[0]), int(at[1]))
