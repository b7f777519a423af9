"""How δ falls with ε: exact divergences of what an observer sees, and of many such views together.

A *profile* maps an array of ε ≥ 0 to the smallest δ for which a mechanism is (ε, δ)-DP: the larger hockey-stick
divergence of its two neighbours.  It says all that there is to say about one use; `composed_epsilon` says what k uses
cost, and the pointwise largest of several profiles bounds any mixture of them (Zhu, Dong & Wang 2022).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache, partial

import numpy as np
from scipy import fft, stats

from hushbandits.core.ground.types import Array
from hushbandits.core.ground.validate import integer, real
from hushbandits.core.guarantee import RESOLVED
from hushbandits.privacy.noise import NoiseLaw, Profile, chernoff

_LOST = 1e-15  # mass that may fall off the end of a law's array; it counts towards δ
_SLACK = 1e-12  # added to a composed δ, for the error of the transforms and the mass that wraps
_POINTS = 1 << 20
_WIDEST = 1 << 22  # points of a law that is looked at


def pure_profile(epsilon: float, delta: float = 0.0) -> Profile:
    """Of any (ε, δ)-DP mechanism, tight for randomized response: ``δ + (1 − δ)(e^ε − e^x)⁺/(1 + e^ε)``.

    Source: Kairouz, Oh & Viswanath 2015.
    """
    return partial(_pure, epsilon, delta)


def _pure(epsilon: float, delta: float, x: Array) -> Array:
    if math.isinf(epsilon):
        return np.ones_like(x)
    return delta + (1 - delta) * np.maximum(-np.expm1(np.minimum(x - epsilon, 0.0)), 0.0) / (1 + math.exp(-epsilon))


def laplace_profile(epsilon: float) -> Profile:
    """Of continuous Laplace noise of scale 1/ε on a sum of sensitivity 1: ``(1 − e^((x − ε)/2))⁺``.

    Source: Balle, Barthe & Gaboardi 2018, theorem 3.
    """
    return lambda x: np.maximum(-np.expm1(np.minimum(x - epsilon, 0.0) / 2), 0.0)


def gaussian_profile(mu: float) -> Profile:
    """Of Gaussian noise of deviation σ on a sum of sensitivity Δ = μσ: ``Φ(μ/2 − x/μ) − e^x Φ(−μ/2 − x/μ)``.

    Source: Balle & Wang 2018, theorem 8.
    """
    return lambda x: stats.norm.cdf(mu / 2 - x / mu) - np.exp(x + stats.norm.logcdf(-mu / 2 - x / mu))


def discrete_laplace_profile(b: float, shift: int) -> Profile:
    """Of Lap_ℤ(b) on an integer sum of sensitivity `shift`."""
    reach = math.ceil(40 * b) + shift
    if reach > _WIDEST:
        return pure_profile(shift / b)
    return _shifted(math.log(math.tanh(1 / (2 * b))) - np.abs(np.arange(-reach, reach + 1)) / b, shift, _LOST)


class _Pair:
    """Divergence of two laws, given by logarithms, in the worse direction."""

    def __init__(self, log_p: Array, log_q: Array, lost: float = 0.0):
        self.lost = lost
        self.sides = [_tails(log_p, log_q), _tails(log_q, log_p)]

    def __call__(self, x: Array) -> Array:
        worst = np.zeros(np.shape(x))
        for loss, p, log_q in self.sides:  # losses fall: what exceeds x is a head of the array
            heads = np.searchsorted(-loss, -np.asarray(x), side="left")
            with np.errstate(over="ignore"):
                worst = np.maximum(worst, p[heads] - np.exp(x + log_q[heads]))
        return np.clip(worst + self.lost, 0.0, 1.0)


def _tails(log_p: Array, log_q: Array) -> tuple[Array, Array, Array]:
    # losses ln p/q in falling order, and the masses of p and (in logarithms) of q on the first j of them
    seen = ~np.isneginf(log_p)
    log_p, log_q = log_p[seen], log_q[seen]
    loss = log_p - log_q
    order = np.argsort(-loss, kind="stable")
    with np.errstate(divide="ignore"):
        log_sums = np.log(np.append(0.0, np.cumsum(np.exp(log_q[order]))))
    return loss[order], np.append(0.0, np.cumsum(np.exp(log_p[order]))), log_sums


def _shifted(log_pmf: Array, shift: int, lost: float = 0.0) -> _Pair:
    nobody = np.full(shift, -np.inf)
    return _Pair(np.append(log_pmf, nobody), np.append(nobody, log_pmf), lost)


def shift_profile(pmf: Array, shift: int, lost: float = 0.0) -> Profile:
    """Of noise with this law on consecutive integers, on a sum of sensitivity `shift`; `lost` mass counts towards δ.

    A log-concave law has monotone likelihood ratios: its largest shift is the worst one, at every ε.  Of another law
    every shift is tried.
    """
    return _of_logs(_log(pmf), shift, lost)


def _log(pmf: Array) -> Array:
    with np.errstate(divide="ignore"):
        return np.log(np.asarray(pmf, float))


def _of_logs(log_pmf: Array, shift: int, lost: float) -> Profile:
    held = log_pmf[~np.isneginf(log_pmf)]
    one_piece = len(held) and np.isfinite(log_pmf[np.argmax(np.isfinite(log_pmf)) :][: len(held)]).all()
    if one_piece and (np.diff(held, 2) <= 1e-8).all():  # log-concave, but for rounding
        return _shifted(log_pmf, shift, lost)
    if shift * len(log_pmf) > 64 * _WIDEST:
        raise NotImplementedError(f"{shift} shifts of a law on {len(log_pmf)} integers are too many to try")
    return lambda x: np.max([_shifted(log_pmf, s, lost)(x) for s in range(1, shift + 1)], axis=0)


@lru_cache(maxsize=256)
def binomial_profile(trials: int, q: float) -> Profile:
    """Of Bin(trials, q) added to a sum of sensitivity 1."""
    spread = 40 * math.sqrt(trials * q * (1 - q)) + 40
    low, high = max(0, math.floor(trials * q - spread)), min(trials, math.ceil(trials * q + spread))
    return _shifted(stats.binom.logpmf(np.arange(low, high + 1), trials, q), 1)


@lru_cache(maxsize=256)
def law_profile(law: NoiseLaw, n: int, sensitivity: int) -> Profile:
    """Of the sum of n draws of `law`, all that an observer of a modular sum can see of the noise.

    By its own `NoiseLaw.profile`, its `NoiseLaw.line`, or its transforms.

    Raises
    ------
    NotImplementedError
        A law that knows none of these; one on more than four million integers, or of less than 1/60 of the sensitivity.
    """
    if (own := law.profile(n, sensitivity)) is not None:
        return own
    if (line := law.line(n)) is not None:
        return shift_profile(line, sensitivity)
    return _of_logs(_log_pmf_of_sum(law, n, sensitivity), sensitivity, 2 * _LOST)


def _log_pmf_of_sum(law: NoiseLaw, n: int, further: int) -> Array:
    """Logarithm of the law of a sum of n draws of a symmetric law, where all but 1e-15 of it lies, and `further`.

    A transform's absolute error hides the tails; tilted by e^(tx) they are where the mass is:
    ``P(x) = M(t)^n e^(−tx) P_t(x)``, with t such that the tilted mean walks outwards, at most five deviations a step.
    What no tilt reaches stays impossible, which can only make a divergence larger.
    """
    variance = n * law.variance
    reach = math.ceil(chernoff(law, n, _LOST)) + further
    if reach > _WIDEST or further > 60 * math.sqrt(variance):  # too many points, or tilts; there nothing is hidden
        raise NotImplementedError(f"{law!r} of n={n} is too wide to look at, or too narrow for {further}")
    x, m = np.arange(reach + 1), fft.next_fast_len(2 * reach + 1, True)
    out, best = np.full(reach + 1, -np.inf), np.full(reach + 1, np.inf)
    for tilt in np.arange(0.0, 30.0, min(5 / math.sqrt(variance), 0.5)).tolist():
        centre, log_mgf, transform = law.tilted(n, m, tilt)
        if centre > reach:  # all further out, and wrapped
            break
        pmf = np.fft.irfft(transform, m)[: reach + 1]
        away = np.abs(x - centre)
        good = (away < best) & (pmf > 1e-13 * pmf.max())
        out[good] = np.log(pmf[good]) - tilt * x[good] + log_mgf
        best[good] = away[good]
    return np.append(out[:0:-1], out)


def worst_profile(profiles: Sequence[Profile]) -> Profile:
    """Return the pointwise largest δ: no mixture of the mechanisms, in whatever order, costs more than it."""
    return lambda x: np.max([profile(x) for profile in profiles], axis=0)


def epsilon_at(profile: Profile, delta: float) -> float:
    """Return the smallest ε at δ, infinite where no ε will do."""
    low, high = 0.0, 1.0
    while profile(np.array([high]))[0] > delta:
        low, high = high, 2 * high
        if high > 1e5:
            return math.inf
    while high - low > 1e-12 * high:
        middle = (low + high) / 2
        low, high = (middle, high) if profile(np.array([middle]))[0] > delta else (low, middle)
        if middle in (low, high) and high - low < 1e-14:
            break
    return high


def composed_epsilon(profile: Profile, times: int, delta: float) -> float:
    """ε at δ of `times` adaptive uses of what has this profile; never too small.

    The pair of laws on a grid of privacy losses whose divergence is the profile at every point of the grid and above
    it between them ("connect the dots": Doroshenko et al. 2022) is composed by one fast Fourier transform.
    """
    if integer("times", times, 1) == 1:
        return epsilon_at(profile, real("delta", delta, 0, 1, closed="low"))
    real("delta", delta, RESOLVED, 1, closed="low")
    top = epsilon_at(profile, max(profile(np.array([700.0]))[0] * (1 + 1e-9), 1e-16))
    if math.isinf(top) or top > 690:
        return math.inf
    step = max(top, 1e-9) / 4096
    step = max(step, _window(*_dots(profile, top, step), times)[1] / _POINTS)
    x, p, infinite = _dots(profile, top, step)
    low, width = _window(x, p, infinite, times)
    size = fft.next_fast_len(math.ceil(width / step) + len(x), True)
    circle = np.zeros(size)
    np.add.at(circle, np.arange(len(x)) % size, p)
    total = np.fft.irfft(np.fft.rfft(circle) ** times, size)
    # Index j of a sum stands for the loss times·x₀ + j·step, up to whole turns of the circle.
    first = math.floor((low - times * x[0]) / step)
    total = np.roll(total, -(first % size))
    losses = times * x[0] + (first + np.arange(size)) * step
    never = -math.expm1(times * math.log1p(-infinite)) if infinite < 1 else 1.0
    return smallest_epsilon(total, losses, step, never, delta)


def smallest_epsilon(total: Array, losses: Array, step: float, never: float, delta: float) -> float:
    """ε at δ of a privacy loss with the probabilities `total` of `losses`, a grid, and that of an infinite one."""
    heavy = np.cumsum(total[::-1])[::-1]
    # δ(ε) = never + Σ_{l > ε} p(l)(1 − e^(ε − l)), falling: the first grid point where it is small enough
    light = _discounted(total, step)
    found = np.flatnonzero((losses >= 0) & (never + heavy - light + _SLACK <= delta))
    return float(losses[found[0]]) if len(found) else math.inf


def coins_epsilon(epsilon: float, times: int, delta: float) -> float:
    """ε at δ of `times` adaptive uses of any ε-DP mechanism, tight for randomized response (Kairouz et al. 2015).

    The sum of the losses ±ε is a binomial: ``δ(x) = Σ_k P(k) (1 − e^(x − (2k − times)ε))⁺``.
    """
    k = np.arange(integer("times", times, 1) + 1)
    masses = stats.binom.pmf(k, times, 1 / (1 + math.exp(-epsilon)))
    losses = (2 * k - times) * epsilon
    return epsilon_at(
        lambda x: (masses * np.maximum(-np.expm1(np.minimum(x - losses, 0.0)), 0.0)).sum(keepdims=True), delta
    )


def _dots(profile: Profile, top: float, step: float) -> tuple[Array, Array, float]:
    """Losses, their probabilities and that of an infinite loss, such that the divergence is `profile` at every loss."""
    half = max(1, math.ceil(top / step))
    x = np.arange(-half, half + 1) * step
    above = profile(x[half:])
    below = -np.expm1(x[:half]) + np.exp(x[:half]) * above[:0:-1]  # δ(−x) = 1 − e^−x + e^−x δ(x)
    delta, scale = np.concatenate([below, above]), np.exp(x)
    slopes = np.concatenate([[(1 - delta[0]) / scale[0]], -np.diff(delta) / np.diff(scale), [0.0]])
    return x, scale * (slopes[:-1] - slopes[1:]), float(delta[-1])


def _window(x: Array, p: Array, infinite: float, times: int) -> tuple[float, float]:
    """Where all but 1e-15 of the sum of `times` losses lies: its low end, and its width (Chernoff's bound)."""
    p = np.maximum(p, 0.0)
    mean = float((x * p).sum() / p.sum())
    ends = []
    for sign in (-1.0, 1.0):
        best = times * float((sign * x).max())  # it cannot be beyond
        for t in np.geomspace(1e-4, 1e4, 81):
            log_mgf = float(np.logaddexp.reduce(t * sign * x + np.log(np.maximum(p, 1e-300))))
            best = min(best, (times * max(log_mgf, t * sign * mean) + 35) / t)
        ends.append(sign * best)
    return ends[0], ends[1] - ends[0]


def _discounted(p: Array, step: float) -> Array:
    """``Σ_{j ≥ i} p_j e^(−(j − i)·step)`` for every i, block by block so that no exponent leaves the range."""
    size = max(1, min(len(p), int(500 / step)))
    out = np.empty_like(p)
    after = 0.0
    for start in range((len(p) - 1) // size * size, -1, -size):
        piece = p[start : start + size]
        fall = np.exp(-step * np.arange(len(piece)))
        tail = np.cumsum((piece * fall)[::-1])[::-1] / fall
        out[start : start + size] = tail + after * fall[::-1] * math.exp(-step)
        after = float(out[start])
    return out
