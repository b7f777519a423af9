"""A run folder: what is asked for is checked, one writer gets it, and it holds one spec."""

from __future__ import annotations

import contextlib
import errno
import os
from collections.abc import Callable, Sequence
from pathlib import Path

from hushbandits.bench.declare.points import check_claims
from hushbandits.bench.declare.spec import Experiment
from hushbandits.bench.play.batch import BATCH
from hushbandits.bench.play.check import afford, check
from hushbandits.bench.play.errors import StoreError
from hushbandits.bench.play.lock import Lock
from hushbandits.bench.play.own import named, renew
from hushbandits.bench.play.store import FILE, LOCK, Store
from hushbandits.core.validate import integer

__all__ = ["open_folder"]


def open_folder(
    experiments: Sequence[Experiment],
    out: Path | str,
    seed: int = 0,
    batch: int = BATCH,
    also: Callable[[Experiment], None] = lambda experiment: None,
) -> Store:
    """Open a run folder for writing: a new one after `check`, or one that holds the same spec.

    `also`: what else a new one is held to.

    Raises
    ------
    StoreError
        The folder cannot be written, holds another spec, or another process goes on writing it.
    """
    out = Path(out)
    seed = integer("seed", seed, 0, float("inf"))
    for experiment in experiments:
        afford(experiment, batch)
    renew(named(*experiments))
    if not (out / FILE).exists():
        check(experiments)
        for experiment in experiments:
            also(experiment)
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
        for experiment in experiments:
            check_claims(experiment)
        store.restyle(experiments)
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


def _refuse_other(store: Store, experiments: Sequence[Experiment], seed: int) -> None:
    if other := store.differs(experiments, seed):
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
