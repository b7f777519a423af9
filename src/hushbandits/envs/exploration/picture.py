"""The vote in pictures: who is still in the global set, and how far the others are from leaving it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from hushbandits.core.task import Task
from hushbandits.core.world import World

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["draw", "say"]

_IN, _OUT = "#2a6fbb", "#c9ced6"


def _names(core: World) -> list[str]:
    return [f"{k}\n{mean:.3g}" for k, mean in enumerate(core.means[0])]


def say(task: Task) -> list[str]:
    """Return lines for the terminal."""
    core = task.core
    active = core._active[0]
    votes = " ".join(f"{k}:{v}" for k, v in enumerate(core.votes[0]))
    return [
        f"global set {{{', '.join(map(str, np.flatnonzero(active)))}}}, an arm leaves at {core.votes_needed} votes",
        f"votes per arm {votes}",
        f"agent_{core.upcoming[0]} acts next; {int(core.pool[0].sum())} of {core.n_agents} agents still act",
    ]


def draw(task: Task, figure: Figure) -> None:
    """Draw votes per arm, and who is still in 𝒦."""
    core = task.core
    axes = figure.add_subplot()
    active = core._active[0]
    arms = np.arange(core.n_arms)
    axes.bar(arms, core.votes[0], color=np.where(active, _IN, _OUT), zorder=2)
    axes.axhline(core.votes_needed, color="black", linewidth=0.8, linestyle="--", zorder=3)
    # An arm without votes has no bar: its place in the global set is shown on the axis.
    axes.scatter(arms, np.zeros(core.n_arms), marker="s", s=40, color=np.where(active, _IN, _OUT), zorder=4)
    axes.set_xticks(arms, _names(core))
    axes.set_ylim(0, max(core.votes_needed, core.votes[0].max()) * 1.08)
    axes.set_xlabel("arm and its mean; blue: still in the global set")
    axes.set_ylabel("votes against it")
