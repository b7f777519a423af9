"""Play the tasks: who can play which, one results folder for each agent, and its rows."""

import math
import re
from collections.abc import Sequence
from pathlib import Path

import hushbandits as hb
from hushbench.tasks import SEED, Array, Row, Task


class PlayError(RuntimeError):
    """An agent fails in some of its runs; all others are kept."""


def admit(agent: hb.Use, tasks: Sequence[Task]) -> dict[str, Row]:
    """Let an agent meet the env of each task once; nothing is played.

    Returns
    -------
    dict of str to dict
        By task, as in a submission: ``epsilon`` of one reward and ``run_epsilon`` of a participant's whole run as they
        are promised (``None``: nothing is; ``"inf"``: no bound), or the sentence why it is ``refused``.  Settings in
        which all is refused are left out.

    Raises
    ------
    ValueError
        It can play none of the tasks.
    """
    rows: dict[str, Row] = {}
    for task in tasks:
        (cell,) = task.experiment(agent).cells()
        try:
            wrappers = [hb.make_wrapper(w.name, **w.params) for w in cell.wrappers]
            table = hb.privacy_report(
                cell.env.name, cell.agent.name, agent_kwargs=cell.agent.params, wrappers=wrappers, **cell.env.params
            )
        except (ValueError, TypeError) as error:
            rows[task.name] = {"refused": str(error)}
            continue
        one, run = table.bound() or (None, None)
        rows[task.name] = {"epsilon": plain(one), "run_epsilon": plain(run)}
    settings = {task.setting for task in tasks if "refused" not in rows[task.name]}
    if not settings:
        told = list(dict.fromkeys(str(row["refused"]) for row in rows.values()))[:3]
        raise ValueError(f"{agent.called} can play none of the tasks: {'; '.join(told)}")
    return {task.name: rows[task.name] for task in tasks if task.setting in settings}


def plain(x: float | None) -> float | str | None:
    """Return a number as a submission has it.

    Examples
    --------
    >>> plain(1), plain(math.inf), plain(None)
    (1.0, 'inf', None)
    """
    return x if x is None else "inf" if math.isinf(x) else float(x)


def folder(out: Path, agent: hb.Use, names: Sequence[str] = ()) -> Path:
    """Return where an agent's rows lie: a folder for each choice of tasks, so that who is added plays alone.

    Examples
    --------
    >>> folder(Path("runs"), hb.Use("own:Server", label="Server looks=3"), ["feedback"]).name
    'Server_looks_3-feedback'
    """
    return out / (re.sub(r"[^\w.@-]+", "_", "-".join([agent.called, *names])).strip("._") or "agent")


def play(
    agent: hb.Use, tasks: Sequence[Task], out: Path, options: hb.RunOptions, shard: str | None = None
) -> dict[str, tuple[Array, dict[str, Array]]]:
    """Play what is missing of some tasks into a results folder; return what it holds.

    Returns
    -------
    dict of str to (array, dict of str to array)
        By task: the numbers of the runs, ``(n,)``, and what was measured in them, ``(n,)`` each: what the task asks
        for, and the ε that was spent, where it is measured.

    Raises
    ------
    PlayError
        The agent fails in some of its runs; all others are kept.
    """
    experiments = [task.experiment(agent) for task in tasks]
    outcome = hb.run(experiments, out, seed=SEED, shard=shard, options=options)
    if outcome.failures:
        first, *_ = str(outcome.failures[0]).splitlines()
        raise PlayError(f"{first}; all other runs are kept, and --tasks leaves out what {agent.called} is not for")
    found = {}
    for task, experiment in zip(tasks, experiments, strict=True):
        one = outcome.results.select(experiment=experiment.name)
        metrics = [m for m in (*task.metrics, "epsilon") if m in one.metrics]
        found[task.name] = one.only.runs(), {m: one.final(m) for m in metrics}
    return found
