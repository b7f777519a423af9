"""How much memory one object may ask for: estimated before anything is allocated."""

from __future__ import annotations

import os

#: Numbers beyond ± this are refused: sums and products of them would not stay finite.
LARGEST_NUMBER = 1e100

_NAME = "HUSHBANDITS_MEMORY"
_DEFAULT = 8.0  # GiB
_GIB = 2.0**30


def limit() -> float:
    """Bytes that may be asked for at once: the environment variable ``HUSHBANDITS_MEMORY`` in GiB, by default 8."""
    text = os.environ.get(_NAME, "")
    try:
        size = float(text) if text else _DEFAULT
    except ValueError:
        size = 0.0
    if not size > 0:
        raise ValueError(f"{_NAME}={text!r} must be a number of GiB > 0")
    return size * _GIB


def affordable(what: str, size: float) -> None:
    """Raise ``ValueError`` if `size` bytes are more than the `limit`.

    Parameters
    ----------
    what : str
        What asks for them, with the numbers that make it large.
    size : float
        An estimate, in bytes.

    Examples
    --------
    >>> affordable("n_agents=10", 800)
    >>> affordable("n_agents=1000000 on a complete graph", 8e12)
    Traceback (most recent call last):
        ...
    ValueError: n_agents=1000000 on a complete graph would take 7451 GiB, more than the 8 GiB allowed; ...
    """
    most = limit()
    if size > most:
        raise ValueError(
            f"{what} would take {size / _GIB:.4g} GiB, more than the {most / _GIB:g} GiB allowed; "
            f"set {_NAME} (GiB) to allow more"
        )
