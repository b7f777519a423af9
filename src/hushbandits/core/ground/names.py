"""Classes of one's own by name: ``"module:Class"``, wherever the name of something registered may stand."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hushbandits.core.ground.validate import shown

__all__ = ["Kind", "own_class", "reach", "words"]


@dataclass(frozen=True)
class Kind:
    """What a class must be to stand in some place.

    Parameters
    ----------
    name : str
        ``"agent"``, ``"env"``, …
    fits : callable
        ``fits(cls)`` → bool.
    says : str
        What fits, in words.
    shelves : mapping of str to callable
        What ``"prefix:rest"`` stands for besides a class, by its prefix: a function of the rest.
    instead : list of callable
        ``instead(given)`` → what something that does not fit is, and where it belongs; ``""``: it does not know.
    """

    name: str
    fits: Callable[[type], bool]
    says: str
    shelves: dict[str, Callable[[str], Any]] = field(default_factory=dict, compare=False)

    instead: list[Callable[[object], str]] = field(default_factory=list, compare=False)

    def advice(self, given: object) -> str:
        """Return what to do with something that does not fit, to end a sentence; ``""``: nothing is known."""
        return next((f"; {said}" for ask in self.instead if (said := ask(given))), "")

    def checked(self, what: str, found: object) -> type:
        """Return `found` if it is a class that fits, else raise ``ValueError``; nothing of it is called."""
        if isinstance(found, type) and self.fits(found):
            return found
        kind = f"the class {found.__name__}" if isinstance(found, type) else f"a {type(found).__name__}"
        raise ValueError(f"{what} must be {self.says}; it is {kind}{self.advice(found)}")


def own_class(kind: Kind, path: str) -> type:
    """Import what ``"module:Class"`` names, and return it if it is of that kind.

    Nothing but the module is run: what does not fit is refused before it is called.

    Raises
    ------
    ValueError
        Nothing importable under that path, or something else.

    Examples
    --------
    >>> anything = Kind("agent", lambda cls: hasattr(cls, "act"), "a class with act")
    >>> own_class(anything, "hushbandits.baselines.alone:Alone").__name__
    'Alone'
    >>> own_class(anything, "os:system")
    Traceback (most recent call last):
        ...
    ValueError: agent 'os:system' must be a class with act; it is a builtin_function_or_method
    """
    what = f"{kind.name} {shown(path)}"
    module, _, name = path.partition(":")
    if not all(part.isidentifier() for part in (*module.split("."), name)) or module.endswith(".py"):
        raise ValueError(f"{what} must read module:Class, such as my_module:MyClass{_file(path)}")
    reach(str(Path.cwd()))
    try:
        home = importlib.import_module(module)
    except (Exception, SystemExit) as error:
        if isinstance(error, ModuleNotFoundError) and f"{module}.".startswith(f"{error.name}."):
            raise ValueError(f"{what}: there is no module {module!r} here or on the path") from None
        raise ValueError(f"{what}: importing {module!r} raised {words(error)}") from error
    if not hasattr(home, name):
        raise ValueError(f"{what}: module {module!r} has no {name!r}")
    return kind.checked(what, getattr(home, name))


def _file(path: str) -> str:
    # Windows' drives have a colon of their own.
    file, _, name = path.rpartition(":")
    stem = Path(file.replace("\\", "/"))
    if stem.suffix != ".py" and "/" not in str(stem):
        return ""
    if not stem.stem.isidentifier() or not name.isidentifier():
        return "; it names a module of this folder or of the path, not a file"
    return (
        f"; it names a module, not a file: go to the folder of {stem.stem}.py, or put that on PYTHONPATH, "
        f"and write {stem.stem}:{name}"
    )


_PACKAGE = __name__.partition(".")[0]
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


def words(error: BaseException) -> str:
    """Return an error in one line: its class and message.

    Examples
    --------
    >>> words(KeyError("a"))
    "KeyError: 'a'"
    """
    return " ".join(f"{type(error).__name__}: {error}".split())
