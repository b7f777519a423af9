"""What stands for workers, from one machine's cores to a cluster's: it takes chunks and hands answers out."""

from __future__ import annotations

import contextlib
import importlib
import uuid
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from types import ModuleType
from typing import Generic, Protocol, TypeVar

import loky

from hushbandits.bench.play.errors import RunError
from hushbandits.bench.play.task import Task
from hushbandits.bench.play.worker import Answer, Stranger, packed, unpacked
from hushbandits.core.ground.names import words
from hushbandits.core.ground.validate import choice, integer, shown
from hushbandits.interrupt import held_back

__all__ = ["BACKENDS", "Executor", "Future", "Lost", "checked", "needed", "workers"]

#: Backends, and the package that each needs; the standard ones need none.
BACKENDS = {"serial": "", "processes": "", "dask": "distributed", "ray": "ray", "slurm": "submitit"}


class Future(Protocol):
    """What stands for a chunk at play, of `concurrent.futures`, Dask or submitit."""

    def result(self) -> bytes:
        """Return what was answered."""

    def done(self) -> bool:
        """Whether there is an answer."""


_Future = TypeVar("_Future")


class Lost(Exception):
    """Whoever played a chunk has died."""


class Executor(ABC, Generic[_Future]):
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
        A chunk costs seconds before its play begins, so the first chunks are as large as the rest.
    """

    together = False
    dear = False
    #: Host and process whose end is the workers' own; ``None``: they belong to somebody else.
    parent: tuple[str, int] | None = None

    def __init__(self, width: int, most: int):
        self.width, self.most = width, most
        self._pending: dict[_Future, int] = {}
        self._call = uuid.uuid4().hex

    @property
    def name(self) -> str:
        """Of the backend."""
        return type(self).__name__.lower()

    def submit(self, number: int, tasks: Sequence[Task]) -> None:
        """Start a chunk under a number."""
        load = packed(tasks, self.parent, self._call)
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

    def __enter__(self) -> Executor[_Future]:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        pending, self._pending = list(self._pending), {}
        with held_back():
            self._close(pending, kind is not None or bool(pending))

    @abstractmethod
    def _start(self, load: bytes) -> _Future: ...

    @abstractmethod
    def _done(self, futures: list[_Future]) -> Iterable[_Future]: ...

    @abstractmethod
    def _result(self, future: _Future) -> bytes: ...

    @abstractmethod
    def _close(self, pending: list[_Future], failed: bool) -> None: ...


def workers(jobs: int) -> int:
    """Return the number of processes that `jobs` stands for.

    Examples
    --------
    >>> workers(0)
    Traceback (most recent call last):
        ...
    ValueError: jobs=0 must be an integer ≥ 1, or -1: one process per core
    """
    if jobs == -1:
        return int(loky.cpu_count())
    try:
        return integer("jobs", jobs, 1)
    except ValueError as error:
        raise ValueError(f"{error}, or -1: one process per core") from None


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
