"""Names of files that a run leaves behind: plain names in their folder."""

from __future__ import annotations

from hushbandits.bench.declare.shapes import plain_name

__all__ = ["picture"]


def picture(name: str, format: str = "png") -> str:
    """Return the file name of an experiment's picture.

    Examples
    --------
    >>> picture("rio2023-fig1")
    'rio2023-fig1.png'
    """
    return f"{plain_name('experiment name', name)}.{format}"
