"""A run folder: what is asked for is checked, one writer gets it, and it holds one spec."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Sequence, Sized
from pathlib import Path

from hushbandits.bench.batch import BATCH, prepare, sampled
from hushbandits.bench.canonical import canonical
from hushbandits.bench.errors import StoreError
from hushbandits.bench.lock import Lock
from hushbandits.bench.spec import Cell, Experiment
from hushbandits.bench.store import FILE, LOCK, Store
from hushbandits.bench.verdicts import check_claims
from hushbandits.core.limits import affordable
from hushbandits.core.validate import integer, nearest
from hushbandits.registry import make_wrapper

__all__ = ["afford", "afford_points", "check", "open_folder"]

# Measured bytes, rounded up: of a cell as an object, of one run's bookkeeping, of a checkpoint's Python number.
_CELL, _RUN, _POINT = 8_000, 200, 100
_CURVES = 8  # metrics that have curves, about


def afford_points(checkpoints: int | Sequence[int] | None, runs: int) -> None:
    """Raise ``ValueError`` if curves at so many checkpoints, of so many runs at once, take too much memory."""
    if checkpoints is None:
        return
    if isinstance(checkpoints, Sized) and not isinstance(checkpoints, str):
        points = len(checkpoints)
    else:
        points = integer("checkpoints", checkpoints, 0)
    affordable(f"checkpoints={points}", points * (_POINT + 8.0 * runs * _CURVES))


def afford(experiment: Experiment, batch: int = BATCH) -> None:
    """Raise ``ValueError`` if an experiment has more cells, runs or checkpoints than the memory limit allows."""
    cells = len(experiment.lines()) * math.prod(map(len, experiment.sweep.values()))
    affordable(f"experiment {experiment.name} with {cells:,} cells", float(cells) * _CELL)
    affordable(
        f"experiment {experiment.name} with runs={experiment.runs} of {cells:,} cells",
        float(cells) * experiment.runs * _RUN,
    )
    afford_points(experiment.checkpoints, min(batch, experiment.runs))


def check(experiments: Sequence[Experiment]) -> None:
    """Build every env and team once and let them meet; of a large sweep, every line at each single value.

    Raises
    ------
    ValueError, TypeError
        Whatever a run would stumble over at its start, with the experiment's name.
    """
    names = [e.name for e in experiments]
    for name in names:
        if names.count(name) > 1:
            raise ValueError(f"two experiments are called {name!r}")
    for experiment in experiments:
        offered: dict[tuple[str, str], tuple[set[str], set[str]]] = {}
        for cell in _telling(experiment):
            try:
                wrappers = [make_wrapper(w.name, **w.params) for w in cell.wrappers]
                env, team = prepare(cell.env.name, cell.agent.name, 1, cell.env.params, cell.agent.params, wrappers)
                sampled(cell.checkpoints, env)
                players = cell.env.name, cell.agent.name
                if players not in offered:
                    env.reset(0)
                    team.reset(env, env.seeds)
                    offered[players] = {*env.metrics(), *team.metrics(env)}, set(env.curve_metrics)
            except (ValueError, TypeError) as error:
                raise type(error)(f"{experiment.name}, {cell.label}: {error}") from error
        for finals, curves in offered.values():
            for name in experiment.metrics:
                if name not in finals:
                    raise ValueError(f"{experiment.name}: no metric is named {name!r}{nearest(name, finals)}")
            for figure in experiment.figures:
                known = curves if figure.x == "time" else finals
                if figure.y not in known:
                    raise ValueError(f"{experiment.name}: a figure shows {figure.y!r}{nearest(figure.y, known)}")
                if figure.x not in ("time", "runs", *experiment.sweep):
                    raise ValueError(f"{experiment.name}: a figure runs along {figure.x!r}, which is not swept")
                for key in (*([figure.by] if figure.by else []), *figure.at):
                    if key not in experiment.sweep:
                        raise ValueError(f"{experiment.name}: a figure picks values of {key!r}, which is not swept")
            check_claims(experiment)
            for claim in experiment.claims:
                known = finals if claim.time is None else curves
                if claim.metric not in known:
                    raise ValueError(
                        f"{experiment.name}: a claim is about {claim.metric!r}{nearest(claim.metric, known)}"
                    )


def _telling(experiment: Experiment) -> list[Cell]:
    """All cells, or of very many those that show a line with a value for the first time."""
    cells = experiment.cells()
    if len(cells) <= 500:
        return cells
    seen: set[tuple[str, str, str]] = set()
    told = []
    for cell in cells:
        news = {(cell.line, key, canonical(value)) for key, value in cell.point.items()} - seen
        if news:
            seen |= news
            told.append(cell)
    return told


def open_folder(experiments: Sequence[Experiment], out: Path | str, seed: int = 0, batch: int = BATCH) -> Store:
    """Open a run folder for writing: a new one after `check`, or one that holds the same spec.

    Raises
    ------
    StoreError
        The folder cannot be written, holds another spec, or another process goes on writing it.
    """
    out = Path(out)
    seed = integer("seed", seed, 0, float("inf"))
    for experiment in experiments:
        afford(experiment, batch)
    if not (out / FILE).exists():
        check(experiments)
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
                with contextlib.suppress(FileExistsError):
                    folder.mkdir()
                    made.append(folder)
        try:
            return Lock(out / LOCK, look)
        except FileNotFoundError:
            continue  # another process that failed has just removed the folder it had made


def _remove(made: Sequence[Path]) -> None:
    """Remove folders that this call made, unless somebody has put something there."""
    with contextlib.suppress(OSError):
        for folder in reversed(made):
            folder.rmdir()
