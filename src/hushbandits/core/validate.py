"""Checks of arguments, each with a sentence that names the argument, the value and what is allowed."""

from __future__ import annotations

import difflib
import inspect
import math
import numbers
from collections.abc import Callable, Iterable
from typing import Any

__all__ = ["check_keywords", "choice", "integer", "nearest", "probability", "real"]


def nearest(name: str, known: Iterable[str]) -> str:
    """Return ``"; did you mean A or B?"`` for the nearest known names, else the list of all.

    Examples
    --------
    >>> nearest("DPMASE", ["DPMASE-v0", "CoopNetwork-v0"])
    '; did you mean DPMASE-v0?'
    """
    known = sorted(known)
    folded = {k.casefold(): k for k in known}
    close = [folded[c] for c in difflib.get_close_matches(name.casefold(), folded, n=3, cutoff=0.5)]
    return f"; did you mean {' or '.join(close)}?" if close else f"; known: {', '.join(known)}"


def choice(name: str, value: Any, options: Iterable[str]) -> str:
    """Return `value` if it is one of `options`, else raise ``ValueError`` naming the nearest ones."""
    options = list(options)
    if value in options:
        return str(value)
    raise ValueError(f"{name}={value!r} is not one of {', '.join(options)}")


def real(
    name: str,
    value: Any,
    low: float = -math.inf,
    high: float = math.inf,
    *,
    closed: str = "",
) -> float:
    """Return `value` as a finite float in the interval, else raise ``ValueError``.

    Parameters
    ----------
    low, high : float
        The ends of the interval.
    closed : str
        Which ends belong to it: ``""``, ``"low"``, ``"high"`` or ``"both"``.

    Examples
    --------
    >>> real("epsilon", 1, 0)
    1.0
    >>> real("beta", 1, 0, 1)
    Traceback (most recent call last):
        ...
    ValueError: beta=1 must lie in (0, 1)
    """
    inside = isinstance(value, numbers.Real) and not isinstance(value, bool) and math.isfinite(value)
    if inside:
        above = value >= low if closed in ("low", "both") else value > low
        below = value <= high if closed in ("high", "both") else value < high
        inside = above and below
    if inside:
        return float(value)
    left = "[" if closed in ("low", "both") else "("
    right = "]" if closed in ("high", "both") else ")"
    if math.isinf(low) and math.isinf(high):
        raise ValueError(f"{name}={value!r} must be a finite number")
    if math.isinf(high):
        raise ValueError(f"{name}={value!r} must be a number {'≥' if left == '[' else '>'} {low:g}")
    raise ValueError(f"{name}={value!r} must lie in {left}{low:g}, {high:g}{right}")


def probability(name: str, value: Any) -> float:
    """Return `value` as a float in [0, 1], else raise ``ValueError``."""
    return real(name, value, 0, 1, closed="both")


def integer(name: str, value: Any, low: int, high: float = math.inf) -> int:
    """Return `value` as an int in [low, high], else raise ``ValueError``.

    Examples
    --------
    >>> integer("n_agents", 0, 1)
    Traceback (most recent call last):
        ...
    ValueError: n_agents=0 must be an integer ≥ 1
    """
    whole = isinstance(value, numbers.Integral) or (isinstance(value, float) and value.is_integer())
    if whole and not isinstance(value, bool) and low <= value <= high:
        return int(value)
    bound = f"≥ {low}" if math.isinf(high) else f"in {low}..{high:g}"
    raise ValueError(f"{name}={value!r} must be an integer {bound}")


def check_keywords(what: str, function: Callable[..., Any], keywords: Iterable[str]) -> None:
    """Raise ``TypeError`` naming the nearest parameters if `function` does not take one of `keywords`."""
    parameters = inspect.signature(function).parameters
    if any(p.kind is p.VAR_KEYWORD for p in parameters.values()):
        return
    known = [n for n, p in parameters.items() if p.kind in (p.KEYWORD_ONLY, p.POSITIONAL_OR_KEYWORD) and n != "self"]
    for keyword in keywords:
        if keyword not in known:
            raise TypeError(f"{what} takes no parameter {keyword!r}{nearest(keyword, known)}")
