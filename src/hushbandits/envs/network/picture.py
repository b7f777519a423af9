"""The delayed graph in pictures: who plays what, who is byzantine, and what has just been told along which edge."""

from __future__ import annotations

from typing import Any

import networkx as nx
import numpy as np

from hushbandits.core.task import Task
from hushbandits.core.types import Array

__all__ = ["draw", "say"]

_EDGE, _BYZANTINE = "#c9ced6", "#c0143c"
_FEW = 64  # agents up to which single names and copies can be told apart


def byzantine(core: Any) -> Array:
    """``(M,)`` bool: agents whose reports some wrapper contaminates."""
    marked = np.zeros(core.n_agents, bool)
    for wrapper in core.wrappers:
        marked |= getattr(wrapper, "byzantine", np.zeros((1, core.n_agents), bool))[0]
    return marked


def told(core: Any) -> tuple[Array, Array]:
    """Copies that crossed each edge in the last round, ``(M, M)`` from × to, and the arm most report (−1: none)."""
    via, to, _, _, said = core.crossings().T
    count = np.zeros((core.n_agents, core.n_agents), np.int64)
    np.add.at(count, (via, to), 1)
    if not (said >= 0).any():
        return count, np.full(count.shape, -1)
    votes = np.zeros((*count.shape, core.n_arms), np.int64)
    np.add.at(votes, (via, to, said), 1)
    return count, np.where(count > 0, votes.argmax(2), -1)


def say(task: Task) -> list[str]:
    """Return lines for the terminal."""
    core: Any = task.core
    arms = task.arm
    if arms is None:
        return [f"{core.n_agents} agents, nothing pulled yet"]
    arm = arms[0]
    count = np.bincount(arm, minlength=core.n_arms)
    best = int(core.means[0].argmax())
    lines = [f"agents per arm {' '.join(f'{k}:{c}' for k, c in enumerate(count))}, best arm {best}"]
    bad = byzantine(core)
    if core.n_agents <= _FEW:
        lines.append(f"last arms {' '.join(f'{k}!' if b else str(k) for k, b in zip(arm, bad, strict=True))}")
    if bad.any():
        lines.append(f"byzantine{' (!)' if core.n_agents <= _FEW else ''} {int(bad.sum())} of {core.n_agents} agents")
    crossed, _ = told(core)
    edges = int(core.adjacency[0].sum()) // 2
    lines.append(
        f"told in this round: {int(crossed.sum())} reports over {edges} edges, at most {crossed.max()} over one"
    )
    worst = int(core.metrics()["agent_regret"][0].argmax())
    lines.append(f"regret per agent {core.metrics()['agent_regret'][0].mean():.1f}, most agent_{worst}")
    return lines


def draw(task: Task, figure: Any) -> None:
    """Draw the graph: a disc per agent in the colour of its arm, a dot per edge and direction for what crossed it."""
    core: Any = task.core
    from matplotlib import colormaps
    from matplotlib.collections import LineCollection
    from matplotlib.lines import Line2D

    axes = figure.add_subplot()
    matrix, place = core.adjacency[0], _layout(core.adjacency[0])
    crossed, told_arm = told(core)
    ends = np.argwhere(np.triu(matrix))
    busy = (crossed + crossed.T)[ends[:, 0], ends[:, 1]]
    widths = (0.6 + 1.8 * busy / max(1, busy.max(initial=0))) * min(1.0, 300 / max(1, len(ends)))
    lines = LineCollection(place[ends], colors=_EDGE, linewidths=widths, zorder=1)  # type: ignore[arg-type]
    axes.add_collection(lines)
    palette = colormaps["tab10" if core.n_arms <= 10 else "tab20" if core.n_arms <= 20 else "turbo"]
    colours = [palette(k if core.n_arms <= 20 else k / (core.n_arms - 1)) for k in range(core.n_arms)]
    arms, bad = task.arm, byzantine(core)
    size = float(np.clip(6000 / core.n_agents, 20, 260))
    fill = np.array([(1.0, 1.0, 1.0, 1.0)] * core.n_agents if arms is None else [colours[k] for k in arms[0]])
    for mask, marker, edge, width in ((~bad, "o", "black", 0.6), (bad, "s", _BYZANTINE, 2.0)):
        axes.scatter(*place[mask].T, s=size, c=fill[mask], marker=marker, edgecolors=edge, linewidths=width, zorder=3)
    if core.n_agents <= _FEW:
        via, to = np.nonzero(crossed)
        where = place[via] + 0.36 * (place[to] - place[via])  # nearer to where it comes from: two ways, two dots
        dots = ["#6b7280" if k < 0 else colours[k] for k in told_arm[via, to]]
        area = size / 12 * (0.5 + crossed[via, to] / max(1, crossed.max()))
        axes.scatter(*where.T, s=area, c=dots, edgecolors="white", linewidths=0.3, zorder=2)
        for m, (x, y) in enumerate(place):
            axes.annotate(str(m), (x, y), ha="center", va="center", fontsize=6, zorder=4)
    best = core.means[0].argmax()
    marks = [
        Line2D([], [], marker="o", linestyle="", color=colours[k],
               label=f"arm {k}: {core.means[0, k]:.3g}" + (" (best)" if k == best else ""))
        for k in np.argsort(-core.means[0], kind="stable")[:20]
    ]  # fmt: skip
    if bad.any():
        marks.append(Line2D([], [], marker="s", linestyle="", mfc="white", mec=_BYZANTINE, mew=2, label="byzantine"))
    if core.n_agents <= _FEW and crossed.any():
        marks.append(Line2D([], [], marker=".", linestyle="", color="#6b7280", label="told this round"))
    axes.legend(handles=marks, loc="center left", bbox_to_anchor=(1.02, 0.5), fontsize=8, frameon=False)
    axes.set_aspect("equal")
    axes.margins(0.06)
    axes.set_axis_off()


def _layout(matrix: Array) -> Array:
    """``(M, 2)`` places: a ring stays a ring, all else is spread by its distances (or by springs, if it is large)."""
    graph = nx.from_numpy_array(matrix)
    degrees = matrix.sum(1)
    if (degrees == 2).all() or (degrees == len(matrix) - 1).all() or len(matrix) < 3:
        found = nx.circular_layout(graph)
    elif len(matrix) <= _FEW:
        found = nx.kamada_kawai_layout(graph)
    else:
        found = nx.spring_layout(graph, seed=0)
    return np.array([found[m] for m in range(len(matrix))])
