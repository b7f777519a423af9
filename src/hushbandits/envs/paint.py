"""What the settings' pictures share: colours of arms, their names on an axis, and words that say what is drawn."""

from __future__ import annotations

from collections.abc import Sequence
from textwrap import fill
from typing import TYPE_CHECKING

import numpy as np

from hushbandits.core import Array, World

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

IN, OUT, BEST = "#2a6fbb", "#c9ced6", "#e07b39"
#: Ten arms, told apart by colour-blind eyes too (after Tol 2021, "muted").
_ARMS = (
    "#332288", "#88ccee", "#ddcc77", "#117733", "#cc6677", "#44aa99", "#999933", "#882255", "#aa4499", "#8c8c8c",
)  # fmt: skip
_NAMED, _TICKED = 12, 30  # arms up to which a wide axis has room for their means, and for each one's number
_LINE = 118  # letters of a caption's line
_LISTED = 20  # arms up to which a line of text tells of each


def best(core: World) -> int:
    """Return the arm that costs least, now."""
    gaps = getattr(core, "gaps", None)
    return int(core.means[0].argmax() if gaps is None else gaps[0].argmin())


def colours(core: World) -> list[tuple[float, ...]]:
    """Return a colour per arm: one of its own up to ten arms, else the darker, the less it costs."""
    from matplotlib import colormaps
    from matplotlib.colors import to_rgba

    if core.n_arms <= len(_ARMS):
        return [to_rgba(colour) for colour in _ARMS[: core.n_arms]]
    gap = core.gaps[0]
    return [tuple(colormaps["viridis"](0.95 * share)) for share in gap / max(gap.max(), 1e-12)]


def ink(colour: Sequence[float]) -> str:
    """Return what can be read on a colour, black or white."""
    red, green, blue = colour[:3]
    return "black" if 0.299 * red + 0.587 * green + 0.114 * blue > 0.5 else "white"


def label_arms(axes: Axes, core: World, wide: bool = True) -> None:
    """Name the arms on the x-axis, as far as there is room; with what they pay, if it is `wide`."""
    from matplotlib.ticker import MaxNLocator

    k, (noun, pays) = core.n_arms, core.arms.words
    axes.set_xlim(-0.5, k - 0.5)
    if k > (_TICKED if wide else _TICKED // 2):
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))
        axes.set_xlabel(noun)
        return
    told = wide and k <= _NAMED
    names = [f"{a}\n{m:.3g}" if told else a for a, m in zip(core.arms.names, core.means[0], strict=True)]
    axes.set_xticks(np.arange(k), names, fontsize=9 if k <= _NAMED else 7)
    axes.set_xlabel(f"{noun}, and its {pays}" if told else noun)


def star(axes: Axes, arms: Sequence[int] | Array) -> None:
    """Mark the best arms at the top."""
    axes.scatter(
        arms, np.full(len(arms), 0.94), marker="*", s=70, color=BEST, edgecolors="white", linewidths=0.5, zorder=6,
        transform=axes.get_xaxis_transform(),
    )  # fmt: skip


def caption(figure: Figure, *sentences: str) -> None:
    """Say under a picture what is drawn."""
    told = "; ".join(sentence for sentence in sentences if sentence)
    figure.supxlabel(fill(told, _LINE), fontsize=8, color="#4b5563")


def listed(names: Sequence[str], counts: Array) -> str:
    """Write counts by name; of many, those of the largest."""
    top = np.arange(len(names))
    if len(names) > _LISTED:
        top = np.sort(np.argsort(-counts, kind="stable")[:_LISTED])
        top = top[counts[top] > 0]
    text = " ".join(f"{names[k]}:{counts[k]:.0f}" for k in top.tolist())
    rest = len(names) - len(top)
    others = f"{rest} others:{counts.sum() - counts[top].sum():.0f}" if rest else ""
    return ", ".join(part for part in (text, others) if part)
