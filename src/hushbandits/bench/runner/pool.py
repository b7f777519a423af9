"""Functions that play batches in this process, or with joblib in local processes or on a Dask cluster."""

import contextlib
import os
import pickle
import platform
import signal
import sys
import threading
import time
import warnings
from collections import deque
from collections.abc import Generator, Iterator, Sequence
from functools import lru_cache, partial
from pathlib import Path
from typing import TYPE_CHECKING

import cloudpickle

from hushbandits.bench.runner.batch import Batch, Failed, Played, Reply, attempted
from hushbandits.bench.runner.errors import RunError
from hushbandits.bench.runner.options import RunOptions, workers
from hushbandits.bench.runner.progress import Bar, noting
from hushbandits.bench.runner.sources import sent
from hushbandits.core import Params
from hushbandits.core.utils import registry, source_digest
from hushbandits.registry import adopt

if TYPE_CHECKING:
    from distributed import Client


def answers(tasks: Sequence[Batch], options: RunOptions, bar: Bar) -> Iterator[tuple[Batch, Reply]]:
    """Play batches; as soon as a batch is finished, yield it with its metrics or error.

    If a worker dies, the interrupted batches are played last, one at a time; a batch whose worker dies again fails.

    Raises
    ------
    RunError
        The workers cannot be used.
    """
    alone = options.backend is None and min(workers(options.jobs), len(tasks)) <= 1
    if alone or options.backend == "serial":
        for task in tasks:
            yield task, attempted(partial(task.play, noting(bar.begin(task))))
        return
    with _backend(options, len(tasks)), sent(tasks) as objects:
        folders = tuple(dict.fromkeys([os.getcwd(), *registry.reached()]))
        context = pickle.dumps((source_digest(), folders, objects))
        waiting, suspects = deque(tasks), list[Batch]()
        while waiting:
            suspects += yield from _played(waiting, context, bar)
        for task in suspects:
            if (yield from _played(deque([task]), context, bar)):
                yield task, Failed("a worker died twice while it played this batch alone, probably out of memory")


def _played(waiting: deque[Batch], context: bytes, bar: Bar) -> Generator[tuple[Batch, Reply], None, list[Batch]]:
    """Play the waiting batches and yield each with metrics or error; if the pool breaks, return the unfinished ones."""
    import joblib
    from joblib.externals.loky.process_executor import BrokenProcessPool, ShutdownExecutorError

    dask = sys.modules.get("distributed")
    died = (BrokenProcessPool, ShutdownExecutorError, *((dask.KilledWorker,) if dask is not None else ()))
    under_way: dict[int, Batch] = {}

    def feed() -> Iterator[object]:
        while waiting:
            task = waiting.popleft()
            under_way[id(task)] = task
            yield joblib.delayed(_work)(context, id(task), cloudpickle.dumps(task), bar.begin(task))

    stream = joblib.Parallel(return_as="generator_unordered")(feed())
    try:
        for number, reply in stream:
            yield under_way.pop(number), reply
    except died:
        pass
    finally:
        with contextlib.suppress(Exception):  # joblib may complain that its generator was not exhausted
            stream.close()
    return list(under_way.values())


#: Inside `kept`: the workers that have been started there.
_KEPT: list[contextlib.ExitStack] = []


@contextlib.contextmanager
def kept() -> Iterator[None]:
    """Keep the workers that the first call of `answers` starts in the block, for all calls with the same options."""
    if _KEPT:
        yield
        return
    with contextlib.ExitStack() as stack:
        _KEPT.append(stack)
        stack.callback(_KEPT.clear)
        yield


def _backend(options: RunOptions, tasks: int) -> contextlib.AbstractContextManager[None]:
    """Select joblib's backend for `tasks` batches inside the block, or inside the block of `kept` around it."""
    if not _KEPT:
        return _started(options, min(workers(options.jobs), tasks))
    if len(_KEPT) == 1:  # the first call in this block
        _KEPT.append(_KEPT[0])
        _KEPT[0].enter_context(_started(options, workers(options.jobs)))
    return contextlib.nullcontext()


@contextlib.contextmanager
def _started(options: RunOptions, jobs: int) -> Iterator[None]:
    import joblib
    from joblib.externals.loky import get_reusable_executor

    if options.backend == "dask":
        with _client(options) as client, joblib.parallel_config("dask", n_jobs=-1, client=client):
            yield
        return
    # Loky replaces workers that have grown, says so, and nothing is lost.
    warnings.filterwarnings("ignore", "A worker stopped while some jobs were given", UserWarning)
    # At least two processes: with one, joblib would play in this process, which a task may kill.
    jobs = max(2, jobs)
    over = False
    try:
        with joblib.parallel_config("loky", n_jobs=jobs, initializer=_begin, initargs=(os.getpid(),), max_nbytes=None):
            with _ctrl_c_blocked():
                joblib.Parallel()(joblib.delayed(os.getpid)() for _ in range(jobs))
            yield
        over = True
    finally:
        get_reusable_executor(reuse=True).shutdown(wait=True, kill_workers=not over)


@contextlib.contextmanager
def _ctrl_c_blocked() -> Iterator[None]:
    """Block Ctrl-C in processes that start inside the block; this process still handles it."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    from multiprocessing.resource_tracker import ensure_running

    ensure_running()  # it unblocks Ctrl-C at its start, so start it before
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _client(options: RunOptions) -> "Client":
    """Return a Dask client for the scheduler at `options.address`, or for a new cluster on this machine."""
    from distributed import Client

    how: Params = {"n_workers": workers(options.jobs), "threads_per_worker": 1, "dashboard_address": None}
    if options.address is not None:
        how = {"address": options.address, "timeout": 10}
    try:
        return Client(set_as_default=False, **how)
    except Exception as error:
        where = f"at address={options.address}" if options.address else "on this machine"
        raise RunError(f"Dask cannot be used {where}: {registry.words(error)}") from error


# -- in a worker ------------------------------------------------------------------------------------------------------


def _begin(parent: int) -> None:
    """Make a worker ignore Ctrl-C, which the parent handles, exit when the parent exits, and stay until it is large."""
    from joblib.externals.loky import process_executor

    # Loky replaces a worker that has grown by more, by default 300 MB; compiled code and tables alone take 200 MB.
    process_executor._MAX_MEMORY_LEAK_SIZE = 1 << 30

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(1)
        os._exit(1)

    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=watch, daemon=True).start()


def _work(context: bytes, number: int, load: bytes, file: Path | None) -> tuple[int, Reply]:
    """Play one batch in a worker, note its progress in `file`, and return `number` with metrics or error."""

    def play() -> Played:
        _enter(context)
        task: Batch = pickle.loads(load)
        return task.play(noting(file))

    reply = attempted(play)
    return number, Failed(reply.error) if isinstance(reply, Failed) else reply


@lru_cache(maxsize=1)
def _enter(context: bytes) -> None:
    """Change a worker to the parent's folder and load the parent's classes, if `context` is new."""
    sources, folders, objects = pickle.loads(context)
    if sources != source_digest():
        raise RunError(f"workers on {platform.node()} run another version of hushbandits: install the same everywhere")
    with contextlib.suppress(OSError):  # the folder may not exist on another machine
        os.chdir(folders[0])
    for folder in reversed(folders):
        registry.reach(folder)
    named, entries = pickle.loads(objects)
    registry.SENT.clear()
    registry.SENT.update(named)
    adopt(entries)
