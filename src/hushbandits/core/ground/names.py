"""Classes of one's own by name: ``"module:Class"``, wherever the name of something registered may stand."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

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


def reached() -> list[str]:
    """Return the folders that were reached, in the order of Python's path."""
    return [folder for folder in sys.path if folder in _reached]


def words(error: BaseException) -> str:
    """Return an error in one line: its class and message."""
    return " ".join(f"{type(error).__name__}: {error}".split())
