"""The law of what an observer sees of a block, worked out from a mechanism's plan and from nothing else of it."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from scipy import stats

from hushbandits.core.ground.types import Array
from hushbandits.privacy.divergence import Profile, binomial_profile, laplace_profile, law_profile, pure_profile
from hushbandits.privacy.pmf import wrapped_sum
from hushbandits.privacy.samplers import Laplace, NoiseLaw, PolyaDifference
from hushbandits.privacy.shuffling import SMALLEST, ExtraBits, shares_needed, shares_security
from hushbandits.wrappers.central_dp import CentralLaplace
from hushbandits.wrappers.mechanism import Mechanism
from hushbandits.wrappers.shuffle_dp import ShuffledLaplace

__all__ = ["Continuous", "OnGrid", "log_pair", "noise_of", "planned_law", "profile"]

#: Points of a law that draws are held against.
_WIDEST = 1 << 20


def noise_of(mechanism: Mechanism, n: int, survivors: int) -> tuple[NoiseLaw | ExtraBits | None, int]:
    """A block's noise: the law of one draw, and how many draws hide a user from the observer."""
    if isinstance(mechanism, CentralLaplace):
        return mechanism.added(n), 1
    return mechanism.planned(n).noise, 1 if mechanism.hidden_by == "noise" else survivors


def profile(mechanism: Mechanism, n: int, survivors: int) -> Profile | None:
    """Exact divergence of a block by its plan, whatever `Mechanism.seen` says; ``None``: a law without transform."""
    law, draws = noise_of(mechanism, n, survivors)
    if law is None:
        return pure_profile(math.inf)
    if isinstance(law, Laplace):
        return laplace_profile(1 / law.b)
    if isinstance(law, ExtraBits):
        return binomial_profile(draws * law.k, law.q)
    plan = mechanism.planned(n)
    if isinstance(law, PolyaDifference) and draws * law.r < 1 - 1e-9:  # it peaks at 0: P(0)/P(g) is its worst ratio
        x = np.arange(math.ceil(80 * law.b) + plan.g + 1)
        log_p = stats.nbinom.logpmf(x, draws * law.r, -math.expm1(-1 / law.b))
        least = np.logaddexp.reduce(log_p[plan.g :] + log_p[: len(x) - plan.g])
        noise: Profile = pure_profile(float(np.logaddexp.reduce(2 * log_p) - least))
        return _with_sum(mechanism, n, survivors, noise)
    try:
        noise = law_profile(law, draws, plan.g, plan.modulus)
    except NotImplementedError:
        return None
    return _with_sum(mechanism, n, survivors, noise)


def _with_sum(mechanism: Mechanism, n: int, survivors: int, noise: Profile) -> Profile:
    """The noise, and what a shuffled sum gives away on top of it."""
    if not isinstance(mechanism, ShuffledLaplace):
        return noise
    plan = mechanism.planned(n)
    if mechanism.shuffle == "pure":  # the relaxed secure aggregation, on either neighbour
        spent = mechanism.epsilon / 2
        return lambda x: np.where(x < spent, 1.0, noise(np.maximum(x - spent, 0.0)))
    k = shares_needed(max(SMALLEST, mechanism.sure(n)), plan.modulus, mechanism.security)
    far = 2.0 ** -min(mechanism.security, shares_security(k, survivors, plan.modulus))
    return lambda x: np.minimum(noise(x) + (1 + np.exp(np.minimum(x, 700.0))) * far, 1.0)


def log_pair(mechanism: Mechanism, n: int, survivors: int) -> tuple[Array, Array]:
    """Logarithms of the laws of two neighbouring views, on the outcomes that are resolved.

    What is left out, and what is lifted to 1e-12 of the largest, makes a divergence smaller (or larger by 1e-9): what
    it refutes is refuted.
    """
    law, draws = noise_of(mechanism, n, survivors)
    if law is None:
        raise NotImplementedError("without noise two views have no outcome in common")
    if isinstance(law, Laplace):  # in cells, which can only hide more
        edges = np.linspace(-30, 31, 2441)
        pmf, shift = np.diff(stats.laplace(scale=law.b).cdf(edges)), 40
    elif isinstance(law, ExtraBits):
        pmf, shift = stats.binom.pmf(np.arange(draws * law.k + 1), draws * law.k, law.q), 1
    else:
        plan, spread = mechanism.planned(n), math.sqrt(draws * law.variance)
        m = 2 * (math.ceil(30 * spread) + plan.g) + 1
        pmf, shift = np.roll(_on_circle(law, draws, m), m // 2), plan.g
    p, q = pmf[shift:], pmf[:-shift]
    least = 1e-12 * pmf.max()
    kept = (p > least) | (q > least)
    return np.log(np.maximum(p[kept], least)), np.log(np.maximum(q[kept], least))


@lru_cache(maxsize=2048)
def _on_circle(law: NoiseLaw, draws: int, m: int) -> Array:
    try:
        if not hasattr(law, "sigma2") or not hasattr(law, "_support"):
            return np.maximum(wrapped_sum(law.cf, draws, m), 0.0)
    except NotImplementedError:
        return law.wrapped_pmf(draws, m)
    x, p = law._support()  # by its own probabilities: a transform by series would take far longer
    return np.maximum(np.fft.irfft(np.fft.rfft(np.bincount(x % m, weights=p, minlength=m)) ** draws, m), 0.0)


@dataclass(frozen=True)
class OnGrid:
    """A law on consecutive integers.

    Parameters
    ----------
    pmf : (m,) array
    first : int
        Where it begins.
    modulus : int
        Noise is known mod m only; 0: it is known.
    per : int
        Steps of the grid per unit reward.
    mean : float
        What the analyzer subtracts.
    """

    pmf: Array
    first: int
    modulus: int
    per: int
    mean: float = 0.0

    def code(self, noise: Array) -> Array:
        """Steps of the grid, as the law counts them; NaN where it is not on the grid."""
        steps = noise * self.per + self.mean
        whole = np.rint(steps)
        k = (whole - self.first) % self.modulus if self.modulus else whole - self.first
        return np.where((np.abs(steps - whole) < 1e-6) & (k >= 0) & (k < len(self.pmf)), k, np.nan)

    def uniform(self, noise: Array, luck: Array) -> Array:
        """Noise as uniforms, ``F(k − 1) + luck·p(k)``; an impossible value is a 1."""
        k = self.code(noise)
        at = np.nan_to_num(k).astype(np.int64)
        below = np.append(0.0, np.cumsum(self.pmf))
        return np.where(np.isnan(k), 1.0, np.minimum(below[at] + luck * self.pmf[at], 1.0))

    def silent(self, noise: Array) -> Array:
        """Which are those of nobody adding anything."""
        return self.code(noise) == self._none

    @property
    def _none(self) -> int:
        return 0 if self.mean else -self.first

    @property
    def at_zero(self) -> float:
        """Probability that nobody adds anything, or that it cancels."""
        return float(self.pmf[self._none]) if self._none < len(self.pmf) else 0.0

    def multiples(self, number: int) -> float:
        """Probability that `code` is a multiple of a number."""
        return float(self.pmf[::number].sum())

    alike = 0.0


@dataclass(frozen=True)
class Continuous:
    """A law of the reals by its distribution function, and its scale."""

    cdf: Callable[[Array], Array]
    scale: float = 1.0
    at_zero = 0.0

    @property
    def alike(self) -> float:
        """How near two uniforms never come by chance: a few times what rounding a sum of rewards does."""
        return 1e-13 * max(1.0, 4.0 / self.scale)

    def uniform(self, noise: Array, luck: Array) -> Array:
        """``F(x)``."""
        return self.cdf(noise)

    def silent(self, noise: Array) -> Array:
        """Zeros, up to what rounding leaves when rewards are added up."""
        return np.abs(noise) < 1e-12


def planned_law(mechanism: Mechanism, n: int, survivors: int) -> OnGrid | Continuous | None:
    """The law that the decoded sum of a block has around the truth; ``None``: no law to hold it against."""
    law, draws = noise_of(mechanism, n, survivors)
    if mechanism.hidden_by == "noise":
        draws = survivors
    if isinstance(law, Laplace):
        return Continuous(stats.laplace(scale=law.b).cdf, law.b)
    if isinstance(law, ExtraBits):
        bits = draws * law.k
        return OnGrid(stats.binom.pmf(np.arange(bits + 1), bits, law.q), 0, 0, 1, survivors * law.mean)
    plan = mechanism.planned(n)
    m = plan.modulus
    if law is None:
        return OnGrid(np.ones(1), 0, m, plan.g)
    try:
        # all of the circle, or as far as noise ever gets
        wrong = _wrong(mechanism)
        near = m if wrong else min(m, 2 * math.ceil(45 * math.sqrt(draws * law.variance) + plan.g) + 65)
        if near > _WIDEST:
            return None
        pmf = (1 - wrong) * np.roll(_on_circle(law, draws, near), near // 2) + wrong / near
        return OnGrid(pmf, -(near // 2), m, plan.g)
    except NotImplementedError:
        return _by_modulus(law, draws, m, plan.g)


def _wrong(mechanism: Mechanism) -> float:
    """How often a relaxed secure aggregation answers with a uniform number: q̂, which theorem 3 takes for p as well."""
    return mechanism._p if isinstance(mechanism, ShuffledLaplace) and mechanism.shuffle == "pure" else 0.0


def _by_modulus(law: NoiseLaw, draws: int, m: int, g: int) -> OnGrid | None:
    """A law that knows itself on its own circle alone."""
    try:
        return OnGrid(np.roll(_on_circle(law, draws, m), m // 2), -(m // 2), m, g)
    except NotImplementedError:
        return None
