"""One writer at a time: a lock on a run folder that the system lifts when its holder dies."""

from __future__ import annotations

import contextlib
import json
import math
import os
import platform
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

from hushbandits.bench.play.errors import StoreError

if sys.platform == "win32":
    import msvcrt
else:
    import fcntl

__all__ = ["PATIENCE", "Lock"]

#: Seconds that a second writer waits; the environment variable ``HUSHBANDITS_WAIT`` says otherwise.
PATIENCE = 600.0
_FAR = 1 << 30  # Windows locks bytes against reading, too: one that nobody reads

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
            _unlock(self._hold.fd)


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
        noted = json.loads(path.read_text(encoding="utf-8"))
        return f"process {noted['pid']} on {noted['host']}"
    except (OSError, ValueError, LookupError, TypeError):  # it has just come or gone, or had no room to say
        return "another process"


def _try(path: Path) -> int | None:
    """Lock the file that has this name now; ``None``: somebody else has it."""
    while True:
        fd = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
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
            current = os.path.samestat(os.fstat(fd), os.stat(path))
        except FileNotFoundError:
            current = False
        if current:
            with contextlib.suppress(OSError):  # a full disk keeps no names
                os.ftruncate(fd, 0)
                os.write(fd, json.dumps({"pid": os.getpid(), "host": platform.node()}).encode())
            return fd
        _unlock(fd)  # its last holder has removed it between our two looks


def _lock(fd: int) -> bool:
    try:
        if sys.platform == "win32":
            os.lseek(fd, _FAR, os.SEEK_SET)
            msvcrt.locking(fd, msvcrt.LK_NBLCK, 1)
            os.lseek(fd, 0, os.SEEK_SET)
        else:
            # flock belongs to the open file, not to the process: threads exclude each other as well.
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except (BlockingIOError, PermissionError):
        return False
    return True


def _unlock(fd: int) -> None:
    if sys.platform != "win32":
        fcntl.flock(fd, fcntl.LOCK_UN)  # a forked child may hold the same open file
    os.close(fd)


def _forget() -> None:
    for hold in _held.values():
        os.close(hold.fd)
    _held.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)
