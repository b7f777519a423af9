"""Figures of the leaderboard: performance profiles, and the cost of privacy by task."""

import base64
import io
import math
from collections.abc import Sequence

import matplotlib
import numpy as np
from matplotlib import style
from matplotlib.figure import Figure

from hushbench.submission import Submission
from hushbench.tasks import Task

#: Colours that are distinguishable to colour-blind readers (after Okabe & Ito 2008).
_CYCLE = "cycler('color', ['0072b2', 'd55e00', '009e73', 'b5508f', 'b07d00', '3d9bd1', '6b5fb5', '444444'])"
_STYLE = {"axes.prop_cycle": _CYCLE, "axes.grid": True, "grid.color": "#e3e3e3", "text.parse_math": False}
_MARKS = "os^Dv<>p"
_MUTED = "#5c5c5c"
_GRID = np.round(np.linspace(-0.25, 1.25, 151), 2)


@style.context(_STYLE)
def profiles(setting: str, submissions: Sequence[Submission]) -> dict[str, str]:
    """Return an image of the share of runs at or above each score, for the submissions to a setting."""
    canvas = Figure(figsize=(7, 4.8), layout="constrained")
    axes = canvas.add_subplot(ylim=(-0.03, 1.03), xlabel="score x", ylabel="share of runs at or above x")
    for one in submissions:
        axes.step(_GRID, one.standings[setting].profile(_GRID), where="pre", label=one.agent.called)
    return _image(canvas, f"performance profiles of {setting}")


def pareto(points: Sequence[tuple[float, float]]) -> list[tuple[float, float]]:
    """Return the Pareto-optimal points (ε, score), sorted by ε.

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


def fronts(tasks: Sequence[Task], submissions: Sequence[Submission]) -> list[dict[str, str]]:
    """Return an image of score against the ε of one reward, for each task in which a submission has a finite ε."""
    found = []
    for task in tasks:
        points: dict[str, tuple[float, float]] = {}
        for one in (one for one in submissions if task.name in one.values):
            epsilon, _ = one.epsilon(task.name) or (math.inf, math.inf)
            points[one.agent.called] = epsilon, float(one.standings[task.setting].scores[task.name].mean())
        if any(math.isfinite(epsilon) for epsilon, _ in points.values()):
            found.append(_front(task.name, points))
    return found


@style.context(_STYLE)
def _front(task: str, points: dict[str, tuple[float, float]]) -> dict[str, str]:
    canvas = Figure(figsize=(5, 4.4), layout="constrained")
    axes = canvas.add_subplot(xscale="log", xlabel="ε of one reward", ylabel="score", title=task)
    private = [point for point in points.values() if math.isfinite(point[0])]
    epsilons, scores = zip(*private, strict=True)
    axes.plot(epsilons, scores, ".", color=_MUTED, markersize=5)
    front = pareto(private)
    axes.step(*zip(*front, strict=True), where="post", color=_MUTED, linewidth=1.2)
    for i, name in enumerate(name for name, point in points.items() if point in front):
        axes.plot(*points[name], _MARKS[i % len(_MARKS)], markersize=7, zorder=3, label=name)
    if free := [score for epsilon, score in points.values() if math.isinf(epsilon)]:
        axes.axhline(max(free), color=_MUTED, linestyle="--", label="best without an ε")
    axes.set_xlim(min(epsilons) / 4, max(epsilons) * 4)
    axes.xaxis.set_major_formatter("{x:g}")
    axes.xaxis.set_minor_formatter("")
    return _image(canvas, f"score against ε, {task}")


def _image(canvas: Figure, stated: str) -> dict[str, str]:
    """Return the source of an ``<img>`` of a figure with a legend, and the alternative text `stated`."""
    canvas.legend(loc="outside lower center", ncols=2, frameon=False)
    out = io.BytesIO()
    with matplotlib.rc_context({"svg.hashsalt": stated}):
        canvas.savefig(out, format="svg", metadata={"Date": None, "Creator": None})
    return {"source": f"data:image/svg+xml;base64,{base64.b64encode(out.getvalue()).decode()}", "stated": stated}
