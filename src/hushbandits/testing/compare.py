"""What all checkers share: nested values compared, plays repeated, and a sentence that says what broke."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import numpy as np

_Seen = TypeVar("_Seen")


def required(promise: bool, broken: str) -> None:
    """Raise ``AssertionError(broken)`` unless a promise holds."""
    # Not an assert statement: python -O would make the checker agree with everything.
    if not promise:
        raise AssertionError(broken)


def repeatable(play: Callable[[], _Seen], whose: str, decides: str = "the same seed") -> _Seen:
    """Return what a play shows.

    Raise ``AssertionError`` where it moves a global random generator, or shows something else when these hold something
    else; they are put back to where they were.
    """
    before = _generators()
    try:
        first = _untouched(play, whose)
        for trial in (1, 2):
            np.random.seed(trial)  # noqa: NPY002
            random.seed(trial)
            what = f"{whose}: {decides}, after numpy.random.seed({trial}): it draws from elsewhere, or two games"
            same(first, _untouched(play, whose), what)
        return first
    finally:
        np.random.set_state(before["numpy.random"])  # noqa: NPY002
        random.setstate(before["random"])


def _generators() -> dict[str, Any]:
    return {"numpy.random": np.random.get_state(), "random": random.getstate()}  # noqa: NPY002


def _untouched(play: Callable[[], _Seen], whose: str) -> _Seen:
    before = _generators()
    seen = play()
    for name, state in _generators().items():
        required(difference(before[name], state) is None, f"{whose}: it moved the global state of {name}")
    return seen


def same(one: object, two: object, what: str) -> None:
    """Raise ``AssertionError`` where two nested values differ."""
    found = difference(one, two)
    required(found is None, f"{what} differ at {found}")


def difference(one: object, two: object) -> str | None:
    """Where two nested values first differ and how, or ``None``; NaN equals NaN."""
    if isinstance(one, Mapping) and isinstance(two, Mapping):
        for key in [*one, *(key for key in two if key not in one)]:
            if key not in one or key not in two:
                return f"{key}: missing in the {'first' if key in two else 'second'}"
            if (found := difference(one[key], two[key])) is not None:
                return f"{key}, {found}"
        return None
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
