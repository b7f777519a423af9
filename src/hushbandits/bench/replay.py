"""The function `replay`, which rebuilds the env of one run from results."""

from pathlib import Path

import numpy as np

from hushbandits.adapters.learners import learners_core, task_options
from hushbandits.adapters.parallel import ParallelView
from hushbandits.bench.results import Results, load_results
from hushbandits.bench.run import Outcome
from hushbandits.bench.runner.batch import Batch
from hushbandits.core import LONGEST, Params, integer, shown, spawn_seeds


def replay(
    results: Results | Outcome | Path | str, run: int, *, label: str | None = None, experiment: str | None = None,
    at: Params | None = None, two_phase: bool = False, render_mode: str | None = None, metrics_in_info: bool = False,
    **options: object,
) -> ParallelView:  # fmt: skip
    """Return the env of one run as a PettingZoo view, reset to that run.

    The arms, the graph and the random numbers of rewards are those of the run.

    The same actions give the numbers of the row.  Each ``reset()`` without a seed starts this run again and returns its
    first observations.

    Parameters
    ----------
    results : Results, Outcome or path
        Results of `evaluate`, `run` or `load_results`, or a results folder.  Classes that a folder names are imported
        and built.
    run : int
        Number of the run: the row in `Results.final`, the column ``run`` of a table.
    label, experiment, at : optional
        The cell, if there are several, as in `Results.select`.
    two_phase, render_mode, metrics_in_info, **options
        As in `make`: stepping and display; with ``two_phase=True`` a message can contain the reward of the same round.

    Raises
    ------
    ValueError
        The run or cell does not exist, or the results do not name the env and agent.

    Notes
    -----
    Wrappers, and settings of the env for the agent, are those of the run.  If the env had no horizon, the view
    has the longest one, since the agents of a view observe the horizon.

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
    ...     seen = view.step({agent: (m + t) % 10 for m, agent in enumerate(view.agents)})
    >>> bool(view.metrics()["regret"] == results.final("regret")[2])
    True
    """
    if isinstance(results, (str, Path)):
        results = load_results(results)
    found = results.results if isinstance(results, Outcome) else results
    if not isinstance(found, Results):
        raise TypeError(f"results={shown(results)} must be a folder, or a result of evaluate, run or load_results")
    found = found.select(label, experiment=experiment, at=at)
    one, run = found.only, integer("run", run, 0, np.inf)
    if run not in one.runs():
        raise ValueError(f"run={run} must be the number of one of the {len(one.runs())} runs of {one.cell.label}")
    met, cell = found.met, one.cell
    if met is None and found.path is not None:  # with the settings for its team
        met = Batch.of(cell, 0, [0]).prepared()
    spec = met[0].spec if met is not None else None
    drawn = one.seed_source if one.seed is None else (one.seed, cell.seed_text)
    if drawn is None or spec is None:
        raise ValueError(f"{one.cell.label} cannot be replayed: its env is not from an id, or its seeds are unknown")
    id, params, asked = spec
    # The team may have limited what the env gathers for inboxes; the agents of a view decide for themselves.
    core = learners_core(id, 1, asked, None, params, LONGEST)
    own, other = task_options(id, options)
    if other:
        raise TypeError(f"replay takes no parameter {next(iter(other))!r}: the run fixes the parameters of the env")
    view = ParallelView(core, two_phase=two_phase, render_mode=render_mode, metrics_in_info=metrics_in_info, **own)
    view.repeat(spawn_seeds(drawn[0], 1, run, drawn[1]))
    view.reset()
    return view
