"""Pictures of the vote: the global set, the votes per arm, and the votes of each agent."""

from typing import TYPE_CHECKING

import numpy as np

from hushbandits.core import Array, World
from hushbandits.envs.render import IN, OUT, Picture, caption

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_BLANK, _PULLED, _GONE, _VOTE = np.array([[255, 255, 255], [176, 206, 236], [222, 222, 222], [74, 84, 99]])


class VotePicture(Picture):
    """Picture of each agent's votes, beside the number of votes per arm and the arms still in 𝒦."""

    @property
    def _judged(self) -> bool:
        return bool(self.core.termination_by == "coordinator")

    def say(self) -> list[str]:
        core: World = self.core
        left = np.flatnonzero(core.book.active[0])
        few = f"{{{', '.join(map(str, left))}}}" if len(left) <= 20 else f"of {len(left)} of {core.n_arms} arms"
        rule = f"an arm leaves at {core.votes_needed} votes" if self._judged else "everyone decides alone"
        act = f"{int(core.pool[0].sum())} of {core.n_agents} agents still act"
        return [
            f"global set {few}, {rule}",
            f"votes per arm {self.listed(core.votes[0])}",
            f"agent_{core.upcoming[0]} acts next; {act}" if core.running[0] else act,
        ]

    def draw(self, figure: "Figure") -> None:
        core: World = self.core
        left, right = figure.subplots(1, 2, sharey=True, width_ratios=(3, 2))
        left.imshow(self._cast().swapaxes(0, 1), aspect="auto", interpolation="nearest")
        left.set_title("agents", fontsize=9)
        left.locator_params(axis="x", nbins=8, integer=True)
        left.tick_params(labelsize=8)
        if core.running[0]:
            left.scatter(core.upcoming, [core.n_arms - 0.4], marker="^", s=36, color="black", clip_on=False, zorder=5)
        colour = np.where(core.book.active[0], IN, OUT)
        self.bars(right, core.votes[0], colour, "votes")
        # An arm without votes has no bar; a mark on the axis shows that it is in the global set.
        right.scatter(np.zeros(core.n_arms), np.arange(core.n_arms), marker="s", s=20, color=colour, zorder=4)
        if self._judged:
            right.axvline(core.votes_needed, color="black", linewidth=0.8, linestyle="--", zorder=3)
            right.set_xlim(0, 1.2 * max(core.votes_needed, core.votes[0].max()))
        self.rows(left, np.flatnonzero(core.right[0]))
        caption(
            figure,
            "left, dark: a vote that this agent has cast; blue: its pulls so far, the more the darker",
            "grey column: it acts no more" if not core.pool[0].all() else "",
            "triangle: acts next" if core.running[0] else "",
            "right, blue: in the global set; grey: voted out" if self._judged else "everyone decides alone",
            f"dashed: votes that remove an arm ({core.votes_needed})" if self._judged else "",
            "★ best arm",
        )

    def _cast(self) -> Array:
        """Return the votes and pulls of every agent on every arm as colours, ``(N, K, 3)``."""
        core: World = self.core
        pulls = self.pulls[0]
        share = (pulls / max(1.0, pulls.max()))[:, :, None]
        cells = np.where(core.pool[0][:, None, None], _BLANK + share * (_PULLED - _BLANK), _GONE)
        return np.where(core.book.sent[0][:, :, None], _VOTE, cells).astype(np.uint8)
