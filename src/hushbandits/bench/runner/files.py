"""Write files whole or not at all."""

from __future__ import annotations

import contextlib
import hashlib
import os
import platform
import secrets
import time
from pathlib import Path

__all__ = ["digest_of", "remove_leftovers", "write_whole"]

_SUFFIX = ".part"
_OLD = 24 * 3600.0  # seconds after which a part that another machine began is abandoned


def digest_of(content: bytes) -> str:
    """Return the first 16 hex digits of the content's SHA-256."""
    return hashlib.sha256(content).hexdigest()[:16]


def write_whole(path: Path, content: bytes, parts: Path) -> None:
    """Write a file under a temporary name in the folder `parts`, flush it, and rename it to `path`.

    A reader sees the old file or the new one, never a part of it.

    Raises
    ------
    OSError
        The file cannot be written; then no part of it stays.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    parts.mkdir(parents=True, exist_ok=True)
    part = parts / f".{platform.node()}-{os.getpid()}-{secrets.token_hex(8)}{_SUFFIX}"
    try:
        with part.open("xb") as out:
            out.write(content)
            out.flush()
            os.fsync(out.fileno())
        part.replace(path)
    except BaseException:
        part.unlink(missing_ok=True)
        raise


def remove_leftovers(parts: Path) -> None:
    """Remove the temporary files of writers that were killed."""
    for part in parts.glob(f".*{_SUFFIX}"):
        host, process, _ = part.name[1:].rsplit("-", 2)
        with contextlib.suppress(OSError, ValueError):
            if host == platform.node() and os.name == "posix":
                abandoned = not _runs(int(process))
            else:
                abandoned = time.time() - part.stat().st_mtime > _OLD
            if abandoned:
                part.unlink(missing_ok=True)


def _runs(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass
    return True
