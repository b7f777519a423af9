"""Bounds of Azize & Basu 2022: AdaP-UCB's regret, and lower bounds for all ε-globally private agents."""

import math
from collections.abc import Sequence

from hushbandits.core import real
from hushbandits.policies.kl import kl


def regret_bound(gaps: Sequence[float], horizon: float, epsilon: float, alpha: float) -> float:
    """Return the upper bound ``Σ_{Δ > 0} (16 α ln T/min(Δ, ε) + α/(α − 3))``, α > 3, on AdaP-UCB's regret.

    It holds after T pulls.  Source: Azize & Basu 2022, regret bound of AdaP-UCB; here its last term counts once for
    every arm with a gap.
    """
    alpha = real("alpha", alpha, 3)
    terms = (16 * alpha * math.log(horizon) / min(gap, epsilon) + alpha / (alpha - 3) for gap in gaps if gap > 0)
    return float(sum(terms))


def least_regret(means: Sequence[float], epsilon: float) -> float:
    """Return a lower bound on regret/ln T for consistent ε-globally private agents on Bernoulli arms, as T → ∞.

    ``Σ_{Δ > 0} Δ/min(kl(μ, μ*), 6εΔ)``: the total variation of two Bernoulli arms is their gap.  Source: Azize & Basu
    2022, problem-dependent lower bound.
    """
    best = max(means)
    gaps = ((mu, best - mu) for mu in means if mu < best)
    return float(sum(gap / min(kl(mu, best), 6 * epsilon * gap) for mu, gap in gaps))
