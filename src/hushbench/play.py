"""Functions that decide which tasks an agent can play, and play these tasks into a results folder."""

import math
import re
import secrets
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import hushbandits as hb
from hushbench.tasks import Array, Row, Task


class Failed(RuntimeError):
    """Error raised if some runs of an agent fail, or if a submission fails its verification."""


def admit(agent: hb.Component, tasks: Sequence[Task]) -> dict[str, Row]:
    """Return, for each task, the ε that the agent guarantees, or the reason why the agent cannot play the task.

    Returns
    -------
    dict of str to dict
        By task, as in a submission: ``epsilon`` of one reward and ``run_epsilon`` of a participant's whole run as
        guaranteed (``None``: no guarantee; ``"inf"``: no bound), or the reason why it is ``refused``.  Settings in
        which all tasks are refused are left out.

    Raises
    ------
    ValueError
        The agent can play none of the tasks.
    """
    rows: dict[str, Row] = {}
    for task in tasks:
        (cell,) = task.experiment(agent).cells()
        try:
            wrappers = [hb.make_wrapper(w.name, **w.params) for w in cell.wrappers]
            env, who = cell.env, cell.agent
            needed = hb.make_team(who.name, **who.params).requirements({**env.params}).env.get("tolerance", 0)
            if needed and needed >= task.gap:  # then several arms would count as correct
                raise ValueError(f"tolerance={needed} of {agent.called} must be below the task's gap {task.gap:.2g}")
            table = hb.privacy_report(env.name, who.name, agent_kwargs=who.params, wrappers=wrappers, **env.params)
        except (ValueError, TypeError) as error:
            rows[task.name] = {"refused": str(error)}
            continue
        one, run = table.bound() or (None, None)
        rows[task.name] = {"epsilon": plain(one), "run_epsilon": plain(run)}
    settings = {task.setting for task in tasks if "refused" not in rows[task.name]}
    if not settings:
        stated = list(dict.fromkeys(str(row["refused"]) for row in rows.values()))[:3]
        raise ValueError(f"{agent.called} can play none of the tasks: {'; '.join(stated)}")
    return {task.name: rows[task.name] for task in tasks if task.setting in settings}


def plain(x: float | None) -> float | str | None:
    """Return a number as submissions store it: ``"inf"`` for an infinite one, ``None`` for a missing one.

    Examples
    --------
    >>> plain(1), plain(math.inf), plain(None)
    (1.0, 'inf', None)
    """
    return x if x is None else "inf" if math.isinf(x) else float(x)


def folder(out: Path, agent: hb.Component, names: Sequence[str] = ()) -> Path:
    """Return the results folder of an agent and a selection `names` of tasks, inside `out`.

    Examples
    --------
    >>> folder(Path("runs"), hb.Component("own:Server", label="Server looks=3"), ["feedback"]).name
    'Server_looks_3-feedback'
    """
    return out / (re.sub(r"[^\w.@-]+", "_", "-".join([agent.called, *names])).strip("._") or "agent")


def play(
    agent: hb.Component, tasks: Sequence[Task], out: Path, options: hb.RunOptions, seed: int, shard: str | None = None
) -> dict[str, tuple[Array, dict[str, Array]]]:
    """Play the missing runs of some tasks into a results folder; return run numbers and metrics by task.

    Returns
    -------
    dict of str to (array, dict of str to array)
        By task: the run numbers, ``(n,)``, and their metrics, ``(n,)`` each: those that the task needs, and the
        measured ε, if there is one.  Empty with ``dry_run``.

    Raises
    ------
    Failed
        The agent fails in some of its runs; complete batches are saved.
    """
    experiments = [task.experiment(agent) for task in tasks]
    outcome = hb.run(experiments, out, seed=seed, shard=shard, options=options)
    if outcome.failures:
        first, *_ = str(outcome.failures[0]).splitlines()
        raise Failed(f"{first}; complete batches are saved; --tasks leaves out what {agent.called} cannot play")
    found: dict[str, tuple[Array, dict[str, Array]]] = {}
    if options.dry_run:
        return found
    for task, experiment in zip(tasks, experiments, strict=True):
        one = outcome.results.select(experiment=experiment.name)
        found[task.name] = one.only.runs(), {m: one.final(m) for m in (*task.metrics, "epsilon") if m in one.metrics}
    return found


def fresh(agent: hb.Component, tasks: Sequence[Task], runs: int, options: hb.RunOptions) -> dict[str, dict[str, Array]]:
    """Play `runs` runs of each task under a secret seed, which is not stored; return the metrics by task."""
    seed, found = secrets.randbits(128), {}
    for task in tasks:
        (cell,) = task.experiment(agent).cells()
        wrappers = [hb.make_wrapper(w.name, **w.params) for w in cell.wrappers]
        who, without_curves = cell.agent, replace(options, checkpoints=(), estimate=None)
        one = hb.evaluate(cell.env.name, who.name, runs, seed, cell.env.params, who.params, wrappers, without_curves)
        found[task.name] = {m: one.final(m) for m in (*task.metrics, "epsilon") if m in one.metrics}
    return found
