"""Decorators for functions that Numba compiles at their first call; Numba is imported only then."""

import functools
from collections.abc import Callable, Iterator
from types import MethodType
from typing import Any, TypeVar

_T = TypeVar("_T")


class Rule:
    """A function that is compiled to machine code at its first call.

    Until then it costs nothing: Numba alone takes a third of a second to import.  Compiled code learns what a rule is
    by ``_numba_type_``, where Numba asks a global or a closed-over name for its type.

    Attributes
    ----------
    py_func : callable
        The function as it is written.
    inline : bool
        Whether compiled callers get its code in place of a call.
    lean : bool
        Whether its code counts no references to arrays.
    """

    # What stands in the slot `__call__` is called by Python itself: a compiled rule costs no frame of its own.
    __slots__ = ("__call__", "__dict__", "__weakref__")
    __call__: Callable[..., Any]

    def __init__(self, function: Callable[..., object], inline: bool = False, lean: bool = False):
        functools.update_wrapper(self, function)
        self.py_func, self.inline, self.lean = function, inline, lean
        self.__call__ = lambda *args: self.compiled(*args)

    @functools.cached_property
    def compiled(self) -> Any:
        """Return Numba's dispatcher of the function, or the function itself if Numba is switched off."""
        self.__call__ = self._dispatcher(True)
        return self.__call__

    @functools.cached_property
    def callee(self) -> Any:
        """Return Numba's dispatcher for compiled callers, which need no wrapper for Python: that takes long to make."""
        return self._dispatcher(False)

    def _dispatcher(self, wrapped: bool) -> Any:
        from hushbandits.core.utils.jit_cache import dispatcher

        return dispatcher(self.py_func, [*parts(self.py_func)], self.inline, self.lean, wrapped)

    @property
    def _numba_type_(self) -> object:
        calls_itself = "compiled" in vars(self) and self.compiled.is_compiling
        return (self.compiled if calls_itself else self.callee)._numba_type_

    def __get__(self, instance: object, owner: type | None = None) -> "Rule | MethodType":
        """Return the rule bound to `instance`, or the rule itself if it is accessed on a class."""
        return self if instance is None else MethodType(self, instance)

    def __reduce__(self) -> str | tuple[object, ...]:
        """Pickle an importable rule by its name, and any other rule by its function."""
        name, made = self.py_func.__qualname__, (self.py_func, self.inline, self.lean)
        return name if self.__module__ != "__main__" and "<locals>" not in name else (Rule, made)

    def __deepcopy__(self, memo: object) -> "Rule":
        """Return the rule itself, because a rule holds no state."""
        return self


def jit(function: Callable[..., object]) -> "Rule":
    """Return `function` as a rule that is compiled at its first call and cached on disk."""
    return Rule(function)


def lean(function: Callable[..., object]) -> "Rule":
    """Return `function` as a rule that makes and returns no array.

    Numba counts no references to arrays in it, which may take more time than the rest.
    """
    return Rule(function, lean=True)


def inlined(function: Callable[..., object]) -> "Rule":
    """Return `function` as a `lean` rule that is compiled inline into each compiled function that calls it."""
    return Rule(function, inline=True, lean=True)


def alike(function: Callable[..., object]) -> "Rule":
    """Return `function` as a `lean` rule for arguments that have the same types in every call.

    Only its first call looks at the types: later arguments of other types would make it read or write wrong memory.
    """
    rule = lean(function)

    def first(*args: object) -> object:
        rule.__call__ = machine_code(rule, *args)
        return rule(*args)

    rule.__call__ = first
    return rule


def within(rule: Callable[..., _T]) -> Callable[..., _T]:
    """Return a `Rule` that is compiled inline into its callers; return any other function as it is."""
    return Rule(rule.py_func, inline=True, lean=rule.lean) if isinstance(rule, Rule) else rule


def machine_code(rule: Callable[..., _T], *args: object) -> Callable[..., _T]:
    """Return the machine code of `rule` for arguments of the types of `args`, and any other function as it is.

    A call of a rule compares the types first, which takes longer than a short loop.  A call of machine code does not:
    its arguments must have these types.
    """
    compiled = rule.compiled if isinstance(rule, Rule) else rule
    if not hasattr(compiled, "compile"):  # Numba is switched off
        return compiled
    from numba import typeof

    code: Callable[..., _T] = compiled.compile(tuple(map(typeof, args)))
    return code


def ours(rule: object) -> bool:
    """Return whether a compiled rule and all rules in its closure belong to this package."""
    package = __name__.partition(".")[0]
    return isinstance(rule, Rule) and all(home.partition(".")[0] in ("", package) for home, *_ in parts(rule.py_func))


def parts(function: Callable[..., object]) -> Iterator[tuple[str, str, int]]:
    """Yield module, name and line of `function` and each compiled function in its closure; of other values, a repr."""
    yield function.__module__, function.__qualname__, function.__code__.co_firstlineno
    for cell in function.__closure__ or ():
        held = cell.cell_contents
        inner = getattr(held, "py_func", None)
        if inner is None:
            kind, plain = isinstance(held, type), isinstance(held, (int, float, str, type(None), type))
            yield held.__module__ if kind else "", repr(held) if plain else object.__repr__(held), 0
        elif inner is not function:
            yield from parts(inner)
