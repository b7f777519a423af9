"""Shared code of all pictures: a row per arm, colours of arms, and captions."""

from collections.abc import Sequence
from textwrap import fill
from typing import TYPE_CHECKING

import numpy as np

from hushbandits.core import Array, RLTask, World

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

IN, OUT, BEST = "#2a6fbb", "#c9ced6", "#e07b39"
#: Ten colours that colour-blind readers can distinguish (after Tol 2021, "muted").
_ARMS = (
    "#332288", "#88ccee", "#ddcc77", "#117733", "#cc6677", "#44aa99", "#999933", "#882255", "#aa4499", "#8c8c8c",
)  # fmt: skip
_NAMED = 30  # arms up to which each row has a name
_LISTED = 20  # arms up to which a line of text lists each


class Picture(RLTask):
    """Base class of pictures that have a row per arm."""

    @property
    def best(self) -> int:
        """Index of the arm with the smallest current gap in the first run."""
        gaps = getattr(self.core, "gaps", None)
        return int(self.core.means[0].argmax() if gaps is None else gaps[0].argmin())

    def listed(self, counts: Array) -> str:
        """Return the counts by arm as text; for many arms, only the largest counts and the sum of the others."""
        names, top = self.core.arms.names, np.arange(self.core.n_arms)
        if len(top) > _LISTED:
            top = np.sort(np.argsort(-counts, kind="stable")[:_LISTED])
            top = top[counts[top] > 0]
        stated = [" ".join(f"{names[k]}:{counts[k]:.0f}" for k in top.tolist())]
        if rest := len(counts) - len(top):
            stated.append(f"{rest} others:{counts.sum() - counts[top].sum():.0f}")
        return ", ".join(filter(None, stated))

    def bars(self, axes: "Axes", counts: Array, colour: Sequence[object] | Array, title: str) -> None:
        """Draw the `counts` as one bar per arm, with a title."""
        drawn = axes.barh(np.arange(len(counts)), counts, color=colour, height=0.75)
        axes.bar_label(drawn, fmt=lambda n: f"{n:,.0f}" if n else "", fontsize=7, padding=3)
        axes.set_xlim(0, 1.2 * max(1.0, counts.max()))
        axes.locator_params(axis="x", nbins=4, integer=True)
        axes.set_title(title, fontsize=9)
        axes.tick_params(labelsize=8)
        axes.spines[["top", "right"]].set_visible(False)

    def rows(self, axes: "Axes", stars: Sequence[int] | Array) -> None:
        """Mark the arms in `stars` with a star; if there are few arms, label each row with its arm's name and mean."""
        core: World = self.core
        k, (noun, pays) = core.n_arms, core.arms.words
        axes.set_ylim(max(6, k) - 0.4, -0.6)
        axes.set_ylabel(f"{noun} ({pays})", fontsize=8)
        if k <= _NAMED:
            names = [f"{'★ ' * (i in stars)}{core.arms.names[i]} ({core.means[0, i]:.3g})" for i in range(k)]
            axes.set_yticks(np.arange(k), names, fontsize=min(8, 150 / k))
        else:
            axes.scatter(np.zeros(len(stars)), stars, marker="*", s=70, color=BEST, clip_on=False, zorder=6)


def colours(core: World) -> list[tuple[float, ...]]:
    """Return a colour per arm: distinct colours for up to ten arms, otherwise darker for smaller gaps."""
    from matplotlib import colormaps
    from matplotlib.colors import to_rgba

    if core.n_arms <= len(_ARMS):
        return [to_rgba(colour) for colour in _ARMS[: core.n_arms]]
    gap = core.gaps[0]
    return [tuple(colormaps["viridis"](0.95 * share)) for share in gap / max(gap.max(), 1e-12)]


def caption(figure: "Figure", *sentences: str) -> None:
    """Write `sentences` as a caption below the figure."""
    figure.supxlabel(fill("; ".join(filter(None, sentences)), 118), fontsize=8, color="#4b5563")
