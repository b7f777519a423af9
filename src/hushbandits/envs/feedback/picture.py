"""Blocks of users in pictures: how many were heard per arm, and what was decoded of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from hushbandits.core import Array, Task, World
from hushbandits.envs.paint import BEST, IN, best, caption, label_arms, listed, star

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_LOW, _HIGH = -0.05, 1.05  # rewards lie in [0, 1]; what was decoded need not
_SLOT = 200.0  # points that the arms of a panel share


def _decoded(task: Task) -> tuple[Array, Array]:
    """Users per arm, and the decoded mean (NaN where there were none), over all servers: each ``(K,)``."""
    users, total = task.pulls[0].sum(0), task.sums[0].sum(0)
    return users, np.where(users > 0, total / np.maximum(users, 1), np.nan)


def _asked(task: Task) -> Array:
    """Arms of the last blocks, of servers that still have users."""
    core: World = task.core
    if task.arm is None:
        return np.zeros(0, np.int64)
    return np.unique(task.arm[0][core.served[0] < core.horizon])


def say(task: Task) -> list[str]:
    """Return lines for the terminal."""
    core: World = task.core
    users, mean = _decoded(task)
    heard = np.flatnonzero(users > 0)
    found = " ".join(f"{k}:{mean[k]:.3f}" for k in heard[np.argsort(-mean[heard], kind="stable")][:20])
    many = " (the largest 20)" if len(heard) > 20 else ""
    return [
        f"users heard per arm {listed(core.arms.names, users)}",
        f"decoded means{many} {found or 'none yet'}, best arm {best(core)}",
    ]


def draw(task: Task, figure: Figure) -> None:
    """Draw users heard per arm, and decoded means beside true ones."""
    from matplotlib.lines import Line2D
    from matplotlib.ticker import MaxNLocator

    core: World = task.core
    left, right = figure.subplots(1, 2)
    users, mean = _decoded(task)
    truth, top = core.means[0], best(core)
    arms = np.arange(len(truth))
    colour = np.where(arms == top, BEST, IN)
    left.bar(arms, users, color=colour)
    left.set_ylim(0, max(1.0, users.max()) * 1.2)
    left.yaxis.set_major_locator(MaxNLocator(5, integer=True))
    left.set_title("users heard per arm", fontsize=9)
    left.yaxis.set_major_formatter(lambda n, _: f"{n:,.0f}" if n < 10_000 else f"{n / 1000:,.0f}k")
    if len(asked := _asked(task)):
        left.scatter(
            asked, np.full(len(asked), 0.86), marker="v", s=24, color="black", transform=left.get_xaxis_transform()
        )
    wide = float(np.clip(_SLOT / len(arms), 3, 14))
    right.scatter(arms, truth, marker="_", s=wide**2, color="black", zorder=2)
    beyond = (mean < _LOW) | (mean > _HIGH)
    for mask, marker in ((~beyond, "o"), (mean > _HIGH, "^"), (mean < _LOW, "v")):
        y = np.clip(mean[mask], 0.0, 1.0) if marker != "o" else mean[mask]
        right.scatter(arms[mask], y, marker=marker, s=(0.5 * wide) ** 2 + 6, color=colour[mask], zorder=3)
    right.set_ylim(_LOW, _HIGH + 0.14)
    right.set_title("mean reward per arm", fontsize=9)
    keys = [
        Line2D([], [], marker="_", ls="", ms=10, color="black", label="true"),
        Line2D([], [], marker="o", ls="", ms=5, color=IN, label="decoded"),
        Line2D([], [], marker="^", ls="", ms=5, color=IN, label="decoded, beyond [0, 1]"),
    ]
    right.legend(
        handles=keys[: 2 + bool(beyond.any())], loc="upper center", ncols=3, fontsize=7, frameon=False, borderpad=0,
        handletextpad=0.2, columnspacing=0.8,
    )  # fmt: skip
    star(left, [top])
    for axes in (left, right):
        label_arms(axes, core, wide=False)
    caption(
        figure, "orange, star: the best arm", "triangle at the top: the arm of a block just heard" * bool(len(asked))
    )
