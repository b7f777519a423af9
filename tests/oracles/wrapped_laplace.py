"""The law that a server sees of discrete Laplace noise on a sum mod m, and its ε."""

import math

import numpy as np


def log_wrapped_discrete_laplace(b: float, m: int) -> np.ndarray:
    """``(m,)`` logarithms of Lap_ℤ(b) mod m, ``(1−β)/(1+β)·(β^d + β^(m−d))/(1−β^m)`` with ``β = e^(−1/b)``.

    Exact to rounding even where the probability underflows.
    """
    d = np.arange(m)
    norm = math.log(math.tanh(1 / (2 * b))) - math.log(-math.expm1(-m / b))
    return norm + np.logaddexp(-d / b, -(m - d) / b)


def worst_log_ratio(log_pmf: np.ndarray, shifts: int, at: np.ndarray | None = None) -> float:
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
    """
    worst = 0.0
    for s in range(1, shifts + 1) if at is None else at.tolist():
        with np.errstate(invalid="ignore"):  # −∞ against −∞: impossible in both, so no information
            ratio = np.abs(log_pmf - np.roll(log_pmf, s))
        worst = max(worst, float(np.nanmax(ratio)))
    return worst
