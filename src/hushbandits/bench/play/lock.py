"""One writer at a time: a lock on a folder that the system lifts when its holder dies."""

from __future__ import annotations

import contextlib
import errno
import json
import math
import os
import platform
import stat
import sys
from collections.abc import Callable
from pathlib import Path

from filelock import FileLock, Timeout

from hushbandits.bench.play.errors import StoreError
from hushbandits.core.ground.strangers import opened, parsed

__all__ = ["PATIENCE", "Lock", "held"]

#: Seconds that a second writer waits; the environment variable ``HUSHBANDITS_WAIT`` says otherwise.
PATIENCE = 600.0
_LONGEST = 1000  # bytes of what a lock file says
_NOTED = b'{"pid": '  # how that begins
_LOCKLESS = {errno.ENOLCK, errno.ENOSYS, errno.ENOTSUP, errno.EOPNOTSUPP, errno.EINVAL}

_held: set[tuple[int, str]] = set()  # by process: what a fork inherits is not its own


class Lock:
    """The right to write beside `path`; taken on construction, handed back by `release`.

    The lock file lies there only as long as somebody holds or wants it; one that a killed process left behind locks
    nothing.

    Parameters
    ----------
    path : Path
        The lock file.
    meanwhile : callable
        Called again and again while waiting; what it raises ends the waiting.

    Raises
    ------
    StoreError
        Somebody else holds it for longer than one is ready to wait, what lies there is no lock file, it cannot be made,
        or files cannot be locked there.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     lock = Lock(Path(folder) / "lock")
    ...     before = os.listdir(folder)
    ...     lock.release()
    ...     before, os.listdir(folder)
    (['lock'], [])
    """

    def __init__(self, path: Path, meanwhile: Callable[[], None] = lambda: None):
        self._path, self._meanwhile = Path(os.path.abspath(path)), meanwhile
        self._patience, self._told = _patience(), False
        if os.path.lexists(self._path) and not _alone(self._path.lstat()):  # some devices act when they are opened
            raise self._strange()
        self._lock = FileLock(self._path, thread_local=False, fallback_to_soft=False, on_acquired=self._note)
        folder = self._path.parent
        try:
            while not self._lock.is_locked:
                with contextlib.suppress(FileNotFoundError):  # whoever failed has just removed the folder it had made
                    self._lock.acquire(self._patience, cancel_check=self._waiting)
        except Timeout:
            raise StoreError(
                f"{folder} is being written by {_holder(self._path)}; wait for it, or choose another --out "
                f"({self._patience:g} seconds were waited; HUSHBANDITS_WAIT=… changes that)"
            ) from None
        except OSError as error:
            why = (error.strerror or str(error)).lower()
            if error.errno in _LOCKLESS:
                raise StoreError(
                    f"files in {folder} cannot be locked ({why}); choose an --out on another disk"
                ) from None
            raise StoreError(f"cannot write to {folder}: {why}") from None
        self._mine = os.getpid(), os.path.realpath(self._path)
        _held.add(self._mine)

    def release(self) -> None:
        """Hand it back; more than once is the same as once, and a forked child has nothing to hand back."""
        if self._mine in _held and self._mine[0] == os.getpid():
            _held.discard(self._mine)
            # While it is held nobody else's lock can be on this file, so it is ours to remove.
            with contextlib.suppress(OSError):
                self._path.unlink()
            self._lock.release()

    def _waiting(self) -> bool:
        self._meanwhile()
        if not self._told and self._patience:
            self._told = True
            who = f"{self._path.parent} is being written by {_holder(self._path)}"
            print(f"{who}; waiting up to {self._patience:g} seconds", file=sys.stderr)
        return False

    def _note(self, fd: int) -> None:
        """Say who holds it; what holds something else is not overwritten."""
        content = os.read(fd, _LONGEST + 1).strip(b"\0")
        if not (_alone(os.fstat(fd)) and len(content) <= _LONGEST and content[: len(_NOTED)] == _NOTED[: len(content)]):
            raise self._strange()
        with contextlib.suppress(OSError):  # a full disk keeps no names
            os.ftruncate(fd, 0)
            os.lseek(fd, 0, os.SEEK_SET)
            os.write(fd, json.dumps({"pid": os.getpid(), "host": platform.node()}).encode())

    def _strange(self) -> StoreError:
        return StoreError(
            f"{self._path} is no lock file of hushbandits, and is left as it is; move it away, or choose another --out"
        )


def held(path: Path) -> bool:
    """Whether this process holds the lock on that file."""
    return (os.getpid(), os.path.realpath(path)) in _held


def _patience() -> float:
    text = os.environ.get("HUSHBANDITS_WAIT", "")
    try:
        seconds = float(text) if text else PATIENCE
    except ValueError:
        seconds = math.nan
    if not seconds >= 0:
        raise StoreError(f"HUSHBANDITS_WAIT={text!r} must be a number of seconds ≥ 0")
    return seconds


def _holder(path: Path) -> str:
    try:
        with opened(path) as file:
            noted = parsed(file.read(_LONGEST))
        return f"process {noted['pid']} on {noted['host']}"
    except (OSError, ValueError, LookupError, TypeError):  # it has just come or gone, or had no room to say
        return "another process"


def _alone(status: os.stat_result) -> bool:
    """Whether this is a file under one name: no link, device or pipe, and no second name of somebody's file."""
    return stat.S_ISREG(status.st_mode) and status.st_nlink == 1
