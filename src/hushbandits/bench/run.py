"""Run experiments into a folder, and no further than their claims ask for."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from pathlib import Path
from typing import Any

from hushbandits.bench.declare.spec import Experiment
from hushbandits.bench.judge.stages import Stages, check_looks
from hushbandits.bench.play.batch import BATCH
from hushbandits.bench.play.folder import open_folder
from hushbandits.bench.play.plan import Shard, declared, parse_shard
from hushbandits.bench.play.players import Players
from hushbandits.bench.play.run import Outcome, fill
from hushbandits.bench.play.store import Store
from hushbandits.core.ground.keywords import named
from hushbandits.core.ground.types import Params
from hushbandits.core.ground.validate import integer, shown

__all__ = ["begin", "go_on", "run"]


def _whose(name: str, value: object, args: Sequence[Any], given: Params) -> str:
    """Where a parameter belongs that an experiment has, and `run` does not."""
    if name in ("runs", "looks", "checkpoints"):
        return f"; an experiment says it: experiment.overriding({{{name!r}: {shown(value)}}})"
    return f"; an experiment says it: Experiment({name}=…)" if name in Experiment.__dataclass_fields__ else ""


@named(_whose)
def run(
    experiments: Experiment | Sequence[Experiment],
    out: Path | str,
    *,
    seed: int = 0,
    jobs: int = 1,
    batch: int = BATCH,
    progress: bool = True,
    notify: Callable[[str], None] | None = None,
    accept_edits: bool = False,
    skip_invalid: bool = False,
    backend: str | None = None,
    address: str | None = None,
    executor: Executor | None = None,
    patience: float | None = None,
    shard: str | None = None,
) -> Outcome:
    """Run what is missing in a folder; an experiment with looks no further than to the one that decides its claims.

    Parameters
    ----------
    experiments : Experiment or sequence of Experiment
        What to run.
    out : path
        The folder: a new one, or one that holds the same experiments and seed (then it resumes; an experiment
        without claims may have got more runs).
    seed : int
        Master seed; a run's own seed depends on it and on the env part of its cell.
    jobs, batch : int
        Processes (−1: one per core), and most runs per batch, the unit that is committed; neither changes a number.
    progress : bool
        Show a bar on a terminal's stderr.
    notify : callable, optional
        Told in words if rows of other source code are there already, if own code was edited since a complete folder
        was made, and what is skipped.  Default: the last two are warnings.
    accept_edits : bool
        Go on although an agent, env, wrapper or data file of one's own was edited since rows of it were made.
    skip_invalid : bool
        Leave out the cells whose env, wrappers and agent cannot meet, as long as some of their experiment can.
    backend : str, optional
        Who plays: ``"serial"`` (this process), ``"processes"``, ``"dask"`` or ``"slurm"``; default: this process for
        one job, else processes.  No number depends on it.
    address : str, optional
        Of a cluster: Dask's scheduler; for Slurm options of submitit, or ``"local"``.
    executor : concurrent.futures.Executor, optional
        In the place of a backend: a pool of the standard library, of loky, of ``mpi4py.futures``, Dask's
        ``Client.get_executor()``, ….  It stays open; `jobs` above 1 says how many chunks it gets at once.
    patience : float, optional
        Seconds without any answer after which workers are taken for hung.  Processes are ended then, and what they
        played is tried again, each batch alone; workers that are not ours to end are named.
    shard : str, optional
        ``"2/5"``: play the second of five parts only; `merge` puts the folders of all parts together.  No part can be
        judged, so that an experiment with looks is played to the last one.

    Returns
    -------
    Outcome

    Raises
    ------
    RunError
        Workers cannot be used, or died again and again; what is done is kept.
    StoreError
        The folder cannot be used: another process is writing it (after a wait, see `play.lock`), it holds something
        else, or rows would be mixed.
    ValueError, TypeError
        Bad input; nothing is written then.

    Examples
    --------
    >>> import tempfile
    >>> from hushbandits.bench.declare.spec import Experiment, Use
    >>> tiny = Experiment(name="tiny", title="Tiny", env=Use("CoopNetwork-v0", n_agents=4, horizon=20),
    ...                   agents=[Use("Multi-UCB")], runs=2)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     outcome = run(tiny, folder, progress=False)
    ...     with outcome.store as store:
    ...         store.final(tiny.cells()[0], "regret", runs=2).shape, outcome.played
    ((2,), 2)
    """
    if isinstance(experiments, Experiment):
        experiments = [experiments]
    if isinstance(experiments, str) or not all(isinstance(e, Experiment) for e in experiments):
        raise TypeError(f"experiments={shown(experiments)} must be an Experiment or a list of such")
    players = Players(jobs, backend, address, executor, patience)
    integer("batch", batch, 1)
    part = parse_shard(shard) if shard is not None else (1, 1)
    opened = begin(experiments, out, seed, batch, skip_invalid)
    return go_on(opened, players, batch=batch, progress=progress, notify=notify, accept_edits=accept_edits, shard=part)


def begin(
    experiments: Sequence[Experiment], out: Path | str, seed: int = 0, batch: int = BATCH, skip_invalid: bool = False
) -> Store:
    """Open a run folder for writing; see `open_folder`.  The first look of a new one must be able to decide."""
    return open_folder(experiments, out, seed, batch, also=check_looks, skip_invalid=skip_invalid)


def go_on(store: Store, players: Players, *, shard: Shard = (1, 1), **how: Any) -> Outcome:
    """Play what is missing in an open store, look by look (a shard: all); see `fill`."""
    return fill(store, players, shard=shard, asked=Stages() if shard == (1, 1) else declared, **how)
