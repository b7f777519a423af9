"""Does a mechanism keep its word?  White box: from the law of what the server sees."""

from __future__ import annotations

import math

import numpy as np

from hushbandits.core.types import Array

__all__ = ["log_wrapped_discrete_laplace", "worst_log_ratio"]


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
