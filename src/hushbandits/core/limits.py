"""How much memory a call may ask for: checked before anything is allocated."""

from __future__ import annotations

import math
import os

__all__ = ["affordable", "limit"]

_VARIABLE = "HUSHBANDITS_MEMORY"
#: GiB that a single request may need unless the environment variable ``HUSHBANDITS_MEMORY`` says otherwise.
DEFAULT = 8.0


def limit() -> float:
    """Return the most bytes that one request may need: ``HUSHBANDITS_MEMORY`` GiB, by default 8.

    Raises
    ------
    ValueError
        The variable is no positive number.

    Examples
    --------
    >>> limit() > 0
    True
    """
    text = os.environ.get(_VARIABLE, "")
    if not text:
        return DEFAULT * 2**30
    try:
        size = float(text)
    except ValueError:
        size = math.nan
    if not size > 0:
        raise ValueError(f"{_VARIABLE}={text!r} must be a number of GiB > 0")
    return size * 2**30


def affordable(what: str, size: float) -> None:
    """Raise ``ValueError`` if `what` needs more than `limit` bytes.

    Examples
    --------
    >>> affordable("n_agents=4", 1000)
    >>> affordable("n_agents=10**9", 1e15)
    Traceback (most recent call last):
        ...
    ValueError: n_agents=10**9 needs about 931,323 GiB of memory, beyond the limit of 8 GiB;
    HUSHBANDITS_MEMORY=… raises it
    """
    most = limit()
    if size > most:
        raise ValueError(
            f"{what} needs about {size / 2**30:,.0f} GiB of memory, beyond the limit of {most / 2**30:g} GiB; "
            f"{_VARIABLE}=… raises it"
        )
