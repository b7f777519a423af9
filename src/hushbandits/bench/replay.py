"""From a row of results to the env that it was played in, step by step."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import numpy as np

from hushbandits.bench.declare.parts import Use
from hushbandits.bench.opened import RunFolder, open_run
from hushbandits.bench.play.batch import prepare
from hushbandits.bench.play.run import Outcome
from hushbandits.bench.results import Results
from hushbandits.core.env import Env
from hushbandits.core.ground.types import Params
from hushbandits.core.ground.validate import integer, shown
from hushbandits.core.luck.tapes import LONGEST
from hushbandits.registry import make_core, make_wrapper
from hushbandits.views.learners import task_options
from hushbandits.views.parallel import ParallelView

__all__ = ["replay"]


def replay(
    results: Results | RunFolder | Outcome | Path | str,
    run: int,
    *,
    line: str | None = None,
    experiment: str | None = None,
    at: Params | None = None,
    beats: int = 1,
    render_mode: str | None = None,
    info: str | None = None,
    **options: object,
) -> ParallelView:
    """Return the env of one run as a PettingZoo view, reset to that run: it has the same arms, graph and rewards.

    Whoever takes the same actions there gets the numbers of the row.  Each ``reset()`` without a seed begins this run
    again, and returns its first observations.

    Parameters
    ----------
    results : Results, RunFolder, Outcome or path
        What `evaluate`, `run` or `open_run` returned, or a run folder.  What a folder names is imported and built.
    run : int
        The run's number: the row in `Results.final`, the column ``run`` of a table.
    line, experiment, at : optional
        Which cell, where a folder has several: as for `RunFolder.select`.
    beats, render_mode, info, **options
        As for `make`: how the view is stepped and looked at; ``beats=2`` lets a message tell of the pull just made.

    Raises
    ------
    ValueError
        There is no such run or cell, or the results do not know who played.

    Notes
    -----
    Wrappers, and what the agent's protocol asks of its env, are there as they were.  Where the env had no horizon, the
    view has the longest that there is, since an agent of a view is told one.

    Examples
    --------
    >>> import hushbandits as hb
    >>> class Turns:
    ...     blind = True
    ...     def __init__(self, m, rng):
    ...         self.m = m
    ...     def act(self, t):
    ...         return (self.m + t) % 10
    >>> results = hb.evaluate("CoopNetwork-v0", Turns, runs=3, env={"n_agents": 4, "horizon": 25})
    >>> view, t = replay(results, 2), 0
    >>> while view.agents:
    ...     t += 1
    ...     told = view.step({agent: (m + t) % 10 for m, agent in enumerate(view.agents)})
    >>> bool(view.metrics()["regret"] == results.final("regret")[2])
    True
    """
    if isinstance(results, Results):
        found = _of_results(results, run, line, experiment, at)
    else:
        found = _of_folder(_folder(results), run, line, experiment, at)
    if found.env.spec is None:
        raise ValueError(f"{type(found.env).__name__} was not made by its name: there is nothing to make it from")
    id, params, wrappers = found.env.spec
    # Who met it may have settled what the env gathers for inboxes; a view's agents see for themselves.
    core = make_core(id, wrappers=wrappers, **params)
    if core.horizon is None:
        core = make_core(id, wrappers=wrappers, **{**params, "horizon": LONGEST})
    own, other = task_options(id, options)
    if other:
        raise TypeError(f"replay takes no parameter {next(iter(other))!r}: the env is as it was played")
    view = ParallelView(core, beats=beats, render_mode=render_mode, info=info, **own)
    view.repeat(found.seed)
    view.reset()
    return view


class _Found(NamedTuple):
    """An env as its team met it, and a run's seed."""

    env: Env
    seed: np.random.SeedSequence


def _of_results(results: Results, run: int, line: str | None, experiment: str | None, at: Params | None) -> _Found:
    if given := next((x for x in (line, experiment, at) if x is not None), None):
        raise ValueError(f"{shown(given)} chooses among the cells of a folder, and these are the runs of one")
    if results.met is None or results.world is None:
        raise ValueError("these results do not know who played (they were loaded, or put together): evaluate anew")
    run = integer("run", run, 0, results.runs - 1)
    return _Found(results.met[0], np.random.SeedSequence(results.world, spawn_key=(run,)))


def _of_folder(folder: RunFolder, run: int, line: str | None, experiment: str | None, at: Params | None) -> _Found:
    cell, runs = folder.select(line, experiment=experiment, at=at).played()
    if integer("run", run, 0, np.inf) not in runs:
        raise ValueError(f"run={run} of {cell.label} is not in {folder.path}, which has {len(runs)} of its runs")
    wrappers = [make_wrapper(w.name, **w.params) if isinstance(w, Use) else w for w in cell.wrappers]
    env, _ = prepare(cell.env.name, cell.agent.name, 1, cell.env.params, cell.agent.params, wrappers)
    (seed,) = cell.seeds(folder.seed, run, 1)
    return _Found(env, seed)


def _folder(results: RunFolder | Outcome | Path | str) -> RunFolder:
    if isinstance(results, RunFolder):
        return results
    if isinstance(results, Outcome):
        return open_run(results.store.path.parent)
    if isinstance(results, (str, Path)):
        return open_run(results)
    raise TypeError(f"results={shown(results)} must be what evaluate, run or open_run returned, or a run folder")
