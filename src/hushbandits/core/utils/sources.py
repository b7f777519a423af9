"""Where code is written: digests of source files, what a compiled function is made of, first lines of docstrings."""

from __future__ import annotations

import functools
import hashlib
import re
from collections.abc import Callable, Iterator
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent  # the package's folder
#: A class or function as ruff writes it, and the first line of its docstring; parsing a file takes ten times as long.
_FIRST_LINE = re.compile(
    r"^(?:class|def) (\w+)(?:\([^\n]*\)|\(\n(?:    [^\n]*\n)+\))?(?: -> [^\n]+)?:(?:  # [^\n]*)?\n"
    r'    r?"""(.*?)(?:"""|$)',
    re.MULTILINE,
)


@functools.cache
def source_digest(folder: Path = ROOT, pattern: str = "**/*.py", words: tuple[bytes, ...] = (b"",)) -> str:
    """Return the SHA-256 of the files in a folder that contain one of `words`, with their names; read once."""
    digest = hashlib.sha256()
    for path in sorted(folder.glob(pattern)):
        text = path.read_bytes()
        if any(word in text for word in words):
            digest.update(f"{path.relative_to(folder).as_posix()} {len(text)}\n".encode() + text)
    return digest.hexdigest()


def parts(function: Callable[..., object]) -> Iterator[tuple[str, str, int]]:
    """Yield module, name and line of a function and of each compiled one in its closure; of other values their text."""
    yield function.__module__, function.__qualname__, function.__code__.co_firstlineno
    for cell in function.__closure__ or ():
        held = cell.cell_contents
        inner = getattr(held, "py_func", None)
        if inner is None:
            plain = isinstance(held, (int, float, str, type(None)))
            yield "", repr(held) if plain else object.__repr__(held), 0
        elif inner is not function:
            yield from parts(inner)


@functools.cache
def docstrings(module: str) -> dict[str, str]:
    """Return the first lines of the docstrings of a module's classes and functions, of which nothing is run.

    Of a module that is not of this package: nothing.
    """
    file = ROOT.joinpath(*module.split(".")[1:]).with_suffix(".py")
    ours = module.startswith("hushbandits.") and file.is_file()
    return dict(_FIRST_LINE.findall(file.read_text(encoding="utf-8"))) if ours else {}
