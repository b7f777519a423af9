"""The leaderboard: a page of scores made from submissions, and the table of one agent on a terminal."""

import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np

import hushbandits as hb
from hushbench.submission import Submission
from hushbench.tasks import Row, Task, Values, anchors, chosen, of, settings, standing, tasks

#: Columns of the leaderboard.
HEADS = ("agent", "score", "95 % interval", "ε, one reward", "ε, whole run", "tasks", "source")
#: Columns of a terminal's table.
SUMMARY = ("task", "runs", "cost", "score", "95 % of the cost, or of the score")


def summary(asked: Sequence[Task], admitted: Mapping[str, Row], values: Values) -> Iterator[list[str]]:
    """Yield the rows of the summary table: the requested tasks, then each setting whose tasks are all done."""
    refused = {name: row["refused"] for name, row in admitted.items() if "refused" in row}
    costs = {task.name: task.costs(values[task.name]) for task in asked if values.get(task.name)}
    for task in asked:
        if task.name in refused:
            yield [task.name, "", "", "0", f"cannot be played: {refused[task.name]}"]
        elif task.name in costs:
            x, score = costs[task.name], of(task, costs).mean()
            yield [task.name, str(len(x)), f"{x.mean():.5g}", f"{score:.3f}", _ends(hb.stats.mean_interval(x))]
    for setting in settings():
        whole = chosen([setting])
        if all(t in asked and (t.name in refused or len(costs.get(t.name, ())) == t.runs) for t in whole):
            end = standing(whole, costs)
            yield [setting, "", "", f"{end.iqm:.3f}", _ends(end.interval)]


def write(submissions: Sequence[Submission], path: Path) -> None:
    """Write the leaderboard of `submissions` to `path`; equal submissions give equal bytes.

    Raises
    ------
    ValueError
        The list of submissions is empty.
    """
    from jinja2 import Environment, PackageLoader, StrictUndefined

    if not submissions:
        raise ValueError("board: no submission was given")
    env = Environment(loader=PackageLoader("hushbench"), autoescape=True, undefined=StrictUndefined, trim_blocks=True)
    page = env.get_template("leaderboard.html").render(
        submissions=submissions, ranked={setting: ranked(setting, submissions) for setting in settings()},
        tasks=tasks(), heads=HEADS, row=row, thresholds=np.linspace(-0.25, 1.25, 151), anchors=anchors(),
    )  # fmt: skip
    path.write_text(page, encoding="utf8")


def ranked(setting: str, submissions: Sequence[Submission]) -> list[Submission]:
    """Return the submissions to a setting, sorted from best to worst."""
    own = [one for one in submissions if setting in one.standings]
    return sorted(own, key=lambda one: (-one.standings[setting].iqm, one.agent.called))


def row(setting: str, one: Submission) -> list[str]:
    """Return a submission's row in the table of a setting, with the columns `HEADS`."""
    end, own = one.standings[setting], chosen([setting])
    spent = [one.epsilon(task.name) for task in own if task.name in one.values]
    worst = [_worst([None if x is None else x[i] for x in spent]) for i in (0, 1)]
    played, source = f"{len(spent)} of {len(own)}", one.data["source"] or "ships"
    return [one.agent.called, f"{end.iqm:.3f}", _ends(end.interval), *worst, played, source]


def _worst(spent: Sequence[float | None]) -> str:
    """Return the largest ε in `spent` as text; ``"–"`` without any ε, ``"no bound"`` if that ε is infinite.

    The text also says in how many tasks there is an ε if not in all.
    """
    known = [x for x in spent if x is not None]
    if not known:
        return "–"
    most = "no bound" if math.isinf(max(known)) else f"{max(known):.4g}"
    return most if len(known) == len(spent) else f"{most} in {len(known)} of {len(spent)} tasks, else –"


def _ends(interval: tuple[float, float]) -> str:
    low, high = (f"{x:.3f}" if abs(x) < 10 else f"{x:.5g}" for x in interval)
    return f"[{low}, {high}]"
