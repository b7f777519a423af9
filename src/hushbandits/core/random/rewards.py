"""Reward laws, each defined by its quantile function, which turns one uniform sample into one reward.

Every reward of the suite is ``law.quantile(u, location)`` of one uniform of the reward stream, so two agents
that pull in the same round of the same run get the same random numbers whatever the law.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, fields, is_dataclass

import numpy as np
import scipy

from hushbandits.core.random.gauss import TINY, normal
from hushbandits.core.random.stable import stable_quantile
from hushbandits.core.utils import LARGEST_NUMBER, Array, lean, real
from hushbandits.core.utils.jit import inlined

WIDEST = LARGEST_NUMBER / 100  # of locations and widths: rewards stay below LARGEST_NUMBER
_ROOT = math.sqrt(2.0 * math.pi)


class Law(ABC):
    """A family of reward distributions, indexed by a location parameter.

    Examples
    --------
    >>> law = LAWS["uniform"](width=0.2)
    >>> law.quantile(np.array([0.0, 0.5]), np.array(0.4)).round(3).tolist()  # lowest reward and median of an arm at .4
    [0.3, 0.4]
    """

    #: Whether rewards lie in [0, 1] (what the privacy statements need).
    unit_interval = True
    #: What `quantile` may be given as a location: closed interval.
    locations: tuple[float, float] = (0.0, 1.0)

    def __post_init__(self) -> None:
        assert is_dataclass(self)  # a stand-in for a law has no parameters to check: it overrides this
        for field in fields(self):
            real(field.name, getattr(self, field.name), 0, WIDEST)

    @abstractmethod
    def quantile(self, u: Array, location: Array) -> Array:
        """Return the rewards for uniform samples `u` ∈ [0, 1), broadcast against `location`."""

    def mean(self, location: Array) -> Array:
        """Return the exact mean at each location."""
        return np.asarray(location, float)

    def inside(self, location: Array) -> bool:
        """Return whether all rewards at each `location` lie in [0, 1]."""
        if self.unit_interval:
            return True
        low, high = (self.quantile(np.full(location.shape, u), location) for u in (0.0, 1.0 - 2.0**-53))
        return bool((low >= 0.0).all() and (high <= 1.0).all())

    def shortfall(self, x: Array, location: float) -> Array | None:
        """Return ``E (x − X)₊`` for a reward X and x ∈ [0, 1].

        ``None``: the law has no formula for it, or rewards may leave [0, 1].
        """
        return None

    def rounding(self, location: float, g: int) -> Array | None:
        """Return the distribution, ``(g + 1,)``, of a reward times `g` after random rounding to an integer.

        ``None`` if `shortfall` returns ``None``.

        ``P(⌊Xg⌋ + Ber(Xg − ⌊Xg⌋) = j) = E (1 − |Xg − j|)₊`` for a reward X and j = 0 … g.
        """
        under = self.shortfall(np.arange(g + 1) / g, location)
        if under is None:
            return None
        # (1 − |t|)₊ is a second difference of ramps; the top cell's outer ramp ends at X ≤ 1.
        beyond = (g + 1) / g - float(self.mean(np.array(location)))
        pmf: Array = np.maximum(g * np.diff(np.concatenate([[0.0], under, [beyond]]), 2), 0.0)
        pmf /= pmf.sum()
        return pmf

    def roundings(self, location: Array, g: Array) -> Array | None:
        """Return ``(0, *rounding(location, g))`` of each pair one after the other, ``(Σ (g + 2),)``, or ``None``."""
        each = [self.rounding(*pair) for pair in zip(location.tolist(), g.tolist(), strict=True)]
        known = [np.append(0.0, pmf) for pmf in each if pmf is not None]
        return np.concatenate(known) if len(known) == len(each) else None


class Smooth(Law):
    """A reward law whose quantile function is smooth on (0, 1), so that it can be tabulated."""

    def upper(self, v: Array, location: Array) -> Array:
        """Return the quantile at ``1 − v`` without cancellation for small v."""
        raise NotImplementedError(f"{type(self).__name__} must define upper(v, location)")


class Unbounded(Law):
    """A law whose rewards may leave [0, 1], so that no privacy guarantee holds."""

    unit_interval = False
    locations = (-WIDEST, WIDEST)


@dataclass(frozen=True)
class Bernoulli(Law):
    """Bernoulli distribution: 1 with probability p, else 0.

    Examples
    --------
    >>> Bernoulli().quantile(np.array([0.2, 0.9]), np.array(0.7)).tolist()  # an arm of mean .7
    [1.0, 0.0]
    """

    def quantile(self, u: Array, location: Array) -> Array:
        """Return 1 where u < p, else 0."""
        return np.less(u, location).astype(float)

    def shortfall(self, x: Array, location: float) -> Array:
        """Return ``E (x − X)₊ = (1 − p) x``."""
        return (1 - location) * np.asarray(x)


@dataclass(frozen=True)
class Gaussian(Unbounded):
    """Normal distribution with standard deviation σ; rewards are unbounded, so no privacy guarantee holds.

    Parameters
    ----------
    sigma : float
        Standard deviation; 0.5 is the sub-Gaussian constant of a reward in [0, 1].
    """

    sigma: float = 0.5

    def quantile(self, u: Array, location: Array) -> Array:
        """Return μ + σ Φ⁻¹(u)."""
        return location + self.sigma * normal(u)


@dataclass(frozen=True)
class ClippedGaussian(Law):
    """Normal distribution clipped to [0, 1], with atoms at 0 and 1.

    Parameters
    ----------
    sigma : float
        Standard deviation before the clip (0.1 in Chowdhury & Zhou 2023).
    """

    sigma: float = 0.1

    def quantile(self, u: Array, location: Array) -> Array:
        """Return μ + σ Φ⁻¹(u), clipped to [0, 1]."""
        return np.clip(location + self.sigma * normal(u), 0.0, 1.0)

    def mean(self, location: Array) -> Array:
        """Return ``E clip(X) = ∫₀¹ P(X > x) dx``, the mean of clipped rewards; X is the reward before clipping."""
        location = np.asarray(location, float)
        under, over = _overshoot(location / self.sigma), _overshoot((1 - location) / self.sigma)
        return location + self.sigma * (under - over)

    def shortfall(self, x: Array, location: float) -> Array:
        """Return ``E (x − Z)₊ − E (−Z)₊``, where Z is the reward before clipping."""
        ramps = self.sigma * _overshoot((location - np.append(x, 0.0)) / self.sigma)
        under: Array = ramps[:-1] - ramps[-1]
        return under

    def roundings(self, location: Array, g: Array) -> Array | None:
        if type(self) is not ClippedGaussian:
            return super().roundings(location, g)
        wide = g + 2
        pmf, first = np.empty(np.add.reduce(wide)), np.empty_like(g)
        density, x, below = np.empty((3, pmf.size))
        _standardize(location, g, self.sigma, first, density, x)
        np.exp(density, out=density)
        scipy.special.ndtr(x, out=below)
        _differences(location, g, self.sigma, density, x, below, pmf)
        pmf /= np.repeat(np.add.reduceat(pmf, first), wide)  # the 0 before: a sum is to the bit that of the rest alone
        return pmf


@dataclass(frozen=True)
class TruncatedGaussian(Law):
    """Normal distribution conditioned on [0, 1].

    Parameters
    ----------
    sigma : float
        Standard deviation before truncation.
    """

    sigma: float = 0.2

    def quantile(self, u: Array, location: Array) -> Array:
        """Return μ + σ Φ⁻¹(Φ(a) + u (Φ(b) − Φ(a))), clipped to [0, 1], with a = −μ/σ and b = (1 − μ)/σ."""
        low, high = scipy.special.ndtr(-location / self.sigma), scipy.special.ndtr((1 - location) / self.sigma)
        return np.clip(location + self.sigma * normal(low + np.maximum(u, TINY) * (high - low)), 0.0, 1.0)

    def mean(self, location: Array) -> Array:
        """Return μ + σ (φ(a) − φ(b)) / (Φ(b) − Φ(a)), with a = −μ/σ and b = (1 − μ)/σ."""
        location = np.asarray(location, float)
        a, b = -location / self.sigma, (1 - location) / self.sigma
        mass: Array = scipy.special.ndtr(b) - scipy.special.ndtr(a)
        return location + self.sigma * (_phi(a) - _phi(b)) / mass


@dataclass(frozen=True)
class Beta(Smooth):
    """Beta distribution with mean μ and concentration c, Beta(μc, (1 − μ)c).

    Parameters
    ----------
    concentration : float
        c; the variance is μ(1 − μ)/(c + 1).
    """

    concentration: float = 4.0

    def quantile(self, u: Array, location: Array) -> Array:
        """Return the regularized incomplete beta function's inverse at `u`, or the mean where the mean is 0 or 1."""
        return self._inverse(scipy.special.betaincinv, u, location)

    def upper(self, v: Array, location: Array) -> Array:
        """Return the inverse of the complement of the regularized incomplete beta function."""
        return self._inverse(scipy.special.betainccinv, v, location)

    def _inverse(self, inverse: Callable[..., Array], u: Array, location: Array) -> Array:
        location = np.asarray(location, float)
        inner = np.clip(location, 1e-12, 1 - 1e-12)
        x = inverse(inner * self.concentration, (1 - inner) * self.concentration, u)
        return np.where(location <= 0, 0.0, np.where(location >= 1, 1.0, x))

    def shortfall(self, x: Array, location: float) -> Array:
        """Return ``x I_x(a, b) − μ I_x(a + 1, b)``, or its limit for a mean of 0 or 1."""
        x = np.asarray(x, float)
        if not 0 < location < 1:
            return np.maximum(x - location, 0.0)
        a, b = location * self.concentration, (1 - location) * self.concentration
        under: Array = x * scipy.special.betainc(a, b, x) - location * scipy.special.betainc(a + 1, b, x)
        return under


@dataclass(frozen=True)
class Uniform(Unbounded):
    """Uniform distribution on an interval centred at the location.

    Parameters
    ----------
    width : float
        Length of the interval; with the default 1 only the location ½ stays in [0, 1].
    """

    width: float = 1.0

    def quantile(self, u: Array, location: Array) -> Array:
        """Return μ + w (u − ½)."""
        return location + self.width * (np.asarray(u) - 0.5)


@dataclass(frozen=True)
class Constant(Unbounded):
    """Constant reward, equal to the location; it can model a worst-case contamination."""

    def quantile(self, u: Array, location: Array) -> Array:
        """Return the location for every u."""
        return np.broadcast_to(np.asarray(location, float), np.broadcast_shapes(np.shape(u), np.shape(location)))


@dataclass(frozen=True)
class Stable(Unbounded):
    """Symmetric α-stable distribution around its location, with infinite variance.

    For s = `scale`, reward minus location has the characteristic function ``exp(−|st|^α)``.

    Parameters
    ----------
    alpha : float
        α in (1, 2), so that there is a mean.
    scale : float
        s.
    """

    alpha: float = 1.9
    scale: float = 1.0

    def __post_init__(self) -> None:
        real("alpha", self.alpha, 1, 2)
        real("scale", self.scale, 0, WIDEST)

    def quantile(self, u: Array, location: Array) -> Array:
        """Return μ + s q(u), where q is the standard quantile function."""
        return location + self.scale * stable_quantile(u, self.alpha)


@lean
def _standardize(location, g, sigma, first, exponent, x):  # type: ignore[no-untyped-def]
    """Write ``(j/g − μ)/σ`` for j = 0 … g, and ``(μ − 1)/σ``, to `x` for each μ and g; write −x²/2 to `exponent`.

    Where those of each pair begin is written to `first`.
    """
    at = 0
    for i in range(g.size):
        first[i] = at
        for j in range(g[i] + 2):
            x[at] = ((j / g[i] - location[i]) if j <= g[i] else (location[i] - 1.0)) / sigma
            exponent[at] = -0.5 * (x[at] * x[at])
            at += 1


@inlined
def _ramp(density, x, below, i):  # type: ignore[no-untyped-def]
    """Return ``E (Z + x[i])₊`` of a standard normal Z, given ``√(2π) φ(x)`` as `density` and Φ(x) as `below`."""
    return density[i] / _ROOT + x[i] * below[i]


@lean
def _differences(location, g, sigma, density, x, below, pmf):  # type: ignore[no-untyped-def]
    """Write 0 and the second differences of each pair's shortfalls to `pmf`."""
    at = 0
    for i in range(g.size):
        last, none = at + g[i] + 1, sigma * _ramp(density, x, below, at)
        mean = location[i] + sigma * (_ramp(density, x, below, at) - _ramp(density, x, below, last))
        before, under = 0.0, 0.0
        for j in range(g[i] + 1):
            after = sigma * _ramp(density, x, below, at + j + 1) - none if j < g[i] else (g[i] + 1) / g[i] - mean
            pmf[at + j + 1] = max(g[i] * (after - under - (under - before)), 0.0)
            before, under = under, after
        pmf[at] = 0.0
        at = last + 1


def _phi(x: Array) -> Array:
    density: Array = np.exp(-0.5 * np.square(x)) / _ROOT
    return density


def _overshoot(x: Array) -> Array:
    # E (Z − x)₊ for standard normal Z
    mean: Array = _phi(x) - x * scipy.special.ndtr(-x)
    return mean


#: The laws by name.
LAWS: dict[str, type[Law]] = {
    "bernoulli": Bernoulli,
    "gaussian": Gaussian,
    "clipped-gaussian": ClippedGaussian,
    "truncated-gaussian": TruncatedGaussian,
    "beta": Beta,
    "uniform": Uniform,
    "stable": Stable,
    "constant": Constant,
}


@dataclass(frozen=True)
class UniformMeans:
    """Distribution of arm means, which every run draws uniformly from [low, high].

    Parameters
    ----------
    low, high : float
        In the units of a reward; low < high.

    Examples
    --------
    >>> import hushbandits as hb
    >>> env = hb.make_batched("CoopNetwork-v0", runs=2, n_arms=3, means=UniformMeans(0.2, 0.8))
    >>> obs = env.reset(hb.spawn_seeds(0, 2))
    >>> env.means.shape, bool((env.means[0] != env.means[1]).any())
    ((2, 3), True)
    """

    low: float = 0.0
    high: float = 1.0

    def __post_init__(self) -> None:
        real("high", self.high, real("low", self.low))


class RepeatingMeans(tuple[float, ...]):
    """Default arm means of an env, cut to the number of arms or extended by copies of the last mean.

    Examples
    --------
    >>> usual = RepeatingMeans((0.7, 0.5, 0.1))
    >>> usual.of(2), usual.of(5)
    ((0.7, 0.5), (0.7, 0.5, 0.1, 0.1, 0.1))
    """

    __slots__ = ()

    def of(self, n_arms: int) -> tuple[float, ...]:
        """Return the means of `n_arms` arms."""
        return (*self[:n_arms], *self[-1:] * (n_arms - len(self)))
