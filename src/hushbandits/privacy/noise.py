"""Noise distributions: sampling, exact probabilities, and privacy profiles.

Sampler, sums, probabilities, transforms and tails of one law stand in one class.  Mechanisms, audits and agents ask it,
so that a new noise is one class: all the rest follows from `NoiseLaw.pmf` alone.
"""

import math
from bisect import bisect_left
from collections.abc import Callable
from functools import lru_cache
from typing import ClassVar, NamedTuple

import numpy as np
import scipy

from hushbandits.core import Array

#: δ at every ε ≥ 0 of an array: the larger divergence of two neighbours.
Profile = Callable[[Array], Array]
#: ε(α), the Rényi divergence of two neighbours, at an order α > 1.
Curve = Callable[[float], float]

_CHUNK = 1 << 16
_NOTHING = math.log(1e-17)  # of a law's largest probability: what lies beyond is rounding


class Half(NamedTuple):
    """Distribution of each of two samples whose difference is n users' noise: Poisson(n·share) or NB(n·share, p)."""

    share: float
    p: float | None = None

    def draw(self, rng: np.random.Generator, n: int, size: int | None = None) -> Array:
        """Return one sample for n users, or ``(size,)`` samples."""
        a = n * self.share
        return np.asarray(rng.poisson(a, size) if self.p is None else rng.negative_binomial(a, self.p, size))


class NoiseLaw:
    """Base class of symmetric noise distributions; a subclass on the integers needs to define only `pmf`.

    Where a closed form is better than the default it overrides that face.  A law is compared and hashed by its
    parameters (a frozen dataclass), for what is worked out of it is kept.  `draw` and `total` are fast, seeded and work
    in floating point, a simulation of the noise; `exactly` is the same law over integers alone.

    Examples
    --------
    >>> class Coin(NoiseLaw):
    ...     def pmf(self, x):
    ...         return np.where(np.abs(x) == 1, 0.5, 0.0)
    >>> Coin().variance, float(Coin().cf(np.pi)), Coin().draw(np.random.default_rng(0), 4).tolist()
    (1.0, -1.0, [1, -1, -1, -1])
    """

    integer: ClassVar[bool] = True
    #: Mean of one value, which the analyzer subtracts.
    mean: float = 0.0
    #: Where the moment generating function ends.
    t_max: float = math.inf
    #: The sum over n users as a difference of two draws, which fast code makes for many sums at once; ``None``: it is
    #: no such difference.
    half: Half | None = None

    def pmf(self, x: Array) -> Array:
        """Return the probabilities of the integers `x`."""
        raise NotImplementedError(f"{self!r} must define pmf(x), the probabilities of integers x")

    def cdf(self, x: Array) -> Array:
        """Return the distribution function at `x`, for continuous noise."""
        raise NotImplementedError(f"{self!r} must define cdf(x), the distribution function")

    def far(self, tilt: float = 0.0) -> int:
        """Return an integer n such that ``P(x)e^(tilt·x)`` is negligible for ``|x| > n``."""
        for reach in (1 << k for k in range(3, 24)):
            x = np.arange(-2 * reach, 2 * reach + 1)
            weight = self._log_weight(x, tilt)
            if weight[np.abs(x) > reach].max() <= _NOTHING + weight.max():
                return reach
        raise NotImplementedError(f"the probabilities of {self!r} beyond ±8 million are too large to omit")

    def _log_weight(self, x: Array, tilt: float) -> Array:
        with np.errstate(divide="ignore"):
            return np.log(self.pmf(x)) + tilt * x

    def draw(self, rng: np.random.Generator, size: int) -> Array:
        """Return one noise sample per user, ``(size,)``."""
        if self.half is not None:
            return self.half.draw(rng, 1, size) - self.half.draw(rng, 1, size)
        x, p = _table(self)
        return x[np.minimum(np.searchsorted(np.cumsum(p), rng.random(size), "right"), len(x) - 1)]

    def total(self, rng: np.random.Generator, n: int) -> float:
        """Return a sample of the total noise of `n` users, from `half` if it is known, else as a sum of n samples."""
        if self.half is not None:
            return int(self.half.draw(rng, n) - self.half.draw(rng, n)) if n else 0
        return sum(int(self.draw(rng, min(_CHUNK, n - start)).sum()) for start in range(0, n, _CHUNK))

    def exactly(self) -> float:
        """Return a sample without rounding from the operating system's entropy, or raise ``ValueError``."""
        raise ValueError(f"{self!r} has no exact sampler")

    def exact_total(self, n: int) -> float:
        """Return a sample of the total noise of `n` users, from the operating system's entropy."""
        return sum(self.exactly() for _ in range(n))

    @property
    def variance(self) -> float:
        """Return the variance of one user's noise."""
        x, p = _table(self)
        return float((p * x**2).sum())

    def log_mgf(self, t: float) -> float:
        """Return ``ln E e^{tX}``, or an upper bound, for ``0 ≤ t < t_max``."""
        reach = self.far(t)
        return float(np.logaddexp.reduce(self._log_weight(np.arange(-reach, reach + 1), t)))

    def cf(self, theta: Array) -> Array:
        """Return ``E cos(θX)``, for noise with mean 0."""
        x, p = _table(self)
        return (np.cos(np.multiply.outer(np.ravel(theta), x)) @ p).reshape(np.shape(theta))

    def wrapped_pmf(self, n: int, m: int) -> Array:
        """Return the probabilities mod m of the total noise of n users, ``(m,)``, from its characteristic function."""
        if type(self).cf is not NoiseLaw.cf:
            power = self.cf(2 * np.pi * np.arange(m // 2 + 1) / m) ** n
        else:
            x, p = _table(self)
            power = np.fft.rfft(np.bincount(x % m, weights=p, minlength=m)) ** n
        return np.fft.irfft(power, m)

    def line(self, n: int) -> Array | None:
        """Return the probabilities that n users' total noise is 0, 1, …; ``None`` if this noise may be negative."""
        return None

    def tilted(self, n: int, m: int, t: float) -> tuple[float, float, Array]:
        """Return for n users' total noise S: the mean under the tilt ``e^(tS)``, ``ln E e^(tS)``, and a transform.

        The transform is ``E e^(−iθS)`` under the tilt, at ``θ = 2πj/m`` for j = 0 … ⌊m/2⌋.

        The mean is ∞ where so large a tilt says nothing: of tails that would wrap on the circle.
        """
        reach = self.far(t)
        support = np.arange(-reach, reach + 1)
        log_weight = self._log_weight(support, t)
        top = float(log_weight.max())
        weight = np.exp(log_weight - top)
        total = float(weight.sum())
        mean = float((support * weight).sum()) / total
        wrapped = weight[np.abs(support - mean) > 0.75 * m].sum()
        if t and n * wrapped > 1e-14 * total:  # it would blur its middle
            return math.inf, 0.0, np.ones(m // 2 + 1)
        power = np.fft.rfft(np.bincount(support % m, weights=weight / total, minlength=m)) ** n
        return n * mean, n * (math.log(total) + top), power

    def profile(self, n: int, shift: int) -> Profile | None:
        """Return the profile, or a bound, of n users' total noise at sensitivity `shift`; ``None`` if unknown."""
        return None

    def curve(self, n: int, shift: int) -> Curve | None:
        """Return the Rényi curve, or a bound, of n users' total noise at sensitivity `shift`; ``None`` if unknown."""
        return None


def halved(noise: object) -> Half | None:
    """Return ``noise.half`` if `noise` samples totals by `NoiseLaw.total`, else ``None``."""
    return noise.half if isinstance(noise, NoiseLaw) and type(noise).total is NoiseLaw.total else None


@lru_cache(maxsize=256)
def _table(law: NoiseLaw) -> tuple[Array, Array]:
    x = np.arange(-law.far(), law.far() + 1)
    p = law.pmf(x)
    if abs(p.sum() - 1) > 1e-9:
        raise ValueError(f"probabilities of {law!r} add up to {p.sum():.9g} on {x[0]} … {x[-1]}, not to 1")
    return x, p / p.sum()


def chernoff(law: NoiseLaw, n: int, p: float) -> float:
    """Return Chernoff's τ with ``P(|X₁ + … + X_n| > τ) ≤ p``: ``min_t (n ln E e^{tX} + ln(2/p))/t``."""
    target = math.log(2 / p)

    def bound(log_t: float) -> float:  # unimodal
        t = math.exp(log_t)
        return (n * law.log_mgf(t) + target) / t

    high = math.log(min(law.t_max * (1 - 1e-12), 50.0))
    found = scipy.optimize.minimize_scalar(bound, bounds=(high - 40, high), method="bounded", options={"xatol": 1e-9})
    return float(found.fun)


def tail_quantile(law: NoiseLaw, n: int, p: float) -> int:
    """Return the smallest τ with ``P(|X₁ + … + X_n| > τ) ≤ p``, for a distribution on the integers.

    The sum is wrapped on a circle so long that what wraps is below 1e-15 (`chernoff`); there
    ``P(|S| ≤ τ) = (1/N) Σ_j cf(θ_j)^n sin((2τ+1)θ_j/2)/sin(θ_j/2)``, ``θ_j = 2πj/N``.
    """
    size = 2 * math.ceil(chernoff(law, n, 1e-15)) + 1

    def negligible(j: int) -> bool:
        return float(law.cf(np.array(2 * np.pi * j / size))) ** n <= 1e-18

    # cf falls towards π: the terms beyond the first negligible one are negligible.
    theta = np.pi * np.arange(1, bisect_left(range(size // 2 + 1), True, 1, key=negligible)) / size
    weight = law.cf(2 * theta) ** n / np.sin(theta)

    def enough(tau: int) -> bool:
        within = float((2 * tau + 1 + 2 * (weight * np.sin((2 * tau + 1) * theta)).sum()) / size)
        return 1 - within <= p

    return bisect_left(range(size // 2), True, key=enough)
