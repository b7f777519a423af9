"""Classes of one's own by name: ``"module:Class"``, wherever the name of something registered may stand."""

from __future__ import annotations

import importlib
import importlib.util
import sys
from pathlib import Path

__all__ = ["SENT", "imported", "is_module", "reach", "reached", "words"]


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
    return getattr(home, name)


def is_module(name: str) -> bool:
    """Whether a module of that name could be imported, from the current folder too; it is not."""
    if not name.isidentifier():
        return False
    try:
        return Path(f"{name}.py").is_file() or importlib.util.find_spec(name) is not None
    except (ValueError, ImportError):
        return False


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


def reached() -> list[str]:
    """Return the folders that were reached, in the order of Python's path."""
    return [folder for folder in sys.path if folder in _reached]


def words(error: BaseException) -> str:
    """Return an error in one line: its class and message."""
    return " ".join(f"{type(error).__name__}: {error}".split())
