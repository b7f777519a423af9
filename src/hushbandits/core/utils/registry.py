"""One registry for all that can be named: what is built in, what was registered, and what plug-ins bring.

Wherever a name may stand, ``"module:Class"`` and the class itself may stand as well.  Installed packages name their
parts as entry points, which are read when a name is not known or all are listed, and imported when they are named:

    [project.entry-points."hushbandits.agents"]
    Bold = "my_package.bold:Bold"

The groups are ``hushbandits.envs``, ``.agents``, ``.policies``, ``.wrappers``, ``.experiments`` and ``.commands``.
"""

from __future__ import annotations

import importlib
import inspect
import sys
import unicodedata
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import lru_cache
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any, TypeVar

from hushbandits.core.utils.sources import docstrings
from hushbandits.core.utils.types import Params
from hushbandits.core.utils.validate import an, flag, nearest, shown

#: What builds something, or ``"package.module:Class"``.
Entry = str | Callable[..., object]
_Made = TypeVar("_Made")
_PACKAGE = __name__.partition(".")[0]
_NAMED = inspect.Parameter.KEYWORD_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD


@dataclass(frozen=True)
class Spec:
    """What a name stands for.

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
    source : str
        The package that brings it, with its version; empty: this one, or the session.
    """

    entry: Entry
    defaults: Params = field(default_factory=dict)
    wrappers: tuple[str, ...] = ()
    rest: Spec | None = None
    source: str = ""

    def load(self) -> Callable[..., Any]:
        """Return the entry, imported."""
        if not isinstance(self.entry, str):
            return self.entry
        module, _, name = self.entry.partition(":")
        try:
            loaded: Callable[..., Any] = getattr(importlib.import_module(module), name)
        except Exception as error:
            if self.source:
                raise ValueError(f"plug-in {self.source}: importing {self.entry!r} raised {words(error)}") from error
            raise
        return loaded

    def parameters(self) -> dict[str, inspect.Parameter]:
        """Return what may be given by name."""
        own, _ = _signature(self.load())
        if self.rest is None:
            return own
        return {name: p for name, p in own.items() if name not in self.defaults} | self.rest.parameters()

    def about(self) -> str:
        """Return the first line of its docstring; nothing is imported for it, and of a plug-in nothing is known."""
        if self.source:
            return ""
        module, _, name = self.entry.partition(":") if isinstance(self.entry, str) else ("", "", "")
        found = docstrings(module).get(name)
        own = found if found is not None else (self.load().__doc__ or "").strip().partition("\n")[0]
        return own if self.rest is None else f"{name}: {self.rest.about()}"

    def build(
        self, kind: type[_Made], what: str, given: Params, also: Params | None = None, further: Iterable[str] = ()
    ) -> _Made:
        """Return what the entry makes of `given`, beside its defaults.

        Parameters
        ----------
        kind : type
            What it must make.
        what : str
            What it is called in errors.
        given : mapping
            Parameters by name.
        also : mapping, optional
            Further ones, which nobody has written.
        further : iterable of str
            Parameters that `what` takes besides.

        Raises
        ------
        TypeError
            A parameter that it does not take, or it makes something else.
        """
        entry, known = self.load(), self.parameters()
        for name, value in given.items():
            if name in known and isinstance(known[name].default, bool):
                flag(name, value)
        unknown = next((name for name in given if name not in known), None)
        try:
            if unknown in self.defaults:
                raise TypeError(f"{unknown} is set for good")
            made = entry(**{**self.defaults, **given, **(also or {})})
        except TypeError as error:
            if unknown is None:
                raise
            meant = nearest(unknown, {*known, *further} - {"name", *(also or {})})
            raise TypeError(f"{what} takes no parameter {unknown!r}{meant}") from error
        if not isinstance(made, kind):
            raise TypeError(f"{what} must build a {kind.__name__}, not a {type(made).__name__}")
        return made


def _signature(entry: Callable[..., object]) -> tuple[dict[str, inspect.Parameter], bool]:
    """What may be given by name, that included which a class hands on to its bases; and whether anything may."""
    return _of_class(entry) if isinstance(entry, type) else _of([entry])


@lru_cache(maxsize=256)
def _of_class(cls: type) -> tuple[dict[str, inspect.Parameter], bool]:
    """Return the same of a class; kept, since building a cell asks for it many times."""
    inits = [vars(base)["__init__"] for base in cls.__mro__[:-1] if "__init__" in vars(base)]
    return _of(inits or [cls])


def _of(calls: list[Callable[..., object]]) -> tuple[dict[str, inspect.Parameter], bool]:
    found: dict[str, inspect.Parameter] = {}
    for call in calls:
        taken = inspect.signature(call).parameters
        found |= {n: p for n, p in taken.items() if p.kind in _NAMED and n not in found and n != "self"}
        if not any(p.kind is p.VAR_KEYWORD for p in taken.values()):
            return found, False
    return found, True


def _parameters(of: Spec | Callable[..., object]) -> dict[str, inspect.Parameter]:
    return of.parameters() if isinstance(of, Spec) else _signature(of)[0]


def parameters(of: Spec | Callable[..., object]) -> list[str]:
    """Return the names of what it takes, without ``name``."""
    return [name for name in _parameters(of) if name != "name"]


def default(of: Spec | Callable[..., object], name: str) -> object:
    """Return what a parameter is by default; ``None`` where there is no such parameter."""
    parameter = _parameters(of).get(name)
    return None if parameter is None else parameter.default


def needed(of: Spec | Callable[..., object], given: Params) -> list[str]:
    """Return the names of what it must be given by name, and is not."""
    return [name for name, p in _parameters(of).items() if p.default is p.empty and name not in given]


def open_ended(of: Spec | Callable[..., object]) -> bool:
    """Whether it takes any keyword."""
    return _signature(of.load() if isinstance(of, Spec) else of)[1]


class Registry(Mapping[str, Spec]):
    """What can be named of one kind, by name.

    Parameters
    ----------
    kind : str
        ``"agent"``, ``"env"``, …
    base : class or tuple of classes
        What a class of this kind inherits.
    says : str
        What fits, in words.
    builtin : mapping, optional
        What ships.
    group : str, optional
        The group of entry points, ``"agents"``.
    fits : callable, optional
        Whether a class fits that does not inherit `base`.

    Examples
    --------
    >>> laws = Registry("law", dict, "a dict", {"Plain": Spec(dict)})
    >>> laws.find("Plain").load(), list(laws)
    (<class 'dict'>, ['Plain'])
    >>> laws.find("plan")
    Traceback (most recent call last):
        ...
    ValueError: no law is named 'plan'; did you mean Plain?
    """

    def __init__(
        self,
        kind: str,
        base: type | tuple[type, ...],
        says: str,
        builtin: Mapping[str, Spec] | None = None,
        group: str = "",
        fits: Callable[[type], bool] = lambda cls: False,
    ):
        self.kind, self.base, self.says, self.fits = kind, base, says, fits
        self.entries: dict[str, Spec] = {}
        self.builtin: frozenset[str] = frozenset()
        #: What ``"prefix:rest"`` stands for besides a class, by its prefix: a function of the rest.
        self.prefixes: dict[str, Callable[[str], Spec]] = {}
        #: Called with each name that comes in; it may refuse it (``ValueError``).
        self.seen: Callable[[str], None] = lambda name: None
        self._group = group
        self.ship(builtin or {})

    def __getitem__(self, name: str) -> Spec:
        return self.entries[name] if name in self.entries else self._all()[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._all())

    def __len__(self) -> int:
        return len(self._all())

    def _all(self) -> dict[str, Spec]:
        group, self._group = self._group, ""
        for name, entry, source in points(group) if group else ():
            try:
                if name in self.entries:
                    raise ValueError(
                        f"{self.entries[name].source or 'hushbandits or this session'} has one of that name"
                    )
                self.seen(name)
                self.entries[name] = Spec(entry, source=source)
            except ValueError as error:
                warnings.warn(f"{self.kind} {name!r} of {source} is left out: {error}", stacklevel=3)
        return self.entries

    def ship(self, entries: Mapping[str, Spec]) -> None:
        """Take in what is built in."""
        for name in entries:
            self.seen(name)
        self.entries |= entries
        self.builtin |= entries.keys()

    def own(self) -> dict[str, Spec]:
        """Return what was registered in this session, for other processes to `adopt`."""
        return {name: it for name, it in self.entries.items() if name not in self.builtin and not it.source}

    def adopt(self, entries: Mapping[str, Spec]) -> None:
        """Take in what another process has registered."""
        self.entries |= entries

    def register(self, name: str, spec: Spec) -> None:
        """Add an entry.

        Raises
        ------
        ValueError
            The name is no string, or is taken by something else than what was defined in the same place.
        """
        if not isinstance(name, str):
            raise ValueError(f"{self.kind} name={shown(name)} must be a string")
        old = self.entries.get(name)
        if old is None:
            self.seen(name)
        elif name in self.builtin or not _home(old.entry) or _home(old.entry) != _home(spec.entry):
            raise ValueError(f"{an(self.kind)} {name!r} is registered already; choose another name")
        self.entries[name] = spec

    def find(self, given: object) -> Spec:
        """Return what a registered name, ``"module:Class"``, ``"prefix:rest"`` or a class stands for.

        Raises
        ------
        ValueError
            Nothing of that name (the message has the nearest ones), or something of another kind.
        """
        if isinstance(given, type):
            return Spec(self.checked(f"{self.kind} {given.__name__}", given))
        if not isinstance(given, str):
            raise ValueError(f"{self.kind}={shown(given)} must be {self.says}, or a name")
        if given in self:  # a registered name may hold a colon, as PettingZoo's may
            return self[given]
        prefix, colon, rest = given.partition(":")
        if colon:
            return self.prefixes[prefix](rest) if prefix in self.prefixes else Spec(self.own_class(given))
        raise ValueError(f"no {self.kind} is named {shown(given)}{nearest(given, self)}")

    def own_class(self, path: str) -> type:
        """Import what ``"module:Class"`` names, and return it if it fits; nothing of it is called before."""
        what = f"{self.kind} {shown(path)}"
        return self.checked(what, imported(what, path))

    def checked(self, what: str, found: object) -> type:
        """Return `found` if it is a class that fits, else raise ``ValueError``."""
        if isinstance(found, type) and (issubclass(found, self.base) or self.fits(found)):
            return found
        is_ = f"the class {found.__name__}" if isinstance(found, type) else f"a {type(found).__name__}"
        raise ValueError(f"{what} must be {self.says}; it is {is_}")


def _home(entry: Entry) -> str:
    """Where what is registered may be defined anew, ``"module:Class"``; empty: nowhere."""
    home = entry if isinstance(entry, str) else f"{entry.__module__}:{getattr(entry, '__qualname__', '<nowhere>')}"
    return "" if "<" in home else home


def points(group: str) -> list[tuple[str, str, str]]:
    """Return name, value and package (with its version) of the entry points of a group, by package."""
    found = {
        (p.name, p.value, f"{p.dist.name} {p.dist.version}" if p.dist else "")
        for p in entry_points(group=f"hushbandits.{group}")
    }
    return sorted(found, key=lambda point: (point[2], point[0]))


# -- what is imported by its name ------------------------------------------------------------------------------------

#: Classes that the parent process sent to this worker, by ``"module:Class"``.
SENT: dict[str, object] = {}


def imported(what: str, path: str) -> object:
    """Import what ``"module:Class"`` names, and return it; in a worker, the class that the parent sent.

    Raises
    ------
    ValueError
        Nothing importable under that path; the message begins with `what`.
    """
    if path in SENT:
        return SENT[path]
    module, _, name = path.partition(":")
    if not all(part.isidentifier() for part in (*module.split("."), name)) or module.endswith(".py"):
        raise ValueError(f"{what} must read module:Class, such as my_module:MyClass; it names no file")
    reach(str(Path.cwd()))
    try:
        home = importlib.import_module(module)
    except (Exception, SystemExit) as error:
        if isinstance(error, ModuleNotFoundError) and f"{module}.".startswith(f"{error.name}."):
            raise ValueError(f"{what}: there is no module {module!r} here or on the path") from None
        raise ValueError(f"{what}: importing {module!r} raised {words(error)}") from error
    if not hasattr(home, name):
        raise ValueError(f"{what}: module {module!r} has no {name!r}")
    return getattr(home, name)


#: Folders that `reach` has put on the path.
_reached: set[str] = set()


def reach(folder: str) -> None:
    """Make modules in `folder` importable, before those of folders that were reached earlier.

    A worker may have been started elsewhere, and a session may have gone elsewhere since.

    Raises
    ------
    ValueError
        A file there has this package's name: workers would import it in the package's place.
    """
    own = Path(folder, f"{_PACKAGE}.py")
    if own.is_file():
        raise ValueError(f"{own} hides the package {_PACKAGE}: give your file another name")
    if folder in _reached and folder in sys.path:
        sys.path.remove(folder)
    if folder not in sys.path:
        sys.path.insert(0, folder)
        _reached.add(folder)


def reached() -> list[str]:
    """Return the folders that were reached, in the order of Python's path."""
    return [folder for folder in sys.path if folder in _reached]


def words(error: BaseException) -> str:
    """Return an error in one line: its class and message."""
    return " ".join(f"{type(error).__name__}: {error}".split())


@contextmanager
def extra(name: str) -> Iterator[None]:
    """Turn a missing package into an ``ImportError`` that says which extra brings it.

    Parameters
    ----------
    name : str
        The extra, such as ``"bench"``.

    Examples
    --------
    >>> with extra("bench"):
    ...     import nowhere_to_be_found
    Traceback (most recent call last):
        ...
    ImportError: nowhere_to_be_found is not installed: pip install "hushbandits[bench]"
    """
    try:
        yield
    except ModuleNotFoundError as error:
        raise ImportError(f'{error.name} is not installed: pip install "hushbandits[{name}]"') from error


# -- what somebody else wrote ----------------------------------------------------------------------------------------


def printable(text: object) -> str:
    """Return a text so that a terminal shows it and does not obey it: what steers is written as its number.

    Line ends and tabs stay; escapes, other controls, marks that turn the direction, and half characters do not.
    """
    text = str(text)
    if text.isprintable():
        return text
    return "".join(c if c in "\n\t" or unicodedata.category(c) not in _STEERING else _number(c) for c in text)


#: Categories of controls, formats, surrogates, private and unassigned characters, and of line separators.
_STEERING = ("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp")


def _number(letter: str) -> str:
    code = ord(letter)
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def ships(code: object) -> bool:
    """Whether a class or function is code of this package; what has no module (a ``partial``) is not."""
    return str(getattr(code, "__module__", "")).partition(".")[0] == _PACKAGE
