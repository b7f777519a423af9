"""Privacy profiles and Rényi curves of noise distributions, and their composition.

A *profile* maps an array of ε ≥ 0 to the smallest δ for which a mechanism is (ε, δ)-DP: the larger hockey-stick
divergence of its two neighbours.  It says all that there is to say about one use; `composed_epsilon` says what k uses
cost, and the pointwise largest of several profiles bounds any mixture of them (Zhu, Dong & Wang 2022).  A *curve* maps
an order α > 1 to the Rényi divergence ε(α); `to_epsilon` converts it.
"""

import math
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache, partial
from operator import mul

import numpy as np
import scipy

from hushbandits.core import RESOLVED, Array, integer, jit, real
from hushbandits.privacy.noise import Curve, NoiseLaw, Profile, chernoff

_LOST = 1e-15  # mass that may fall off the end of a law's array; it counts towards δ
_SLACK = 1e-12  # added to a composed δ, for the error of the transforms and the mass that wraps
_POINTS = 1 << 20
_WIDEST_SUM = 1 << 22  # points of a law that is looked at
#: Orders that conversions try; integers, because Skellam's bound holds for those only.
ORDERS = tuple(sorted({*range(2, 129), *(int(x) for x in np.geomspace(128, 1 << 20, 60))}))


def until(holds: Callable[[float], bool], high: float, top: float, gap: float, share: float = 0) -> tuple[float, float]:
    """Return by bisection a point at which `holds` is true and a larger point, possibly ∞, at which `holds` is false.

    `holds` must be true at 0.

    From `high` on places double, up to `top`, beyond which the second one is ∞; then the interval is halved until it
    is no longer than `gap`, or than this share of its upper end.
    """
    low = 0.0
    while holds(high):
        low, high = high, 2 * high
        if high > top:
            return low, math.inf
    while high - low > max(gap, share * high):
        middle = (low + high) / 2
        low, high = (middle, high) if holds(middle) else (low, middle)
    return low, high


def _excess(loss: Array | float, x: Array | float) -> Array:
    """Return ``(1 − e^(x − loss))⁺``, the contribution of an outcome with this privacy loss to δ at ε = x."""
    return np.maximum(-np.expm1(np.minimum(x - loss, 0.0)), 0.0)


def pure_profile(epsilon: float, delta: float = 0.0) -> Profile:
    """Return the profile of (ε, δ)-DP, ``δ + (1 − δ)(e^ε − e^x)⁺/(1 + e^ε)``, which is tight for randomized response.

    Source: Kairouz, Oh & Viswanath 2015.
    """
    return lambda x: delta + (1 - delta) * _excess(epsilon, x) / (1 + math.exp(-epsilon))


def laplace_profile(epsilon: float) -> Profile:
    """Return the profile of Laplace noise of scale 1/ε on a sum of sensitivity 1: ``(1 − e^((x − ε)/2))⁺``.

    Source: Balle, Barthe & Gaboardi 2018, theorem 3.
    """
    return lambda x: np.maximum(-np.expm1(np.minimum(x - epsilon, 0.0) / 2), 0.0)


def gaussian_profile(mu: float) -> Profile:
    """Return the profile of Gaussian noise on a sum of sensitivity Δ = μσ: ``Φ(μ/2 − x/μ) − e^x Φ(−μ/2 − x/μ)``.

    Source: Balle & Wang 2018, theorem 8.
    """
    return lambda x: scipy.stats.norm.cdf(mu / 2 - x / mu) - np.exp(x + scipy.stats.norm.logcdf(-mu / 2 - x / mu))


def discrete_laplace_profile(b: float, shift: int) -> Profile:
    """Return the profile of Lap_ℤ(b) on an integer sum of sensitivity `shift`, or an upper bound if b is huge."""
    reach = math.ceil(40 * b) + shift
    if reach > _WIDEST_SUM:
        return pure_profile(shift / b)
    return _shifted(math.log(math.tanh(1 / (2 * b))) - np.abs(np.arange(-reach, reach + 1)) / b, shift, _LOST)


def _apart(sides: Sequence[tuple[Array, Array, Array]], lost: float, x: Array) -> Array:
    worst = np.zeros(np.shape(x))
    for loss, p, log_q in sides:  # losses fall: what exceeds x is a head of the array
        heads = np.searchsorted(-loss, -np.asarray(x), side="left")
        with np.errstate(over="ignore"):
            worst = np.maximum(worst, p[heads] - np.exp(x + log_q[heads]))
    return np.clip(worst + lost, 0.0, 1.0)


def _tails(log_p: Array, log_q: Array) -> tuple[Array, Array, Array]:
    # losses ln p/q > 0 in falling order, and the masses of p and (in logarithms) of q on the first j of them
    seen = log_p > log_q
    log_p, log_q = log_p[seen], log_q[seen]
    loss = log_p - log_q
    order = np.argsort(-loss, kind="stable")
    with np.errstate(divide="ignore"):
        log_sums = np.log(np.append(0.0, np.cumsum(np.exp(log_q[order]))))
    return loss[order], np.append(0.0, np.cumsum(np.exp(log_p[order]))), log_sums


def _shifted(log_pmf: Array, shift: int, lost: float = 0.0) -> Profile:
    # Of a law and the same moved by so much, in the worse direction.
    nobody = np.full(shift, -np.inf)
    p, q = np.append(log_pmf, nobody), np.append(nobody, log_pmf)
    symmetric = np.array_equal(log_pmf, log_pmf[::-1])
    return partial(_apart, [_tails(p, q)] if symmetric else [_tails(p, q), _tails(q, p)], lost)


def shift_profile(pmf: Array, shift: int, lost: float = 0.0) -> Profile:
    """Return the profile of noise with this pmf on a sum of sensitivity `shift`.

    The probability `lost`, which the pmf lacks, counts towards δ.

    A log-concave law has monotone likelihood ratios: its largest shift is the worst one, at every ε.  Of another law
    every shift is tried.
    """
    with np.errstate(divide="ignore"):
        return _of_logs(np.log(np.asarray(pmf, float)), shift, lost)


def _of_logs(log_pmf: Array, shift: int, lost: float) -> Profile:
    held = log_pmf[~np.isneginf(log_pmf)]
    one_piece = len(held) and np.isfinite(log_pmf[np.argmax(np.isfinite(log_pmf)) :][: len(held)]).all()
    if one_piece and (np.diff(held, 2) <= 1e-8).all():  # log-concave, but for rounding
        return _shifted(log_pmf, shift, lost)
    if shift * len(log_pmf) > 64 * _WIDEST_SUM:
        most = 64 * _WIDEST_SUM // len(log_pmf)
        raise NotImplementedError(f"a sensitivity of {shift} must be ≤ {most} for noise that is not log-concave")
    return lambda x: np.max([_shifted(log_pmf, s, lost)(x) for s in range(1, shift + 1)], axis=0)


@lru_cache(maxsize=256)
def binomial_profile(trials: int, q: float) -> Profile:
    """Return the profile of Bin(trials, q) noise on a sum of sensitivity 1."""
    spread = 40 * math.sqrt(trials * q * (1 - q)) + 40
    low, high = max(0, math.floor(trials * q - spread)), min(trials, math.ceil(trials * q + spread))
    return _shifted(scipy.stats.binom.logpmf(np.arange(low, high + 1), trials, q), 1)


def law_profile(law: NoiseLaw, n: int, sensitivity: int) -> Profile:
    """Return the profile of the sum of n samples of `law`; this profile also bounds the profile of the sum mod m.

    By its own `NoiseLaw.profile`, its `NoiseLaw.line`, or its transforms.

    Raises
    ------
    NotImplementedError
        A law that knows none of these; one on more than four million integers, or of less than 1/60 of the sensitivity.
    """
    return (_profile_of if sensitivity < 1000 else _wide_profile_of)(law, n, sensitivity)


@lru_cache(maxsize=256)
def _profile_of(law: NoiseLaw, n: int, sensitivity: int) -> Profile:
    if (own := law.profile(n, sensitivity)) is not None:
        return own
    if (line := law.line(n)) is not None:
        return shift_profile(line, sensitivity)
    return _of_logs(_log_pmf_of_sum(law, n, sensitivity), sensitivity, 2 * _LOST)


_wide_profile_of = lru_cache(maxsize=8)(_profile_of.__wrapped__)  # a profile may hold 100 MB


def _log_pmf_of_sum(law: NoiseLaw, n: int, further: int) -> Array:
    """Return the log probabilities of the sum of n samples of `law`.

    They cover all but 1e-15 of the mass, and `further` integers beyond at both ends.

    A transform's absolute error hides the tails; tilted by e^(tx) they are where the mass is:
    ``P(x) = M(t)^n e^(−tx) P_t(x)``, with t such that the tilted mean walks outwards, at most five deviations a step.
    What no tilt reaches stays impossible, which can only make a divergence larger.
    """
    variance = n * law.variance
    reach = math.ceil(chernoff(law, n, _LOST)) + further
    if reach > _WIDEST_SUM or further > 60 * math.sqrt(variance):  # too many points, or tilts; there nothing is hidden
        why = f"the sum may exceed {_WIDEST_SUM}, or has a standard deviation below 1/60 of sensitivity {further}"
        raise NotImplementedError(f"cannot compute the law of a sum of n={n} samples of {law!r}: {why}")
    x, m = np.arange(reach + 1), scipy.fft.next_fast_len(2 * reach + 1, True)
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
    """Return the pointwise maximum of `profiles`, whose composition bounds every composition of the mechanisms."""
    return lambda x: np.max([profile(x) for profile in profiles], axis=0)


@lru_cache(maxsize=256)
def delta_at(profile: Profile, epsilon: float) -> float:
    """Return the smallest δ at ε, from a privacy profile."""
    return float(profile(np.array([epsilon]))[0])


def epsilon_at(profile: Profile, delta: float) -> float:
    """Return the smallest ε at δ, from a privacy profile; ∞ if no ε has this δ."""
    return until(lambda x: bool(profile(np.array([x]))[0] > delta), 1.0, 1e5, 1e-14, 1e-12)[1]


def composed_epsilon(profile: Profile, times: int, delta: float) -> float:
    """Return ε at δ, rounded up, of `times` adaptive uses of a mechanism with this profile.

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
    size = scipy.fft.next_fast_len(math.ceil(width / step) + len(x), True)
    circle = np.zeros(size)
    np.add.at(circle, np.arange(len(x)) % size, p)
    total = np.fft.irfft(np.fft.rfft(circle) ** times, size)
    # Index j of a sum stands for the loss times·x₀ + j·step, up to whole turns of the circle.
    first = math.floor((low - times * x[0]) / step)
    never = -math.expm1(times * math.log1p(-infinite)) if infinite < 1 else 1.0
    return smallest_epsilon(total, times * x[0], first, step, never, delta)


@jit
def _decayed(x: Array, decay: float) -> Array:
    """Return y with ``y_i = x_i + decay·y_{i−1}``, which ``scipy.signal.lfilter`` gives; that takes long to import."""
    y, last = np.empty(x.size), 0.0
    for i in range(x.size):
        last = x[i] + decay * last
        y[i] = last
    return y


def smallest_epsilon(circle: Array, start: float, first: int, step: float, never: float, delta: float) -> float:
    """Return ε at δ, given the distribution of a privacy loss that is infinite with probability `never`.

    Entry j of `circle`, up to whole turns, has the probability of ``start + j·step``; the smallest j is `first`.
    """
    total = np.roll(circle, -(first % len(circle)))
    losses = start + (first + np.arange(len(circle))) * step
    heavy = np.cumsum(total[::-1])[::-1]
    # δ(ε) = never + Σ_{l > ε} p(l)(1 − e^(ε − l)), falling: the first grid point where it is small enough
    light = _decayed(total[::-1], math.exp(-step))[::-1]
    found = np.flatnonzero((losses >= 0) & (never + heavy - light + _SLACK <= delta))
    return float(losses[found[0]]) if len(found) else math.inf


def coins_epsilon(epsilon: float, times: int, delta: float) -> float:
    """Return the ε at δ of `times` uses of an ε-DP mechanism, by the optimal composition theorem (Kairouz et al. 2015).

    The sum of the losses ±ε is a binomial: ``δ(x) = Σ_k P(k) (1 − e^(x − (2k − times)ε))⁺``.
    """
    k = np.arange(integer("times", times, 1) + 1)
    masses = scipy.stats.binom.pmf(k, times, 1 / (1 + math.exp(-epsilon)))
    losses = (2 * k - times) * epsilon
    return epsilon_at(lambda x: (masses * _excess(losses, x)).sum(keepdims=True), delta)


def _dots(profile: Profile, top: float, step: float) -> tuple[Array, Array, float]:
    """Return a discrete privacy loss with a profile of at least `profile`: values, probabilities, and P(loss = ∞)."""
    half = max(1, math.ceil(top / step))
    x = np.arange(-half, half + 1) * step
    above = profile(x[half:])
    below = -np.expm1(x[:half]) + np.exp(x[:half]) * above[:0:-1]  # δ(−x) = 1 − e^−x + e^−x δ(x)
    delta, scale = np.concatenate([below, above]), np.exp(x)
    slopes = np.concatenate([[(1 - delta[0]) / scale[0]], -np.diff(delta) / np.diff(scale), [0.0]])
    return x, scale * (slopes[:-1] - slopes[1:]), float(delta[-1])


def _window(x: Array, p: Array, infinite: float, times: int) -> tuple[float, float]:
    """Return lower end and width of a range that misses the sum of `times` finite losses with probability < 2e-15."""
    p = np.maximum(p, 0.0)
    mean = float((x * p).sum() / p.sum())
    ends, t = [], np.geomspace(1e-4, 1e4, 81)
    for sign in (-1.0, 1.0):
        log_mgf = np.logaddexp.reduce(t[:, None] * sign * x + np.log(np.maximum(p, 1e-300)), axis=1)
        bound = (times * np.maximum(log_mgf, t * sign * mean) + 35) / t
        ends.append(sign * min(times * float((sign * x).max()), float(bound.min())))  # it cannot be beyond
    return ends[0], ends[1] - ends[0]


# -- Rényi curves -----------------------------------------------------------------------------------------------------


def pure_curve(epsilon: float) -> Curve:
    """Return the Rényi curve of ε-DP, which is tight for randomized response.

    ``ε(α) = ln[(sinh αε − sinh((α−1)ε))/sinh ε]/(α − 1)``.
    """
    return partial(_pure_curve, real("epsilon", epsilon, 0))


def _pure_curve(epsilon: float, alpha: float) -> float:
    # (sinh αε − sinh (α−1)ε)/sinh ε = cosh((α − ½)ε)/cosh(ε/2), in logarithms
    top = np.logaddexp((alpha - 0.5) * epsilon, -(alpha - 0.5) * epsilon)
    return float(top - np.logaddexp(epsilon / 2, -epsilon / 2)) / (alpha - 1)


def skellam_curve(sigma2: float, sensitivity: int) -> Curve:
    """Return a bound on the Rényi curve of Skellam noise of variance σ² at sensitivity Δ, for integers α ≥ 2.

    ``ε(α) = αΔ²/2σ² + min{((2α−1)Δ² + 6Δ)/4σ⁴, 3Δ/2σ²}`` (Agarwal, Kairouz & Liu 2021, theorem 3.5).
    """
    return partial(_skellam, real("sigma2", sigma2, 0), integer("sensitivity", sensitivity, 1))


def _skellam(sigma2: float, d: int, alpha: float) -> float:
    if alpha != int(alpha) or alpha < 2:
        raise ValueError(f"alpha={alpha!r} must be an integer ≥ 2, because Skellam's bound holds only for these orders")
    extra = min(((2 * alpha - 1) * d * d + 6 * d) / (4 * sigma2**2), 3 * d / (2 * sigma2))
    return alpha * d * d / (2 * sigma2) + extra


def zcdp_curve(rho: float) -> Curve:
    """Return the Rényi curve of ρ-zero-concentrated DP, ``ε(α) = ρα``."""
    return partial(mul, real("rho", rho, 0, closed="low"))


def concentrated_sum(n: int, sigma2: float, sensitivity: float) -> float:
    """Return the zCDP parameter ρ of the sum of n discrete Gaussian samples with variance parameter σ_u² = `sigma2`.

    ``ρ = ½ε̄²``, ``ε̄ = min{√(ε² + ξ/2), ε + ξ}``, ``ε = Δ/(√n σ_u)``, ``ξ = 10 Σ_{k<n} e^(−2π²σ_u² k/(k+1))``
    (Kairouz, Liu & Steinke 2021, proposition 13; Chowdhury & Zhou 2023, lemma 4).

    Raises
    ------
    ValueError
        σ_u² < ¼, where the statement does not hold.
    """
    real("sigma2", sigma2, 0.25, closed="low")
    epsilon = sensitivity / math.sqrt(n * sigma2)
    k = np.arange(1, min(n, 1 << 20))
    xi = 10 * float(np.exp(-2 * np.pi**2 * sigma2 * k / (k + 1)).sum())
    if n > 1 << 20:  # the rest of the sum, bounded by its supremum
        xi += 10 * (n - (1 << 20)) * math.exp(-2 * math.pi**2 * sigma2 * (1 - 2.0**-20))
    return 0.5 * min(math.sqrt(epsilon**2 + xi / 2), epsilon + xi) ** 2


def to_epsilon(curve: Curve, delta: float, orders: Iterable[float] = ORDERS) -> float:
    """Return ``ε = min_α ε(α) + ln(1/(αδ))/(α − 1) + ln(1 − 1/α)`` at δ (Chowdhury & Zhou 2023, lemma 10)."""
    real("delta", delta, 0, 1)
    return max(0.0, min(curve(a) + math.log(1 / (a * delta)) / (a - 1) + math.log1p(-1 / a) for a in orders))
