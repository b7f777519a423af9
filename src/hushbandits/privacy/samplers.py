"""Noise distributions of the protocols, seeded or exact, with the interface of `privacy.noise`.

Exact samplers see integers alone, no floating point between coin flips and noise.  Uniform integers are the operating
system's, which no seed repeats; parameters are the exact rationals that the given doubles are.  Sources: Canonne,
Kamath & Steinke 2020, algorithms 1 to 3 (Bernoulli(e^−γ), discrete Laplace, discrete Gaussian).
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import count
from secrets import randbelow

import numpy as np
import scipy

from hushbandits.core import Array, real
from hushbandits.privacy import divergence
from hushbandits.privacy.noise import Curve, Half, NoiseLaw, Profile

#: Steps per unit on which `Laplace.exactly` lives.
GRID = 1 << 40


# -- exact samplers: parameters are pairs of integers, numerator and denominator --------------------------------------


def bernoulli_exp(a: int, b: int) -> bool:
    """Return True with probability ``e^(−a/b)`` (Canonne et al. 2020, algorithm 1)."""
    while a > b:
        if not bernoulli_exp(1, 1):
            return False
        a -= b
    return next(k for k in count(1) if randbelow(b * k) >= a) % 2 == 1


def discrete_laplace(a: int, b: int) -> int:
    """Return a sample of Lap_ℤ with scale a/b (Canonne et al. 2020, algorithm 2)."""
    while True:
        u = randbelow(a)
        if bernoulli_exp(u, a):
            v = next(v for v in count() if not bernoulli_exp(1, 1))
            y = (u + a * v) // b
            negative = randbelow(2) == 1
            if y or not negative:
                return -y if negative else y


def _thinned(step: Callable[[], int], keep: Callable[[int], bool]) -> int:
    # Count steps until one fails; a step that is not kept starts the count again.
    k = 0
    while step():
        k = k + 1 if keep(k + 1) else 0
    return k


def _polya(top: int, bottom: int, a: int, b: int) -> int:
    # Pólya(r, e^(−a/b)), r = top/bottom ≤ 1: geometric steps, of which step k is kept with probability (k − 1 + r)/k.
    return _thinned(lambda: bernoulli_exp(a, b), lambda k: randbelow(k * bottom) < (k - 1) * bottom + top)


def _poisson(a: int, b: int) -> int:
    # Of mean a/b, in pieces of mean λ ≤ ½: k heads of a fair coin are kept with probability Π_{i≤k} 2λ/i, which leaves
    # a law ∝ λ^k/k!.
    pieces = max(1, -(-2 * a // b))
    return sum(_thinned(lambda: randbelow(2), lambda k: randbelow(b * pieces * k) < 2 * a) for _ in range(pieces))


class Exact:
    """A noise distribution `law` that is sampled exactly, from entropy instead of a seed."""

    def __init__(self, law: NoiseLaw):
        law.exactly()  # one that has no exact sampler says so
        #: The law, and whether its noise takes integer values.
        self.law, self.integer = law, law.integer

    def draw(self, rng: object, size: int) -> Array:
        """Return one noise sample per user, ``(size,)``; `rng` is ignored."""
        return np.array([self.law.exactly() for _ in range(size)], np.int64 if self.integer else float)

    def total(self, rng: object, n: int) -> float:
        """Return a sample of the total noise of n users; `rng` is ignored."""
        return self.law.exact_total(n) if n else 0


# -- laws -------------------------------------------------------------------------------------------------------------


class Positive(NoiseLaw):
    """Base class of distributions with positive parameters."""

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            real(name, value, 0)


@dataclass(frozen=True)
class PolyaDifference(Positive):
    """Difference of two Pólya(r, β) samples, ``β = e^(−1/b)``; the sum of n = 1/r such differences is discrete Laplace.

    ``Pólya(r, β): P(x) = Γ(x+r)/(x! Γ(r)) β^x (1−β)^r``, NumPy's ``negative_binomial(r, 1 − β)``.

    Parameters
    ----------
    r : float
        Shape, > 0: 1/n for n users.
    b : float
        Scale of the sum, > 0.
    """

    r: float
    b: float

    @property
    def _p(self) -> float:  # 1 − β
        return -math.expm1(-1 / self.b)

    @cached_property
    def half(self) -> Half:  # type: ignore[override]
        """The Pólya distribution of each of the two samples."""
        return Half(self.r, self._p)

    @property
    def t_max(self) -> float:  # type: ignore[override]
        return 1 / self.b

    def log_mgf(self, t: float) -> float:
        """Return ``r [2 ln(1−β) − ln(1−βe^t) − ln(1−βe^{−t})]``."""
        up, down = -math.expm1(t - 1 / self.b), -math.expm1(-t - 1 / self.b)
        return self.r * (2 * math.log(self._p) - math.log(up) - math.log(down))

    def cf(self, theta: Array) -> Array:
        """Return ``[(1−β)²/(1 − 2β cos θ + β²)]^r``."""
        p = self._p
        return (p * p / (p * p + 4 * (1 - p) * np.sin(np.asarray(theta) / 2) ** 2)) ** self.r

    @property
    def variance(self) -> float:
        return 2 * self.r * (1 - self._p) / self._p**2

    def exactly(self) -> int:
        """Return an exact difference of two Pólya samples, for ``r ≤ 1``.

        A double r near 1/n counts as exactly 1/n.
        """
        if self.r > 1:
            raise ValueError(f"r={self.r:g}: the exact Pólya sampler requires r ≤ 1")
        return _polya(*self._ratios) - _polya(*self._ratios)

    @cached_property
    def _ratios(self) -> tuple[int, int, int, int]:
        shape = Fraction(self.r).limit_denominator(1 << 40)
        return *shape.as_integer_ratio(), *(1 / Fraction(self.b)).as_integer_ratio()

    def exact_total(self, n: int) -> float:
        """Return an exact sample of the total noise of n users, drawn at once if 1/r rounds to n, else as n samples."""
        return DiscreteLaplace(self.b).exactly() if round(1 / self.r) == n else super().exact_total(n)

    def profile(self, n: int, shift: int) -> Profile:
        """Return an upper bound: if ``nr ≥ 1``, the discrete Laplace profile, else the profile of `polya_epsilon`-DP.

        If ``nr < 1``, the law is not log-concave, and only its largest likelihood ratio is used.
        """
        if n * self.r < 1 - 1e-9:
            return divergence.pure_profile(polya_epsilon(n * self.r, self.b, shift))
        return divergence.discrete_laplace_profile(self.b, shift)


class DiscreteLaplace(PolyaDifference):
    """Discrete Laplace distribution, ``P(x) = (1−β)/(1+β) β^|x|`` with ``β = e^(−1/b)``."""

    def __init__(self, b: float):
        super().__init__(1.0, b)

    def __repr__(self) -> str:
        return f"DiscreteLaplace(b={self.b})"

    def draw(self, rng: np.random.Generator, size: int) -> Array:
        return rng.geometric(self._p, size) - rng.geometric(self._p, size)

    def exactly(self) -> int:
        return discrete_laplace(*self.b.as_integer_ratio())

    def pmf(self, x: Array) -> Array:
        return math.tanh(1 / (2 * self.b)) * np.exp(-np.abs(x) / self.b)


@dataclass(frozen=True)
class TruncatedGeometric(Positive):
    """Distribution ``P(x) ∝ e^(−|x|/b)`` on the integers from −`bound` to `bound`."""

    b: float
    bound: int

    def pmf(self, x: Array) -> Array:
        norm = 1 - 2 * math.expm1(-self.bound / self.b) / math.expm1(1 / self.b)
        return np.where(np.abs(x) <= self.bound, np.exp(-np.abs(x) / self.b), 0.0) / norm

    def far(self, tilt: float = 0.0) -> int:
        return self.bound

    def exactly(self) -> int:
        while abs(x := discrete_laplace(*self.b.as_integer_ratio())) > self.bound:
            pass
        return x

    def profile(self, n: int, shift: int) -> Profile | None:
        return divergence.shift_profile(self.pmf(np.arange(-self.bound, self.bound + 1)), shift) if n == 1 else None


def polya_epsilon(shape: float, b: float, g: int) -> float:
    """Return ε of the difference of two Pólya(shape, e^(−1/b)) samples as noise on an integer sum of sensitivity g.

    Shape 1 is the discrete Laplace law, g/b.  Below it (users dropped out, and their share of the noise with them)
    the law peaks at 0, and ``P(0)/P(g)`` is the worst ratio; above it g/b bounds all ratios.
    The law comes from its transform on a circle, with an absolute error of about 1e-16; ratios are taken where it
    exceeds 1e-9 of its maximum, and the tails' limit g/b always counts.  Where P(g) does not reach that, it is added up
    term by term, in logarithms.
    """
    if shape >= 1:
        return g / b
    size = math.ceil(40 * b)
    if g <= size:
        m = max(64, 2 * (size + g) + 1)
        pmf = np.roll(PolyaDifference(shape, b).wrapped_pmf(1, m), m // 2)
        pmf = pmf[pmf > 1e-9 * pmf.max()]  # symmetric and falling from its middle: what is left is one piece
        if len(pmf) // 2 >= g:
            log_pmf = np.log(pmf)
            # The law falls on either side: the largest shift has the largest ratio.
            return max(g / b, float(np.abs(log_pmf[g:] - log_pmf[:-g]).max()))
    # Hardly any noise is left: P(g) is beyond what the transform resolves.
    j = np.arange(math.ceil(80 * b) + 1)
    # The logarithms of one Pólya draw's probabilities, but for a factor.
    near, far = (scipy.special.gammaln(x + shape) - scipy.special.gammaln(x + 1) - x / b for x in (j, j + g))
    return float(np.logaddexp.reduce(2 * near) - np.logaddexp.reduce(near + far))


@dataclass(frozen=True)
class Skellam(Positive):
    """Difference of two Poisson(σ²/2) samples; the family is closed under addition."""

    sigma2: float

    @cached_property
    def half(self) -> Half:  # type: ignore[override]
        """The Poisson distribution of each of the two samples."""
        return Half(self.sigma2 / 2)

    def log_mgf(self, t: float) -> float:
        """Return ``σ² (cosh t − 1)``."""
        return 2 * self.sigma2 * math.sinh(t / 2) ** 2

    def cf(self, theta: Array) -> Array:
        """Return ``exp(σ² (cos θ − 1))``."""
        return np.exp(-2 * self.sigma2 * np.sin(np.asarray(theta) / 2) ** 2)

    @property
    def variance(self) -> float:
        return self.sigma2

    def pmf(self, x: Array) -> Array:
        """Return ``e^(−σ²) I_|x|(σ²)``."""
        return scipy.special.ive(np.abs(x), self.sigma2)

    def exactly(self) -> int:
        mean = (self.sigma2 / 2).as_integer_ratio()
        return _poisson(*mean) - _poisson(*mean)

    def tilted(self, n: int, m: int, t: float) -> tuple[float, float, Array]:
        theta, half = 2 * np.pi * np.arange(m // 2 + 1) / m, n * self.sigma2 / 2
        up, down = half * math.exp(t), half * math.exp(-t)
        power, end = np.zeros(len(theta), complex), 2 * math.asin(min(1.0, math.sqrt(373 / (up + down))))
        low = theta[: np.searchsorted(theta, end, "right")]  # beyond, the power is below e⁻⁷⁴⁶
        power[: len(low)] = np.exp(up * np.expm1(-1j * low) + down * np.expm1(1j * low))
        return up - down, n * self.log_mgf(t), power

    def curve(self, n: int, shift: int) -> Curve:
        """Return the bound of Agarwal, Kairouz & Liu 2021, theorem 3.5, on the Rényi curve."""
        return divergence.skellam_curve(n * self.sigma2, shift)


@dataclass(frozen=True)
class DiscreteGaussian(Positive):
    """Discrete Gaussian distribution, ``P(x) ∝ e^(−x²/2σ²)``; a sum of samples is not discrete Gaussian.

    Source: Canonne, Kamath & Steinke 2020, algorithm 3.
    """

    sigma2: float

    def draw(self, rng: np.random.Generator, size: int) -> Array:
        """Return samples, drawn by rejection from discrete Laplace samples of scale ⌊σ⌋ + 1."""
        proposal, out = self._proposal, np.empty(0, np.int64)
        while len(out) < size:
            y = proposal.draw(rng, 2 * (size - len(out)) + 16)
            kept = rng.random(len(y)) < np.exp(-((np.abs(y) - self.sigma2 / proposal.b) ** 2) / (2 * self.sigma2))
            out = np.concatenate((out, y[kept]))[:size]
        return out

    @cached_property
    def _proposal(self) -> "DiscreteLaplace":
        return DiscreteLaplace(math.floor(math.sqrt(self.sigma2)) + 1)

    def exactly(self) -> int:
        a, b = self.sigma2.as_integer_ratio()
        t = math.isqrt(a // b) + 1
        while True:
            y = discrete_laplace(t, 1)
            # e^(−(|y| − σ²/t)²/2σ²), the exponent over the common denominator 2·a·b·t²
            if bernoulli_exp((abs(y) * t * b - a) ** 2, 2 * a * b * t * t):
                return y

    def far(self, tilt: float = 0.0) -> int:
        """Return a point at least twelve standard deviations beyond the mode of the tilted distribution."""
        return math.ceil(12 * math.sqrt(self.sigma2) + tilt * self.sigma2) + 12

    def log_mgf(self, t: float) -> float:
        """Return ``σ²t²/2``, which is an upper bound (Canonne et al. 2020, fact 18)."""
        return self.sigma2 * t * t / 2

    def pmf(self, x: Array) -> Array:
        k = np.arange(1, self.far() + 1)
        norm = 1 + 2 * np.exp(-(k**2) / (2 * self.sigma2)).sum()
        return np.exp(-(np.asarray(x, float) ** 2) / (2 * self.sigma2)) / norm

    def curve(self, n: int, shift: int) -> Curve:
        """Return a bound on the Rényi curve of n samples' sum, by `divergence.concentrated_sum`."""
        return divergence.zcdp_curve(divergence.concentrated_sum(n, self.sigma2, shift))


@dataclass(frozen=True)
class Laplace(Positive):
    """The continuous distribution with density ``e^(−|x|/b)/2b``."""

    b: float
    integer = False

    def draw(self, rng: np.random.Generator, size: int) -> Array:
        return rng.laplace(0.0, self.b, size)

    def total(self, rng: np.random.Generator, n: int) -> float:
        """Return a sample of the total noise of n users: b times the difference of two Gamma(n) samples."""
        return self.b * (rng.standard_gamma(n) - rng.standard_gamma(n)) if n else 0.0

    @property
    def variance(self) -> float:
        return 2 * self.b**2

    def cdf(self, x: Array) -> Array:
        return scipy.stats.laplace.cdf(x, scale=self.b)

    def exactly(self) -> float:
        """Return a discrete Laplace sample of scale b, on the grid of multiples of 2^(−40)."""
        return discrete_laplace(*(self.b * GRID).as_integer_ratio()) / GRID

    def profile(self, n: int, shift: int) -> Profile | None:
        return divergence.laplace_profile(shift / self.b) if n == 1 else None
