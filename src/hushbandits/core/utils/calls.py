"""Errors of calls that do not fit a signature."""

import functools
import inspect
from collections.abc import Callable
from typing import TypeVar

from hushbandits.core.utils.registry import TABLES
from hushbandits.core.utils.validate import an, nearest

_Call = TypeVar("_Call", bound=Callable[..., object])


def told(function: _Call) -> _Call:
    """Decorate a function: a call that does not fit its signature raises ``TypeError`` with the names that it takes.

    Examples
    --------
    >>> told(lambda runs, seed=0: runs)(1, sed=2)
    Traceback (most recent call last):
        ...
    TypeError: <lambda>: got an unexpected keyword argument 'sed'; did you mean seed?
    """
    takes = inspect.signature(function)

    @functools.wraps(function)
    def checked(*args: object, **given: object) -> object:
        try:
            takes.bind(*args, **given)
        except TypeError as error:
            wrong = next((name for name in given if name not in takes.parameters), "")
            tables = (table for table in TABLES if table.kind != "command")  # a command's options are for the shell
            kinds = [table.kind for table in tables for n in table.builtin if wrong in table[n].parameters()]
            meant = f", a parameter of {an(kinds[0])}" if kinds else nearest(wrong, takes.parameters.keys() - {"self"})
            raise TypeError(f"{function.__qualname__.removesuffix('.__init__')}: {error}{meant}") from None
        return function(*args, **given)

    return checked  # type: ignore[return-value]
