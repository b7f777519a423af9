"""Processes of this machine."""

from __future__ import annotations

import os
import platform
import sys
import threading
from concurrent.futures import Future
from typing import Any

import loky
from loky.process_executor import ShutdownExecutorError

from hushbandits.bench.play.crew import Crew
from hushbandits.bench.play.imported import environment
from hushbandits.bench.play.task import Task
from hushbandits.bench.play.worker import attend, work
from hushbandits.core.ground.names import reached
from hushbandits.interrupt import held_back

__all__ = ["Processes"]

_IDLE = 300.0  # seconds after which a worker without work ends


class Processes(Crew):
    """Processes of this machine, which end with this one; they wait some minutes for the next call.

    Loky keeps them, one pool a thread, and begins another where Python's path or the environment's variables have
    changed; a working folder and modules of one's own are the workers' business.
    """

    together = True
    deaths = (loky.BrokenProcessPool, ShutdownExecutorError)

    def __init__(self, jobs: int):
        super().__init__("processes", jobs)
        self.parent = platform.node(), os.getpid()
        self._pool: Any = None
        path = [folder for folder in sys.path if folder not in reached()]
        self._how = {
            "timeout": _IDLE, "initializer": _begin, "initargs": (*self.parent, path), "env": environment(),
        }  # fmt: skip

    def hung(self) -> list[list[Task]]:
        """All chunks that are pending: their processes are killed, and the next chunk starts new ones."""
        lost, self._pending = self.pending, {}
        self._pool.shutdown(wait=True, kill_workers=True)
        return lost

    def _start(self, load: bytes) -> Future[bytes]:
        # Workers inherit the mask: ctrl-C is the parent's business, from their first instruction on.
        with held_back():
            try:
                return self._sent(load)
            except self.deaths:  # it broke while it was idle
                return self._sent(load)

    def _sent(self, load: bytes) -> Future[bytes]:
        self._pool = loky.get_reusable_executor(self.width, **self._how)
        return self._pool.submit(work, load)

    def _close(self, pending: list[Future[bytes]]) -> None:
        # A worker lives no longer than the thread that started it, and only the main one is sure to stay.
        if self._pool is not None and (pending or threading.current_thread() is not threading.main_thread()):
            self._pool.shutdown(wait=True, kill_workers=bool(pending))


def _begin(host: str, parent: int, path: list[str]) -> None:
    sys.path[:] = path  # folders that were reached come with each chunk
    attend(host, parent)
