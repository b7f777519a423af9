"""Laplace noise from uniform samples, the release schedule of private means, and the composition of releases.

The release counts are those of Dubey & Pentland 2020.  Costs are closed forms, or privacy losses on a grid, composed by
their transforms.
"""

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from scipy import fft, special

from hushbandits.core import RESOLVED, Array, integer, jit, real
from hushbandits.privacy import samplers
from hushbandits.privacy.divergence import smallest_epsilon

_TAIL = 35.0  # −ln of what may lie outside the window
_COARSE, _FINE = 1 << 14, 1 << 18  # steps of the window: that many, and as many as small releases need
_NODES = 128
_GROUPS = 4096


@jit
def laplace(u: float, scale: float) -> float:
    """Return the quantile of Laplace(0, b) at u ∈ [0, 1): ``−b sgn(u − ½) ln(1 − 2|u − ½|)``.

    The scalar rule that compiled episodes and wrappers share.  Seeded floats: a simulation of the noise.
    """
    if u < 0.5:
        return scale * math.log(2.0 * u + 2.0**-53)
    return -scale * math.log(2.0 * (1.0 - u))


@jit
def laplaces(u: Array, scale: float) -> Array:
    """Apply `laplace` to an array of any shape."""
    out = u.flatten()
    for i in range(out.size):
        out[i] = laplace(out[i], scale)
    return out.reshape(u.shape)


def discrete_laplaces(u: Array, b: float) -> Array:
    """Return the quantiles of Lap_ℤ(b) at u ∈ [0, 1), as int64; ``P(x) = (1−a)/(1+a) a^|x|`` with ``a = e^(−1/b)``.

    The smallest x with F(x) ≥ u; ``F(x) = a^(−x)/(1+a)`` below 0, ``1 − a^(x+1)/(1+a)`` from 0 on.  A double's 53 bits
    cut the law off beyond about 36b.
    """
    u = np.asarray(u, float) + 2.0**-54  # never 0
    scale = math.log1p(math.exp(-1 / b))
    low = np.ceil(b * (np.log(u) + scale))
    high = np.ceil(-b * (np.log1p(-np.minimum(u, 1 - 2.0**-53)) + scale) - 1)
    return np.where(low < 0, low, np.maximum(high, 0)).astype(np.int64)


@dataclass(frozen=True)
class RewardNoise:
    """Laplace noise on a reward, continuous or discrete in units of 1/grid."""

    law: samplers.Laplace | samplers.DiscreteLaplace
    grid: int = 1
    integer = False

    def draw(self, rng: np.random.Generator, size: int) -> Array:
        return self.law.draw(rng, size) / self.grid

    def total(self, rng: np.random.Generator, n: int) -> float:
        return self.law.total(rng, n) / self.grid

    def onto(self, x: Array, u: Array) -> Array:
        if isinstance(self.law, samplers.Laplace):
            return x + laplaces(u, self.law.b)
        # One division: a sum of two quotients might miss the grid by its last bit.
        steps: Array = np.rint(x * self.grid) + discrete_laplaces(u, self.law.b)
        return steps / self.grid


# -- what releases cost together --------------------------------------------------------------------------------------


def composed_laplaces(costs: Array, delta: float, times: int = 1) -> float:
    """Return ε at δ, rounded up, of adaptive Laplace releases, of which the n-th is ``costs[n]``-DP.

    On a grid of privacy losses, a Laplace release whose ε is on the grid has a loss whose divergence is exact at every
    point and above it between them (as in `divergence.composed_epsilon`).  Every other release is replaced by a known
    mixture of its neighbours a and b on the grid, with weights that keep e^(−ε/2): the divergence (1 − e^((x−ε)/2))⁺ is
    convex in e^(−ε/2), so the mixture costs more.  Transforms are multiplied.

    Parameters
    ----------
    costs : Array
        ε of each release, > 0.
    delta : float
        From 1e-10 on.
    times : int
        How often there are all of them.
    """
    real("delta", delta, RESOLVED, 1, closed="low")
    costs, counts = _grouped(np.asarray(costs, float))
    counts = integer("times", times, 1) * counts
    if not len(costs):
        return 0.0
    # Each loss lies within ±ε, with a mean of at most ε²/2: Hoeffding's bound on the sum.
    most, squares = float((counts * costs).sum()), float((counts * costs**2).sum())
    spread = math.sqrt(2 * _TAIL * squares)
    low, high = max(-spread, -most), min(squares / 2 + spread, most)
    step = max(min(costs[-1], costs[0] / 64, (high - low) / _COARSE), (high - low) / _FINE)
    spare = math.ceil(0.05 * (high - low) / step) + 8  # what rounding to the grid adds to the losses
    size = fft.next_fast_len(math.ceil((high - low) / step) + 2 * spare, True)
    top = max(1, math.ceil(costs[0] / step - 1e-9))
    nodes = np.unique(np.append(0, np.rint(np.geomspace(1, top, _NODES)).astype(np.int64)))
    below = np.clip(np.searchsorted(nodes * step, costs, "right") - 1, 0, len(nodes) - 2)
    a, b = np.exp(-np.array([nodes[below], nodes[below + 1]]) * step / 2)
    share = np.clip((np.exp(-costs / 2) - b) / (a - b), 0.0, 1.0)
    # Of the total loss, on a circle of `size` steps.
    total = fft.irfft(_multiply(nodes, step, size, below, share, counts), size)
    first = math.floor(low / step) - spare
    return min(smallest_epsilon(total, 0.0, first, step, 0.0, delta), most)


def _grouped(costs: Array) -> tuple[Array, Array]:
    """Return the distinct ε in `costs`, largest first, and their counts.

    More than 4096 are merged into at most 4096 groups, each with its largest ε.
    """
    values, counts = np.unique(costs, return_counts=True)
    if len(values) > _GROUPS:
        edges = np.geomspace(values[0], values[-1] * (1 + 1e-12), _GROUPS + 1)
        dearest = np.flatnonzero(np.append(np.diff(np.searchsorted(edges, values, "right")), 1))
        values, counts = values[dearest], np.diff(np.append(0, np.cumsum(counts)[dearest]))
    return values[::-1].copy(), counts[::-1].copy()


@jit
def _loss(m, step, theta):
    """Return ``E e^(−iθL)`` for the privacy loss L, counted in steps, of a Laplace release with ε = m·step.

    ``P(j) = tanh(step/4) e^((j − m)step/2)`` within ±m; ``1/(1 + e^(−step/2))`` at m, and e^(−ε) times that at −m.
    """
    if m == 0:
        return 1.0 + 0.0j
    one = complex(math.cos(theta), -math.sin(theta))
    up = complex(math.cos(theta * m), -math.sin(theta * m))
    down = up.conjugate()
    fall = math.exp(-m * step / 2)
    ratio = math.exp(step / 2) * one
    inner = (math.exp(-step / 2) * up * one.conjugate() * ratio - math.exp((0.5 - m) * step) * down * one) / (ratio - 1)
    ends = (up + fall * fall * down) / (1 + math.exp(-step / 2))
    return math.tanh(step / 4) * inner + ends


@jit
def _multiply(nodes, step, size, below, share, times):
    out, unit = np.empty(size // 2 + 1, np.complex128), 2 * np.pi / size
    for f in range(out.size):
        weight = 1.0 + 0.0j
        at, a, b = -1, weight, weight
        for i in range(below.size):
            if below[i] != at:
                at = below[i]
                a, b = _loss(nodes[at], step, unit * f), _loss(nodes[at + 1], step, unit * f)
            factor = share[i] * a + (1.0 - share[i]) * b
            n = times[i]
            while n > 0:  # factor ** n
                if n & 1:
                    weight *= factor
                factor *= factor
                n >>= 1
            if weight.real**2 + weight.imag**2 < 1e-36:
                weight = 0.0 + 0.0j
                break
        out[f] = weight
    return out


@jit
def release_counts(epsilon: float, v: float, horizon: int) -> Array:
    """Return the pull counts W₁ < W₂ < … ≤ `horizon` at which an arm's mean is released.

    ``W_{n+1} = min{x > W_n : Σ_{i=W_n+1}^{x} i^(−v/2) ≥ x^(−v/2)/ε}``: about every 1/ε pulls, W₁ ≤ ⌈1/ε⌉.
    """
    out, found, spent = np.zeros(horizon, np.int64), 0, 0.0
    for x in range(1, horizon + 1):
        step = x ** (-v / 2.0)
        spent += step
        if spent >= step / epsilon:
            out[found] = x
            found += 1
            spent = 0.0
    return out[:found]


@lru_cache(maxsize=256)
def composed_releases(epsilon: float, v: float, horizon: int, times: int, delta: float) -> float:
    """Return ε at δ of `times` rewards, each of which enters all releases of an arm's mean."""
    return composed_laplaces(release_counts(epsilon, v, horizon).astype(float) ** (-v / 2), delta, times)


def compose_releases(pure: Array, squares: Array, delta: float) -> Array:
    """Return ε′ at δ′ of an adaptive composition of ε_n-DP releases, given ``Σ ε_n`` and ``Σ ε_n²``.

    The smaller of ``Σ ε_n`` (which holds at δ′ = 0) and ``Σ ε_n²/2 + √(2 ln(1/δ′) Σ ε_n²)``: a release that is ε-DP is
    ε²/2-zero-concentrated, these add up, and ρ turns into ``ρ + 2√(ρ ln(1/δ′))``.  Source: Dwork, Rothblum & Vadhan
    2010; Bun & Steinke 2016, propositions 1.3, 1.4 and lemma 1.7.
    """
    strong = squares / 2 + np.sqrt(2 * math.log(1 / real("delta", delta, 0, 1)) * squares)
    return np.minimum(pure, strong)


def lemma(epsilon: float, v: float, t: Array | float, delta: float) -> Array:
    """Return ε′ after t rounds by the lemma "Privacy Guarantee" of Dubey & Pentland 2020.

    It is ``min(ε t^(1−v/2)/(1−v/2), 2εζ(v) + √(2εζ(v) ln(1/δ′)))``.

    The first branch bounds ``Σ W_n^(−v/2)``: by the schedule, each release costs at most ε times its interval's sum.
    A receiver d hops away stands at t − d.
    """
    tail = epsilon * float(special.zeta(v))
    second = 2 * tail + math.sqrt(2 * tail * math.log(1 / real("delta", delta, 0, 1)))
    return np.minimum(epsilon * np.asarray(t, float) ** (1 - v / 2) / (1 - v / 2), second)
