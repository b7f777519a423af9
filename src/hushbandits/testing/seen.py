"""What all checkers share: what was seen, compared; the global generators, watched; and saying what broke."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TypeVar

import numpy as np

from hushbandits.core.ground.types import Array

__all__ = ["difference", "globals_kept", "mapped", "repeatable", "required", "same", "untouched"]

_Seen = TypeVar("_Seen")


def required(promise: bool, broken: str) -> None:
    """Raise ``AssertionError(broken)`` unless a promise holds."""
    # Not an assert statement: python -O would make the checker agree with everything.
    if not promise:
        raise AssertionError(broken)


@contextmanager
def globals_kept() -> Iterator[None]:
    """Put the global random generators back to where they were."""
    numpy_state, python_state = np.random.get_state(), random.getstate()  # noqa: NPY002
    try:
        yield
    finally:
        np.random.set_state(numpy_state)  # noqa: NPY002
        random.setstate(python_state)


@contextmanager
def untouched(what: str) -> Iterator[None]:
    """Raise ``AssertionError`` where the global random generators have moved meanwhile."""
    before = np.random.get_state(), random.getstate()  # noqa: NPY002
    yield
    after = np.random.get_state(), random.getstate()  # noqa: NPY002
    for name, one, two in zip(("numpy.random", "random"), before, after, strict=True):
        required(difference(one, two) is None, f"{what} moved the global state of {name}")


def repeatable(play: Callable[[], _Seen], what: str, otherwise: str) -> _Seen:
    """Return what a play shows, and raise ``AssertionError`` unless it shows it again whatever the generators hold.

    `what` should decide it; `otherwise` says what may be wrong where it does not.
    """
    first = play()
    for trial in (1, 2):
        np.random.seed(trial)  # noqa: NPY002
        random.seed(trial)
        same(first, play(), f"{what}, after numpy.random.seed({trial}): {otherwise}")
    return first


def same(one: object, two: object, what: str) -> None:
    """Raise ``AssertionError`` where two nested values differ."""
    found = difference(one, two)
    required(found is None, f"{what} differ at {found}")


def difference(one: object, two: object) -> str | None:
    """Where two nested values first differ and how, or ``None``; NaN equals NaN."""
    if isinstance(one, Mapping) and isinstance(two, Mapping):
        for key, value in one.items():
            if key not in two:
                return f"{key}: missing in the second"
            if (found := difference(value, two[key])) is not None:
                return f"{key}, {found}"
        return next((f"{key}: missing in the first" for key in two if key not in one), None)
    if isinstance(one, (list, tuple)) and isinstance(two, (list, tuple)):
        if len(one) != len(two):
            return f"the length: {len(one)} and {len(two)}"
        pairs = enumerate(zip(one, two, strict=True))
        return next((f"{i}, {found}" for i, pair in pairs if (found := difference(*pair))), None)
    a, b = np.asarray(one), np.asarray(two)
    if a.dtype != b.dtype or a.shape != b.shape:
        return f"the type: {a.dtype} {a.shape} and {b.dtype} {b.shape}"
    unequal = np.argwhere(~((a == b) | ((a != a) & (b != b))))
    if not len(unequal):
        return None
    index = tuple(unequal[0].tolist())
    return f"{f'entry {index}' if index else 'the value'}: {a[index]!r} and {b[index]!r}"


def mapped(value: object, function: Callable[[Array], Array]) -> object:
    """Return nested dicts and tuples with every array in them replaced by what a function makes of it."""
    if isinstance(value, Mapping):
        return {key: mapped(x, function) for key, x in value.items()}
    if isinstance(value, tuple):
        return tuple(mapped(x, function) for x in value)
    return function(np.asarray(value))
