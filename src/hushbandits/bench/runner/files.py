"""Atomic writing of files."""

import errno
import os
import re
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

#: The name of a file while it is written.
PART = re.compile(r"\.[0-9a-f]{16}\.part")


@contextmanager
def replacing(path: Path, binary: bool = False) -> Iterator[IO[Any]]:
    """Open a temporary file that replaces `path` when the block ends without an error.

    Concurrent writers do not collide: each has its own file until then, and the last one to end wins.

    Parameters
    ----------
    path : Path
        A link is replaced, not followed.
    binary : bool
        Bytes, or else UTF-8.

    Raises
    ------
    OSError
        The file cannot be written, or is a device.
    """
    if not path.is_symlink() and (path.is_char_device() or path.is_block_device()):  # root could replace it
        raise OSError(errno.EINVAL, "It is a device", str(path))
    part = path.with_name(f".{secrets.token_hex(8)}.part")
    try:
        with part.open("xb") if binary else part.open("x", encoding="utf-8", newline="") as out:
            yield out
            out.flush()
            os.fsync(out.fileno())
        part.replace(path)
    except BaseException:
        part.unlink(missing_ok=True)
        raise
