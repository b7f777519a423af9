"""Files that a run leaves behind: plain names in their folder, and whole or not at all."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from hushbandits.core.validate import shown

__all__ = ["picture", "plain_name", "replacing"]

_LONGEST = 100
#: What some system takes for a path, a wildcard or a stream.
_SPECIAL = frozenset('<>:"/\\|?*')
#: Names of devices on Windows, whatever comes after a dot.
_DEVICES = {"con", "prn", "aux", "nul", *(f"{port}{n}" for port in ("com", "lpt") for n in range(10))}


def plain_name(what: str, name: object) -> str:
    """Return `name` if it is a file name, on every system, that stays in its folder; else raise ``ValueError``.

    Examples
    --------
    >>> plain_name("name", "sharing-1")
    'sharing-1'
    """
    if (
        isinstance(name, str)
        and 0 < len(name.encode("utf-8", "replace")) <= _LONGEST
        and name.isprintable()
        and name == name.strip(" .")
        and not name.startswith("-")
        and not _SPECIAL & set(name)
        and name.partition(".")[0].strip().lower() not in _DEVICES
    ):
        return name
    raise ValueError(
        f"{what}={shown(name)} must be a plain file name: 1 to {_LONGEST} bytes of characters that print, "
        f"no < > : \" / \\ | ? *, no device's name, no space or dot at either end, no '-' in front"
    )


def picture(name: str) -> str:
    """Return the file name of an experiment's picture.

    Examples
    --------
    >>> picture("rio2023-fig1")
    'rio2023-fig1.png'
    """
    return plain_name("experiment name", name) + ".png"


@contextmanager
def replacing(path: Path, binary: bool = False) -> Iterator[IO[Any]]:
    """Open a file that takes the place of `path` once the block ends well; else `path` stays as it was.

    Several writers do not meet: each has its own file until then, and the last one to end stays.
    """
    mode, encoding, newline = ("b", None, None) if binary else ("", "utf-8", "")
    if path.exists() and not path.is_file():  # a device or a pipe (or a folder, which raises) has no place to take
        with path.open("w" + mode, encoding=encoding, newline=newline) as out:
            yield out
        return
    part = path.with_name(f".{os.getpid()}-{secrets.token_hex(8)}.part")
    try:
        with part.open("x" + mode, encoding=encoding, newline=newline) as out:
            yield out
        part.replace(path)
    except BaseException:
        part.unlink(missing_ok=True)
        raise
