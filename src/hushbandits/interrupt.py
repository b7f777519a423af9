"""Ctrl-C: one line and exit code 130 where a command loads or ends, and never in the middle of a worker."""

from __future__ import annotations

import itertools
import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

__all__ = ["asleep", "awake", "held_back", "later"]

_COMMANDS = ("hushbandits", "hushbandits.cli")


def _is_command() -> bool:
    """Is this process the command, rather than a program that imports the package, or a worker?"""
    given, words = sys.argv[:1], sys.orig_argv[1:]
    if given == ["-m"]:  # while ``python -m`` looks for the module
        return any(a == "-m" and b in _COMMANDS for a, b in itertools.pairwise(words))
    # A worker has its parent's argv, but was started otherwise.
    return bool(given) and given[0] in words and os.path.splitext(os.path.basename(given[0]))[0] == "hushbandits"


_COMMAND = _is_command()  # asked before anything changes argv


def _leave(*_: object) -> None:
    # No exception: in the middle of an import or of the interpreter's end it would come out as something else.
    os.write(2, b"hushbandits: stopped\n")
    os._exit(130)


def asleep() -> None:
    """Let ctrl-C end the command at once, if this is the command: there is nothing to be saved."""
    if _COMMAND and signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _leave)


def awake() -> None:
    """Let ctrl-C be a ``KeyboardInterrupt`` again."""
    if signal.getsignal(signal.SIGINT) is _leave:
        signal.signal(signal.SIGINT, signal.default_int_handler)


asleep()  # from the first import on


@contextmanager
def later() -> Iterator[None]:
    """Keep ctrl-C waiting until the block is over: what C code calls back, such as LLVM does, would swallow it."""
    handler = signal.getsignal(signal.SIGINT)
    if not callable(handler) or threading.current_thread() is not threading.main_thread():
        yield
        return
    came: list[tuple[int, FrameType | None]] = []
    signal.signal(signal.SIGINT, lambda number, frame: came.append((number, frame)))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, handler)
        if came:
            handler(*came[0])


@contextmanager
def held_back() -> Iterator[None]:
    """Keep ctrl-C waiting, and from processes that are started meanwhile for good."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    from multiprocessing.resource_tracker import ensure_running

    ensure_running()  # it unblocks ctrl-C when it starts, so it starts before
    with later():  # a mask is a thread's own: where there are others, one of them takes the signal
        before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        try:
            yield
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)
