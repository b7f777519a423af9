"""The delayed graph in pictures: who plays what, who is byzantine, and what has just been told along which edge."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

import networkx as nx
import numpy as np

from hushbandits.core import Array, Task, World
from hushbandits.envs.network.graphs import adjacency
from hushbandits.envs.paint import best, caption, colours, ink, listed

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_EDGE, _BYZANTINE, _NO_ARM = "#c9ced6", "#c0143c", "#6b7280"
_FEW = 64  # agents up to which the text tells of each
_DOTS = 200  # ways that reports crossed, up to which each has a dot
_ROWS = 12  # arms with a bar of their own
_UNIT = 80.0  # points of a graph's radius
_DIGIT = 4.5  # points of a disc that each digit of a number takes


def byzantine(core: World) -> Array:
    """``(M,)`` bool: agents whose reports some wrapper contaminates."""
    marked = np.zeros(core.n_agents, bool)
    for wrapper in core.wrappers:
        marked |= getattr(wrapper, "byzantine", np.zeros((1, core.n_agents), bool))[0]
    return marked


def told(core: World) -> tuple[Array, Array]:
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
    core: World = task.core
    arms, names = task.arm, core.arms.names
    if arms is None:
        return [f"{core.n_agents} agents, nothing pulled yet"]
    arm = arms[0]
    lines = [f"agents per arm {listed(names, _on(core, arm))}, best arm {names[best(core)]}"]
    bad = byzantine(core)
    if core.n_agents <= _FEW:
        lines.append(f"last arms {' '.join(f'{names[k]}!' if b else names[k] for k, b in zip(arm, bad, strict=True))}")
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


def _on(core: World, arm: Array | None) -> Array:
    """``(K,)`` how many agents pulled each arm."""
    return np.zeros(core.n_arms, np.int64) if arm is None else np.bincount(arm, minlength=core.n_arms)


def draw(task: Task, figure: Figure) -> None:
    """Draw the graph and a bar per arm.

    An agent is a disc in the colour of its arm; what crossed an edge is a dot per direction.
    """
    core: World = task.core
    left, right = figure.subplots(1, 2, width_ratios=(3, 2))
    arm, bad = None if task.arm is None else task.arm[0], byzantine(core)
    shades = colours(core)
    dots = _graph(core, left, arm, bad, shades)
    _bars(core, right, arm, shades)
    many = core.n_arms > 10
    caption(
        figure,
        f"disc: an agent, in the colour of {'its arm, darker is better' if many else 'the arm it pulls'}",
        "white: no pull yet" if arm is None else "",
        "square: byzantine" if bad.any() else "",
        {"arms": "dot: reports told along an edge, in the colour of the arm that most name",
         "none": "dot: messages told along an edge", "": ""}[dots],
        "thicker edge: more was told along it",
        f"★ the best {core.arms.words[0]}",
    )  # fmt: skip


def _graph(core: World, axes: Axes, arm: Array | None, bad: Array, shades: list[tuple[float, ...]]) -> str:
    """Draw the graph; say what its dots are."""
    from matplotlib.collections import LineCollection

    matrix = core.adjacency[0]
    place = _layout(matrix.tobytes(), len(matrix))
    crossed, told_arm = told(core)
    ends = np.argwhere(np.triu(matrix))
    busy = (crossed + crossed.T)[ends[:, 0], ends[:, 1]]
    widths = (0.6 + 1.8 * busy / max(1, busy.max(initial=0))) * min(1.0, 300 / max(1, len(ends)))
    axes.add_collection(LineCollection(place[ends], colors=_EDGE, linewidths=widths, zorder=1))  # type: ignore[arg-type]
    wide = _diameter(place)
    fill = np.array([(1.0, 1.0, 1.0, 1.0)] * core.n_agents if arm is None else [shades[k] for k in arm])
    for mask, marker, edge, width in ((~bad, "o", "black", min(0.6, wide / 15)), (bad, "s", _BYZANTINE, 2.0)):
        x, y = place[mask].T
        axes.scatter(x, y, s=wide**2, c=fill[mask], marker=marker, edgecolors=edge, linewidths=width, zorder=3)
    digits = max(2, len(str(core.n_agents - 1)))
    if wide >= _DIGIT * digits:
        for m, (x, y) in enumerate(place):
            axes.annotate(
                str(m),
                (x, y),
                ha="center",
                va="center",
                color=ink(fill[m]),
                fontsize=min(8.0, 1.1 * wide / digits),
                zorder=4,
            )
    via, to = np.nonzero(crossed)
    if 0 < len(via) <= _DOTS:
        where = place[via] + 0.36 * (place[to] - place[via])  # nearer to where it comes from: two ways, two dots
        area = (wide / 3.5) ** 2 * (0.5 + crossed[via, to] / max(1, crossed.max()))
        hues = [_NO_ARM if k < 0 else shades[k] for k in told_arm[via, to]]
        x, y = where.T
        axes.scatter(x, y, s=area, c=hues, edgecolors="white", linewidths=0.3, zorder=2)
    axes.set(xlim=(-1.2, 1.2), ylim=(-1.15, 1.15), aspect="equal")
    axes.set_axis_off()
    return "" if not 0 < len(via) <= _DOTS else "arms" if (told_arm >= 0).any() else "none"


def _bars(core: World, axes: Axes, arm: Array | None, shades: list[tuple[float, ...]]) -> None:
    """Draw how many agents are on each arm: all arms, or the best ones and the rest together."""
    from matplotlib.ticker import MaxNLocator

    k, count, top = core.n_arms, _on(core, arm), best(core)
    noun, pays = core.arms.words
    rows = np.arange(k) if k <= _ROWS else np.argsort(core.gaps[0], kind="stable")[: _ROWS - 1]
    means = core.means[0]
    names = [f"{'★ ' if i == top else ''}{core.arms.names[i]} ({means[i]:.3g})" for i in rows]
    length, hue = count[rows].tolist(), [shades[i] for i in rows]
    if len(rows) < k:
        names.append(f"{k - len(rows)} others")
        length.append(int(count.sum()) - sum(length))
        hue.append((1.0, 1.0, 1.0, 1.0))
    at = np.arange(len(names))
    axes.barh(at, length, color=hue, edgecolor="black", linewidth=0.4, height=0.75)
    axes.scatter(
        np.zeros(len(at)), at, marker="s", s=30, c=hue, edgecolors="black", linewidths=0.4, clip_on=False, zorder=4
    )
    for y, n in zip(at, length, strict=True):
        if n:
            axes.annotate(f"{n}", (n, y), (4, 0), textcoords="offset points", va="center", fontsize=7)
    axes.set_yticks(at, names, fontsize=8)
    axes.tick_params(axis="y", length=0, pad=6)
    axes.tick_params(axis="x", labelsize=8)
    axes.set(xlim=(0, 1.12 * core.n_agents), ylim=(max(6, len(at)) - 0.4, -0.6))
    axes.xaxis.set_major_locator(MaxNLocator(4, integer=True))
    axes.set_title(f"agents on each {noun} ({pays})", fontsize=9)
    axes.spines[["top", "right"]].set_visible(False)


def _diameter(place: Array) -> float:
    """Points across a disc, so that neighbours leave each other room."""
    if len(place) < 2:
        return 18.0
    apart = np.hypot(*(place[:, None] - place[None]).transpose(2, 0, 1))
    np.fill_diagonal(apart, np.inf)
    return float(np.clip(0.65 * _UNIT * np.quantile(apart.min(1), 0.25), 3.0, 18.0))


@lru_cache(maxsize=8)
def _layout(matrix: bytes, m: int) -> Array:
    """``(M, 2)`` places in [−1, 1]: named graphs as one would draw them, others by distances or springs."""
    ways = np.frombuffer(matrix, bool).reshape(m, m)
    turn = 2 * np.pi * np.arange(m) / m
    if m == 1:
        return np.zeros((1, 2))
    if m == 2:
        return np.array([[-0.6, 0.0], [0.6, 0.0]])
    if _is(ways, "grid"):
        side = round(m**0.5)
        row, column = np.divmod(np.arange(m), side)
        return np.stack([2 * column / (side - 1) - 1, 1 - 2 * row / (side - 1)], 1)
    if _is(ways, "path"):  # a ring that is open at the top
        turn = np.pi / 2 - 0.35 - (2 * np.pi - 0.7) * np.arange(m) / (m - 1)
    elif _is(ways, "star"):
        turn = 2 * np.pi * np.arange(m) / (m - 1)
    ring = np.stack([np.cos(turn), np.sin(turn)], 1)
    if _is(ways, "star"):
        ring[0] = 0.0
    if any(_is(ways, name) for name in ("cycle", "complete", "path", "star")):
        return ring
    graph = nx.from_numpy_array(ways)
    found = nx.kamada_kawai_layout(graph) if m <= _FEW else nx.spring_layout(graph, seed=0)
    place = np.array([found[i] for i in range(m)])
    place -= (place.max(0) + place.min(0)) / 2
    return place / np.abs(place).max()


def _is(ways: Array, name: str) -> bool:
    try:
        return bool(np.array_equal(ways, adjacency(name, len(ways))))
    except ValueError:  # no grid of this many
        return False
