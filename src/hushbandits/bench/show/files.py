"""Files that a run leaves behind: plain names in their folder, and whole or not at all."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from hushbandits.bench.declare.shapes import plain_name

__all__ = ["picture", "replacing"]


def picture(name: str, format: str = "png") -> str:
    """Return the file name of an experiment's picture.

    Examples
    --------
    >>> picture("rio2023-fig1")
    'rio2023-fig1.png'
    """
    return f"{plain_name('experiment name', name)}.{format}"


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
