"""Verdicts counted, by whose claims they are about."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping

from hushbandits.bench.declare.claim import ORIGINS, Origin

__all__ = ["VERDICTS", "counted", "tally", "told"]

#: Verdicts in the order of pages, and how a sentence counts several of them.
VERDICTS = {"holds": "hold", "does not hold": "do not hold", "undecided": "undecided"}


def counted(verdicts: Mapping[str, int]) -> str:
    """Return how many claims got each verdict, in words; a dash where there are none.

    Examples
    --------
    >>> counted({"undecided": 1, "holds": 2}), counted({})
    ('2 hold, 1 undecided', '–')
    """
    said = (f"{verdicts[verdict]} {words}" for verdict, words in VERDICTS.items() if verdicts.get(verdict))
    return ", ".join(said) or "–"


def tally(found: Iterable[tuple[Origin, str]]) -> dict[Origin, Counter[str]]:
    """Count pairs of a claim's origin and its verdict, by origin; all three stand there.

    Examples
    --------
    >>> {origin: counted(by) for origin, by in tally([("paper", "holds"), ("own", "undecided")]).items()}
    {'paper': '1 hold', 'reading': '–', 'own': '1 undecided'}
    """
    by: dict[Origin, Counter[str]] = {origin: Counter() for origin in ORIGINS}
    for origin, verdict in found:
        by[origin][verdict] += 1
    return by


def told(by: Mapping[Origin, Mapping[str, int]]) -> str:
    """Return the counts of `tally` in words, origin by origin; empty where nothing was counted.

    Examples
    --------
    >>> told(tally([("paper", "holds"), ("own", "undecided")]))
    "the paper's: 1 hold; own addition: 1 undecided"
    """
    return "; ".join(f"{ORIGINS[origin]}: {counted(verdicts)}" for origin, verdicts in by.items() if verdicts)
