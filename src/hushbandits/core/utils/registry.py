"""Registries of built-in, user-registered and plug-in classes.

Wherever a name may stand, ``"module:Class"`` and the class itself may stand as well.  Installed packages name their
parts as entry points, which are read when a name is not known or all are listed, and imported when they are named:

    [project.entry-points."hushbandits.agents"]
    Bold = "my_package.bold:Bold"

The groups are ``hushbandits.envs``, ``.agents``, ``.policies``, ``.wrappers``, ``.experiments`` and ``.commands``.
"""

import functools
import inspect
import pkgutil
import re
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any, TypeVar

from hushbandits.core.utils.files import ROOT
from hushbandits.core.utils.types import Params
from hushbandits.core.utils.validate import an, flag, nearest, shown

#: What builds something, or ``"package.module:Class"``.
Entry = str | Callable[..., object]
Parameters = dict[str, inspect.Parameter]
_Made = TypeVar("_Made")
_PACKAGE = __name__.partition(".")[0]
#: A class or function as ruff writes it, and the first line of its docstring; parsing a file takes ten times as long.
_FIRST_LINE = re.compile(
    r"^(?:class|def) (\w+)(?:\([^\n]*\)|\(\n(?:    [^\n]*\n)+\))?(?: -> [^\n]+)?:(?:  # [^\n]*)?\n"
    r'    r?"""(.*?)(?:"""|$)',
    re.MULTILINE,
)
_NAMED = inspect.Parameter.KEYWORD_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD


@dataclass(frozen=True)
class Spec:
    """The class or function that a name stands for, with default parameters.

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
    rest: "Spec | None" = None
    source: str = ""

    def load(self) -> Callable[..., Any]:
        """Import and return the class or function."""
        if not isinstance(self.entry, str):
            return self.entry
        if self.source or not self.entry.startswith(f"{_PACKAGE}."):
            return imported(f"plug-in {self.source}" if self.source else "a registered entry", self.entry)
        return pkgutil.resolve_name(self.entry)  # type: ignore[no-any-return]

    def parameters(self) -> Parameters:
        """Return the keyword parameters that a user can set."""
        own = _signature(self.load())
        if self.rest is None:
            return own
        return {name: p for name, p in own.items() if name not in self.defaults} | self.rest.parameters()

    def about(self) -> str:
        """Return the first line of the entry's docstring, read without an import if possible; ``""`` for a plug-in."""
        module, _, name = self.entry.partition(":") if isinstance(self.entry, str) else ("", "", "")
        found = docstrings(module).get(name)
        if found is None:
            found = "" if self.source else (self.load().__doc__ or "").strip().partition("\n")[0]
        return found if self.rest is None else f"{name}: {self.rest.about()}"

    def build(
        self, kind: type[_Made], what: str, given: Params, also: Params | None = None, further: Iterable[str] = ()
    ) -> _Made:
        """Build an instance of `kind` from the parameters `given` and `also`; defaults fill in the rest.

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
        for name in given.keys() & known.keys():
            if isinstance(known[name].default, bool):
                flag(name, given[name])
        unknown = next((name for name in given if name not in known), None)
        try:
            if unknown in self.defaults:
                raise TypeError(f"{unknown} is fixed by the registered name")
            made = entry(**{**self.defaults, **given, **(also or {})})
        except TypeError as error:
            if unknown is None:
                raise
            meant = nearest(unknown, {*known, *further} - {"name", *(also or {})})
            raise TypeError(f"{what} takes no parameter {unknown}={shown(given[unknown])}{meant}") from error
        if not isinstance(made, kind):
            raise TypeError(f"{what} must build {an(kind.__name__)}, not {an(type(made).__name__)}")
        return made


@functools.lru_cache(maxsize=256)
def _signature(entry: Callable[..., object]) -> Parameters:
    """Return the keyword parameters of a class or function, inherited ones included."""
    bases = entry.__mro__[:-1] if isinstance(entry, type) else ()
    found: Parameters = {}
    for call in [vars(base)["__init__"] for base in bases if "__init__" in vars(base)] or [entry]:
        taken = inspect.signature(call).parameters
        found |= {n: p for n, p in taken.items() if p.kind in _NAMED and n not in found and n != "self"}
        if not any(p.kind is p.VAR_KEYWORD for p in taken.values()):
            break
    return found


def parameters(of: "Spec | Callable[..., object]") -> Parameters:
    """Return the keyword parameters of `of`, except ``name``.

    Examples
    --------
    >>> [*parameters(Spec)]
    ['entry', 'defaults', 'wrappers', 'rest', 'source']
    """
    found = of.parameters() if isinstance(of, Spec) else _signature(of)
    return {name: parameter for name, parameter in found.items() if name != "name"}


@functools.cache
def docstrings(module: str) -> dict[str, str]:
    """Return the first docstring line of each class and function of a module, which is not imported.

    Of a module that is not beside this package: nothing.
    """
    file = ROOT.parent.joinpath(*module.split(".")).with_suffix(".py")
    return dict(_FIRST_LINE.findall(file.read_text(encoding="utf-8"))) if file.is_file() else {}


class Registry(Mapping[str, Spec]):
    """Mapping from names to the entries of one kind, such as agents or wrappers.

    Parameters
    ----------
    kind : str
        ``"agent"``, ``"env"``, …
    says : str
        What a class of this kind is, in words.
    fits : callable
        Whether a class is of this kind.
    builtin : mapping, optional
        What ships.
    group : str, optional
        The group of entry points, ``"agents"``.
    announce : callable, optional
        Called with each name that comes in; it may refuse it (``ValueError``).

    Examples
    --------
    >>> laws = Registry("law", "a dict", lambda cls: issubclass(cls, dict), {"Plain": Spec(dict)})
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
        says: str,
        fits: Callable[[type], bool],
        builtin: "Mapping[str, Spec] | None" = None,
        group: str = "",
        announce: Callable[[str], None] = lambda name: None,
    ):
        self.kind, self.says, self.fits, self.announce = kind, says, fits, announce
        self.entries: dict[str, Spec] = dict(builtin or {})
        self.builtin = frozenset(self.entries)
        self._group = group
        TABLES.append(self)
        for name in self.entries:
            announce(name)

    def __getitem__(self, name: str) -> "Spec":
        return self.entries[name] if name in self.entries else self._all()[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._all())

    def __len__(self) -> int:
        return len(self._all())

    def _all(self) -> "dict[str, Spec]":
        group, self._group = self._group, ""
        for name, entry, source in points(group) if group else ():
            try:
                self.register(name, Spec(entry, source=source))
            except ValueError as error:
                warnings.warn(f"{self.kind} {name!r} of {source} is left out: {error}", stacklevel=3)
        return self.entries

    def own(self) -> "dict[str, Spec]":
        """Return the entries that user code registered in this session."""
        return {name: it for name, it in self.entries.items() if name not in self.builtin and not it.source}

    def register(self, name: str, spec: "Spec") -> None:
        """Add the entry `spec` under `name`.

        Raises
        ------
        ValueError
            The name is no string, or is taken by something else than what was defined in the same place.
        """
        if not isinstance(name, str):
            raise ValueError(f"{self.kind} name={shown(name)} must be a string")
        old = self.entries.get(name)
        if old is None:
            self.announce(name)
        elif name in self.builtin or not _home(old.entry) or _home(old.entry) != _home(spec.entry):
            raise ValueError(f"{an(self.kind)} {name!r} is registered already; choose another name")
        self.entries[name] = spec

    def find(self, given: object) -> "Spec":
        """Return the entry for a registered name, a ``"module:Class"`` path, or a class.

        Raises
        ------
        ValueError
            Nothing of that name (the message has the nearest ones), or something of another kind.
        """
        if isinstance(given, str) and (given in self.entries or given in self._all()):
            return self.entries[given]  # a registered name may hold a colon, as PettingZoo's may
        if isinstance(given, str) and ":" not in given:
            own = "" if "?" in (meant := nearest(given, self)) and "." not in given else "; your own: module:Class"
            if other := next((table.kind for table in TABLES if given in table.entries), ""):
                meant, own = f", but {an(other)} is", ""
            raise ValueError(f"no {self.kind} is named {shown(given)}{meant}{own}")
        if not isinstance(given, str | type):
            raise ValueError(f"{self.kind}={shown(given)} must be {self.says}, or a name")
        what = f"{self.kind} {given.__name__ if isinstance(given, type) else shown(given)}"
        cls = imported(what, given) if isinstance(given, str) else given
        if isinstance(cls, type) and self.fits(cls):
            return Spec(cls)
        is_ = f"the class {cls.__name__}" if isinstance(cls, type) else an(type(cls).__name__)
        raise ValueError(f"{what} must be {self.says}, not {is_}")


def _home(entry: Entry) -> str:
    """Return the import path of an entry, ``"module:Class"``, or ``""`` if it has none."""
    home = entry if isinstance(entry, str) else f"{entry.__module__}:{getattr(entry, '__qualname__', '<nowhere>')}"
    return "" if "<" in home else home


def points(group: str) -> list[tuple[str, str, str]]:
    """Return ``(name, value, package)`` of each entry point in a group, sorted by package; `package` has a version."""
    known = entry_points(group=f"hushbandits.{group}")
    found = {(p.name, p.value, f"{p.dist.name} {p.dist.version}" if p.dist else "") for p in known}
    return sorted(found, key=lambda point: (point[2], point[0]))


# -- what is imported by its name ------------------------------------------------------------------------------------

#: Classes that the parent process sent to this worker, by ``"module:Class"``.
SENT: dict[str, Callable[..., object]] = {}


def imported(what: str, path: str) -> Callable[..., object]:
    """Import and return the class at `path`; in a worker process, return the class that the parent process sent.

    Raises
    ------
    ValueError
        Nothing importable under that path; the message begins with `what`.
    """
    if path in SENT:
        return SENT[path]
    module, _, name = path.partition(":")
    if not all(part.isidentifier() for part in (*module.split("."), name)) or module.endswith(".py"):
        raise ValueError(f"{what} must have the form module:Class, such as my_module:MyClass, not a file name")
    reach(str(Path.cwd()))
    try:
        return pkgutil.resolve_name(path)  # type: ignore[no-any-return]
    except (Exception, SystemExit) as error:
        raise ValueError(f"{what}: importing {path!r} raised {words(error)}") from error


#: All registries.
TABLES: "list[Registry]" = []
#: Folders that `reach` has put on the path.
_reached: set[str] = set()


def reach(folder: str) -> None:
    """Put `folder` first on Python's import path, unless other code has put it anywhere on the path.

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
    """Return the folders that `reach` put on Python's import path, in the order of the path."""
    return [folder for folder in sys.path if folder in _reached]


def words(error: BaseException) -> str:
    """Return the class and message of an error in one line."""
    return " ".join(f"{type(error).__name__}: {error}".split())


@contextmanager
def extra(name: str) -> Iterator[None]:
    """Turn a ``ModuleNotFoundError`` in the block into an ``ImportError`` that says to install the extra `name`.

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


def ships(code: object) -> bool:
    """Return whether a class or function belongs to this package; a ``functools.partial`` does not."""
    return str(getattr(code, "__module__", "")).partition(".")[0] == _PACKAGE
