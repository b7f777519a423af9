"""A worker's side: it plays the tasks of a chunk one after the other, and ends with the process that it works for."""

from __future__ import annotations

import contextlib
import ctypes
import os
import pickle
import platform
import signal
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from cloudpickle import dumps

from hushbandits.bench.play.imported import changed, digest_of, forget, imported
from hushbandits.bench.play.task import Failed, Reply, Task, attempted
from hushbandits.core.ground.names import reach, reached
from hushbandits.core.ground.sources import source_digest
from hushbandits.registry import adopt, own_entries

__all__ = ["LONGEST", "Answer", "Stranger", "attend", "packed", "unpacked", "work"]

#: Seconds after which a chunk is handed back with what is done of it.
LONGEST = 60.0
#: Seconds between two looks at whether the parent lives.
_LOOK = 0.5
_SIGKILL_WITH_PARENT = 1  # Linux: PR_SET_PDEATHSIG

#: As it was when the package was loaded: an edited file is not yet another program.
_SOURCES = source_digest()[:12]

#: Replies with the seconds that each took: of the first tasks of a chunk, of all of them if there was time.
Answer = list[tuple[Reply, float]]


class Stranger(RuntimeError):
    """A worker has other source code than its parent."""


def packed(tasks: Sequence[Task], parent: tuple[str, int] | None, call: str = "", longest: float = LONGEST) -> bytes:
    """Return a chunk as a worker takes it; `parent` (host, process): whose end is the worker's own.

    `call` names the call that it belongs to: all chunks of one are played by one state of one's own modules.  After
    `longest` seconds the chunk is handed back with what is done of it.

    Raises
    ------
    TypeError, pickle.PicklingError
        An agent, env or wrapper that cannot travel to another process.
    """
    # What a worker unpickles may be of a module in our folder, which it must know first.
    inner = dumps((longest, own_entries(), tuple(tasks)))
    folders = tuple(dict.fromkeys([os.getcwd(), *reached()]))
    return pickle.dumps((_SOURCES, folders, parent, call, len(tasks), inner))


def unpacked(answer: bytes) -> Answer:
    """Return what `work` said.

    Raises
    ------
    Stranger
        The worker runs other source code.
    """
    sources, replies = pickle.loads(answer)
    if sources != _SOURCES:
        raise Stranger(
            f"a worker runs other source code of hushbandits ({sources}) than this process ({_SOURCES}): its rows "
            f"would not be ours; install the same version where it runs, and start it anew"
        )
    return list(pickle.loads(replies))


def work(load: bytes) -> bytes:
    """Play a chunk, for at most about a minute; errors are answers."""
    sources, folders, parent, call, count, inner = pickle.loads(load)
    if sources != _SOURCES:
        return pickle.dumps((_SOURCES, pickle.dumps([])))
    if parent is not None:
        attend(*parent)
    with _PLACE.of(folders, call):
        answer = _played(inner, count)
        _PLACE.note()
        return pickle.dumps((_SOURCES, pickle.dumps([(_travels(reply), s) for reply, s in answer])))


def _played(inner: bytes, count: int) -> Answer:
    begun = time.monotonic()
    answer: Answer = []
    try:
        longest, own, tasks = pickle.loads(inner)
        adopt(own)
        _PLACE.note()
    except BaseException as error:
        answer, tasks = [(Failed.by(error), 0.0)] * count, ()
        longest = LONGEST
    for task in tasks:
        start = time.monotonic()
        reply = attempted(task)
        now = time.monotonic()
        answer.append((reply, now - start))
        if now - begun > longest:
            break
    return answer


class _Place:
    """Where this process plays, and what it has imported for that.

    A worker of a cluster outlives calls, and may serve several at once: those of one working folder together, others
    after them.
    """

    def __init__(self) -> None:
        self._noted: dict[str, str] = {}
        self._turn, self._playing, self._call = threading.Condition(), 0, ""
        self._at: tuple[str, ...] = ()

    @contextlib.contextmanager
    def of(self, folders: tuple[str, ...], call: str) -> Iterator[None]:
        """Play a chunk of a call in the first of these folders, with one's own modules from all of them.

        What was edited since an earlier call is imported anew.
        """
        with self._turn:
            self._turn.wait_for(lambda: not self._playing or folders == self._at)
            if call != self._call:  # a chunk beside this one waits until it is so far
                self._enter(folders)
            self._playing, self._at, self._call = self._playing + 1, folders, call
        try:
            yield
        finally:
            with self._turn:
                self._playing -= 1
                self._turn.notify_all()

    def _enter(self, folders: tuple[str, ...]) -> None:
        moved = folders != self._at
        with contextlib.suppress(OSError):  # another machine may have no such folder; what is missing says so itself
            os.chdir(folders[0])
        sys.path[:] = [folder for folder in sys.path if folder not in reached()]
        for folder in reversed(folders):
            reach(folder)
        if moved or changed(self._noted):
            forget(self._noted)
            self._noted = {}

    def note(self) -> None:
        """Keep the digests of what has been imported."""
        new = [file for file in imported().values() if file not in self._noted]
        self._noted |= {file: digest_of(file) for file in new}


_PLACE = _Place()


def _travels(reply: Reply) -> Reply:
    try:
        pickle.loads(pickle.dumps(reply))
    except Exception as error:  # metrics that are no numbers
        return Failed.by(error)
    return reply


_attended: set[tuple[str, int]] = set()


def attend(host: str, parent: int) -> None:
    """Leave ctrl-C to the parent, and end when it ends, however that is."""
    if os.getpid() == parent or host != platform.node() or (host, parent) in _attended:
        return
    _attended.add((host, parent))
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        signal.signal(signal.SIGTERM, signal.SIG_DFL)  # submitit's jobs ignore it
    child = os.getppid() == parent
    if child and sys.platform == "linux":
        # A thread of ours would wait for compiled code to end; the system does not.
        with contextlib.suppress(OSError, AttributeError):
            ctypes.CDLL(None).prctl(_SIGKILL_WITH_PARENT, signal.SIGKILL)
    threading.Thread(target=_watch, args=(parent, child), daemon=True).start()


def _watch(parent: int, child: bool) -> None:
    while os.getppid() == parent if child else _lives(parent):
        time.sleep(_LOOK)
    os._exit(1)


def _lives(process: int) -> bool:
    """Whether a process runs that is not our own parent."""
    if os.name == "nt":
        return True  # a signal would end it
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    with contextlib.suppress(OSError, IndexError):  # ended, but nobody has asked how
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    return True
