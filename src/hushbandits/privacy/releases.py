"""When a private mean is refreshed, and what the refreshed means reveal together (Dubey & Pentland 2020)."""

from __future__ import annotations

import math

import numpy as np
from scipy import special

from hushbandits.core.ground.jit import jit
from hushbandits.core.ground.types import Array
from hushbandits.core.ground.validate import real


@jit
def _releases(epsilon, v, horizon, out):
    found, spent = 0, 0.0
    for x in range(1, horizon + 1):
        step = x ** (-v / 2.0)
        spent += step
        if spent >= step / epsilon:
            out[found] = x
            found += 1
            spent = 0.0
    return found


def release_counts(epsilon: float, v: float, horizon: int) -> Array:
    """Pull counts W₁ < W₂ < … ≤ horizon at which a mean is released.

    ``W_{n+1} = min{x > W_n : Σ_{i=W_n+1}^{x} i^(−v/2) ≥ x^(−v/2)/ε}``: about every 1/ε pulls, W₁ ≤ ⌈1/ε⌉.
    """
    out = np.zeros(horizon, np.int64)
    return out[: _releases(float(epsilon), float(v), int(horizon), out)]


def compose_releases(pure: Array, squares: Array, delta: float) -> Array:
    """ε′ of adaptively composed ε_n-private releases at δ′, given ``Σ ε_n`` and ``Σ ε_n²``.

    The smaller of ``Σ ε_n`` (which holds at δ′ = 0) and ``Σ ε_n²/2 + √(2 ln(1/δ′) Σ ε_n²)``: a release that is ε-DP is
    ε²/2-zero-concentrated, these add up, and ρ turns into ``ρ + 2√(ρ ln(1/δ′))``.  Source: Dwork, Rothblum & Vadhan
    2010; Bun & Steinke 2016, propositions 1.3, 1.4 and lemma 1.7.
    """
    strong = squares / 2 + np.sqrt(2 * math.log(1 / real("delta", delta, 0, 1)) * squares)
    return np.minimum(pure, strong)


def lemma(epsilon: float, v: float, t: Array | float, delta: float) -> Array:
    """The paper's ε′ after t rounds: ``min(ε t^(1−v/2)/(1−v/2), 2εζ(v) + √(2εζ(v) ln(1/δ′)))``.

    The first branch bounds ``Σ W_n^(−v/2)``: by the schedule, each release costs at most ε times its interval's sum.
    A receiver d hops away stands at t − d.

    Source: Dubey & Pentland 2020, lemma "Privacy Guarantee".
    """
    tail = epsilon * float(special.zeta(v))
    second = 2 * tail + math.sqrt(2 * tail * math.log(1 / real("delta", delta, 0, 1)))
    return np.minimum(epsilon * np.asarray(t, float) ** (1 - v / 2) / (1 - v / 2), second)
