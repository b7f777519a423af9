"""What is known of kinds of blocks, each worked out once: numbers and noise, read for many blocks at a time."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import Any

import numpy as np

from hushbandits.core.ground.types import Array
from hushbandits.core.payload import Noise
from hushbandits.privacy.noise import halved

#: Sizes of blocks that are looked up in an array.
_SMALL = 1 << 12


class Kinds:
    """A row of numbers for each kind of block.

    Parameters
    ----------
    numbers : callable
        ``numbers(kind)`` → a tuple of so many numbers; asked once of each kind.
    dtype : type
        Of the numbers.

    Examples
    --------
    >>> kinds = Kinds(lambda n: (n * n, -n), np.int64)
    >>> kinds.of([3, 5, 3]).tolist(), kinds.by_size(np.array([[5], [4]])).tolist()
    ([[9, -3], [25, -5], [9, -3]], [[[25, -5]], [[16, -4]]])
    """

    def __init__(self, numbers: Callable[[Any], tuple[float, ...]], dtype: type):
        self._numbers = numbers
        self._row: dict[Hashable, int] = {}
        self._rows = np.full(_SMALL, -1)  # of the kinds that are small numbers
        self._table: Array = np.empty((0, 0), dtype)

    def of(self, kinds: Sequence[Hashable]) -> Array:
        """Return the rows of these kinds, ``(n, width)``."""
        at = self._at(kinds)  # it may make another table
        rows: Array = self._table[at]
        return rows

    def by_size(self, sizes: Array) -> Array:
        """Return the rows of the kinds that are numbers ≥ 0, ``(…, width)``."""
        try:
            at = self._rows[sizes]
        except IndexError:  # some are no small numbers
            return self.of(sizes.ravel().tolist()).reshape(*sizes.shape, -1)
        if (at < 0).any():
            small = np.unique(sizes)
            self._rows[small] = self._at(small.tolist())
            at = self._rows[sizes]
        rows: Array = self._table[at]
        return rows

    def _at(self, kinds: Sequence[Hashable]) -> list[int]:
        for kind in {*kinds} - self._row.keys():
            self._learn(kind)
        return list(map(self._row.__getitem__, kinds))

    def _learn(self, kind: Hashable) -> None:
        numbers, known = np.array(self._numbers(kind), self._table.dtype), len(self._row)
        if known == len(self._table):
            table = np.empty((2 * known + 8, len(numbers)), self._table.dtype)
            table[:known] = self._table if known else 0
            self._table = table
        self._table[known] = numbers
        self._row[kind] = known


class Noises:
    """The noise of blocks by how many users are planned, as messages take it (`Payload.add`).

    Parameters
    ----------
    law : callable
        ``law(n)`` → each user's noise in a block planned for n.
    """

    def __init__(self, law: Callable[[int], Noise]):
        self._law, self._halves = law, Kinds(self._half, np.float64)
        self._laws: dict[int, Noise] = {}

    def __call__(self, n: int) -> Noise:
        if (known := self._laws.get(n)) is None:
            known = self._laws[n] = self._law(n)
        return known

    def _half(self, n: int) -> tuple[float, float]:
        half = halved(self(n)) if n else None
        if half is None:
            return (np.nan if n else 0.0), 0.0  # of no users there is no noise
        return half.share, np.nan if half.p is None else half.p

    def pair(self, planned: Array, left: Array) -> tuple[Array, Array] | None:
        """Return what `native.differences` takes for the noise of the `left` users of each block, ``(R, M)``.

        ``None``: some noise is no difference of two draws.
        """
        share, p = self._halves.by_size(planned).transpose(2, 0, 1)
        return None if np.isnan(share).any() else (left * share, p.copy())
