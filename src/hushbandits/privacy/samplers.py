"""Noise laws of the protocols: samplers, sums, pmfs, transforms.

Every law is symmetric around 0 and offers ``draw(rng, size)``, one value per user; ``total(rng, n)``, one draw from
the law of the sum over n users; ``log_mgf(t)`` and ``cf(t)`` of one value, from which tails of sums are computed.
These samplers are fast, seeded and work in floating point: a simulation of the noise.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy import special

from hushbandits.core.ground.types import Array
from hushbandits.core.ground.validate import real

__all__ = ["DiscreteGaussian", "DiscreteLaplace", "Laplace", "NoiseLaw", "PolyaDifference", "Skellam"]

_CHUNK = 1 << 16


class NoiseLaw:
    """Base: what every law offers."""

    integer: ClassVar[bool] = True

    def draw(self, rng: np.random.Generator, size: int) -> Array:
        """One value per user, ``(size,)``."""
        raise NotImplementedError

    def total(self, rng: np.random.Generator, n: int) -> float:
        """Sum over `n` users, in chunks where the law is not closed under addition."""
        total = 0
        for start in range(0, n, _CHUNK):
            total += int(self.draw(rng, min(_CHUNK, n - start)).sum())
        return total

    def log_mgf(self, t: float) -> float:
        """``ln E e^{tX}`` for ``0 ≤ t < t_max``."""
        raise NotImplementedError

    @property
    def t_max(self) -> float:
        """Where the moment generating function ends."""
        return math.inf

    def cf(self, theta: Array) -> Array:
        """``E cos(θX)``."""
        raise NotImplementedError

    def wrapped_pmf(self, n: int, m: int) -> Array:
        """``(m,)`` law mod m of the sum over n users; only laws without a transform of their own need it."""
        raise NotImplementedError

    @property
    def variance(self) -> float:
        """Variance of one value."""
        raise NotImplementedError


@dataclass(frozen=True)
class PolyaDifference(NoiseLaw):
    """``γ⁺ − γ⁻`` of two Pólya(r, β) draws with ``β = e^(−1/b)``; n = 1/r of them sum to the discrete Laplace law.

    ``Pólya(r, β): P(x) = Γ(x+r)/(x! Γ(r)) β^x (1−β)^r``, NumPy's ``negative_binomial(r, 1 − β)``.

    Parameters
    ----------
    r : float
        Shape, > 0: 1/n for n users.
    b : float
        Scale of the sum, > 0.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> PolyaDifference(1 / 1024, 32.0).draw(rng, 3).tolist()
    [0, 0, 0]
    >>> round(PolyaDifference(1 / 1024, 32.0).variance * 1024) ** 0.5
    45.2...
    """

    r: float
    b: float

    def __post_init__(self) -> None:
        real("r", self.r, 0)
        real("b", self.b, 0)

    @property
    def _p(self) -> float:  # 1 − β
        return -math.expm1(-1 / self.b)

    def draw(self, rng: np.random.Generator, size: int) -> Array:
        """Two Pólya draws each."""
        return rng.negative_binomial(self.r, self._p, size) - rng.negative_binomial(self.r, self._p, size)

    def total(self, rng: np.random.Generator, n: int) -> float:
        """Two Pólya draws of shape nr."""
        if n == 0:
            return 0
        return int(rng.negative_binomial(n * self.r, self._p)) - int(rng.negative_binomial(n * self.r, self._p))

    @property
    def t_max(self) -> float:
        """1/b."""
        return 1 / self.b

    def log_mgf(self, t: float) -> float:
        """``r [2 ln(1−β) − ln(1−βe^t) − ln(1−βe^{−t})]``."""
        up, down = -math.expm1(t - 1 / self.b), -math.expm1(-t - 1 / self.b)
        return self.r * (2 * math.log(self._p) - math.log(up) - math.log(down))

    def cf(self, theta: Array) -> Array:
        """``[(1−β)²/(1 − 2β cos θ + β²)]^r``."""
        p = self._p
        return (p * p / (p * p + 4 * (1 - p) * np.sin(np.asarray(theta) / 2) ** 2)) ** self.r

    @property
    def variance(self) -> float:
        """``2rβ/(1−β)²``."""
        return 2 * self.r * (1 - self._p) / self._p**2


class DiscreteLaplace(PolyaDifference):
    """``P(x) = (1−β)/(1+β) β^|x|``, ``β = e^(−1/b)``: the difference of two geometric draws.

    Parameters
    ----------
    b : float
        Scale, > 0.

    Examples
    --------
    >>> DiscreteLaplace(2.0).pmf(np.arange(3)).round(4).tolist()
    [0.2449, 0.1486, 0.0901]
    """

    def __init__(self, b: float):
        super().__init__(1.0, b)

    def __repr__(self) -> str:
        return f"DiscreteLaplace(b={self.b})"

    def draw(self, rng: np.random.Generator, size: int) -> Array:
        """Two geometric draws each."""
        return rng.geometric(self._p, size) - rng.geometric(self._p, size)

    def pmf(self, x: Array) -> Array:
        """The law."""
        return math.tanh(1 / (2 * self.b)) * np.exp(-np.abs(x) / self.b)


@dataclass(frozen=True)
class Skellam(NoiseLaw):
    """Difference of two Poisson(σ²/2) draws; closed under addition.

    Parameters
    ----------
    sigma2 : float
        Variance σ², > 0.

    Examples
    --------
    >>> Skellam(2.0).pmf(np.arange(2)).round(4).tolist()
    [0.3085, 0.2153]
    """

    sigma2: float

    def __post_init__(self) -> None:
        real("sigma2", self.sigma2, 0)

    def draw(self, rng: np.random.Generator, size: int) -> Array:
        """Two Poisson draws each."""
        return rng.poisson(self.sigma2 / 2, size) - rng.poisson(self.sigma2 / 2, size)

    def total(self, rng: np.random.Generator, n: int) -> float:
        """Two Poisson draws of mean nσ²/2."""
        return int(rng.poisson(n * self.sigma2 / 2)) - int(rng.poisson(n * self.sigma2 / 2))

    def log_mgf(self, t: float) -> float:
        """``σ² (cosh t − 1)``."""
        return 2 * self.sigma2 * math.sinh(t / 2) ** 2

    def cf(self, theta: Array) -> Array:
        """``exp(σ² (cos θ − 1))``."""
        return np.exp(-2 * self.sigma2 * np.sin(np.asarray(theta) / 2) ** 2)

    @property
    def variance(self) -> float:
        """σ²."""
        return self.sigma2

    def pmf(self, x: Array) -> Array:
        """``e^(−σ²) I_|x|(σ²)``."""
        return special.ive(np.abs(x), self.sigma2)


@dataclass(frozen=True)
class DiscreteGaussian(NoiseLaw):
    """``P(x) ∝ e^(−x²/2σ²)`` on the integers; its sums are not discrete Gaussian, they are added up.

    Parameters
    ----------
    sigma2 : float
        σ², > 0.

    References
    ----------
    Canonne, Kamath & Steinke 2020, algorithm 3.

    Examples
    --------
    >>> DiscreteGaussian(1.0).pmf(np.arange(2)).round(4).tolist()
    [0.3989, 0.242]
    """

    sigma2: float

    def __post_init__(self) -> None:
        real("sigma2", self.sigma2, 0)

    def draw(self, rng: np.random.Generator, size: int) -> Array:
        """By rejection from the discrete Laplace law of scale ⌊σ⌋ + 1."""
        t = math.floor(math.sqrt(self.sigma2)) + 1
        out = np.empty(size, np.int64)
        done = 0
        while done < size:
            y = DiscreteLaplace(t).draw(rng, 2 * (size - done) + 16)
            kept = y[rng.random(len(y)) < np.exp(-((np.abs(y) - self.sigma2 / t) ** 2) / (2 * self.sigma2))]
            kept = kept[: size - done]
            out[done : done + len(kept)] = kept
            done += len(kept)
        return out

    def _support(self) -> tuple[Array, Array]:
        x = np.arange(-math.ceil(12 * math.sqrt(self.sigma2)) - 12, math.ceil(12 * math.sqrt(self.sigma2)) + 13)
        weight = np.exp(-(x**2) / (2 * self.sigma2))
        return x, weight / weight.sum()

    def log_mgf(self, t: float) -> float:
        """At most ``σ²t²/2``: the bound of Canonne et al. 2020, fact 18."""
        return self.sigma2 * t * t / 2

    def cf(self, theta: Array) -> Array:
        """By its Fourier series over the support."""
        x, p = self._support()
        flat = np.cos(np.multiply.outer(np.ravel(theta), x)) @ p
        return flat.reshape(np.shape(theta))

    @property
    def variance(self) -> float:
        """By the series; at most σ²."""
        x, p = self._support()
        return float((p * x**2).sum())

    def pmf(self, x: Array) -> Array:
        """The law."""
        top = math.ceil(12 * math.sqrt(self.sigma2)) + 12
        k = np.arange(1, top + 1)
        norm = 1 + 2 * np.exp(-(k**2) / (2 * self.sigma2)).sum()
        return np.exp(-(np.asarray(x, float) ** 2) / (2 * self.sigma2)) / norm


@dataclass(frozen=True)
class Laplace(NoiseLaw):
    """The continuous law with density ``e^(−|x|/b)/2b``.

    Parameters
    ----------
    b : float
        Scale, > 0.

    Examples
    --------
    >>> Laplace(2.0).variance
    8.0
    """

    b: float
    integer = False

    def __post_init__(self) -> None:
        real("b", self.b, 0)

    def draw(self, rng: np.random.Generator, size: int) -> Array:
        """NumPy's sampler."""
        return rng.laplace(0.0, self.b, size)

    def total(self, rng: np.random.Generator, n: int) -> float:
        """The difference of two Gamma(n) draws."""
        return self.b * (rng.standard_gamma(n) - rng.standard_gamma(n)) if n else 0.0

    @property
    def t_max(self) -> float:
        """1/b."""
        return 1 / self.b

    def log_mgf(self, t: float) -> float:
        """``−ln(1 − b²t²)``."""
        return -math.log1p(-((self.b * t) ** 2))

    def cf(self, theta: Array) -> Array:
        """``1/(1 + b²θ²)``."""
        return 1 / (1 + (self.b * np.asarray(theta)) ** 2)

    @property
    def variance(self) -> float:
        """2b²."""
        return 2 * self.b**2
