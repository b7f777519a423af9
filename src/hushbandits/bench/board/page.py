"""The board: a page of who reached what, made of manifests, and the same for one agent on a terminal."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from hushbandits.bench.board.manifest import Manifest
from hushbandits.bench.board.play import Met
from hushbandits.bench.board.scores import of, standing
from hushbandits.bench.board.tasks import Task, absent, anchors, settings, tasks
from hushbandits.bench.judge.stats import mean_interval
from hushbandits.bench.show.html import Table, render
from hushbandits.bench.show.ink import CSS, SHAPES
from hushbandits.bench.show.tables import Value, written
from hushbandits.core.entries import AGENTS
from hushbandits.core.ground.files import replacing
from hushbandits.core.ground.types import Array

__all__ = ["ABSENT", "HEADS", "missing", "rows", "told", "write"]

#: Columns of the board.
HEADS = ("agent", "score", "95 % interval", "ε, one reward", "ε, whole run", "tasks", "source")
#: Columns of who ships and is on no board.
ABSENT = ("agent", "why it is not here", "what shows it")

_PROFILED = 8  # lines of a picture of profiles

_NOTES = (
    "Score: 0 is what Random reaches on average, 1 what the best agent that ships reaches, task by task; both are "
    "frozen. A setting's score is the interquartile mean over all runs of its tasks, its interval a 95 % "
    "bootstrap of the runs of each task by itself (Agarwal et al. 2021). A task that an agent cannot play counts "
    "0.",
    "ε: what was spent on one reward, and on all rewards of a participant over a whole run, as the runs measured "
    "it or, where they do not, as hushbandits.privacy promises it; the largest of all tasks. “no bound”: nothing "
    "holds there, or nobody adds it up. “–”: nothing is promised. Who is protected from whom differs between "
    "mechanisms: an ε against a server that must not see rewards is another promise than one that trusts the "
    "server.",
    "The runs' seeds are public, so that anybody can play them again: hushbandits bench --verify MANIFEST. So "
    "they can be tuned on, too. Whoever doubts a score plays other seeds: hushbandits evaluate.",
)


def told(
    asked: Sequence[Task], met: Met, values: Mapping[str, Mapping[str, Array]]
) -> tuple[list[str], list[list[str]]]:
    """Return heads and rows of a terminal's table: each task that was asked for, then each setting that is whole."""
    found = []
    costs = {task.name: task.costs(values[task.name]) for task in asked if task.name in values}
    for task in asked:
        if task.name in met.refused:
            found.append([task.name, "", "", "0", f"cannot be played: {met.refused[task.name]}"])
        elif len(x := costs.get(task.name, np.empty(0))):
            score = f"{of(task, costs).mean():.3f}"
            found.append([task.name, str(len(x)), written(float(x.mean())), score, written(mean_interval(x))])
    heads = ["task", "runs", "cost", "score", "95 % of the cost, or of the score"]
    for setting in settings():
        whole = [task for task in tasks().values() if task.setting == setting]
        if all(t in asked and (t.name in met.refused or len(costs.get(t.name, ())) == t.runs) for t in whole):
            end = standing(whole, costs)
            found.append([setting, "", "", f"{end.iqm:.3f}", written(end.interval)])
    return heads, found


def write(manifests: Sequence[Manifest], path: Path) -> None:
    """Write the page of these manifests, whole or not at all; the same manifests give the same bytes.

    Raises
    ------
    ValueError
        There is no manifest.
    """
    if not manifests:
        raise ValueError("board: no manifest was given")
    sections = [found for setting in settings() if (found := _section(setting, manifests)) is not None]
    versions = sorted({m.versions.get("hushbandits", "") for m in manifests})
    page = render(
        "board.html", colours=CSS, shapes=SHAPES, sections=sections, notes=_NOTES,
        absent=Table(ABSENT, missing(), (0, 1, 2)),
        lead=f"{len(tasks())} tasks · {len(manifests)} manifests · played by hushbandits {', '.join(versions)}",
    )  # fmt: skip
    with replacing(path) as out:
        out.write(page)


def _section(setting: str, manifests: Sequence[Manifest]) -> dict[str, object] | None:
    from hushbandits.bench.board.pictures import fronts, profiles

    own = [task for task in tasks().values() if task.setting == setting]
    ranked = _ranked(setting, manifests)
    if not ranked:
        return None
    by_task: list[list[Value]] = [[m.agent.called, *(_mean(m, setting, t.name) for t in own)] for m in ranked]
    about: list[list[Value]] = [[t.name, t.level, t.why, *_frozen(t)] for t in own]
    figures = [
        profiles(setting, [(m.agent.called, m.standings[setting]) for m in ranked[:_PROFILED]]),
        fronts(setting, own, ranked),
    ]
    return {
        "name": setting,
        "board": Table(HEADS, rows(setting, manifests), (0,)),
        "notes": [f"{m.agent.called} was played by: {m.command}" for m in ranked if m.source],
        "figures": [f for f in figures if f is not None],
        "tasks": Table(["agent", *(t.name for t in own)], by_task, (0,)),
        "about": Table(["task", "level", "why", "Random costs", "best that ships", "costs"], about, (0, 1, 2, 4)),
    }


def _ranked(setting: str, manifests: Sequence[Manifest]) -> list[Manifest]:
    own = [m for m in manifests if setting in m.standings]
    return sorted(own, key=lambda m: (-m.standings[setting].iqm, m.agent.called))


def rows(setting: str, manifests: Sequence[Manifest]) -> list[list[Value]]:
    """Return the lines of a setting's board under `HEADS`, the best first."""
    own = [task for task in tasks().values() if task.setting == setting]
    return [_row(setting, own, m) for m in _ranked(setting, manifests)]


def _row(setting: str, own: Sequence[Task], m: Manifest) -> list[Value]:
    """A line of the board: who, the score and its interval, ε, tasks, source."""
    found, played = m.standings[setting], [t.name for t in own if t.name in m.values]
    spent = [m.epsilon(name) for name in played]
    ends = [_worst([None if s is None else s[i] for s in spent]) for i in (0, 1)]
    tasks = f"{len(played)} of {len(own)}"
    source = m.source or ("ships" if m.agent.name in AGENTS.shipped else "not said")
    return [m.agent.called, _three(found.iqm), _ends(found.interval), *ends, tasks, source]


def missing() -> list[list[Value]]:
    """Return the lines of who ships and is on no board, under `ABSENT`."""
    return [[name, *told] for name, told in absent().items()]


def _mean(m: Manifest, setting: str, task: str) -> float | None:
    return _three(m.standings[setting].scores[task].mean()) if task in m.values else None


def _frozen(task: Task) -> list[Value]:
    ends = anchors()["tasks"][task.name]
    return [ends["random"]["mean"], ends["best"]["agent"], ends["best"]["mean"]]


def _worst(spent: Sequence[float | None]) -> Value:
    """The largest of what was spent; in words where there is none, or no bound, or not in all tasks."""
    known = [x for x in spent if x is not None]
    if not known:
        return "–"
    most = "no bound" if math.isinf(max(known)) else f"{max(known):.4g}"
    if len(known) < len(spent):
        return f"{most} in {len(known)} of {len(spent)} tasks, else –"
    return most if math.isinf(max(known)) else float(most)


def _three(x: float) -> float:
    return round(float(x), 3)


def _ends(interval: tuple[float, float]) -> str:
    return "[{:.3f}, {:.3f}]".format(*interval)
