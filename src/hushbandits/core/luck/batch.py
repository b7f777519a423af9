"""The generators of a batch of runs, as one thing that draws for all of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from hushbandits.core.ground.types import Array
from hushbandits.core.luck.seeding import Seeded, many, named, placed, sown

__all__ = ["Generators", "together"]


class Generators(Sequence[np.random.Generator]):
    """The tape `name` of every run as generators, for draws that are rare or not uniform.

    Where runs are many, a generator is four words (`words`), and compiled code draws from them what NumPy would.  When
    somebody asks for one of them, all become objects, and go on where they stood.

    Parameters
    ----------
    seeds : sequence of R SeedSequences
        The runs.
    name : str
        The tape's name.

    Examples
    --------
    >>> seeds = [np.random.SeedSequence(7, spawn_key=(r,)) for r in range(9)]
    >>> rngs, again = Generators(seeds, "noise"), named(seeds, "noise")
    >>> rngs.words.shape, rngs[2].random() == again[2].random(), rngs.words is None
    ((9, 4), True, True)
    """

    def __init__(self, seeds: Sequence[np.random.SeedSequence], name: str):
        self._name, self._seeds = name, Seeded(seeds)
        #: (R, 4) the generators as data; ``None``: they are objects.
        self.words = sown(self._seeds, name) if many(len(seeds)) else None
        #: The generators as objects; ``None``: they are data.
        self.objects = named(self._seeds, name) if self.words is None else None

    def __len__(self) -> int:
        return len(self._seeds)

    def __getitem__(self, run: Any) -> Any:
        return self._each()[run]

    def __iter__(self) -> Iterator[np.random.Generator]:
        return iter(self._each())

    def _each(self) -> list[np.random.Generator]:
        if self.objects is None:
            assert self.words is not None
            self.objects = named(self._seeds, self._name)
            for rng, words in zip(self.objects, self.words.tolist(), strict=True):
                placed(rng, words)
            self.words = None
        return self.objects

    def begin(self, seeds: Sequence[np.random.SeedSequence], rows: Sequence[int] | Array) -> None:
        """Put the tapes of other seeds into the runs `rows`."""
        self._seeds.put_rows(seeds, rows)
        if self.words is not None:
            self.words[rows] = sown(seeds, self._name)
            return
        each = self._each()
        for row, rng in zip(rows, named(seeds, self._name), strict=True):
            each[row] = rng

    def put_rows(self, fresh: Generators, rows: Sequence[int] | Array) -> None:
        """Put the tapes of `fresh`, as far as they are read, into the runs `rows`."""
        self._seeds.put_rows(fresh._seeds, rows)
        each = self._each()
        for row, rng in zip(rows, fresh, strict=True):
            each[row] = rng


def together(*batches: Sequence[np.random.Generator]) -> tuple[Any, list[Array]] | None:
    """Return what draws for whole batches at once (`native`), and the words of each.

    ``None``: their runs are asked one by one.
    """
    words = [rngs.words for rngs in batches if isinstance(rngs, Generators) and rngs.words is not None]
    if len(words) < len(batches):
        return None
    import hushbandits.core.luck.native as native

    return (native, words) if native.found else None
