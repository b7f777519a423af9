"""One writer at a time: a lock on a run folder that the system lifts when its holder dies."""

from __future__ import annotations

import contextlib
import json
import math
import os
import platform
import stat
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

from hushbandits.bench.play.errors import StoreError
from hushbandits.core.ground.files import lock as _lock
from hushbandits.core.ground.files import unlock
from hushbandits.core.ground.strangers import opened, parsed

__all__ = ["PATIENCE", "Lock", "held"]

#: Seconds that a second writer waits; the environment variable ``HUSHBANDITS_WAIT`` says otherwise.
PATIENCE = 600.0
_LONGEST = 1000  # bytes of what a lock file says
_NOTED = b'{"pid": '  # how that begins

_guard = threading.RLock()
_held: dict[Path, _Hold] = {}


class _Hold:
    def __init__(self, fd: int):
        self.fd, self.owner, self.count = fd, _me(), 1


class Lock:
    """The right to write beside `path`; taken on construction, handed back by `release`.

    A thread that holds it may take it again.  The lock file lies there only as long as somebody holds or wants it; one
    that a killed process left behind locks nothing.

    Parameters
    ----------
    path : Path
        The lock file; its folder exists.
    meanwhile : callable
        Called again and again while waiting; what it raises ends the waiting.

    Raises
    ------
    StoreError
        Another process or thread holds it for longer than one is ready to wait, or files cannot be locked there.
    OSError
        The lock file cannot be made.

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
        self._path = Path(os.path.abspath(path))
        self._free = False
        with _guard:
            mine = _held.get(self._path)
            if mine is not None and mine.owner == _me():
                mine.count += 1
                self._hold = mine
                return
        fd = _wait(self._path, meanwhile)
        with _guard:
            self._hold = _held[self._path] = _Hold(fd)

    def release(self) -> None:
        """Hand it back; more than once is the same as once."""
        with _guard:
            if self._free or self._hold.owner[0] != os.getpid():
                return
            self._free = True
            self._hold.count -= 1
            if self._hold.count:
                return
            del _held[self._path]
            # While it is held nobody else's lock can be on this file, so it is ours to remove.
            with contextlib.suppress(OSError):
                self._path.unlink()
            _close(self._hold.fd)


def held(path: Path) -> bool:
    """Whether this process holds the lock on that file."""
    with _guard:
        return os.path.realpath(path) in map(os.path.realpath, _held)


def _me() -> tuple[int, int]:
    return os.getpid(), threading.get_ident()


def _patience() -> float:
    text = os.environ.get("HUSHBANDITS_WAIT", "")
    try:
        seconds = float(text) if text else PATIENCE
    except ValueError:
        seconds = math.nan
    if not seconds >= 0:
        raise StoreError(f"HUSHBANDITS_WAIT={text!r} must be a number of seconds ≥ 0")
    return seconds


def _wait(path: Path, meanwhile: Callable[[], None]) -> int:
    patience, begun, told = _patience(), time.monotonic(), False
    while (fd := _try(path)) is None:
        meanwhile()
        if time.monotonic() - begun >= patience:
            raise StoreError(
                f"{path.parent} is being written by {_holder(path)}; wait for it, or choose another --out "
                f"({patience:g} seconds were waited; HUSHBANDITS_WAIT=… changes that)"
            )
        if not told:
            told = True
            who = _holder(path)
            print(f"{path.parent} is being written by {who}; waiting up to {patience:g} seconds", file=sys.stderr)
        time.sleep(0.05)
    return fd


def _holder(path: Path) -> str:
    try:
        with opened(path) as file:
            noted = parsed(file.read(_LONGEST))
        return f"process {noted['pid']} on {noted['host']}"
    except (OSError, ValueError, LookupError, TypeError):  # it has just come or gone, or had no room to say
        return "another process"


def _try(path: Path) -> int | None:
    """Lock the file that has this name now; ``None``: somebody else has it."""
    while True:
        fd = _opened(path)
        try:
            locked = _lock(fd)
        except OSError as error:
            os.close(fd)
            raise StoreError(
                f"files in {path.parent} cannot be locked ({(error.strerror or str(error)).lower()}); "
                f"choose an --out on another disk"
            ) from None
        if not locked:
            os.close(fd)
            return None
        try:
            current = os.path.samestat(os.fstat(fd), path.lstat())
        except FileNotFoundError:
            current = False
        if not current:
            _close(fd)  # its last holder has removed it between our two looks
            continue
        if not _ours(fd):
            _close(fd)
            raise _strange(path)
        with contextlib.suppress(OSError):  # a full disk keeps no names
            os.ftruncate(fd, 0)
            os.lseek(fd, 0, os.SEEK_SET)
            os.write(fd, json.dumps({"pid": os.getpid(), "host": platform.node()}).encode())
        return fd


def _opened(path: Path) -> int:
    """Open the lock file, or make it; a link, a device, or a file with a second name is refused."""
    flags = os.O_RDWR | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
    while True:
        with contextlib.suppress(FileExistsError):
            return os.open(path, flags | os.O_CREAT | os.O_EXCL, 0o666)
        try:
            if not _alone(path.lstat()):
                raise _strange(path)
            fd = os.open(path, flags)
        except FileNotFoundError:
            continue  # its holder has just removed it
        if _alone(os.fstat(fd)) or not os.fstat(fd).st_nlink:
            return fd
        os.close(fd)
        raise _strange(path)


def _alone(status: os.stat_result) -> bool:
    """Whether this is a file under one name: no link, device or pipe, and no second name of somebody's file."""
    return stat.S_ISREG(status.st_mode) and status.st_nlink == 1


def _ours(fd: int) -> bool:
    """Whether a file says what a lock file says, or nothing: what holds something else is not overwritten."""
    content = os.read(fd, _LONGEST + 1).strip(b"\0")
    return len(content) <= _LONGEST and content[: len(_NOTED)] == _NOTED[: len(content)]


def _strange(path: Path) -> StoreError:
    return StoreError(
        f"{path} is no lock file of hushbandits, and is left as it is; move it away, or choose another --out"
    )


def _close(fd: int) -> None:
    unlock(fd)
    os.close(fd)


def _forget() -> None:
    for hold in _held.values():
        os.close(hold.fd)
    _held.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)
