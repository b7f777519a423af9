"""What a name stands for: what builds it, which parameters that takes, and how it is built of them."""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, TypeVar

from hushbandits.core.ground.sources import docstrings
from hushbandits.core.ground.types import Params
from hushbandits.core.ground.validate import flag, nearest, shown

__all__ = ["Entry", "Spec", "called", "default", "needed", "open_ended", "parameters"]

#: What builds something, or ``"package.module:Class"``.
Entry = str | Callable[..., object]
_Made = TypeVar("_Made")
_NAMED = inspect.Parameter.KEYWORD_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD


@dataclass(frozen=True)
class Spec:
    """What a name stands for: what builds it, and with which parameters of its own.

    Parameters
    ----------
    entry : callable or str
        What builds it, or ``"package.module:Class"``, imported when it is first used.
    defaults : mapping
        Parameters that differ from the entry's own defaults.
    wrappers : tuple of str
        Registered wrappers that belong to an env; each takes those of the env's parameters that it knows.
    rest : Spec, optional
        What takes the parameters that the entry hands on as ``**params``.  Those in `defaults` are set for good.
    """

    entry: Entry
    defaults: Params = field(default_factory=dict)
    wrappers: tuple[str, ...] = ()
    rest: Spec | None = None

    def load(self) -> Callable[..., Any]:
        """Return the entry, imported."""
        if not isinstance(self.entry, str):
            return self.entry
        module, _, name = self.entry.partition(":")
        loaded: Callable[..., Any] = getattr(importlib.import_module(module), name)
        return loaded

    def signature(self) -> inspect.Signature:
        """Return what may be given."""
        own = _told(self.load())
        if self.rest is None:
            return own
        mine = [p for name, p in own.parameters.items() if name not in self.defaults]
        both = (*mine, *self.rest.signature().parameters.values())
        return inspect.Signature([p.replace(kind=p.KEYWORD_ONLY) for p in both if p.kind is not p.VAR_KEYWORD])

    def about(self) -> str:
        """Return the first line of its docstring; what ships is not imported for it."""
        module, _, name = self.entry.partition(":") if isinstance(self.entry, str) else ("", "", "")
        found = docstrings(module).get(name)
        own = found if found is not None else (self.load().__doc__ or "").strip().partition("\n")[0]
        return own if self.rest is None else f"{name}: {self.rest.about()}"

    def check(self, what: str, given: Params, also: Collection[str] = ()) -> None:
        """Raise ``TypeError`` for a parameter that it does not take, ``ValueError`` for a flag that is neither.

        `also`: what else `what` takes.
        """
        taken = self.signature().parameters
        known = [name for name, p in taken.items() if p.kind in _NAMED and name != "self"]
        for name in given:
            if name not in known and name not in also and not open_ended(self):
                raise TypeError(f"{what} takes no parameter {name!r}{nearest(name, {*known, *also})}")
        if lacking := needed(self, {**self.defaults, **given, **dict.fromkeys(also)}):
            raise TypeError(f"{what} needs its parameter {lacking[0]!r}, and {shown(dict(given))} lacks it")
        for name, value in given.items():
            if name in known and isinstance(taken[name].default, bool):
                flag(name, value)

    def build(self, kind: type[_Made], what: str, given: Params) -> _Made:
        """Return what the entry makes of its parameters, checked, and of that kind."""
        self.check(what, given)
        made = called(what, self.load(), {**self.defaults, **given})
        if not isinstance(made, kind):
            raise TypeError(f"{what} must build a {kind.__name__}, not a {type(made).__name__}")
        return made


def called(what: str, entry: Callable[..., Any], given: Params) -> Any:
    """Return what an entry makes of `given`.

    Raises
    ------
    TypeError
        It hands a parameter on as ``**rest`` to a class that does not take it; the nearest are named.

    Examples
    --------
    >>> class Mine(dict):
    ...     def __init__(self, rate=0.1):
    ...         pass
    >>> class Yours(Mine):
    ...     def __init__(self, **rest):
    ...         super().__init__(**rest)
    >>> called("wrapper Yours", Yours, {"rat": 0.5})
    Traceback (most recent call last):
        ...
    TypeError: wrapper Yours takes no parameter 'rat'; did you mean rate?
    """
    try:
        return entry(**given)
    except TypeError as error:
        wrong, known = _refused(entry, given, error)
        if wrong is None:
            raise
        raise TypeError(f"{what} takes no parameter {wrong!r}{nearest(wrong, known)}") from error


def _refused(entry: Callable[..., object], given: Params, error: TypeError) -> tuple[str | None, list[str]]:
    """What a class handed from ``__init__`` to ``__init__`` until one did not take it, and all that they do take."""
    inits = [vars(cls)["__init__"] for cls in getattr(entry, "__mro__", (object,))[:-1] if "__init__" in vars(cls)]
    known = [name for init in inits for name in parameters(init)]
    within = error.__traceback__
    while within is not None and within.tb_next is not None:
        within = within.tb_next
    # A call that fails for its arguments is raised by who calls: one of the classes, as it hands on.
    handing = within is not None and within.tb_frame.f_code in [getattr(init, "__code__", None) for init in inits]
    wrong = [name for name in given if name not in known] if handing and not all(map(open_ended, inits)) else []
    return next(iter(wrong), None), known


def _told(entry: Callable[..., object]) -> inspect.Signature:
    return _of_class(entry) if isinstance(entry, type) else inspect.signature(entry)


@lru_cache(maxsize=256)
def _of_class(cls: type) -> inspect.Signature:
    """Asked many times per cell, and a third of what a tiny cell costs."""
    return inspect.signature(cls)


def _signature(of: Spec | Callable[..., object]) -> Mapping[str, inspect.Parameter]:
    return (of.signature() if isinstance(of, Spec) else _told(of)).parameters


def parameters(of: Spec | Callable[..., object]) -> list[str]:
    """Return the names of what it takes, without ``name``."""
    return [name for name, p in _signature(of).items() if p.kind in _NAMED and name not in ("self", "name")]


def default(of: Spec | Callable[..., object], name: str) -> object:
    """Return what a parameter is by default; ``None`` where there is no such parameter."""
    parameter = _signature(of).get(name)
    return None if parameter is None else parameter.default


def needed(of: Spec | Callable[..., object], given: Params) -> list[str]:
    """Return the names of what it must be given by name, and is not."""
    parameters = _signature(of).items()
    return [n for n, p in parameters if p.default is p.empty and p.kind in _NAMED and n not in (*given, "self")]


def open_ended(of: Spec | Callable[..., object]) -> bool:
    """Whether it takes any keyword."""
    return any(p.kind is p.VAR_KEYWORD for p in _signature(of).values())
