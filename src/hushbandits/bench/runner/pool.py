"""Play tasks in this process, in processes of this machine, or on a Dask cluster, all through joblib."""

from __future__ import annotations

import contextlib
import os
import pickle
import platform
import signal
import sys
import threading
import time
from collections import deque
from collections.abc import Iterator, Sequence

import cloudpickle

from hushbandits.bench.runner.errors import RunError
from hushbandits.bench.runner.options import RunOptions, workers
from hushbandits.bench.runner.progress import Bar
from hushbandits.bench.runner.sources import sent
from hushbandits.bench.runner.task import Failed, Reply, Task, attempted
from hushbandits.core.ground import names
from hushbandits.core.ground.extras import extra
from hushbandits.core.ground.sources import whole
from hushbandits.interrupt import held_back
from hushbandits.registry import adopt

__all__ = ["answers"]

_LOOK = 1.0  # seconds between two looks at whether the parent lives


def answers(tasks: Sequence[Task], options: RunOptions, bar: Bar) -> Iterator[tuple[Task, Reply]]:
    """Play tasks, and yield each with its rows or its error, as they are done.

    Where a worker dies, the batches that were under way are played last, each alone; a batch whose worker dies again is
    a failure of that batch.

    Raises
    ------
    RunError
        The workers cannot be used.
    """
    if options.serial(len(tasks)):
        for task in tasks:
            bar.at(task.label)
            yield task, attempted(task, here=True)
        return
    with _backend(options), sent(tasks) as objects:
        context = _context(objects)
        waiting, suspects = deque(tasks), list[Task]()
        while waiting:
            under_way = dict[int, Task]()
            yield from _played(waiting, under_way, context, bar)
            suspects += under_way.values()
        for task in suspects:
            under_way = {}
            yield from _played(deque([task]), under_way, context, bar)
            if under_way:
                yield task, Failed("a worker died twice while it played this batch alone, probably out of memory")


def _played(waiting: deque[Task], under_way: dict[int, Task], context: bytes, bar: Bar) -> Iterator[tuple[Task, Reply]]:
    """Play what waits until it is done or the pool breaks; `under_way` then holds what was lost."""
    with extra("bench"):
        import joblib

    def feed() -> Iterator[object]:
        while waiting:
            task = waiting.popleft()
            number = id(task)
            under_way[number] = task
            bar.at(task.label)
            yield joblib.delayed(_work)(context, number, cloudpickle.dumps(task))

    stream = joblib.Parallel(return_as="generator_unordered")(feed())
    try:
        for number, reply in stream:
            yield under_way.pop(number), pickle.loads(reply)
    except _broken():
        pass
    finally:
        with contextlib.suppress(Exception):  # it may complain that it was not read to its end
            stream.close()


def _broken() -> tuple[type[BaseException], ...]:
    """What joblib raises where a worker has died."""
    from joblib.externals.loky.process_executor import BrokenProcessPool, ShutdownExecutorError

    dask = sys.modules.get("distributed")
    return (BrokenProcessPool, ShutdownExecutorError, *((dask.KilledWorker,) if dask is not None else ()))


@contextlib.contextmanager
def _backend(options: RunOptions) -> Iterator[None]:
    """Choose joblib's backend."""
    with extra("bench"):
        import joblib

    if options.backend != "dask":
        # Two processes at least: with one joblib would play in this process, which a task may kill.
        jobs = max(2, workers(options.jobs))
        how = {"initializer": _begin, "initargs": (os.getpid(),), "max_nbytes": None}
        over = False
        try:
            with joblib.parallel_config("loky", n_jobs=jobs, **how):
                with held_back():  # Ctrl-C is the parent's business, from a worker's first instruction on
                    joblib.Parallel()(joblib.delayed(os.getpid)() for _ in range(jobs))
                yield
            over = True
        finally:
            _shut_down(kill=not over)
        return
    from distributed import Client

    with _connected(Client, options) as client, joblib.parallel_config("dask", n_jobs=-1, client=client):
        yield


def _shut_down(kill: bool) -> None:
    """End the processes of this machine: every call begins with its own, and leaves none."""
    from joblib.externals.loky import get_reusable_executor

    previous = None
    if threading.current_thread() is threading.main_thread():
        previous = signal.signal(signal.SIGINT, signal.SIG_IGN)  # a second Ctrl-C must not leave processes behind
    try:
        get_reusable_executor(reuse=True).shutdown(wait=True, kill_workers=kill)
    finally:
        if previous is not None:
            signal.signal(signal.SIGINT, previous)


@contextlib.contextmanager
def _connected(client: type, options: RunOptions) -> Iterator[object]:
    try:
        if options.address is not None:
            made = client(options.address, timeout=10, set_as_default=False)
        else:
            made = client(
                n_workers=workers(options.jobs), threads_per_worker=1, dashboard_address=None, set_as_default=False
            )  # fmt: skip
    except Exception as error:
        where = f"at {options.address}" if options.address is not None else "on this machine"
        raise RunError(f"Dask cannot be used {where}: {names.words(error)}") from error
    with made:
        yield made


# -- in a worker ------------------------------------------------------------------------------------------------------


def _context(objects: bytes) -> bytes:
    """What every task of a call needs: the version of the code, folders, and the user's classes."""
    folders = tuple(dict.fromkeys([os.getcwd(), *names.reached()]))
    return pickle.dumps((whole(), folders, objects))


_entered = b""


def _work(context: bytes, number: int, load: bytes) -> tuple[int, bytes]:
    """Play one task; an error is an answer."""
    try:
        _enter(context)
        reply = attempted(pickle.loads(load))
        return number, pickle.dumps(reply)
    except RunError:
        raise
    except Exception as error:
        return number, pickle.dumps(Failed.by(error))


def _enter(context: bytes) -> None:
    """Go where the parent is, and take over its classes; once per call."""
    global _entered
    if context == _entered:
        return
    sources, folders, objects = pickle.loads(context)
    if sources != whole():
        raise RunError(
            f"the workers on {platform.node()} run other source code of hushbandits than this process: install the "
            f"same version there, and start them anew"
        )
    with contextlib.suppress(OSError):  # another machine may have no such folder
        os.chdir(folders[0])
    for folder in reversed(folders):
        names.reach(folder)
    named, entries = pickle.loads(objects)
    names.SENT.clear()
    names.SENT.update(named)
    adopt(entries)
    _entered = context


def _begin(parent: int) -> None:
    """Leave Ctrl-C to the parent, and end with it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_watch, args=(parent,), daemon=True).start()


def _watch(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(_LOOK)
    os._exit(1)
