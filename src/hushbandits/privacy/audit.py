"""Does a mechanism keep its word?  White box: from the law of what the server sees."""

from __future__ import annotations

import math

import numpy as np

from hushbandits.core.types import Array
from hushbandits.privacy.pmf import wrapped_sum
from hushbandits.privacy.samplers import PolyaDifference

__all__ = ["log_wrapped_discrete_laplace", "polya_epsilon", "worst_log_ratio"]


def log_wrapped_discrete_laplace(b: float, m: int) -> Array:
    """Logarithm of `wrapped_discrete_laplace`, exact to rounding even where the probability underflows.

    Examples
    --------
    >>> from hushbandits.privacy.pmf import wrapped_discrete_laplace
    >>> bool(np.allclose(np.exp(log_wrapped_discrete_laplace(2.0, 9)), wrapped_discrete_laplace(2.0, 9)))
    True
    """
    d = np.arange(m)
    norm = math.log(math.tanh(1 / (2 * b))) - math.log(-math.expm1(-m / b))
    return norm + np.logaddexp(-d / b, -(m - d) / b)


def worst_log_ratio(log_pmf: Array, shifts: int, at: Array | None = None) -> float:
    """ε of noise on ℤ_m: the largest ``ln P(k)/P(k − s)`` over k and the shifts ``s = 1..shifts`` either way.

    The server sees ``Σ x̂ + η mod m``; replacing one reward moves Σ x̂ by at most the sensitivity.

    Parameters
    ----------
    log_pmf : (m,) array
        Law of the wrapped noise; −∞ where impossible.
    shifts : int
        The sensitivity, g.
    at : array of int, optional
        Try these shifts only.

    Examples
    --------
    >>> round(worst_log_ratio(log_wrapped_discrete_laplace(32.0, 4096), 32), 9)
    1.0
    """
    worst = 0.0
    for s in range(1, shifts + 1) if at is None else at.tolist():
        with np.errstate(invalid="ignore"):  # −∞ against −∞: impossible either way tells nothing
            ratio = np.abs(log_pmf - np.roll(log_pmf, s))
        worst = max(worst, float(np.nanmax(ratio)))
    return worst


def polya_epsilon(shape: float, b: float, g: int) -> float:
    """ε of a difference of two Pólya(shape, e^(−1/b)) draws on an integer sum of sensitivity g.

    Shape 1 is the discrete Laplace law, g/b.  Below it (users dropped out, and their share of the noise with them)
    the law peaks at 0, and ``P(0)/P(g)`` is the worst ratio; above it g/b is approached from below in the tails.
    The law comes from its transform on a circle, with an absolute error of about 1e-16; ratios are taken where it
    exceeds 1e-9 of its maximum, and the tails' limit g/b always counts.

    Examples
    --------
    >>> [round(polya_epsilon(r, 32.0, 32), 2) for r in (1.0, 0.9, 0.5)]
    [1.0, 1.18, 2.58]
    """
    law = PolyaDifference(shape, b)
    m = max(64, 2 * (math.ceil(40 * b) + g) + 1)
    pmf = np.roll(wrapped_sum(law.cf, 1, m), m // 2)
    pmf = pmf[pmf > 1e-9 * pmf.max()]  # symmetric and falling from its middle: what is left is one piece
    if len(pmf) <= g:  # hardly any noise is left: the worst ratio is beyond what the transform resolves
        return math.inf
    log_pmf = np.log(pmf)
    # The law falls on either side: the largest shift has the largest ratio.
    return max(g / b, float(np.abs(log_pmf[g:] - log_pmf[:-g]).max()))
