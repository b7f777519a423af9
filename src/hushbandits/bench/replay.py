"""From a row of results to the env that it was played in, step by step."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from hushbandits.adapters.learners import task_options
from hushbandits.adapters.parallel import ParallelView
from hushbandits.bench.results import Results, load_results
from hushbandits.bench.run import Outcome
from hushbandits.bench.runner.batch import prepare
from hushbandits.core import Params, integer, shown
from hushbandits.core.random.streams import LONGEST, spawn_seeds
from hushbandits.registry import make_batched, make_wrapper

__all__ = ["replay"]


def replay(
    results: Results | Outcome | Path | str, run: int, *, label: str | None = None, experiment: str | None = None,
    at: Params | None = None, beats: int = 1, render_mode: str | None = None, info: str | None = None,
    **options: object,
) -> ParallelView:  # fmt: skip
    """Return the env of one run as a PettingZoo view, reset to that run: it has the same arms, graph and rewards.

    Whoever takes the same actions there gets the numbers of the row.  Each ``reset()`` without a seed begins this run
    again, and returns its first observations.

    Parameters
    ----------
    results : Results, Outcome or path
        What `evaluate`, `run` or `load_results` returned, or a results folder.  What a folder names is imported and
        built.
    run : int
        The run's number: the row in `Results.final`, the column ``run`` of a table.
    label, experiment, at : optional
        Which cell, where there are several: as for `Results.select`.
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
    if isinstance(results, (str, Path)):
        results = load_results(results)
    found = results.results if isinstance(results, Outcome) else results
    if not isinstance(found, Results):
        raise TypeError(f"results={shown(results)} must be what evaluate, run or load_results returned, or a folder")
    found = found.select(label, experiment=experiment, at=at)
    one, run = found.only, integer("run", run, 0, np.inf)
    if run not in one.runs():
        raise ValueError(f"run={run} of {one.cell.label} is not among its {len(one.runs())} runs")
    met, cell = found.met, one.cell
    if met is None and found.path is not None:  # as its team met it
        wrappers = [make_wrapper(w.name, **w.params) for w in cell.wrappers]
        met = prepare(cell.env.name, cell.agent.name, 1, cell.env.params, cell.agent.params, wrappers)
    spec = met[0].spec if met is not None else None
    drawn = one.luck if one.seed is None else (one.seed, cell.seed_text)
    if drawn is None or spec is None:
        raise ValueError(f"{one.cell.label} was not made by its name, or its seeds are not known: evaluate it anew")
    id, params, asked = spec
    # Who met it may have settled what the env gathers for inboxes; a view's agents see for themselves.
    core = make_batched(id, wrappers=asked, **params)
    if core.horizon is None:
        core = make_batched(id, wrappers=asked, **{**params, "horizon": LONGEST})
    own, other = task_options(id, options)
    if other:
        raise TypeError(f"replay takes no parameter {next(iter(other))!r}: the env is as it was played")
    view = ParallelView(core, beats=beats, render_mode=render_mode, info=info, **own)
    view.repeat(spawn_seeds(drawn[0], 1, run, drawn[1]))
    view.reset()
    return view
