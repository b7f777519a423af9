"""Looks: the numbers of runs at which an experiment's claims are judged, fixed before the first run."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

from hushbandits.core.ground.validate import integer, shown

__all__ = ["checked", "parsed", "words"]


def checked(what: str, looks: Sequence[int], runs: int, claims: Sequence[object]) -> tuple[int, ...]:
    """Return the looks as integers; ``ValueError`` where they do not grow, or do not end with `runs`.

    Examples
    --------
    >>> checked("experiment x", (48, 100.0), 100, ["a claim"])
    (48, 100)
    >>> checked("experiment x", (48, 100), 300, ["a claim"])
    Traceback (most recent call last):
        ...
    ValueError: experiment x: looks=(48, 100) must end with runs=300
    """
    whole = tuple(integer(f"{what}: looks", n, 1) for n in looks)
    if any(later <= sooner for sooner, later in itertools.pairwise(whole)):
        raise ValueError(f"{what}: looks={shown(whole)} must be increasing numbers of runs")
    if whole and whole[-1] != runs:
        raise ValueError(f"{what}: looks={shown(whole)} must end with runs={runs}")
    if whole and not claims:
        raise ValueError(f"{what}: looks={shown(whole)} are for claims, and it makes none")
    return whole


def parsed(text: str) -> tuple[int, ...]:
    """Read ``"48,100"``.

    Examples
    --------
    >>> parsed("48, 100")
    (48, 100)
    """
    parts = [part.strip() for part in text.split(",")]
    if not all(part.isascii() and part.isdigit() and len(part) <= 10 for part in parts):
        raise ValueError(f"looks={shown(text)} must read N,N,… with increasing numbers of runs, such as 48,100")
    return tuple(map(int, parts))


def words(looks: Sequence[int], runs: int) -> str:
    """Say how many runs there are.

    Examples
    --------
    >>> words((), 1), words((), 20), words((48, 100, 300), 300)
    ('1 run', '20 runs', '48, 100 or 300 runs')
    """
    numbers = [f"{n:,}" for n in looks or (runs,)]
    return " or ".join(filter(None, (", ".join(numbers[:-1]), numbers[-1]))) + f" run{'s' * (numbers[-1] != '1')}"
