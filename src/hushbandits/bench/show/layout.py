"""The layout of a picture, made when it is drawn: at any size, nothing overlaps and nothing leaves the page."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Canvas
from matplotlib.layout_engine import ConstrainedLayoutEngine
from matplotlib.lines import Line2D
from matplotlib.text import Text

from hushbandits.bench.show.ticks import width

__all__ = ["Placed", "Sheet", "Words"]

#: All letters shrink together until everything has its place; the last is taken as it comes.
_SCALES = (1.0, 0.9, 0.8, 0.7, 0.6, 0.5, 0.42, 0.35, 0.29, 0.24, 0.2)
#: Least width and height of axes in inches, while letters are so large; below that they shrink.
_LEAST = (0.9, 0.75)
_EDGE = 0.08  # inches around everything
_LEADING = 1.25  # lines, in heights of the letters
_HANDLE, _BESIDE, _APART = 2.6, 0.7, 1.6  # of a legend, in heights of its letters


class Words:
    """A text that is broken anew into lines wherever it stands; what its owner has written or set since counts."""

    def __init__(self, artist: Text):
        self.artist = artist
        self._whole = self._shown = artist.get_text()
        self._size = self._set = float(artist.get_fontsize())

    def fit(self, room: float, scale: float) -> bool:
        """Break it into lines of at most `room` inches, its letters scaled; whether no word had to be cut."""
        artist = self.artist
        if artist.get_text() != self._shown:
            self._whole = artist.get_text()
        if artist.get_fontsize() != self._set:
            self._size = float(artist.get_fontsize())
        artist.set_fontsize(self._size * scale)
        self._set = float(artist.get_fontsize())
        lines, whole = broken(self._whole, room, artist)
        self._shown = "\n".join(lines)
        artist.set_text(self._shown)
        return whole

    @property
    def size(self) -> tuple[float, float]:
        """Width and height in inches, as it is broken now."""
        font, lines = self.artist.get_fontproperties(), self.artist.get_text().split("\n")
        wide = max(width(line, font, _math(self.artist, line)) for line in lines)
        return wide, self.em * _LEADING * len(lines) if self.artist.get_text() else 0.0

    @property
    def em(self) -> float:
        """Height of its letters in inches, as they are now."""
        return self._set / 72

    @property
    def whole_em(self) -> float:
        """Height of its letters in inches before they are scaled."""
        return self._size / 72


def _math(artist: Text, line: str) -> bool:
    return bool(artist.get_parse_math()) and line.count("$") % 2 == 0 and "$" in line


def broken(text: str, room: float, artist: Text) -> tuple[list[str], bool]:
    """Return lines that are no wider than `room` inches in the artist's letters, and whether all words are whole."""
    font = artist.get_fontproperties()

    def fits(line: str) -> bool:
        return width(line, font, _math(artist, line)) <= room

    lines, whole = [], True
    for paragraph in text.split("\n"):
        line = ""
        # A formula is not broken, a word only behind its hyphens.
        pattern = r"(?:\$[^$]*\$|[^\s-])+-*|-+|\s+" if artist.get_parse_math() else r"[^\s-]+-*|-+|\s+"
        for word in re.findall(pattern, paragraph):
            if fits((line + word).rstrip()):
                line += word
                continue
            if line.strip():
                lines.append(line.rstrip())
            line = word.lstrip()
            while line and not fits(line):
                whole = False
                cut = next((n for n in range(len(line) - 1, 1, -1) if fits(line[:n])), 1)
                if len(line) == cut or _math(artist, line):
                    break
                lines.append(line[:cut])
                line = line[cut:]
        lines.append(line.rstrip())
    return lines, whole


@dataclass(frozen=True)
class Placed:
    """A panel on its page: axes, the title above them, and the words along x, if these are no numbers."""

    axes: Axes
    title: Text
    words: Sequence[str] = ()

    def write(self, high: float, letters: float) -> None:
        """Write the words, on a page so high: side by side in lines of their own, in smaller letters, or upright."""
        if not self.words:
            return
        upright, sample = 90, self.axes.xaxis.get_major_ticks(1)[0].label1
        low, up = self.axes.get_xlim()
        slot = _size(self.axes)[0] / (up - low) * 0.92
        for size in (letters, 0.85 * letters, 0.7 * letters):
            self.axes.tick_params(axis="x", labelsize=size)  # and so the sample's
            found = [broken(word, slot, sample) for word in self.words]
            if all(whole and len(lines) <= 3 for lines, whole in found):
                texts, upright = ["\n".join(lines) for lines, _ in found], 0
                break
        else:
            texts = [_cut(word, 0.45 * high, sample) for word in self.words]
        self.axes.set_xticks(range(len(texts)), texts)
        self.axes.tick_params(axis="x", labelrotation=upright)


def _cut(word: str, room: float, artist: Text) -> str:
    n = len(word)
    while n > 1 and width(word[:n] + "…" * (n < len(word)), artist.get_fontproperties()) > room:
        n -= 1
    return word[:n] + "…" * (n < len(word))


def _size(axes: Axes) -> tuple[float, float]:
    """Width and height of the axes in inches."""
    canvas = axes.get_figure(root=True)
    assert canvas is not None
    wide, high = map(float, canvas.get_size_inches())
    box = axes.get_position()
    return wide * box.width, high * box.height


def _thin(line: Line2D, factor: float) -> None:
    line.set_linewidth(line.get_linewidth() * factor)
    line.set_markersize(line.get_markersize() * factor)
    line.set_markeredgewidth(line.get_markeredgewidth() * factor)


def _shrink(axes: Axes, factor: float) -> None:
    """Scale what is measured in points: lines, marks, ticks and the space around them."""
    for line in axes.get_lines():
        _thin(line, factor)
    parts: list[Any] = [*axes.collections, *axes.spines.values()]
    for part in parts:
        part.set_linewidth(np.asarray(part.get_linewidth()) * factor)
    for axis in (axes.xaxis, axes.yaxis):
        axis.labelpad *= factor
        for which in ("major", "minor"):
            tick: Any = (axis.get_major_ticks if which == "major" else axis.get_minor_ticks)(1)[0]
            axis.set_tick_params(
                which=which, length=tick.tick1line.get_markersize() * factor, pad=tick.get_pad() * factor,
                width=tick.tick1line.get_markeredgewidth() * factor,
                grid_linewidth=tick.gridline.get_linewidth() * factor,
            )  # fmt: skip


def _small(size: tuple[float, float], scale: float) -> bool:
    return any(s < scale * least for s, least in zip(size, _LEAST, strict=True))


class Sheet(ConstrainedLayoutEngine):
    """Heading above, legend below, panels between them; where that is too much for the page, in smaller letters.

    Parameters
    ----------
    panels : sequence of Placed
        Those that are in the layout are of one grid.
    heading : sequence of Text
        One below the other.
    keys : sequence of (Line2D, Text)
        The legend's entries; they stand in columns.
    """

    def __init__(
        self,
        panels: Sequence[Placed],
        heading: Sequence[Text] = (),
        keys: Sequence[tuple[Line2D, Text]] = (),
    ):
        super().__init__()
        self._panels = list(panels)
        self._heading = [Words(text) for text in heading]
        self._keys = [(line, Words(text)) for line, text in keys]
        self._texts = [(Words(p.title), Words(p.axes.xaxis.label), Words(p.axes.yaxis.label)) for p in panels]
        self._letters = [float(p.axes.xaxis.get_major_ticks(1)[0].label1.get_fontsize()) for p in panels]
        self._scale = 1.0

    def execute(self, fig: Canvas) -> None:
        """Lay the figure out in the size that it has."""
        if not any(self._lay(fig, scale) for scale in _SCALES[:-1]):
            self._lay(fig, _SCALES[-1])

    def height(self, wide: float) -> float:
        """How high heading and legend are, in inches, on a page that is so wide."""
        return self._above(wide, 1.0) + self._below(wide, 1.0)[0]

    def _lay(self, fig: Canvas, scale: float) -> bool:
        """Whether all have their places in letters of that scale."""
        wide, high = map(float, fig.get_size_inches())
        top, (bottom, whole) = self._above(wide, scale, high), self._below(wide, scale, high)
        here = [i for i, p in enumerate(self._panels) if p.axes.get_subplotspec() and p.axes.get_in_layout()]
        panels = [self._panels[i].axes for i in here]
        cells: list[Any] = [axes.get_subplotspec() for axes in panels]
        if not panels:
            return True
        rows, columns = cells[0].get_gridspec().get_geometry()
        room = (wide / columns, (high - top - bottom) / rows)
        last = scale == _SCALES[-1]
        if not last and (not whole or _small(room, scale)):
            return False
        self._write(scale)
        for axes, cell in zip(panels, cells, strict=True):
            axes.set_subplotspec(cell)  # from its first place on, so that the same page comes out
        self.set(rect=(0, bottom / high, 1, max(0.05, 1 - (top + bottom) / high)))
        before: list[list[str]] = []
        for _ in range(5):
            whole = all([self._fit(i, scale, high) for i in here])
            now = [[w.artist.get_text() for w in self._texts[i]] for i in here]
            if now == before:
                break
            before = now
            if not _constrained(super().execute, fig):
                return False
            if not last and any(_small(_size(axes), scale) for axes in panels):
                return False
        else:
            whole = False  # texts and axes go on giving way to each other
        return last or whole

    def _write(self, scale: float) -> None:
        """Draw lines and marks, and write numbers along axes, in that scale."""
        if scale != self._scale:
            for panel, size in zip(self._panels, self._letters, strict=True):
                panel.axes.tick_params(labelsize=size * scale)
                _shrink(panel.axes, scale / self._scale)
            for line, _ in self._keys:
                _thin(line, scale / self._scale)
            self._scale = scale

    def _fit(self, i: int, scale: float, high: float) -> bool:
        """Break a panel's texts where its axes end; whether no word is cut."""
        self._panels[i].write(high, self._letters[i] * scale)
        wide, up = _size(self._panels[i].axes)
        return all([words.fit(room, scale) for words, room in zip(self._texts[i], (wide, wide, up), strict=True)])

    def _above(self, wide: float, scale: float, high: float | None = None) -> float:
        """Height of the heading; with the page's height given, it is put into its place."""
        y = _EDGE
        for words in self._heading:
            words.fit(wide - 2 * _EDGE, scale)
            if high is not None:
                words.artist.set_position((_EDGE / wide, 1 - y / high))
            y += words.size[1] + 0.02
        return y if y > _EDGE else 0.0

    def _below(self, wide: float, scale: float, high: float | None = None) -> tuple[float, bool]:
        """Height of the legend, and whether no word is cut; with the page's height given, it is put into its place."""
        if not self._keys:
            return 0.0, True
        em = scale * self._keys[0][1].whole_em
        aside = (_HANDLE + _BESIDE) * em
        whole = all([words.fit(wide - 2 * _EDGE - aside, scale) for _, words in self._keys])
        sizes = [words.size for _, words in self._keys]
        columns = _columns([aside + w for w, _ in sizes], wide - 2 * _EDGE, _APART * em)
        deep = max(b - a for a, b in columns)
        rows = [max(sizes[a + r][1] for a, b in columns if a + r < b) + 0.02 for r in range(deep)]
        total = sum(rows) + _EDGE
        if high is not None:
            across = [max(aside + sizes[i][0] for i in range(a, b)) for a, b in columns]
            left = (wide - sum(across) - _APART * em * (len(columns) - 1)) / 2
            for (a, b), column in zip(columns, across, strict=True):
                y = total - 0.02
                for i, row in zip(range(a, b), rows, strict=False):
                    (line, words), middle = self._keys[i], (y - 0.55 * em) / high
                    line.set_data([(left + f * _HANDLE * em) / wide for f in (0, 0.5, 1)], [middle] * 3)
                    rest = words.artist.get_text().count("\n")
                    words.artist.set_position(((left + aside) / wide, (y - (0.85 + 1.15 * rest) * em) / high))
                    y -= row
                left += column + _APART * em
        return total, whole


def _columns(widths: Sequence[float], room: float, apart: float) -> list[tuple[int, int]]:
    """Which entries stand in which column: as many columns as have room, four at most, filled one after the other.

    Examples
    --------
    >>> _columns([1, 1, 6, 1], 9, 1), _columns([1, 1], 9, 1), _columns([20], 9, 1)
    ([(0, 2), (2, 4)], [(0, 1), (1, 2)], [(0, 1)])
    """
    for n in range(min(4, len(widths)), 0, -1):
        ends = [0, *(len(widths) // n * (c + 1) + min(c + 1, len(widths) % n) for c in range(n))]
        columns = list(pairwise(ends))
        if n == 1 or sum(max(widths[a:b]) for a, b in columns) + apart * (n - 1) <= room:
            return columns
    raise AssertionError("one column is always left")


def _constrained(execute: Callable[[Canvas], object], fig: Canvas) -> bool:
    """Whether Matplotlib's own layout leaves the axes any room."""
    with warnings.catch_warnings():
        warnings.filterwarnings("error", "constrained_layout not applied", UserWarning)
        try:
            execute(fig)
        except UserWarning:
            return False
    return True
