"""Pictures of the board: performance profiles, and what privacy costs task by task."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from hushbandits.bench.board.manifest import Manifest
from hushbandits.bench.board.scores import Standing
from hushbandits.bench.board.tasks import Task
from hushbandits.bench.show.ink import LIGHT, MUTED, Style, style
from hushbandits.bench.show.panels import numbers
from hushbandits.bench.show.plots import STYLE, Key, blank, drawings, quietly

__all__ = ["fronts", "pareto", "profiles"]

_GRID = np.round(np.linspace(-0.25, 1.25, 151), 2)


def profiles(setting: str, ranked: Sequence[tuple[str, Standing]]) -> dict[str, object]:
    """Draw the share of runs at or above each score, for the first agents of a setting."""
    import matplotlib

    with quietly(), matplotlib.rc_context({**STYLE, "svg.fonttype": "none"}):
        canvas = blank()
        canvas.set_layout_engine("constrained")
        axes = canvas.add_subplot()
        axes.grid(True)
        for i, (_, standing) in enumerate(ranked):
            how = _line(i)
            axes.step(_GRID, standing.profile(_GRID), where="pre", color=how.hue, linestyle=how.line)
        axes.set(ylim=(-0.03, 1.03), xlabel="score x", ylabel="share of runs at or above x")
        drawn = drawings(canvas, f"{setting}-profiles", f"performance profiles of {setting}")
    return {
        "title": "Performance profiles",
        "caption": "The share of runs at or above each score, every task with the same weight; the first agents above.",
        "drawings": [drawn],
        "legend": [Key(name, style(i)) for i, (name, _) in enumerate(ranked)],
    }


def _line(i: int) -> Style:
    return Style(i % len(LIGHT), style(i).dashes, "")


def pareto(points: Sequence[tuple[float, float]]) -> list[tuple[float, float]]:
    """Return the front of (ε, score): what no other point beats with an ε that is no larger, by rising ε.

    Examples
    --------
    >>> pareto([(1.0, 0.5), (0.1, 0.2), (2.0, 0.4), (1.0, 0.3)])
    [(0.1, 0.2), (1.0, 0.5)]
    """
    front: list[tuple[float, float]] = []
    for epsilon, score in sorted(points, key=lambda p: (p[0], -p[1])):
        if not front or score > front[-1][1]:
            front.append((epsilon, score))
    return front


def fronts(setting: str, own: Sequence[Task], ranked: Sequence[Manifest]) -> dict[str, object] | None:
    """Draw score against ε of one reward, task by task; ``None`` where nobody has an ε."""
    found: dict[str, dict[int, tuple[float, float]]] = {}  # by task, by rank
    free: dict[str, list[float]] = {}
    for task in own:
        for i, m in enumerate(ranked):
            if task.name not in m.values:
                continue
            told, score = m.epsilon(task.name), float(m.standings[setting].scores[task.name].mean())
            if told is not None and math.isfinite(told[0]):
                found.setdefault(task.name, {})[i] = told[0], score
            else:
                free.setdefault(task.name, []).append(score)
    if not found:
        return None
    best = {i for points in found.values() for i, at in points.items() if at in pareto([*points.values()])}
    places = {i: place for place, i in enumerate(sorted(best))}
    drawn = [_front(setting, t.name, found[t.name], free.get(t.name, []), places) for t in own if t.name in found]
    bare = [task.name for task in own if task.name not in found]
    return {
        "title": "Score against privacy",
        "caption": "Mean score against the ε of one reward. The line joins what nobody beats with as small an ε; dots: "
        "all others; dashed: the best agent that has no ε."
        + (f" Nobody has an ε in {', '.join(bare)}." if bare else ""),
        "drawings": drawn,
        "legend": [*(Key(ranked[i].agent.called, style(n)) for i, n in places.items()), Key("best without an ε", None)],
    }


def _front(
    setting: str, task: str, points: dict[int, tuple[float, float]], free: Sequence[float], places: dict[int, int]
) -> dict[str, str]:
    import matplotlib

    with quietly(), matplotlib.rc_context({**STYLE, "svg.fonttype": "none"}):
        canvas = blank()
        canvas.set_layout_engine("constrained")
        axes = canvas.add_subplot()
        axes.grid(True)
        line = pareto(list(points.values()))
        axes.step([x for x, _ in line], [y for _, y in line], where="post", color=MUTED, linewidth=1.2)
        for i, (x, y) in points.items():
            if (x, y) in line:
                how = style(places[i])
                axes.plot([x], [y], color=how.hue, linestyle="none", **how.marks(7), zorder=3)
            else:
                axes.plot([x], [y], ".", color=MUTED, markersize=5)
        if free:
            axes.axhline(max(free), color=MUTED, linestyle="--", linewidth=1.1)
        low, high = (end([x for x, _ in points.values()]) for end in (min, max))
        axes.set(xscale="log", xlim=(low / 2, high * 2), xlabel="ε of one reward", ylabel="score", title=task)
        numbers(axes.xaxis, True, sorted({float(f"{x:.3g}") for x, _ in points.values()}))
        return drawings(canvas, f"{setting}-{task}", f"score against ε, {task}", several=True)
