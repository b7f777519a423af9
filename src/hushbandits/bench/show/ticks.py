"""Numbers along axes: as many as have room there, at the size that a picture is drawn in."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np
from matplotlib.font_manager import FontProperties
from matplotlib.textpath import text_to_path
from matplotlib.ticker import Locator

__all__ = ["Spaced", "plain", "width"]


def width(text: str, font: FontProperties, math: bool = False) -> float:
    """Width of a line of text in inches, whatever draws it: hinting makes small letters a little wider."""
    unit = font.copy()
    unit.set_size(1)
    return _ems(text, unit, math) * (font.get_size_in_points() + 0.4) / 72


@lru_cache(20_000)  # a layout asks for the same lines again and again, in other sizes
def _ems(text: str, font: FontProperties, math: bool) -> float:
    return float(text_to_path.get_text_width_height_descent(text, font, math)[0])


class Spaced(Locator):
    """Those of some ticks whose numbers do not meet: the first and the last, then the roundest.

    Parameters
    ----------
    found : Locator
        Where numbers may stand.
    written : callable
        How a value is written.
    """

    def __init__(self, found: Locator, written: Callable[[float], str]):
        self._found, self._written = found, written

    axis: Any  # Matplotlib's `Axis` once it is set

    def set_axis(self, axis: Any) -> None:
        """Stand along an axis."""
        super().set_axis(axis)
        self._found.set_axis(axis)

    def __call__(self) -> list[float]:
        """Return the ticks that have room now."""
        axis = self.axis
        low, high = sorted(axis.get_view_interval())
        slack = 1e-9 * (high - low)
        inside = sorted({float(v) for v in self._found() if low - slack <= v <= high + slack})
        if len(inside) < 2:
            return inside
        box = axis.axes.get_window_extent()
        flat = axis.axis_name == "x"
        long = (box.width if flat else box.height) / axis.axes.get_figure(root=True).dpi
        start, end, *at = axis.get_transform().transform(np.array([low, high, *inside]))
        places = dict(zip(inside, (np.array(at) - start) / (end - start) * long, strict=True))
        font = axis.get_major_ticks(1)[0].label1.get_fontproperties()
        em = font.get_size_in_points() / 72
        half = {v: (width(self._written(v), font) + 0.7 * em if flat else 1.3 * em) / 2 for v in inside}
        kept: list[float] = []
        for value in sorted(inside, key=lambda v: (v not in (inside[0], inside[-1]), not _round(v), v)):
            if all(abs(places[value] - places[k]) >= half[value] + half[k] for k in kept):
                kept.append(value)
        return sorted(kept)


def _round(value: float) -> bool:
    """Whether it is a power of ten."""
    return value > 0 and math.isclose(math.log10(value) % 1, 0, abs_tol=1e-9)


def plain(value: float, _: float | None = None) -> str:
    """Write a number along an axis.

    Examples
    --------
    >>> plain(0), plain(2500), plain(25_000), plain(3e6)
    ('0', '2500', '25k', '3M')
    """
    if value == 0:
        return "0"
    for unit, suffix in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if abs(value) >= 10 * unit or (abs(value) >= unit and suffix != "k"):
            return f"{value / unit:g}{suffix}"
    return f"{value:g}"
