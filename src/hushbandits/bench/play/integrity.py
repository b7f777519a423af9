"""Checksums of rows: what is read is what was written.

One sum per cell, metric and run for its value at the end, one for its curve, one (metric ``""``) for the run as a
whole, one for all sessions and one for all failures.  None depends on how runs were batched.  CRC-32 guards against
disks and copies, not against forgers.
"""

from __future__ import annotations

import itertools
import math
import struct
import zlib
from collections.abc import Iterable
from operator import itemgetter

__all__ = ["WHOLE", "Row", "checksum", "checksums", "rows_sum", "text_sum", "whole_sum"]

#: Run, metric, time (``None``: the end) and value (``None``: NaN).
Row = tuple[int, str, float | None, float | None]
#: The metric under which the sum of a whole run stands.
WHOLE = ""


def text_sum(*texts: str) -> int:
    """Return the checksum of texts.

    Examples
    --------
    >>> text_sum("ab", "c") == text_sum("a", "bc")
    False
    """
    return zlib.crc32("\0".join(texts).encode())


def checksum(key: str, metric: str, run: int, points: Iterable[tuple[float | None, float | None]]) -> int:
    """Return the sum of one run's (time, value) pairs of a metric, in order of time; the end has the time ``None``.

    Raises
    ------
    TypeError, struct.error
        Something that is no number.

    Examples
    --------
    >>> end = checksum("cell", "regret", 0, [(None, 3.0)])
    >>> end == checksum("cell", "regret", 1, [(None, 3.0)]), end == checksum("cell", "regret", 0, [(None, 3)])
    (False, True)
    """
    # SQLite stores NaN as NULL and −0 as 0.
    numbers = [math.nan if x is None else x + 0.0 for point in points for x in point]
    return zlib.crc32(struct.pack(f"<{len(numbers)}d", *numbers), text_sum(key, metric, str(run)))


def checksums(key: str, rows: Iterable[Row]) -> dict[tuple[str, int], int]:
    """Sum up a cell's rows (run, metric, time, value), those of one metric and run together, by (metric, run).

    Examples
    --------
    >>> rows = [(0, "regret", 1.0, 0.5), (0, "regret", 2.0, 0.75), (1, "regret", 1.0, 0.5)]
    >>> list(checksums("cell", rows))
    [('regret', 0), ('regret', 1)]
    """
    sums: dict[tuple[str, int], int] = {}
    for (run, metric), group in itertools.groupby(rows, itemgetter(0, 1)):
        if (metric, run) in sums:
            raise TypeError("rows are out of order")
        sums[metric, run] = checksum(key, metric, run, [(row[2], row[3]) for row in group])
    return sums


def rows_sum(rows: Iterable[Iterable[object]]) -> int:
    """Return the checksum of texts and whole numbers in rows: the sum of theirs, whatever their order.

    Examples
    --------
    >>> rows_sum([(1, "a"), (2, "b")]) == (rows_sum([(1, "a")]) + rows_sum([(2, "b")])) % 2**32
    True
    """
    return sum(text_sum(*map(str, row)) for row in rows) % 2**32


def whole_sum(key: str, run: int, parts: Iterable[tuple[str, int | None, int | None]]) -> int:
    """Sum up the sums (metric, of the end, of the curve) of one run.

    Examples
    --------
    >>> whole_sum("cell", 0, [("a", 1, 2), ("b", 3, None)]) == whole_sum("cell", 0, [("b", 3, None), ("a", 1, 2)])
    True
    """
    return text_sum(key, str(run), repr(sorted(tuple(part) for part in parts)))
