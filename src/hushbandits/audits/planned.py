"""Planned laws of noise, on grids or continuous, and the joint privacy loss of several draws."""

import copy
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from scipy import fft

from hushbandits.core import Array
from hushbandits.privacy.noise import NoiseLaw
from hushbandits.wrappers.mechanism import Mechanism

#: Grid points of a law.
_WIDEST = 1 << 20


@dataclass(frozen=True)
class OnGrid:
    """A discrete law of noise on consecutive integers, which count steps of a grid.

    Parameters
    ----------
    pmf : (m,) array
    first : int
        First integer of the support.
    modulus : int
        Noise is known only mod m; 0: it is known exactly.
    per : int
        Grid steps per unit reward.
    mean : float
        Mean that the analyzer subtracts.
    """

    pmf: Array
    first: int
    modulus: int
    per: int
    mean: float = 0.0
    alike = 0.0

    def steps(self, noise: Array) -> Array:
        """Return the noise that users added, in grid steps, given the sum's error `noise`; NaN outside the support."""
        steps = noise * self.per + self.mean
        whole = np.rint(steps)
        k = (whole - self.first) % self.modulus if self.modulus else whole - self.first
        return np.where((np.abs(steps - whole) < 1e-6) & (k >= 0) & (k < len(self.pmf)), k + self.first, np.nan)

    def uniform(self, noise: Array, stream: Array) -> Array:
        """Return ``F(k − 1) + u p(k)`` for noise k and u = `stream`, or 1 outside the support.

        If k has this law, the result is uniform.
        """
        k = self.steps(noise) - self.first
        at = np.nan_to_num(k).astype(np.int64)
        below = np.append(0.0, np.cumsum(self.pmf))
        return np.where(np.isnan(k), 1.0, np.minimum(below[at] + stream * self.pmf[at], 1.0))

    def silent(self, noise: Array) -> Array:
        """Return a bool per draw: whether the draw contains no noise."""
        return self.steps(noise) == 0

    @property
    def at_zero(self) -> float:
        """Return the probability that the noise is 0."""
        return float(self.pmf[-self.first]) if 0 <= -self.first < len(self.pmf) else 0.0

    def known(self, far: Array) -> Array:
        """Return the largest probability of a correct guess between two sums at distance `far`, given the noisy sum."""
        steps, where = np.unique(np.rint(far * self.per).astype(np.int64), return_inverse=True)
        both = [np.maximum(np.pad(self.pmf, (k, 0)), np.pad(self.pmf, (0, k))).sum() for k in steps.tolist()]
        return np.minimum(np.array(both)[where.reshape(far.shape)] / 2, 1.0)

    def multiples(self, number: int) -> float:
        """Return the probability that the noise is a multiple of `number` steps."""
        return float(self.pmf[-self.first % number :: number].sum())


@dataclass(frozen=True)
class Continuous:
    """A continuous law, given by its distribution function and its scale."""

    cdf: Callable[[Array], Array]
    scale: float = 1.0
    #: Probability that correct noise is 0 after rounding.
    at_zero = 1e-3

    @property
    def alike(self) -> float:
        """Return the distance below which two uniforms count as equal, because sums have rounding errors."""
        return 1e-13 * max(1.0, 4.0 / self.scale)

    def uniform(self, noise: Array, stream: Array) -> Array:
        """Return the uniforms ``F(x)`` of the noise."""
        return self.cdf(noise)

    def silent(self, noise: Array) -> Array:
        """Return a bool per draw: whether the draw is 0, up to the rounding error of sums of rewards."""
        return np.abs(noise) < 1e-12

    def known(self, far: Array) -> Array:
        """Return the largest probability of a correct guess between two sums at distance `far`, for a unimodal law."""
        return self.cdf(far / 2)


def narrowed(law: NoiseLaw, times: float) -> NoiseLaw | None:
    """Return `law` with its scale divided by `times`, or ``None`` if `law` has no scale parameter."""
    if times == 1.0:
        return law
    scales = {name: getattr(law, name) / times**k for name, k in (("b", 1), ("sigma2", 2)) if hasattr(law, name)}
    narrow = copy.copy(law)
    vars(narrow).pop("half", None)
    vars(narrow).update(scales)
    return narrow if scales else None


def planned_law(mechanism: Mechanism, n: int, survivors: int, times: float = 1.0) -> OnGrid | Continuous | None:
    """Return the planned law of the error of a block's decoded sum, or ``None`` if the law is unknown.

    `times`: for noise that is so many times narrower than planned; ``None`` if it has no scale.
    """
    plan, release = mechanism.planned(n), mechanism.release(n, survivors)
    if release is None:
        return OnGrid(np.ones(1), 0, plan.modulus, plan.g) if times == 1.0 else None
    if (law := narrowed(release.law, times)) is None:
        return None
    draws, m, g, wrong = release.total, release.modulus, release.shift, release.wrong
    if not law.integer:
        return Continuous(law.cdf, math.sqrt(law.variance / 2))
    if (line := law.line(draws)) is not None:
        return OnGrid(line, 0, 0, g, survivors * law.mean)
    try:
        # the whole circle, or the range that noise can reach
        near = m if wrong else min(m, 2 * math.ceil(45 * math.sqrt(draws * law.variance) + g) + 65)
        if near > _WIDEST:
            return None
        pmf = (1 - wrong) * np.roll(_on_circle(law, draws, near), near // 2) + wrong / near
    except NotImplementedError:
        return None
    return OnGrid(pmf, -(near // 2), m, g)


def log_pair(law: NoiseLaw, draws: int, shift: int) -> tuple[Array, Array]:
    """Return the log probabilities of the sum of `draws` draws from `law`, and of this sum plus `shift`.

    Points are left out, or lifted to 1e-12 of the largest, only where a divergence becomes smaller (or larger by
    1e-9 at most): a refutation stays valid.
    """
    if not law.integer:  # in cells, which only lose information
        cells = max(1, math.ceil(40 / math.sqrt(law.variance)))
        far = math.ceil(30 * math.sqrt(law.variance)) * cells
        pmf, shift = np.diff(law.cdf(np.arange(-far, far + 1) / cells)), shift * cells
    elif (line := law.line(draws)) is not None:
        pmf = line
    else:
        m = 2 * (math.ceil(30 * math.sqrt(draws * law.variance)) + shift) + 1
        pmf = np.roll(_on_circle(law, draws, m), m // 2)
    p, q = pmf[shift:], pmf[:-shift]
    least = 1e-12 * pmf.max()
    kept = (p > least) | (q > least)
    return np.log(np.maximum(p[kept], least)), np.log(np.maximum(q[kept], least))


@lru_cache(maxsize=2048)
def _on_circle(law: NoiseLaw, draws: int, m: int) -> Array:
    return np.maximum(law.wrapped_pmf(draws, m), 0.0)


def composed_delta(pairs: Sequence[tuple[Array, Array]], epsilon: float, step: float = 2e-4) -> float:
    """Return a lower bound on the δ at `epsilon` of several releases together, given a pair of log laws per release.

    Losses ``ln p/q`` are rounded down to a grid and their laws convolved, so that a refutation is valid.

    Examples
    --------
    >>> flip = np.log([0.75, 0.25]), np.log([0.25, 0.75])
    >>> round(composed_delta([flip, flip], 0.0), 3)  # total variation of two coins
    0.5
    """
    worst = 0.0
    for sides in (pairs, [pair[::-1] for pair in pairs]):
        losses = [(np.floor((p - q) / step).astype(np.int64), np.exp(p)) for p, q in sides]
        low = sum(int(at.min()) for at, _ in losses)
        size = fft.next_fast_len(sum(int(at.max() - at.min()) for at, _ in losses) + 1, True)
        power = np.ones(size // 2 + 1, complex)
        for at, weight in losses:
            power *= np.fft.rfft(np.bincount(at - at.min(), weights=weight, minlength=size), size)
        total = np.maximum(np.fft.irfft(power, size), 0.0)
        x = (low + np.arange(size)) * step
        worst = max(worst, float((total * np.maximum(-np.expm1(np.minimum(epsilon - x, 0.0)), 0.0)).sum()))
    return worst
