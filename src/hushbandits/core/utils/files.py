"""Files that we leave behind: written whole or not at all, never through a link; a kill leaves no part behind."""

from __future__ import annotations

import contextlib
import errno
import os
import re
import secrets
import stat
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

if sys.platform == "win32":
    import msvcrt
else:
    import fcntl

_PART = re.compile(r"\.[0-9]+-[0-9a-f]{16}\.part")
_FAR = 1 << 30  # Windows locks bytes against reading, too: one that nobody reads


@contextmanager
def replacing(path: Path, binary: bool = False, *, device: bool = False) -> Iterator[IO[Any]]:
    """Open a file that takes the place of `path` once the block ends well; else `path` stays as it was.

    Several writers do not meet: each has its own file until then, and the last one to end stays.  What killed writers
    have left in that folder goes.

    Parameters
    ----------
    path : Path
        A link is replaced, not followed.
    binary : bool
        Bytes, or else UTF-8.
    device : bool
        Write into a device or a pipe of that name, which has no place to take: for names that the user has said.

    Raises
    ------
    OSError
        The file cannot be written, or is a device that was not asked for.
    """
    mode, encoding, newline = ("b", None, None) if binary else ("", "utf-8", "")
    if device and path.exists() and not path.is_file():
        with path.open("w" + mode, encoding=encoding, newline=newline) as out:
            yield out
        return
    if not path.is_symlink() and (path.is_char_device() or path.is_block_device()):  # root could replace it
        raise OSError(errno.EINVAL, "It is a device", str(path))
    for left in parts(path.parent):
        _abandoned(left, remove=True)
    begun = _begun(path, "x" + mode, encoding, newline)
    part = Path(begun.name)
    try:
        with begun as out:
            yield out
            out.flush()
            os.fsync(out.fileno())
            if sys.platform != "win32":  # while it is locked nobody takes it for left behind
                part.replace(path)
        if sys.platform == "win32":
            part.replace(path)
    except BaseException:
        part.unlink(missing_ok=True)
        raise


def _begun(path: Path, mode: str, encoding: str | None, newline: str | None) -> IO[Any]:
    """Open a new file beside `path`, which is locked as long as it is open (where the disk has locks)."""
    while True:
        part = path.with_name(f".{os.getpid()}-{secrets.token_hex(8)}.part")
        out = part.open(mode, encoding=encoding, newline=newline)
        try:
            ours = lock(out.fileno()) and os.path.samestat(os.fstat(out.fileno()), part.lstat())
        except FileNotFoundError:
            ours = False
        except OSError:  # no locks: nobody takes it for left behind either
            ours = True
        if ours:
            return out
        out.close()  # somebody took it for left behind before we had locked it
        part.unlink(missing_ok=True)


def parts(folder: Path) -> list[Path]:
    """Return what killed writers have left in a folder: parts of files that nobody is writing any more."""
    try:
        names = sorted(name for name in os.listdir(folder) if _PART.fullmatch(name))
    except OSError:
        return []
    return [folder / name for name in names if _abandoned(folder / name)]


def _abandoned(path: Path, remove: bool = False) -> bool:
    """Whether a part is a file of its own that nobody writes; if so, and if asked to, remove it."""
    try:
        if not stat.S_ISREG(path.lstat().st_mode):
            return False
        fd = os.open(path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0))
    except OSError:
        return False
    try:
        if not lock(fd):
            return False
        if remove and sys.platform != "win32":
            path.unlink()
        unlock(fd)
    except OSError:
        return False
    finally:
        os.close(fd)
    if remove and sys.platform == "win32":
        with contextlib.suppress(OSError):
            path.unlink()  # which fails where somebody has it open
    return True


def lock(fd: int) -> bool:
    """Lock an open file; whether nobody else has.  The system lifts it when the file is closed, by a kill as well.

    Raises
    ------
    OSError
        Files cannot be locked there.
    """
    try:
        if sys.platform == "win32":
            at = os.lseek(fd, 0, os.SEEK_CUR)
            os.lseek(fd, _FAR, os.SEEK_SET)
            msvcrt.locking(fd, msvcrt.LK_NBLCK, 1)
            os.lseek(fd, at, os.SEEK_SET)
        else:
            # flock belongs to the open file, not to the process: threads exclude each other as well.
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except (BlockingIOError, PermissionError):
        return False
    return True


def unlock(fd: int) -> None:
    """Lift the lock, also where a forked child has the same open file."""
    if sys.platform != "win32":
        fcntl.flock(fd, fcntl.LOCK_UN)
