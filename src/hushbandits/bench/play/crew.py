"""What stands for workers: any executor of `concurrent.futures` takes chunks of tasks, and answers are handed out."""

from __future__ import annotations

import contextlib
import uuid
from collections.abc import Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, CancelledError, Executor, Future, wait

import loky

from hushbandits.bench.play.errors import RunError
from hushbandits.bench.play.task import Task
from hushbandits.bench.play.worker import LONGEST, Answer, Stranger, packed, unpacked, work
from hushbandits.core.ground.names import words
from hushbandits.core.ground.validate import integer
from hushbandits.interrupt import held_back

__all__ = ["Crew", "workers"]


class Crew:
    """Has chunks of tasks played by an executor, and hands answers out as they come, in any order.

    Used in a ``with`` block: what is still pending at its end is cancelled.  The executor stays; a subclass whose
    workers are its own ends them.

    Parameters
    ----------
    name : str
        Of the backend, or of the executor's class.
    pool : concurrent.futures.Executor, optional
        Who plays; a subclass may say so later.
    width : int
        Chunks that are played at once.
    most : int, optional
        Chunks that may be pending; default: twice `width`, so that no worker waits.

    Attributes
    ----------
    together : bool
        When one worker dies, all pending chunks are lost, and nobody knows whose fault it was.
    dear : bool
        A chunk costs seconds before anything of it is played, so that the first ones are no small ones.
    parent : (str, int), optional
        Host and process whose end is the workers' own; ``None``: they belong to somebody else.
    """

    together = False
    dear = False
    parent: tuple[str, int] | None = None
    #: What an executor raises in the place of an answer when a worker has died.
    deaths: tuple[type[BaseException], ...] = (BrokenExecutor, CancelledError)

    def __init__(self, name: str, width: int, most: int | None = None, pool: Executor | None = None):
        self.name, self.width, self.most, self._pool = name, width, most or 2 * width, pool
        self._pending: dict[Future[bytes], list[Task]] = {}
        self._call = uuid.uuid4().hex

    @property
    def pending(self) -> list[list[Task]]:
        """The chunks that are under way."""
        return list(self._pending.values())

    def submit(self, tasks: list[Task], longest: float = LONGEST) -> None:
        """Start a chunk; after `longest` seconds it is handed back with what is done of it."""
        load = packed(tasks, self.parent, self._call, longest)
        with self._in_words():
            self._pending[self._start(load)] = tasks

    def finished(self, patience: float | None = None) -> Iterator[tuple[list[Task], Answer | None]]:
        """Wait for chunks, and yield those that are done with what they gave; ``None``: lost.

        Nothing is yielded if none is done within `patience` seconds.

        Raises
        ------
        RunError
            The workers cannot be used.
        """
        with self._in_words():
            done = list(self._done(list(self._pending), patience))
        for future in done:
            with self._in_words():
                load = self._result(future)
                answer = None if load is None else unpacked(load)
            yield self._pending.pop(future), answer

    def hung(self) -> list[list[Task]] | None:
        """End workers that do not answer, and return the chunks that went with them; ``None``: that is not ours."""
        return None

    @contextlib.contextmanager
    def _in_words(self) -> Iterator[None]:
        try:
            yield
        except RunError:
            raise
        except Stranger as error:
            raise RunError(str(error)) from None
        except Exception as error:  # what tasks raise are answers; this is between us and the workers
            raise RunError(f"the workers of {self.name!r} cannot be used: {words(error)}") from error

    def __enter__(self) -> Crew:
        return self

    def __exit__(self, *_: object) -> None:
        pending = [future for future in self._pending if not future.done()]
        self._pending = {}
        with held_back():
            self._close(pending)

    # -- what differs from one kind of workers to the next ---------------------------------------------------------

    def _start(self, load: bytes) -> Future[bytes]:
        assert self._pool is not None
        return self._pool.submit(work, load)

    def _done(self, futures: list[Future[bytes]], patience: float | None) -> Iterable[Future[bytes]]:
        return wait(futures, timeout=patience, return_when=FIRST_COMPLETED).done

    def _result(self, future: Future[bytes]) -> bytes | None:
        """Return an answer; ``None``: who played has died."""
        try:
            return future.result()
        except self.deaths:
            return None

    def _close(self, pending: list[Future[bytes]]) -> None:
        for future in pending:
            future.cancel()


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
