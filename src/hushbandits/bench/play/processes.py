"""Processes of this machine as an executor."""

from __future__ import annotations

import os
import platform
import sys
import threading
from collections.abc import Iterable
from concurrent.futures import FIRST_COMPLETED, Future, wait
from dataclasses import dataclass, field

import loky
from loky.process_executor import ProcessPoolExecutor, ShutdownExecutorError

from hushbandits.bench.play.executors import Executor, Lost
from hushbandits.bench.play.imported import changed, environment
from hushbandits.bench.play.worker import attend, imports_in, work
from hushbandits.interrupt import held_back

__all__ = ["Processes"]

#: Folder, path and environment.
_Place = tuple[str, tuple[str, ...], dict[str, str]]


class Processes(Executor[Future[bytes]]):
    """Processes of this machine, which end with this one; they wait some minutes for the next call.

    They belong to the working folder, Python's path, the environment's variables and the modules of one's own that they
    have imported: where one of these is another when a call begins, it gets processes of its own.

    Parameters
    ----------
    jobs : int
        How many.
    """

    together = True

    def __init__(self, jobs: int):
        super().__init__(jobs, 2 * jobs)
        self.parent = platform.node(), os.getpid()
        _fitting(jobs)

    def _start(self, load: bytes) -> Future[bytes]:
        # Workers inherit the mask: ctrl-C is the parent's business, from their first instruction on.
        with held_back():
            try:
                return _pool(self.width).submit(work, load)
            except (loky.BrokenProcessPool, ShutdownExecutorError):  # it broke while it was idle
                _drop(kill=True)
                return _pool(self.width).submit(work, load)

    def _done(self, futures: list[Future[bytes]]) -> Iterable[Future[bytes]]:
        return wait(futures, return_when=FIRST_COMPLETED).done

    def _result(self, future: Future[bytes]) -> bytes:
        try:
            answer = future.result()
        except (loky.BrokenProcessPool, ShutdownExecutorError):
            raise Lost from None
        _learn(imports_in(answer))
        return answer

    def _close(self, pending: list[Future[bytes]], failed: bool) -> None:
        # A worker lives no longer than the thread that started it, and only the main one is sure to stay.
        if failed or threading.current_thread() is not threading.main_thread():
            _drop(kill=failed)


@dataclass
class _Pool:
    """Processes, where they were started, and what they have imported."""

    jobs: int
    pool: ProcessPoolExecutor
    place: _Place
    files: dict[str, str] = field(default_factory=dict)


#: The pool of this process's threads.
_pools: dict[tuple[int, int], _Pool] = {}
_IDLE = 300.0  # seconds after which a worker without work ends


def _mine() -> tuple[int, int]:
    return os.getpid(), threading.get_ident()  # what a fork inherits is not its own


def _here() -> _Place:
    return os.getcwd(), tuple(sys.path), environment()


def _fitting(jobs: int) -> None:
    """End the pool that is there, unless a call that begins now may have it."""
    mine = _pools.get(_mine())
    if mine is not None and (mine.jobs != jobs or mine.place != _here() or changed(mine.files)):
        _drop()


def _learn(files: dict[str, str]) -> None:
    if (mine := _pools.get(_mine())) is not None:
        mine.files = files | mine.files  # of two that differ, the older one: it is looked at again


def _pool(jobs: int) -> ProcessPoolExecutor:
    if _mine() not in _pools:
        made = ProcessPoolExecutor(jobs, timeout=_IDLE, initializer=attend, initargs=(platform.node(), os.getpid()))
        _pools[_mine()] = _Pool(jobs, made, _here())
    return _pools[_mine()].pool


def _drop(kill: bool = False) -> None:
    mine = _pools.pop(_mine(), None)
    if mine is not None:
        mine.pool.shutdown(wait=True, kill_workers=kill)
