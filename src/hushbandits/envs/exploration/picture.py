"""The vote in pictures: who is still in the global set, how far the others are from leaving it, and who voted."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from hushbandits.core import Array, Task, World
from hushbandits.envs.paint import BEST, IN, OUT, caption, label_arms, listed, star

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.figure import Figure

_BLANK, _PULLED, _GONE, _VOTE = np.array([[255, 255, 255], [176, 206, 236], [222, 222, 222], [74, 84, 99]])
_SHARP = 600, 300  # cells of a picture across and down, so that no vote is blurred


def say(task: Task) -> list[str]:
    """Return lines for the terminal."""
    core: World = task.core
    left = np.flatnonzero(core.book.active[0])
    few = f"{{{', '.join(map(str, left))}}}" if len(left) <= 20 else f"of {len(left)} of {core.n_arms} arms"
    rule = f"an arm leaves at {core.votes_needed} votes" if _judged(core) else "everyone decides alone"
    lines = [f"global set {few}, {rule}", f"votes per arm {listed(core.arms.names, core.votes[0])}"]
    act = f"{int(core.pool[0].sum())} of {core.n_agents} agents still act"
    return [*lines, f"agent_{core.upcoming[0]} acts next; {act}" if core.live[0] else act]


def _judged(core: World) -> bool:
    return bool(core.judge == "coordinator")


def draw(task: Task, figure: Figure) -> None:
    """Draw votes per arm and who is still in 𝒦, and under them who has cast which vote."""
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch
    from matplotlib.ticker import MaxNLocator

    core: World = task.core
    above, below = figure.subplots(2, 1, sharex=True)
    colour = np.where(core.book.active[0], IN, OUT)
    arms, most = np.arange(core.n_arms), core.n_agents
    above.bar(arms, core.votes[0], color=colour, zorder=2)
    # An arm without votes has no bar: its place in the global set is shown on the axis.
    above.scatter(arms, np.zeros(core.n_arms), marker="s", s=max(4, 40 - core.n_arms), color=colour, zorder=4)
    keys: list[Artist] = [Patch(color=IN, label="in the global set"), Patch(color=OUT, label="voted out")]
    if _judged(core):
        most = max(core.votes_needed, core.votes[0].max())
        above.axhline(core.votes_needed, color="black", linewidth=0.8, linestyle="--", zorder=3)
        keys.append(
            Line2D([], [], color="black", lw=0.8, ls="--", label=f"votes that remove an arm ({core.votes_needed})")
        )
    else:
        keys = [Patch(color=IN, label="everyone decides alone")]
    star(above, np.flatnonzero(core.right[0]))
    keys.append(Line2D([], [], marker="*", ls="", ms=9, color=BEST, label="best arm"))
    above.legend(
        handles=keys, loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=4, fontsize=8, frameon=False, borderpad=0
    )
    above.set_ylim(0, most * 1.25)
    above.yaxis.set_major_locator(MaxNLocator(4, integer=True))
    above.set_ylabel("votes", fontsize=9)
    below.imshow(_cast(task), aspect="auto", extent=(-0.5, core.n_arms - 0.5, core.n_agents - 0.5, -0.5))
    below.yaxis.set_major_locator(MaxNLocator(4, integer=True))
    below.set_ylabel("agent", fontsize=9)
    if core.live[0]:
        below.scatter([core.n_arms - 0.5], core.upcoming, marker="<", s=36, color="black", clip_on=False, zorder=5)
    label_arms(below, core)
    caption(
        figure,
        "below, dark: a vote that this agent has cast; blue: its pulls so far, the more the darker",
        "grey row: it acts no more" if not core.pool[0].all() else "",
        "triangle: acts next" if core.live[0] else "",
    )


def _cast(task: Task) -> Array:
    """Votes and pulls of every agent on every arm, as ``(…, …, 3)`` colours."""
    core: World = task.core
    pulls = task.pulls[0]
    share = (pulls / max(1.0, pulls.max()))[:, :, None]
    cells: Array = np.where(core.pool[0][:, None, None], _BLANK + share * (_PULLED - _BLANK), _GONE)
    cells = np.where(core.book.sent[0][:, :, None], _VOTE, cells).astype(np.uint8)
    across, down = (max(1, -(-most // n)) for most, n in zip(_SHARP, (core.n_arms, core.n_agents), strict=True))
    sharp: Array = cells.repeat(across, axis=1).repeat(down, axis=0)
    return sharp
