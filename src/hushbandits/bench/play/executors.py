"""Who plays: this process, or workers that one interface hides, from one machine's cores to a cluster's."""

from __future__ import annotations

import contextlib
import importlib
import os
import platform
import threading
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, wait
from pathlib import Path
from types import ModuleType
from typing import Any

import loky
from loky.process_executor import ProcessPoolExecutor, ShutdownExecutorError

from hushbandits.bench.play.errors import RunError
from hushbandits.bench.play.task import Task
from hushbandits.bench.play.worker import Answer, Stranger, attend, packed, unpacked, work
from hushbandits.core.interrupt import held_back
from hushbandits.core.names import words
from hushbandits.core.validate import choice, integer, shown

__all__ = ["BACKENDS", "Executor", "Lost", "Processes", "checked", "executor", "needed", "workers"]

#: Backends, and of those beyond the standard ones the package that each needs.
BACKENDS = {"serial": "", "processes": "", "dask": "distributed", "ray": "ray", "slurm": "submitit"}


class Lost(Exception):
    """Whoever played a chunk has died."""


class Executor(ABC):
    """Takes chunks of tasks, and hands answers out as they come, in any order.

    A subclass says how a packed chunk is started, and what became of it.  Used in a ``with`` block: what is still
    pending at its end is cancelled.

    Attributes
    ----------
    width : int
        Chunks that are played at once.
    most : int
        Chunks that may be pending: a few wait, so that no worker does.
    together : bool
        When one worker dies, all pending chunks are lost, and nobody knows whose fault it was.
    dear : bool
        A chunk costs seconds before anything of it is played, so that the first ones are no small ones.
    """

    together = False
    dear = False
    #: Host and process whose end is the workers' own; ``None``: they belong to somebody else.
    parent: tuple[str, int] | None = None

    def __init__(self, width: int, most: int):
        self.width, self.most = width, most
        self._pending: dict[Any, int] = {}

    @property
    def name(self) -> str:
        """Of the backend."""
        return type(self).__name__.lower()

    def submit(self, number: int, tasks: Sequence[Task]) -> None:
        """Start a chunk under a number."""
        load = packed(tasks, self.parent)
        with self._in_words():
            self._pending[self._start(load)] = number

    def finished(self) -> Iterator[tuple[int, Answer | None]]:
        """Wait for chunks, and yield the numbers of those that are done, with what they gave; ``None``: lost.

        Raises
        ------
        RunError
            The workers cannot be used.
        """
        with self._in_words():
            done = list(self._done(list(self._pending)))
        for future in done:
            answer: Answer | None = None
            with self._in_words(), contextlib.suppress(Lost):
                answer = unpacked(self._result(future))
            yield self._pending.pop(future), answer

    @contextlib.contextmanager
    def _in_words(self) -> Iterator[None]:
        try:
            yield
        except (Lost, RunError):
            raise
        except Stranger as error:
            raise RunError(str(error)) from None
        except Exception as error:  # what tasks raise are answers; this is between us and the workers
            raise RunError(f"the workers of backend={self.name!r} cannot be used: {words(error)}") from error

    def __enter__(self) -> Executor:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        pending, self._pending = list(self._pending), {}
        with held_back():
            self._close(pending, kind is not None or bool(pending))

    @abstractmethod
    def _start(self, load: bytes) -> Any: ...

    @abstractmethod
    def _done(self, futures: list[Any]) -> Iterable[Any]: ...

    @abstractmethod
    def _result(self, future: Any) -> bytes: ...

    @abstractmethod
    def _close(self, pending: list[Any], failed: bool) -> None: ...


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


def workers(jobs: int) -> int:
    """Return the number of processes that `jobs` stands for."""
    return int(loky.cpu_count()) if jobs == -1 else integer("jobs", jobs, 1)


def checked(backend: str | None, address: str | None) -> None:
    """Raise ``ValueError`` unless there is such a backend here, and it can be at such an address."""
    if backend is not None:
        choice("backend", backend, BACKENDS)
    package = BACKENDS[backend or "serial"]
    if address is not None and not package:
        raise ValueError(f"address={shown(address)} is for backend 'dask', 'ray' or 'slurm'")
    if package:
        needed(backend or "")


def needed(backend: str) -> ModuleType:
    """Return the package that a backend needs."""
    try:
        return importlib.import_module(BACKENDS[backend])
    except ImportError:
        raise ValueError(
            f"backend={backend!r} needs {BACKENDS[backend]}: pip install 'hushbandits[{backend}]'"
        ) from None


def executor(
    backend: str | None, jobs: int, address: str | None, folder: Path, most: int | None = None
) -> Executor | contextlib.nullcontext[None]:
    """Return who plays, for a ``with`` block; ``None`` in it: this process itself.

    Parameters
    ----------
    backend : str, optional
        Of `BACKENDS`; default: this process for one job, else processes.
    jobs : int
        Chunks at once; −1: as many as there are cores.
    address : str, optional
        Of a cluster.
    folder : Path
        Where a batch system may put its files; all machines see it.
    most : int, optional
        Tasks that there are: more processes are of no use.
    """
    checked(backend, address)
    if backend in ("dask", "ray", "slurm"):
        from hushbandits.bench.play import clusters

        return clusters.connect(backend, integer("jobs", jobs, -1), address, folder)
    jobs = workers(jobs)
    if backend == "serial" or (backend is None and min(jobs, most or jobs) == 1):
        return contextlib.nullcontext()
    return Processes(jobs)
