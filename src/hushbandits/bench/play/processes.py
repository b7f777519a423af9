"""Processes of this machine as an executor."""

from __future__ import annotations

import os
import platform
import threading
from collections.abc import Iterable
from concurrent.futures import FIRST_COMPLETED, wait
from typing import Any

import loky
from loky.process_executor import ProcessPoolExecutor, ShutdownExecutorError

from hushbandits.bench.play.executors import Executor, Lost
from hushbandits.bench.play.worker import attend, work
from hushbandits.core.interrupt import held_back

__all__ = ["Processes"]


class Processes(Executor):
    """Processes of this machine, which end with this one; they wait some minutes for the next call.

    Parameters
    ----------
    jobs : int
        How many.
    """

    together = True

    def __init__(self, jobs: int):
        super().__init__(jobs, 2 * jobs)
        self.parent = platform.node(), os.getpid()

    def _start(self, load: bytes) -> Any:
        # Workers inherit the mask: ctrl-C is the parent's business, from their first instruction on.
        with held_back():
            try:
                return _pool(self.width).submit(work, load)
            except (loky.BrokenProcessPool, ShutdownExecutorError):  # it broke while it was idle
                _drop(kill=True)
                return _pool(self.width).submit(work, load)

    def _done(self, futures: list[Any]) -> Iterable[Any]:
        return wait(futures, return_when=FIRST_COMPLETED).done

    def _result(self, future: Any) -> bytes:
        try:
            answer: bytes = future.result()
        except (loky.BrokenProcessPool, ShutdownExecutorError):
            raise Lost from None
        return answer

    def _close(self, pending: list[Any], failed: bool) -> None:
        # A worker lives no longer than the thread that started it, and only the main one is sure to stay.
        if failed or threading.current_thread() is not threading.main_thread():
            _drop(kill=failed)


#: The pool of this process's threads, with its number of workers.
_pools: dict[tuple[int, int], tuple[int, ProcessPoolExecutor]] = {}
_IDLE = 300.0  # seconds after which a worker without work ends


def _mine() -> tuple[int, int]:
    return os.getpid(), threading.get_ident()  # what a fork inherits is not its own


def _pool(jobs: int) -> ProcessPoolExecutor:
    if _pools.get(_mine(), (jobs, None))[0] != jobs:
        _drop()
    if _mine() not in _pools:
        made = ProcessPoolExecutor(jobs, timeout=_IDLE, initializer=attend, initargs=(platform.node(), os.getpid()))
        _pools[_mine()] = jobs, made
    return _pools[_mine()][1]


def _drop(kill: bool = False) -> None:
    _, pool = _pools.pop(_mine(), (0, None))
    if pool is not None:
        pool.shutdown(wait=True, kill_workers=kill)
