"""What somebody else wrote: code, and files, JSON and texts, held to a limit before anything is made of them."""

from __future__ import annotations

import errno
import json
import os
import stat
import unicodedata
from pathlib import Path
from typing import Any, BinaryIO

__all__ = ["begins", "opened", "parsed", "printable", "ships"]

_PACKAGE = __name__.partition(".")[0]

#: Tables and lists in each other; what a declaration needs is below ten.
_DEEPEST = 64


def opened(path: Path) -> BinaryIO:
    """Open a file for reading if it is a regular one: no device, pipe or socket, not even behind a link.

    Raises
    ------
    OSError
        It is no regular file, or cannot be opened.

    Examples
    --------
    >>> opened(Path("/dev/zero"))
    Traceback (most recent call last):
        ...
    OSError: [Errno 22] It is no regular file: '/dev/zero'
    """
    refused = OSError(errno.EINVAL, "It is no regular file", str(path))
    if not stat.S_ISREG(os.stat(path).st_mode):  # some devices act when they are opened
        raise refused
    file = os.fdopen(os.open(path, os.O_RDONLY | getattr(os, "O_BINARY", 0) | getattr(os, "O_NONBLOCK", 0)), "rb")
    if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
        file.close()
        raise refused
    return file


def parsed(text: str | bytes) -> Any:
    """Return what JSON says; numbers are finite, and no more than 64 tables and lists stand in each other.

    Raises
    ------
    ValueError
        It is no such JSON; the sentence says why.

    Examples
    --------
    >>> parsed('{"a": [1]}')
    {'a': [1]}
    >>> parsed("[" * 200_000)
    Traceback (most recent call last):
        ...
    ValueError: more than 64 lists and tables in each other
    """
    deep = ValueError(f"more than {_DEEPEST} lists and tables in each other")
    try:
        value = json.loads(text, parse_constant=_no_number)
    except RecursionError:
        raise deep from None
    level = [value]
    for _ in range(_DEEPEST):
        level = [x for part in level for x in _parts(part)]
        if not level:
            return value
    raise deep


def _parts(value: object) -> list[object]:
    if isinstance(value, dict):
        return list(value.values())
    return value if isinstance(value, list) else []


def _no_number(text: str) -> float:
    raise ValueError(f"{text} is no number")


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


def begins(part: object, reset: str = "reset") -> bool:
    """Whether `part` is of this package and says how single runs start in place, where it says how all of them do.

    What a stranger's class holds is not known: of it a fresh one is built, and compared.
    """
    if not ships(type(part)):
        return False
    for cls in type(part).__mro__:
        if "_begin" in vars(cls):
            return True
        if reset in vars(cls):
            return False
    return False
