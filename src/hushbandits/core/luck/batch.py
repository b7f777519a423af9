"""The generators of a batch of runs, as one thing that draws for all of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from hushbandits.core.luck.seeding import Seeded, many, named, placed, sown
from hushbandits.core.utils import Array

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
        self._name, self._seeds = name, seeds if isinstance(seeds, Seeded) else Seeded(seeds)

    @cached_property
    def words(self) -> Array | None:
        """(R, 4) the generators as data; ``None``: they are objects."""
        return sown(self._seeds, self._name) if many(len(self)) else None

    @cached_property
    def objects(self) -> list[np.random.Generator]:
        """The generators as objects, from now on."""
        words, self.words = self.words, None
        each = named(self._seeds, self._name)
        if words is not None:  # they go on where these stood
            for rng, own in zip(each, words.tolist(), strict=True):
                placed(rng, own)
        return each

    def __len__(self) -> int:
        return len(self._seeds)

    def __getitem__(self, run: Any) -> Any:
        return self.objects[run]

    def __iter__(self) -> Iterator[np.random.Generator]:
        return iter(self.objects)

    def reset(self, seeds: Sequence[np.random.SeedSequence], rows: Sequence[int] | Array) -> None:
        """Start the tapes of the runs `rows` anew."""
        if (words := self.words) is not None:
            words[rows] = sown(seeds, self._name)
        else:
            for row, rng in zip(rows, named(seeds, self._name), strict=True):
                self.objects[row] = rng
        self._seeds = self._seeds.replaced(rows, seeds)

    def __setitem__(self, rows: Sequence[int] | Array, fresh: Generators) -> None:
        """Start the tapes of the runs `rows` anew: those of `fresh`, which nobody has read."""
        self.reset(fresh._seeds, rows)


def together(*batches: Sequence[np.random.Generator]) -> tuple[Any, list[Array]] | None:
    """Return what draws for whole batches at once (`native`), and the words of each.

    ``None``: their runs are asked one by one.
    """
    words = [rngs.words for rngs in batches if isinstance(rngs, Generators) and rngs.words is not None]
    if len(words) < len(batches):
        return None
    import hushbandits.core.luck.native as native

    return (native, words) if native.found else None
