"""Entries of the registry's tables: what a name, ``"module:Class"`` or a class stands for."""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeVar, runtime_checkable

from hushbandits.core.env import Env
from hushbandits.core.ground.names import Kind, own_class
from hushbandits.core.ground.types import Params
from hushbandits.core.ground.validate import check_flags, check_keywords, nearest, shown
from hushbandits.core.team import Team
from hushbandits.core.wrapper import Wrapper

__all__ = [
    "AGENT", "ENV", "WRAPPER", "AnyAgent", "AnyEnv", "AnyWrapper", "Entry", "Model", "Spec", "again", "anew", "built",
    "called", "default", "find", "lacking", "misplaced", "open_ended", "parameters", "title",
]  # fmt: skip

Entry = str | Callable[..., object]


@runtime_checkable
class Model(Protocol):
    """A model of Stable-Baselines3 in memory, of any of its algorithms."""

    policy: Any
    observation_space: Any
    action_space: Any

    def predict(self, observation: Any) -> Any:
        """What it would do."""


#: What may stand for an env, an agent, a wrapper: a registered name, ``"module:Class"``, or the class itself; for an
#: agent also a model.
AnyEnv = str | type[Env]
AnyAgent = str | type[Any] | Callable[..., Team] | Model
AnyWrapper = str | Wrapper | type[Wrapper]

_Made = TypeVar("_Made")


@dataclass(frozen=True)
class Spec:
    """A line of a table: what builds it, and with which parameters of its own."""

    entry: Entry
    defaults: Params = field(default_factory=dict)
    #: Registered wrappers that belong to an env; each takes those of the env's parameters that it knows.
    wrappers: tuple[str, ...] = ()

    def load(self) -> Callable[..., Any]:
        """Return the entry, imported."""
        if not isinstance(self.entry, str):
            return self.entry
        module, _, name = self.entry.partition(":")
        loaded: Callable[..., Any] = getattr(importlib.import_module(module), name)
        return loaded


ENV = Kind("env", lambda cls: issubclass(cls, Env), "an Env class")
AGENT = Kind(
    "agent",
    lambda cls: issubclass(cls, Team) or callable(getattr(cls, "act", None)),
    "a Team class, or a class with act (and speak, hear) for Each",
)
WRAPPER = Kind("wrapper", lambda cls: issubclass(cls, Wrapper), "a Wrapper class")


def find(table: dict[str, Spec], kind: Kind, given: object) -> Spec:
    """The entry of a registered name, of ``"module:Class"``, or of a class."""
    if isinstance(given, type):
        return Spec(kind.checked(f"{kind.name} {given.__name__}", given))
    if isinstance(given, str) and given in table:  # a registered name may hold a colon, as PettingZoo's may
        return table[given]
    if isinstance(given, str) and ":" in given:
        prefix, _, rest = given.partition(":")
        if prefix in kind.shelves:
            spec: Spec = kind.shelves[prefix](rest)
            return spec
        return Spec(own_class(kind, given))
    if not isinstance(given, str):
        raise ValueError(f"{kind.name}={shown(given)} must be {kind.says}, or a name{kind.advice(given)}")
    if advice := kind.advice(given):
        raise ValueError(f"no {kind.name} is named {shown(given)}{advice}")
    hint = "; one of your own reads module:Class" if "." in given else ""
    raise ValueError(f"no {kind.name} is named {shown(given)}{nearest(str(given), table)}{hint}")


def anew(old: dict[str, object], new: dict[str, object]) -> bool:
    """Whether the module that registered a name was imported anew, or only now in this process."""
    return not old or (old is not new and old.get("__name__") == new.get("__name__"))


def again(old: Entry, new: Entry) -> bool:
    """Whether `new` is what `old` became when it was defined again where it stands."""
    if isinstance(old, str):
        return old == new and not old.startswith("hushbandits.")
    homes = [(getattr(entry, "__module__", None), getattr(entry, "__qualname__", None)) for entry in (old, new)]
    return old is not new and None not in homes[0] and homes[0] == homes[1] and "<locals>" not in str(homes[0][1])


def lacking(what: str, entry: Callable[..., object]) -> None:
    """Raise ``TypeError``: an env's entry takes neither all that an env is given, nor any keyword."""
    if not open_ended(entry):
        raise TypeError(f"{what} must take runs= and wrappers=, and hand them on to Env.__init__")


def title(given: AnyEnv | AnyAgent | AnyWrapper | Team) -> str:
    """Return what to call it: its name, or its class's.

    Examples
    --------
    >>> title("UCB1"), title(Wrapper)
    ('UCB1', 'Wrapper')
    """
    if isinstance(given, str):
        return given
    return given.name if isinstance(given, (Team, Wrapper)) else str(getattr(given, "__name__", type(given).__name__))


def built(kind: type[_Made], what: str, spec: Spec, given: Params) -> _Made:
    """What an entry makes of its parameters, checked."""
    entry = spec.load()
    check_keywords(what, entry, given)
    check_flags(entry, given)
    made = called(what, entry, {**spec.defaults, **given})
    if not isinstance(made, kind):
        raise TypeError(f"{what} must build a {kind.__name__}, not a {type(made).__name__}")
    return made


def called(what: str, entry: Callable[..., _Made], given: Params) -> _Made:
    """What an entry makes of its parameters; what ``**rest`` hands on, and nobody takes, is named with the nearest.

    Examples
    --------
    >>> class Mine(Wrapper):
    ...     def __init__(self, rate=0.1, **rest):
    ...         super().__init__(**rest)
    >>> called("wrapper Mine", Mine, {"rat": 0.5})
    Traceback (most recent call last):
        ...
    TypeError: wrapper Mine takes no parameter 'rat'; did you mean rate?
    """
    try:
        return entry(**given)
    except TypeError as error:
        wrong = [name for name in given if f"unexpected keyword argument {name!r}" in str(error)]
        if not wrong:
            raise
        known = [p for cls in getattr(entry, "__mro__", ()) if "__init__" in vars(cls) for p in parameters(cls)]
        raise TypeError(f"{what} takes no parameter {wrong[0]!r}{nearest(wrong[0], known)}") from error


def parameters(function: Callable[..., object]) -> list[str]:
    """Return the names of its parameters, without ``name``.

    Examples
    --------
    >>> parameters(title)
    ['given']
    """
    kinds = inspect.Parameter.KEYWORD_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD
    signature = inspect.signature(function)
    return [n for n, p in signature.parameters.items() if p.kind in kinds and n not in ("self", "name")]


def default(function: Callable[..., object], name: str) -> object:
    """Return what a parameter is by default; ``None`` where there is no such parameter.

    Examples
    --------
    >>> default(misplaced, "also") is inspect.Parameter.empty, default(misplaced, "nothing")
    (True, None)
    """
    parameter = inspect.signature(function).parameters.get(name)
    return None if parameter is None else parameter.default


def open_ended(function: Callable[..., object]) -> bool:
    """Whether it takes any keyword.

    Examples
    --------
    >>> open_ended(lambda **kwargs: 0), open_ended(find)
    (True, False)
    """
    return any(p.kind is p.VAR_KEYWORD for p in inspect.signature(function).parameters.values())


def misplaced(
    what: str,
    given: Params,
    entry: Callable[..., object],
    also: Collection[str],
    owners: Iterable[tuple[str, Collection[str], str]],
) -> None:
    """Raise ``TypeError`` for the first parameter that is given to `what` but belongs to somebody else.

    Parameters
    ----------
    what : str
        To whom they are given.
    given : mapping
    entry : callable
        What takes them.
    also : collection of str
        What else `what` takes.
    owners : iterable of (str, collection of str, str)
        Who else there is, what it takes, and where to give it.

    Examples
    --------
    >>> misplaced("env E", {"rate": 1}, find, (), [("wrapper W", ["rate"], "to the wrapper")])
    Traceback (most recent call last):
        ...
    TypeError: rate=1 is a parameter of wrapper W, not of env E: give it to the wrapper
    """
    known = {*parameters(entry), *also}
    if open_ended(entry):
        return
    for key, value in given.items():
        for who, theirs, where in owners:
            if key not in known and key in theirs:
                raise TypeError(
                    f"{key}={shown(value)} is a parameter of {who}, not of {what}: give it {where.format(key)}"
                )
