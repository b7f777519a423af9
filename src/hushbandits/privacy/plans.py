"""Parameters of a private block of n users: precision g, tail bound τ, modulus m, and noise.

One function per row of the table of Chowdhury & Zhou 2023 (algorithm 1; theorems 1 to 6).  `sure` of the n users, by
default all, are sure to take part; noise is calibrated to them, so that losing the others costs no privacy.
"""

import math
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache, partial
from typing import ClassVar

import numpy as np
import scipy

from hushbandits.core import Array, divisor, integer, jit, real
from hushbandits.privacy.divergence import binomial_profile, delta_at, epsilon_at, law_profile, until
from hushbandits.privacy.noise import NoiseLaw, Profile, tail_quantile
from hushbandits.privacy.samplers import DiscreteGaussian, DiscreteLaplace, PolyaDifference, Skellam

_SLACK = 1e-12  # a quotient within rounding of a whole number is that number: ⌈0.1·√900⌉ is 3
_END = 1e-13  # δ of a noise below which it adds nothing
_kept = lru_cache(maxsize=4096, typed=True)  # an env is built anew, and asks for the same plans; 1 is not 1.0


@dataclass(frozen=True)
class Plan:
    """Parameters of one block: users, precision, tail bound and noise.

    Parameters
    ----------
    n : int
        Users planned.
    g : int
        Precision: a reward x becomes an integer near xg; the sensitivity of the sum.
    tau : int
        τ: the block's noise exceeds it with probability at most p.
    noise : NoiseLaw or None
        Each user's own noise; ``None``: none.
    """

    n: int
    g: int
    tau: int
    noise: NoiseLaw | None
    #: Whether a sum beyond the modulus comes back at the other end.
    wraps: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if self.modulus >= 1 << 62:
            raise ValueError(f"n={self.n} and g={self.g} need the modulus {self.modulus:.3g}, which must be below 2^62")

    @cached_property
    def modulus(self) -> int:
        """Modulus of the sum, ``m = ng + 2τ + 1``."""
        return self.n * self.g + 2 * self.tau + 1

    @cached_property
    def bits(self) -> int:
        """Length of a message in bits, ``⌈log₂ m⌉``."""
        return (self.modulus - 1).bit_length()

    def decode(self, y: int, survivors: int) -> float:
        """Return the sum of rewards that the analyzer decodes from `y`.

        It is ``(y − m)/g`` if ``y > g·survivors + τ`` (the modular sum was negative), else ``y/g``.
        """
        return ((y - self.modulus) if y > survivors * self.g + self.tau else y) / self.g


@jit
def decode(y, left, g, tau, modulus, z):
    """Write the decoded sums of all blocks with survivors to `z`, as `Plan.decode` does; all arrays are ``(R, M)``."""
    for r in range(y.shape[0]):
        for m in range(y.shape[1]):
            if left[r, m] > 0:
                sum_ = y[r, m] % modulus[r, m]
                under = modulus[r, m] if sum_ > left[r, m] * g[r, m] + tau[r, m] else 0
                z[r, m] = (sum_ - under) / g[r, m]


@dataclass(frozen=True)
class Release:
    """What an observer learns from a block: a noisy sum, and further leakage.

    Parameters
    ----------
    law : NoiseLaw
        Of one draw.
    draws : int
        How many draws hide a user from the observer.
    total : int
        How many are in the decoded sum.
    shift : int
        How far one user moves the sum, which is also the steps of its grid per reward.
    modulus : int
        The sum is known modulo this; 0: it is known.
    epsilon, far : float
        What comes on top of the noise: a further ε, or a view within the statistical distance `far` of this one.
    wrong : float
        How often the sum is a uniform number instead.
    """

    law: NoiseLaw
    draws: int
    total: int
    shift: int
    modulus: int
    epsilon: float = 0.0
    far: float = 0.0
    wrong: float = 0.0


@lru_cache(maxsize=256)  # an env is built anew, and asks for the same releases
def profile_of(release: Release) -> Profile:
    """Return a release's privacy profile, or an upper bound on it."""
    noise = law_profile(release.law, release.draws, release.shift)
    end = release.epsilon + epsilon_at(noise, _END) if release.far else math.inf
    return partial(_on_top, release, end)


def _on_top(release: Release, end: float, x: Array) -> Array:
    # An ε-DP view on top adds up, exactly so at its end.  Past `end`, where only `far` is left, δ(x) ≤ δ(end).
    noise, epsilon, far = law_profile(release.law, release.draws, release.shift), release.epsilon, release.far
    x = np.minimum(x, min(end, 700.0))
    delta = np.where(x < epsilon, 1.0, noise(np.maximum(x - epsilon, 0.0)))
    return np.minimum(delta + (1 + np.exp(x)) * far, 1.0)


def confidence_level(confidence: object, horizon: int) -> float:
    """Return `confidence` as a float in (0, 1), or ``1/max(horizon, 2)`` for ``"1/T"``.

    Any other value raises ``ValueError``.
    """
    if isinstance(confidence, str) and confidence == "1/T":
        return 1.0 / max(horizon, 2)
    if isinstance(confidence, str):
        raise ValueError(f'confidence={confidence!r} must lie in (0, 1) or be "1/T"')
    return divisor("confidence", confidence, 1)


def share_or_count(name: str, value: object) -> float:
    """Return `value` if it is a share (a float in (0, 1]) or a count (an int ≥ 1), else raise ``ValueError``."""
    return real(name, value, 0, 1, closed="high") if isinstance(value, float) else integer(name, value, 1)


def ceiling(x: float) -> int:
    """Return ``⌈x⌉``, or the nearest integer if x equals it up to rounding."""
    return math.ceil(x * (1 - _SLACK))


def precision(n: int, epsilon: float, scale: float = 1.0) -> int:
    """Return the precision ``g = ⌈sε√n⌉`` with s = `scale`."""
    return ceiling(scale * epsilon * math.sqrt(n))


def _plan(n: int, g: int, sure: int, noise: NoiseLaw, tau: float, p: float) -> Plan:
    """Return a plan; its tail bound is `tau` if `noise` is calibrated to all n users, else the `tail_quantile` at p."""
    return Plan(n, g, ceiling(tau) if sure == n else tail_quantile(noise, n, p), noise)


@_kept
def distributed_pure(n: int, epsilon: float, p: float, sure: int | None = None) -> Plan:
    """Return the plan of Chowdhury & Zhou 2023, theorem 1, with Pólya noise.

    Noise is ``γ⁺ − γ⁻``, each Pólya(1/n, e^(−ε/g)); ``g = ⌈ε√n⌉``, ``τ = ⌈(g/ε) ln(2/p)⌉``.

    The users' noise sums to Lap_ℤ(g/ε).  With t = `sure` users it is Pólya(1/t, ·), and τ the 1 − p quantile of
    what n of them sum to.
    """
    g, t = precision(n, epsilon), n if sure is None else integer("sure", sure, 1, n)
    return _plan(n, g, t, PolyaDifference(1 / t, g / epsilon), g / epsilon * math.log(2 / p), p)


@_kept
def distributed_renyi(n: int, epsilon: float, p: float, scale: float, sure: int | None = None) -> Plan:
    """Return the plan of Chowdhury & Zhou 2023, theorem 2, with Skellam noise.

    Noise is Skellam(0, g²/(nε²)); ``g = ⌈sε√n⌉``, ``τ = ⌈(2g/ε)√ln(2/p) + √2 ln(2/p)⌉``.
    """
    g, t, log = precision(n, epsilon, scale), n if sure is None else integer("sure", sure, 1, n), math.log(2 / p)
    tau = 2 * g / epsilon * math.sqrt(log) + math.sqrt(2) * log
    return _plan(n, g, t, Skellam(g * g / (t * epsilon**2)), tau, p)


@_kept
def distributed_concentrated(n: int, epsilon: float, p: float, scale: float, sure: int | None = None) -> Plan:
    """Return the plan of Chowdhury & Zhou 2023, theorem 4, with discrete Gaussian noise.

    Noise is N_ℤ(0, g²/(nε²)); ``g = ⌈sε√n⌉``, ``τ = ⌈(g/ε)√(2 ln(2/p))⌉``.
    """
    g, t = precision(n, epsilon, scale), n if sure is None else integer("sure", sure, 1, n)
    tau = g / epsilon * math.sqrt(2 * math.log(2 / p))
    return _plan(n, g, t, DiscreteGaussian(g * g / (t * epsilon**2)), tau, p)


@_kept
def central_pure(n: int, epsilon: float, p: float) -> Plan:
    """Return the plan of Chowdhury & Zhou 2023, theorem 5, in which only the analyzer adds noise, Lap_ℤ(g/ε).

    g and τ are those of `distributed_pure`.
    """
    return replace(distributed_pure(n, epsilon, p), noise=None)


@_kept
def local_pure(n: int, epsilon: float, p: float) -> Plan:
    """Return the plan of Chowdhury & Zhou 2023, theorem 6, in which every user adds Lap_ℤ(g/ε).

    ``g = ⌈ε√n⌉``; τ is the total noise's `tail_quantile` at p.
    """
    g = precision(n, epsilon)
    noise = DiscreteLaplace(g / epsilon)
    return Plan(n, g, tail_quantile(noise, n, p), noise)


# -- noise bits of a binary sum ----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class ExtraBits(NoiseLaw):
    """Noise of k extra bits per user, each of which is 1 with probability q; the analyzer subtracts their mean."""

    k: int
    q: float

    def draw(self, rng: np.random.Generator, size: int) -> Array:
        return rng.binomial(self.k, self.q, size)

    def total(self, rng: np.random.Generator, n: int) -> float:
        return int(rng.binomial(n * self.k, self.q))

    @property
    def mean(self) -> float:  # type: ignore[override]
        return self.k * self.q

    @property
    def variance(self) -> float:
        return self.k * self.q * (1 - self.q)

    def line(self, n: int) -> Array:
        return scipy.stats.binom.pmf(np.arange(n * self.k + 1), n * self.k, self.q)

    def profile(self, n: int, shift: int) -> Profile | None:
        return binomial_profile(n * self.k, self.q) if shift == 1 else None


def binomial_delta(trials: int, q: float, epsilon: float) -> float:
    """Return the exact δ at ε of Bin(trials, q) noise on a sum of sensitivity 1."""
    return delta_at(binomial_profile(trials, q), epsilon)


def _bits_for(n: int, tau: float) -> ExtraBits:
    # A user's own fair bits where one each is not enough, else at most one bit each.
    return ExtraBits(math.ceil(tau / n), 0.5) if n <= tau else ExtraBits(1, tau / (2 * n))


@_kept
def extra_bits(n: int, epsilon: float, delta: float, calibrate: str = "paper") -> ExtraBits:
    """Return the noise bits of the binary-sum protocol for a block of n users (Tenenbaum et al. 2021).

    With noise τ: if n ≤ τ everyone adds ``⌈τ/n⌉`` fair bits, else one bit Ber(τ/(2n)).

    * ``"paper"``: ``τ = 96 ln(2/δ)/ε²`` as printed, where that is (ε, δ)-DP by its exact divergence.  From ε ≈ 7 on
      it is not (at ε = 10 and δ = 10⁻⁶ it gives 9·10⁻⁴); there it is as ``"exact"``.
    * ``"exact"``: the smallest τ whose noise is (ε, δ)-DP by its exact divergence, 10 to 50 times less at ε ≤ 1, 1.5
      to 3 times at ε = 5.

    Whatever is returned has been checked against the exact divergence.
    """

    def short(tau: float) -> bool:
        bits = _bits_for(n, tau)
        return binomial_delta(n * bits.k, bits.q, epsilon) > delta

    printed = 96 * math.log(2 / delta) / epsilon**2
    if calibrate == "paper" and not short(printed):
        return _bits_for(n, printed)
    tau = until(short, printed, 2.0**50, 0.0, 1e-4)[1]
    if math.isinf(tau):
        raise ValueError(f"epsilon={epsilon:g}, delta={delta:g}: no number of noise bits gives (ε, δ)-DP for n={n}")
    return _bits_for(n, tau)
