"""Tree aggregation with Gaussian noise: who is in how many partial sums, and what that costs.

Batch k of K enters the partial sums (p-sums) at k, k + (k & −k), … ≤ K, where ``k & −k`` is the lowest set bit.  With
a policy that is frozen within a batch, all that is sent is data plus Gaussian noise, so a user of batch k is protected
as by one Gaussian mechanism with ``μ = Δ√c/σ``, for its c p-sums and the sensitivity Δ of one.
"""

import math
from collections.abc import Callable
from functools import lru_cache

import numpy as np

from hushbandits.core import Array
from hushbandits.privacy.divergence import delta_at, epsilon_at, gaussian_profile, until


def sensitivity(spread: float = 1.0) -> float:
    """Return Δ, the largest norm by which one user moves ``(Σ x xᵀ/spread, Σ r x)``, for ‖x‖ ≤ 1 and |r| ≤ 1.

    Replacing (x, r) by (y, s) with c = |⟨x, y⟩| moves the two parts by at most ``2 − 2c²`` (squared Frobenius norm,
    over spread²) and ``2 + 2c``; the sum is largest at ``c = min(1, spread²/2)``.

    Examples
    --------
    >>> round(sensitivity() ** 2, 9)
    4.5
    """
    c = min(1.0, spread**2 / 2)
    return math.sqrt((2 - 2 * c * c) / spread**2 + 2 + 2 * c)


@lru_cache(maxsize=256)
def gaussian_mu(epsilon: float, delta: float) -> float:
    """Return the largest μ such that a Gaussian mechanism with ``Δ/σ = μ`` is (ε, δ)-private.

    Examples
    --------
    >>> round(delta_at(gaussian_profile(gaussian_mu(1.0, 1e-5)), 1.0), 9)
    1e-05
    """
    return until(lambda mu: mu == 0 or delta_at(gaussian_profile(mu), epsilon) <= delta, 1.0, 1e4, 0.0, 1e-12)[0]


@lru_cache(maxsize=256)
def gaussian_costs(epsilon: float, delta: float, mu: float, depth: int) -> tuple[tuple[float, float], ...]:
    """Return ε at δ, and δ at ε, of a user in c = 0 … `depth` p-sums, each of which costs μ."""
    laws = [gaussian_profile(mu * math.sqrt(c)) for c in range(1, depth + 1)]
    return ((0.0, 0.0), *((epsilon_at(law, delta), delta_at(law, epsilon)) for law in laws))


def gaussian_together(mu: float, times: int, delta: float) -> float:
    """Return ε at δ of `times` Gaussian mechanisms, each of which costs μ."""
    return epsilon_at(gaussian_profile(mu * math.sqrt(times)), delta)


#: σ by its name, a function of ε, δ, the depth κ of the tree and the horizon T; and what multiplies it for x xᵀ.
SCALES: dict[str, tuple[Callable[[float, float, int, int], float], float]] = {
    "exact": (lambda e, d, k, t: sensitivity() * math.sqrt(k) / gaussian_mu(e, d), 1.0),
    "zhou2024": (lambda e, d, k, t: math.sqrt(k * (math.log(1 / d) + e)) / e, 1.0),
    "dubey2020": (lambda e, d, k, t: math.sqrt(80 * (1 + math.ceil(math.log(t)))) * math.log(10 / d) / e, 2**0.5),
    "shariff2018": (lambda e, d, k, t: 8 * math.sqrt(1 + math.ceil(math.log2(t))) * math.log(4 / d) / e, 2**0.5),
}


def packed(sums: Array) -> Array:
    """Return the entries of ``[Σ x xᵀ, Σ r x]``, ``(…, d, d + 1)``: those from the diagonal up, then the last column.

    Examples
    --------
    >>> packed(np.array([[1.0, 2.0, 8.0], [2.0, 3.0, 9.0]])).tolist()
    [1.0, 2.0, 3.0, 8.0, 9.0]
    """
    i, j = np.triu_indices(sums.shape[-2])
    return np.concatenate([sums[..., i, j], sums[..., -1]], -1)


def unpacked(entries: Array, d: int) -> Array:
    """Return ``[Σ x xᵀ, Σ r x]``, ``(…, d, d + 1)``, of which `packed` returns the `entries`."""
    sums, (i, j) = np.empty((*entries.shape[:-1], d, d + 1)), np.triu_indices(d)
    sums[..., i, j] = sums[..., j, i] = entries[..., :-d]
    sums[..., -1] = entries[..., -d:]
    return sums


def frobenius(d: int, spread: float = 1.0) -> Array:
    """Return what multiplies iid noise in each packed entry: `spread`, over √2 off the diagonal, and 1 for Σ r x."""
    i, j = np.triu_indices(d)
    return np.concatenate([np.where(i == j, 1.0, math.sqrt(0.5)) * spread, np.ones(d)])
