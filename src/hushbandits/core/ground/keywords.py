"""A call with an argument that a function does not take says which one is meant."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from functools import wraps
from typing import Any, ParamSpec, TypeVar

from hushbandits.core.ground.validate import nearest, shown

__all__ = ["keywords", "named"]

_P = ParamSpec("_P")
_T = TypeVar("_T")
_C = TypeVar("_C", bound=type)
#: What else is known of an argument, to end a sentence: of its name, its value, and what the call was given.  The name
#: is empty where it was given by position.
Hint = Callable[[str, object, Sequence[Any], Mapping[str, Any]], str]


def _nothing(name: str, value: object, args: Sequence[Any], given: Mapping[str, Any]) -> str:
    return ""


def named(hint: Hint = _nothing) -> Callable[[Callable[_P, _T]], Callable[_P, _T]]:
    """Decorate a function: a ``TypeError`` of a wrong call has the argument's name, its value, and what is meant.

    Parameters
    ----------
    hint : callable, optional
        ``hint(name, value, args, given)``: where such an argument belongs, in the place of the nearest names.

    Examples
    --------
    >>> @named()
    ... def play(agent, runs=20):
    ...     return runs
    >>> play("UCB1", n_runs=3)
    Traceback (most recent call last):
        ...
    TypeError: play takes no parameter n_runs=3; did you mean runs?
    """

    def decorate(function: Callable[_P, _T]) -> Callable[_P, _T]:
        @wraps(function)
        def call(*args: _P.args, **given: _P.kwargs) -> _T:
            try:
                return function(*args, **given)
            except TypeError as error:
                here = error.__traceback__
                if here is None or here.tb_next is not None:  # it was called, and something in it raised
                    raise
                said = _said(function, args, given, hint)
                raise TypeError(said or str(error)) from None

        return call

    return decorate


def _said(function: Callable[..., object], args: Sequence[Any], given: Mapping[str, Any], hint: Hint) -> str:
    """What is wrong with a call; empty: something else than what it was given."""
    parameters = inspect.signature(function).parameters.values()
    own = "self" in (p.name for p in parameters)
    what = function.__qualname__.partition(".")[0] if own else function.__name__
    names = [p.name for p in parameters if p.name != "self" and p.kind not in (p.VAR_KEYWORD, p.VAR_POSITIONAL)]
    open_ended = any(p.kind is p.VAR_KEYWORD for p in parameters)
    for name, value in given.items():
        if name not in names and not open_ended:
            meant = hint(name, value, args, given) or nearest(name, names)
            return f"{what} takes no parameter {name}={shown(value)}{meant}"
    first = [p.name for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    if len(args) > len(first):
        value = args[len(first)]
        by_name = [name for name in names if name not in first]
        known = hint("", value, args, given) or (f", such as {by_name[0]}={shown(value)}" if by_name else "")
        alone = ", ".join(name for name in first if name != "self") or "nothing"
        return f"{what} takes {alone} by position; {shown(value)} must be given by its name{known}"
    return ""


def keywords(cls: _C) -> _C:
    """Decorate a class whose ``__init__`` takes names alone, as `named` does a function."""
    setattr(cls, "__init__", named()(vars(cls)["__init__"]))  # noqa: B010  (mypy refuses the assignment)
    return cls
