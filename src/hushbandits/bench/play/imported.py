"""What a process has imported of one's own, and whether it is what the files say now."""

from __future__ import annotations

import contextlib
import hashlib
import importlib
import importlib.util
import os
import site
import sys
import sysconfig
from collections.abc import Iterable, Mapping
from pathlib import Path

__all__ = ["changed", "digest_of", "environment", "forget", "imported"]

_PACKAGE = __name__.partition(".")[0]
#: What is nobody's own: this package with its options for pytest, and the main program.
_NOT_OWN = (_PACKAGE, f"{_PACKAGE}_contract", "__main__", "__mp_main__")
#: Folders of what nobody edits in a session: Python's own, and what is installed.
_INSTALLED = tuple(
    {
        os.path.join(os.path.realpath(path), "")
        for path in (
            *(sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib")),
            *site.getsitepackages(),
            site.getusersitepackages(),
        )
    }
)
#: Variables that are set anew without anybody's asking.
_FLEETING = ("PYTEST_CURRENT_TEST",)


def imported() -> dict[str, str]:
    """Return the files of modules of one's own that this process has imported, by module.

    Not among them are what is installed, this package, and the main program, which travels as it stands.

    Examples
    --------
    >>> [name for name in imported() if name.startswith(("hushbandits", "numpy", "json"))]
    []
    """
    found = {}
    for name, module in list(sys.modules.items()):
        file = getattr(module, "__file__", None)
        if not isinstance(file, str) or name.partition(".")[0] in _NOT_OWN:
            continue
        if not os.path.realpath(file).startswith(_INSTALLED):
            found[name] = file
    return found


def digest_of(file: str | Path) -> str:
    """Return the SHA-256 of a file, 12 digits; empty where there is no file."""
    with contextlib.suppress(OSError):
        return hashlib.sha256(Path(file).read_bytes()).hexdigest()[:12]
    return ""


def changed(noted: Mapping[str, str]) -> set[str]:
    """Return those of the files whose digest is another by now than the one that was noted.

    Examples
    --------
    >>> changed({__file__: digest_of(__file__), "/nowhere.py": "abc"})
    {'/nowhere.py'}
    """
    return {file for file, digest in noted.items() if digest_of(file) != digest}


def forget(files: Iterable[str]) -> None:
    """Have the modules of these files imported anew when they are next asked for, and from their source.

    What holds a class of theirs keeps it.
    """
    files = set(files)
    for name, file in imported().items():
        if file in files:
            del sys.modules[name]
    for file in files:
        # Python dates compiled code to the second: an edit within it would not be seen.
        with contextlib.suppress(OSError, NotImplementedError, ValueError):
            os.unlink(importlib.util.cache_from_source(file))
    importlib.invalidate_caches()


def environment() -> dict[str, str]:
    """Return the variables of the environment, without those that change by themselves."""
    return {name: value for name, value in os.environ.items() if name not in _FLEETING}
