"""Robust estimators of the mean of contaminated or heavy-tailed samples.

Each estimator is a frozen dataclass: ``estimator(x, delta)`` is its value on one sample in the order of its arrival.
What it promises holds with probability 1 − δ each; where it is undefined (too few samples for that δ), it is the
median of the sample, said so in its docstring.  σ² is the variance of the clean law, η the share of contaminated
samples.  A *breakdown point* is the share of a sample that can drive the estimate beyond all bounds.

The rules themselves are compiled scalar functions (`hushbandits.estimators.rules`).
"""

import math
from dataclasses import dataclass, fields
from typing import ClassVar

import numpy as np

from hushbandits.core import Array, nearest, real
from hushbandits.estimators.rules import evaluate


@dataclass(frozen=True)
class Estimator:
    """An estimator of a mean from a sample, at a confidence 1 − δ."""

    #: Number under which the compiled code knows it.
    kind: ClassVar[int]

    @property
    def parameters(self) -> tuple[float, float]:
        """Return the two parameters of the compiled rule; a missing parameter is 0."""
        first, second, *_ = (*(float(getattr(self, own.name)) for own in fields(self)), 0.0, 0.0)
        return first, second

    def __call__(self, x: Array, delta: float) -> float:
        """Return an estimate of the mean of the law behind the sample `x` (n,), n ≥ 1, at confidence 1 − `delta`."""
        x = np.ascontiguousarray(x, float)
        if x.ndim != 1 or not x.size:
            raise ValueError(f"x must be one sample of at least one value, not an array of shape {x.shape}")
        return float(evaluate(self.kind, x, -math.log(real("delta", delta, 0, 1)), *self.parameters))


@dataclass(frozen=True)
class Mean(Estimator):
    """The empirical mean ``Σ X_i / n``, whose breakdown point is 1/n."""

    kind = 0


@dataclass(frozen=True)
class Trimming(Estimator):
    """Base of estimators that drop or clip the extreme values of one half of a sample."""

    epsilon: float = 0.0

    def __post_init__(self) -> None:
        real("epsilon", self.epsilon, 0, 0.5, closed="low")


@dataclass(frozen=True)
class TrimmedMean(Trimming):
    """Mean of those points of one half of the sample that lie in an interval.

    The interval is the shortest that holds most points of the other half.

    The sample ``X₁, Y₁, X₂, Y₂, …`` is split by turns (an odd last one waits for its partner).  With
    ``α = max(ϵ, ln(1/δ)/N)`` and ``L = ln(4/δ)/N``, 𝒵 is the shortest interval that holds
    ``⌊N(1 − 2α − √(2αL) − L)⌋`` of the N points Y; the estimate is the mean of the X in 𝒵 (its ends included).
    Of several shortest intervals it takes the one nearest the middle rank, then the lower.

    Where that count is not positive (N below about 65 at δ = 10⁻⁶) it is the median of the whole sample, and where no
    X lies in 𝒵 the middle of 𝒵.  On few-valued rewards 𝒵 may be a single value, and the estimate that value: on
    Bernoulli rewards 0 or 1 as long as one of the two holds that many points; later 𝒵 = [0, 1] and nothing is trimmed.

    ``|μ̂ − μ| ≤ σ√ϵ + σ√(ln(1/δ)/N)`` up to constants.  Breakdown point ``min(q, N − q + 1)/(2N)`` with q that count:
    as many bad points among the Y move 𝒵.  Source: Prasad, Balakrishnan & Ravikumar 2019, "A unified approach to robust
    mean estimation", as in Dubey & Pentland 2020, definition 4.1.

    Parameters
    ----------
    epsilon : float
        Contamination ϵ ∈ [0, ½) that it is built for.
    """

    kind = 1


@dataclass(frozen=True)
class LugosiMendelson(Trimming):
    """Mean of one half of the sample, clipped at order statistics of the other half.

    With the split of `TrimmedMean` and ``ε = 8η + 12 ln(4/δ)/N``: ``a = Y_(⌈εN⌉)``, ``b = Y_(N+1−⌈εN⌉)``, and the
    estimate is ``Σ min(max(X_i, a), b)/N``.  Where ⌈εN⌉ > N/2, the median of the whole sample.

    ``|μ̂ − μ| ≤ c σ(√η + √(ln(1/δ)/N))``.  Breakdown point ``⌈εN⌉/(2N)``: as many bad points among the Y.  Source:
    Lugosi & Mendelson 2021, "Robust multivariate mean estimation: the optimality of trimmed mean", section 2.

    Parameters
    ----------
    epsilon : float
        Contamination η ∈ [0, ½).
    """

    kind = 2


@dataclass(frozen=True)
class MedianOfMeans(Estimator):
    """Median of the means of ``k = ⌊min(1 + 8 ln(1/δ), n/2)⌋`` consecutive blocks of ⌊n/k⌋ samples.

    ``|μ̂ − μ| ≤ σ√(192 (1/8 + ln(1/δ))/n)`` (Bubeck et al. with ε = 1).  Breakdown point ``⌈k/2⌉/n``: a bad sample
    spoils a block.  Source: Bubeck, Cesa-Bianchi & Lugosi 2013, "Bandits with heavy tail", lemma 2.
    """

    kind = 3


@dataclass(frozen=True)
class Catoni(Estimator):
    """Catoni's estimator: the root θ of ``Σ ψ(α(X_i − θ)) = 0``, ``ψ(z) = sgn(z) ln(1 + |z| + z²/2)``.

    ``α = √(2 ln(1/δ) / (n (v + 2 v ln(1/δ)/(n − 2 ln(1/δ)))))``; for ``n ≤ 2 ln(1/δ)``, where α is undefined, the
    median.  ``|μ̂ − μ| ≤ 2√(v ln(1/δ)/n)`` for ``n ≥ 4 ln(1/δ)``.  Breakdown point 1/n, but an outlier moves it only by
    its logarithm.  Source: Catoni 2012, "Challenging the empirical mean and empirical variance", as in Bubeck et al.
    2013, lemma 3.

    Parameters
    ----------
    variance : float
        v ≥ σ², which must be finite: it is refused for laws without a variance.
    """

    variance: float = 0.25
    kind = 4

    def __post_init__(self) -> None:
        real("variance", self.variance, 0)


@dataclass(frozen=True)
class TruncatedMean(Estimator):
    """The truncated mean ``(1/n) Σ_s X_s 1{|X_s| ≤ (u s / ln(1/δ))^(1/(1+e))}``, where s counts the samples in order.

    ``|μ̂ − μ| ≤ 4 u^(1/(1+e)) (ln(1/δ)/n)^(e/(1+e))``.  No sample drives it beyond all bounds, but a bad one below its
    threshold moves it by up to that threshold over n: it is made for heavy tails, not for contamination.  Source:
    Bubeck, Cesa-Bianchi & Lugosi 2013, lemma 1.

    Parameters
    ----------
    moment : float
        u ≥ E |X|^(1+e).
    excess : float
        e ∈ (0, 1].
    """

    moment: float = 1.0
    excess: float = 1.0
    kind = 5

    def __post_init__(self) -> None:
        real("moment", self.moment, 0)
        real("excess", self.excess, 0, 1, closed="high")


#: The estimators by name.
ESTIMATORS: dict[str, type[Estimator]] = {
    "mean": Mean,
    "trimmed": TrimmedMean,
    "lugosi-mendelson": LugosiMendelson,
    "median-of-means": MedianOfMeans,
    "catoni": Catoni,
    "truncated": TruncatedMean,
}


def make_estimator(mean: str | Estimator, epsilon: float = 0.0) -> Estimator:
    """Return `mean` if it is an `Estimator`, else the estimator of this name; trimming estimators get `epsilon`."""
    if isinstance(mean, Estimator):
        return mean
    if mean not in ESTIMATORS:
        raise ValueError(f"mean={mean!r} is not an estimator{nearest(str(mean), ESTIMATORS)}")
    kind = ESTIMATORS[mean]
    return kind(epsilon) if issubclass(kind, Trimming) else kind()
