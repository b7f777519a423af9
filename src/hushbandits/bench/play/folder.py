"""A run folder: what is asked for is checked, one writer gets it, and it holds one spec."""

from __future__ import annotations

import contextlib
import errno
import os
from collections.abc import Callable, Container, Sequence
from pathlib import Path

from hushbandits.bench.declare.points import check_claims
from hushbandits.bench.declare.spec import Experiment
from hushbandits.bench.play.batch import BATCH
from hushbandits.bench.play.check import afford, check
from hushbandits.bench.play.errors import StoreError
from hushbandits.bench.play.lock import Lock
from hushbandits.bench.play.meetings import Meetings
from hushbandits.bench.play.own import named, renew
from hushbandits.bench.play.store import FILE, LOCK, Store
from hushbandits.core.ground.validate import integer

__all__ = ["open_folder"]

Also = Callable[[Experiment, Meetings, Container[str]], None]


def open_folder(
    experiments: Sequence[Experiment],
    out: Path | str,
    seed: int = 0,
    batch: int = BATCH,
    also: Also = lambda experiment, meetings, but: None,
    skip_invalid: bool = False,
) -> Store:
    """Open a run folder for writing: a new one, or one that holds the same rows, or the first of them.

    A declaration is held to `check` before it is taken over, whether the folder is new or not.

    Parameters
    ----------
    experiments, out, seed, batch
        As in `bench.run.run`.
    also : callable
        What else an experiment is held to, told how its cells meet and the keys of those that are left out.
    skip_invalid : bool
        Leave out the cells that cannot meet (`Store.skipped`) instead of refusing them.

    Raises
    ------
    ValueError, TypeError
        A bad declaration; nothing is written then.
    StoreError
        The folder cannot be written, holds another spec, or another process goes on writing it.
    """
    out = Path(out)
    seed = integer("seed", seed, 0, float("inf"))
    for experiment in experiments:
        afford(experiment, batch)
    renew(named(*experiments))
    meetings = Meetings(experiments)
    fresh = skip_invalid or not (out / FILE).exists()
    skipped = _checked(experiments, meetings, also, skip_invalid) if fresh else {}
    made: list[Path] = []
    try:
        lock = _lock(out, made, experiments, seed)
    except BaseException as error:
        _remove(made)
        if isinstance(error, OSError):
            raise StoreError(f"cannot write to {out}: {(error.strerror or str(error)).lower()}") from None
        raise
    new = not (out / FILE).exists()
    store = None
    try:
        store = Store(out / FILE, experiments, seed)
        _refuse_other(store, experiments, seed)
        if not new and not skip_invalid and not store.declares(experiments):
            _checked(experiments, meetings, also)
        for experiment in experiments:
            check_claims(experiment)
        store.restyle(experiments)
        store.skipped, store.meetings = skipped, meetings
    except BaseException:
        if store is not None:
            store.close()
        elif new:  # what lies there now, this call has begun
            with contextlib.suppress(OSError):
                (out / FILE).unlink(missing_ok=True)
        lock.release()
        _remove(made)
        raise
    lock.release()  # the store has its own
    return store


def _checked(
    experiments: Sequence[Experiment], meetings: Meetings, also: Also, skip_invalid: bool = False
) -> dict[str, str]:
    skipped = check(experiments, skip_invalid=skip_invalid, meetings=meetings)
    for experiment in experiments:
        also(experiment, meetings, skipped)
    return skipped


def _refuse_other(store: Store, experiments: Sequence[Experiment], seed: int) -> None:
    if other := store.differs(experiments, seed, growing=True):
        folder = store.path.parent
        raise StoreError(f"{folder} holds another run: {other}; choose another --out, or delete that folder")


def _lock(out: Path, made: list[Path], experiments: Sequence[Experiment], seed: int) -> Lock:
    """Make the folder (noting in `made` what was made) and become its writer."""
    seen = False

    def look() -> None:
        # Who waits for a folder that holds something else waits in vain.
        nonlocal seen
        if seen or not (out / FILE).is_file():
            return
        try:
            store = Store(out / FILE, readonly=True)
        except StoreError:
            return  # not yet; what is wrong with it shows when it is ours
        with store:
            seen = True
            _refuse_other(store, experiments, seed)

    while True:
        for folder in reversed([out, *out.parents]):
            if not folder.is_dir():
                try:
                    folder.mkdir()
                    made.append(folder)
                except FileExistsError:
                    if os.path.lexists(folder) and not folder.is_dir():  # a file, or a link to nowhere
                        raise NotADirectoryError(errno.ENOTDIR, "Not a directory", str(folder)) from None
        try:
            return Lock(out / LOCK, look)
        except FileNotFoundError:
            continue  # another process that failed has just removed the folder it had made


def _remove(made: Sequence[Path]) -> None:
    """Remove folders that this call made, unless somebody has put something there."""
    with contextlib.suppress(OSError):
        for folder in reversed(made):
            folder.rmdir()
