"""Blocks of users in pictures: how many were heard per arm, and what was decoded of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from hushbandits.core.task import Task
from hushbandits.core.types import Array

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["draw", "say"]

_IN, _BEST = "#2a6fbb", "#e07b39"


def _decoded(task: Task) -> tuple[Array, Array]:
    """Users per arm, and the decoded mean (NaN where there were none), over all servers: each ``(K,)``."""
    users, total = task.pulls[0].sum(0), task.sums[0].sum(0)
    return users, np.where(users > 0, total / np.maximum(users, 1), np.nan)


def say(task: Task) -> list[str]:
    """Return lines for the terminal."""
    core = task.core
    users, mean = _decoded(task)
    found = " ".join(f"{k}:{m:.3f}" for k, m in enumerate(mean) if users[k])
    return [
        f"users heard per arm {' '.join(f'{k}:{int(n)}' for k, n in enumerate(users))}",
        f"decoded means {found or 'none yet'}, best arm {int(core.means[0].argmax())}",
    ]


def draw(task: Task, figure: Figure) -> None:
    """Draw users heard per arm, and decoded means beside true ones."""
    core = task.core
    left, right = figure.subplots(1, 2)
    users, mean = _decoded(task)
    truth = core.means[0]
    arms = np.arange(len(truth))
    best = truth.argmax()
    left.bar(arms, users, color=np.where(arms == best, _BEST, _IN))
    left.set_ylabel("users heard")
    left.set_xlabel("arm; orange: the best")
    right.scatter(arms, truth, marker="_", s=160, color="black", zorder=2)
    right.scatter(arms, mean, s=24, color=np.where(arms == best, _BEST, _IN), zorder=3)
    right.set_ylabel("mean reward")
    right.set_xlabel("arm; dot: decoded, bar: true")
    for axes in (left, right):
        axes.set_xticks(arms)
