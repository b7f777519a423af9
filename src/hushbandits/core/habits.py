"""What code of one's own does by mistake and nobody would notice: hooks misspelt, and NumPy's global generator."""

from __future__ import annotations

import pickle
import warnings
from collections.abc import Collection, Iterator
from contextlib import contextmanager

import numpy as np

__all__ = ["listen", "misspelt", "steady"]

_PACKAGE = __name__.partition(".")[0]
#: Classes that have been looked at.
_seen: set[type] = set()
#: Those who were told that the global generator moved.
_told: set[str] = set()


def listen(cls: type, base: type, hooks: Collection[str] = ()) -> None:
    """Warn, once for a class of one's own, of each method that looks like a misspelt hook.

    Parameters
    ----------
    cls : type
    base : type
        What it inherits; hooks that only this class defines count as not written.
    hooks : iterable of str
        What is called; default: all methods of `base`.
    """
    if cls in _seen or not _own(cls):
        return
    _seen.add(cls)
    hooks = tuple(hooks) or tuple(n for n, v in vars(base).items() if callable(v) and not n.startswith("_"))
    for name, meant in misspelt(cls, hooks, base):
        what = f"{cls.__qualname__} defines {name}, which nobody calls; did you mean {' or '.join(meant)}?"
        warnings.warn(what, UserWarning, stacklevel=3)


def _own(part: object) -> bool:
    return str(getattr(part, "__module__", "")).partition(".")[0] != _PACKAGE


def misspelt(cls: type, hooks: Collection[str], base: type = object) -> Iterator[tuple[str, list[str]]]:
    """Yield the methods of a class, and of its bases up to `base`, that are one slip from a hook it does not write.

    A slip is a letter too many, too few, another one, or two that changed places; capitals and underscores are none.
    """
    inherited = set(base.__mro__)
    mine = [c for c in cls.__mro__ if c not in inherited]
    written = {name: value for c in reversed(mine) for name, value in vars(c).items()}
    unwritten = [hook for hook in hooks if hook not in written]
    for name, value in written.items():
        if name.startswith("_") or not callable(value) or hasattr(base, name) or name in hooks:
            continue
        if meant := [hook for hook in unwritten if _near(name.replace("_", "").casefold(), hook.replace("_", ""))]:
            yield name, meant


def _near(one: str, other: str) -> bool:
    """Whether at most one slip lies between two words."""
    if len(one) > len(other):
        one, other = other, one
    first = next((i for i, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), len(one))
    left, right = one[first:], other[first:]
    if len(one) < len(other):
        return left == right[1:]
    return left[1:] == right[1:] or (left[:2] == right[1::-1] and left[2:] == right[2:])


@contextmanager
def steady(*parts: object) -> Iterator[None]:
    """Warn, once for those who play, if NumPy's global generator moves in the block: no seed of ours repeats that.

    Parameters
    ----------
    *parts : class or function
        Whose code plays; where all of it ships, nothing is looked at.
    """
    names = " and ".join(str(getattr(part, "__qualname__", part)) for part in dict.fromkeys(parts) if _own(part))
    if not names or names in _told:
        yield
        return
    before = _global_state()
    yield
    if _global_state() != before:
        _told.add(names)
        warnings.warn(
            f"NumPy's global generator moved while {names} played: the same seed will give other numbers; draw from "
            f"the rng that an agent is built with, or from own_stream and a wrapper's generators",
            UserWarning,
            stacklevel=3,
        )


def _global_state() -> bytes:
    return pickle.dumps(np.random.get_state(legacy=False))  # noqa: NPY002 - watched, not used
