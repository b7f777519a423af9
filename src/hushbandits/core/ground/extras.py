"""Packages that only some features need."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def extra(name: str) -> Iterator[None]:
    """Turn a missing package into an ``ImportError`` that says which extra brings it.

    Parameters
    ----------
    name : str
        The extra, such as ``"bench"``.

    Examples
    --------
    >>> with extra("bench"):
    ...     import nowhere_to_be_found
    Traceback (most recent call last):
        ...
    ImportError: nowhere_to_be_found is not installed: pip install "hushbandits[bench]"
    """
    try:
        yield
    except ModuleNotFoundError as error:
        raise ImportError(f'{error.name} is not installed: pip install "hushbandits[{name}]"') from error
