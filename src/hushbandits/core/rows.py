"""Some runs of a batch start afresh while the others go on.

A part that can do so in place says how, in a method ``_begin`` beside its ``reset``
(`hushbandits.core.ground.strangers.begins`); of all others a fresh one is built for the runs that start, and its state
put among theirs (`put_rows`).

`put_rows` copies the state of n fresh runs into rows of an object that plays R: array by array, through attributes,
named tuples, lists and dicts.  Nothing is guessed: an axis belongs to the runs exactly where the sizes of the two
objects differ, R against n; what is one for all runs must be the same on both sides, and is refused by name if not.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar, cast

import numpy as np

from hushbandits.core.ground.types import Array
from hushbandits.core.ground.validate import shown
from hushbandits.core.wrapper import Wrapper

__all__ = ["put_attributes", "put_rows"]

T = TypeVar("T")


def put_rows(into: T, fresh: T, rows: Sequence[int] | Array) -> T:
    """Put the state of the n runs of `fresh` into the runs `rows` of `into`.

    Parameters
    ----------
    into : object
        Plays R runs.  Changed in place, if its kind can be (a tuple cannot).
    fresh : object
        Of the same kind, built for n < R runs; not to be used afterwards.
    rows : (n,) ints
        All different.

    Returns
    -------
    object
        `into`, or what stands for it.

    Raises
    ------
    ValueError
        n is not below R (then reset), or `into` holds something that is one for all runs and differs from `fresh`.
        Nothing says how much has been put by then.

    Notes
    -----
    A class may list in `not_rows` the attributes that are no run's state, such as an array of row numbers or a
    buffer; they stay.  One that needs more (a tape, whose runs share a position) defines ``put_rows(fresh, rows)``.
    An attribute named ``runs`` is R here and n there.  An attribute that `fresh` does not have yet stays: a fresh run
    writes it before it reads it.
    """
    put = _Put(rows)
    result = put.value(into, fresh, "")
    put.end()
    return cast(T, result)


def put_attributes(into: T, fresh: T, rows: Sequence[int] | Array) -> None:
    """Do what `put_rows` does with an object that has no `put_rows` of its own; for use within one that has."""
    put = _Put(rows)
    put.attributes(into, fresh, "")
    put.end()


class _Put:
    def __init__(self, rows: Sequence[int] | Array):
        index = np.asarray(rows)
        if index.ndim != 1 or index.dtype.kind not in "iu" or not len(index):
            raise ValueError(f"rows={shown(rows)} must list at least one run")
        if index.min() < 0 or len(np.unique(index)) < len(index):
            raise ValueError(f"rows={shown(rows)} must be different numbers of runs, from 0 on")
        self.rows, self.n = index, len(index)
        self.runs: int | None = None  # R, once it is known
        self.found = False
        # What stands for a pair afterwards; the pair is held, so that no other object gets its ids.
        self.seen: dict[tuple[int, int], tuple[object, object, object]] = {}

    def end(self) -> None:
        if not self.found:
            raise ValueError(f"rows={shown(self.rows.tolist())}: nothing here is a run's own, or these are all runs")

    def value(self, into: object, fresh: object, path: str) -> object:
        """What stands for `into` afterwards."""
        if into is fresh:
            return into
        key = id(into), id(fresh)
        if key not in self.seen:
            self.seen[key] = into, fresh, into  # what refers to itself is not followed again
            self.seen[key] = into, fresh, self._put(into, fresh, path)
        return self.seen[key][2]

    def _put(self, into: object, fresh: object, path: str) -> object:
        if type(into) is not type(fresh):
            self._same(False, into, fresh, path)
        if hasattr(into, "put_rows"):
            into.put_rows(fresh, self.rows)
            self.found = True
        elif isinstance(into, np.ndarray) and isinstance(fresh, np.ndarray):
            return self._array(into, fresh, path)
        elif isinstance(into, (list, tuple)) and isinstance(fresh, (list, tuple)):
            return self._sequence(into, fresh, path)
        elif isinstance(into, dict) and isinstance(fresh, dict):
            self._same(into.keys() == fresh.keys(), list(into), list(fresh), f"{path}, by its keys,")
            for name in into:
                into[name] = self.value(into[name], fresh[name], f"{path}[{name!r}]")
        elif isinstance(into, np.random.Generator) and isinstance(fresh, np.random.Generator):
            self._same(into.bit_generator.state == fresh.bit_generator.state, into, fresh, path)
        elif isinstance(into, Wrapper):  # callable only to say that it is not
            self.attributes(into, fresh, path)
        elif callable(into) or not (hasattr(into, "__dict__") or hasattr(into, "__slots__")):
            nan = into != into and fresh != fresh
            self._same(nan or into == fresh, into, fresh, path)
        else:
            self.attributes(into, fresh, path)
        return into

    def attributes(self, into: object, fresh: object, path: str) -> None:
        """Go through all attributes but `not_rows`."""
        skipped = getattr(type(into), "not_rows", ())
        for name in _names(fresh):
            where = f"{path}.{name}"
            if name in skipped:
                continue
            if not hasattr(into, name):
                raise ValueError(f"{_at(where)} is not there yet: start all runs first")
            old, new = getattr(into, name), getattr(fresh, name)
            if name == "runs" and isinstance(old, int):
                self._size(old, new, where)
            elif (put := self.value(old, new, where)) is not old:
                object.__setattr__(into, name, put)  # frozen or not

    def _size(self, runs: int, n: int, path: str) -> None:
        if n != self.n or runs <= n or runs != (self.runs or runs):
            raise ValueError(
                f"{_at(path)} has {runs} entries, and {n} where {self.n} of {self.runs or 'more'} runs start afresh"
            )
        if self.rows.max() >= runs:
            raise ValueError(f"rows={shown(self.rows.tolist())} must be runs in 0..{runs - 1}")
        self.runs, self.found = runs, True

    def _same(self, same: bool, into: object, fresh: object, path: str) -> None:
        if not same:
            raise ValueError(
                f"{_at(path)} is {shown(into)}, and {shown(fresh)} afresh: it is one for all runs, none can start alone"
            )

    def _array(self, into: Array, fresh: Array, path: str) -> Array:
        differ = [axis for axis, (a, b) in enumerate(zip(into.shape, fresh.shape, strict=False)) if a != b]
        if into.ndim != fresh.ndim or len(differ) > 1 or into.dtype != fresh.dtype:
            self._same(False, f"{into.dtype} {into.shape}", f"{fresh.dtype} {fresh.shape}", path)
        nan = into.dtype.kind in "fc"
        if not differ:
            self._same(np.array_equal(into, fresh, equal_nan=nan), into, fresh, path)
            return into
        self._size(into.shape[differ[0]], fresh.shape[differ[0]], path)
        where = (slice(None),) * differ[0] + (self.rows,)
        if not into.flags.writeable:
            if np.array_equal(into[where], fresh, equal_nan=nan):
                return into
            into = into.copy()
        into[where] = fresh
        return into

    def _sequence(self, into: Sequence[object], fresh: Sequence[object], path: str) -> Sequence[object]:
        values = list(into)
        if len(into) != len(fresh):
            self._size(len(into), len(fresh), path)
            for row, new in zip(self.rows, fresh, strict=True):
                values[row] = new
        else:
            names = getattr(into, "_fields", None)
            for i, (old, new) in enumerate(zip(into, fresh, strict=True)):
                values[i] = self.value(old, new, f"{path}.{names[i]}" if names else f"{path}[{i}]")
        if all(a is b for a, b in zip(into, values, strict=True)):
            return into
        if isinstance(into, list):
            into[:] = values
            return into
        return cast(Callable[[list[object]], Sequence[object]], getattr(into, "_make", type(into)))(values)


def _names(value: object) -> list[str]:
    slots = [name for cls in type(value).__mro__ for name in getattr(cls, "__slots__", ())]
    return [*getattr(value, "__dict__", ()), *(name for name in slots if hasattr(value, name))]


def _at(path: str) -> str:
    return path.lstrip(".") or "this"
