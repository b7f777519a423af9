"""One panel of a figure: what is drawn in its axes, and along them."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from textwrap import fill
from typing import TYPE_CHECKING, Any

import numpy as np

from hushbandits.bench.declare.catalog import bounds
from hushbandits.bench.declare.spec import Experiment, Figure
from hushbandits.bench.declare.vocabulary import symbol, words
from hushbandits.bench.report.series import Series, figures, panelled, series
from hushbandits.bench.report.theme import PAPER, Style, style
from hushbandits.bench.runner.configuration import Configuration
from hushbandits.core.ground.extras import extra
from hushbandits.core.ground.types import Array, Params
from hushbandits.core.measure import Measure
from hushbandits.registry import clock, list_envs

with extra("bench"):
    from matplotlib import ticker

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis

__all__ = ["Panel", "draw", "finish", "numbers", "panels", "plain", "short", "wrapped"]

_MOST = 12  # lines per panel


@dataclass(frozen=True)
class Panel:
    """What stands in one panel.

    Parameters
    ----------
    figure : Figure
        As declared, for one value of its `by`.
    lines : sequence of Series
        At most 12.
    left : int
        How many more there would be.
    runs : int
        Runs per cell.
    time : str
        What the env's clock counts.
    """

    figure: Figure
    lines: Sequence[Series]
    left: int
    runs: int
    time: str

    @property
    def joined(self) -> bool:
        """Whether points are joined to lines: what has no order is not."""
        return self.figure.x in ("time", "runs") or not any(isinstance(line.x, list) for line in self.lines)

    @property
    def caption(self) -> str:
        """What line, band and marks are, in words."""
        figure, rate = self.figure, self.measure.rate
        if figure.x == "runs":
            return f"share of {self.runs} runs up to x; mark: median"
        center = "share of runs" if rate else figure.center
        exact = "Clopper–Pearson" if rate else {"mean": "Student", "median": "order statistics"}[figure.center]
        quantiles = figure.band == "quantiles" and not rate
        band = "2.5 % to 97.5 % of the runs" if quantiles else f"95 % interval ({exact})"
        if self.over is not None:
            said = f"points: {center} of both axes along the sweep; bars: {band}"
        else:
            said = f"line: {center}; band: {band}" if self.joined else f"mark: {center}; bar: {band}"
            if figure.x != "time" and not rate:
                said += f"; ○ {'median' if figure.center == 'mean' else 'mean'}; dots: runs"
        return f"{said}; {self.runs} runs" + "; dashed: theory" * bool(self.bounds)

    @property
    def measure(self) -> Measure:
        """What is shown."""
        return self.lines[0].lines[0].measures[self.figure.y]

    @property
    def title(self) -> str:
        """What tells this panel from the others."""
        more = f"{self.left} more lines not drawn" if self.left else ""
        by = self.figure.by
        place = f"{symbol(by)} = {self.figure.at[by]}" if by else ""
        return ": ".join(filter(None, (short(", ".join(filter(None, (self.figure.title, place)))), more)))

    @property
    def bounds(self) -> tuple[str, ...]:
        """Labels of the lines of theory."""
        return tuple(dict.fromkeys(name for line in self.lines for name in line.bounds))

    @property
    def over(self) -> Measure | None:
        """What x is, where that is a metric."""
        line = self.lines[0].lines[0]
        return None if self.figure.x in ("time", "runs", *line.cell.point) else line.measures[self.figure.x]

    @property
    def words(self) -> tuple[str, ...]:
        """What stands along x where that has no order: the words of all lines."""
        return () if self.joined else tuple(dict.fromkeys(word for line in self.lines for word in line.x))

    @property
    def values(self) -> list[float]:
        """What stands along x of a sweep of few numbers."""
        swept = self.joined and self.over is None and self.figure.x not in ("time", "runs")
        found = sorted({float(v) for line in self.lines for v in line.x}) if swept else []
        return found if len(found) <= 10 else []

    @property
    def xlabel(self) -> str:
        """What stands below x."""
        along = self.over.label if self.over is not None else words(self.figure.x)
        return self.figure.xlabel or {"time": self.time, "runs": self._what}.get(self.figure.x, along)

    @property
    def ylabel(self) -> str:
        """What stands beside y."""
        return self.figure.ylabel or ("share of runs" if self.figure.x == "runs" else self._what)

    @property
    def _what(self) -> str:
        return f"time-averaged {self.measure.label}" if self.figure.per_time else self.measure.label

    @property
    def axes(self) -> tuple[tuple[object, ...], tuple[object, ...]]:
        """Two panels share an axis, x or y, where these are equal: the same quantity on the same scale."""
        f = self.figure
        quantity = (f.y, f.per_time and f.x == "time", self.measure.rate)
        law = f.x == "runs"
        along = (f.x, *quantity) if law else (f.x, *self.words)
        return (*along, "x" in f.log), ("share", "y" in f.log) if law else (*quantity, "y" in f.log)


def panels(
    lines: Sequence[Configuration],
    experiment: Experiment,
    trusted: Collection[str] | None = None,
    wanted: Figure | None = None,
) -> list[Panel]:
    """Return the panels of an experiment's lines that have something to show.

    `trusted`: bounds that may be called; default: those of the experiments that hushbandits ships.  `wanted`: what
    stands in them; default: the experiment's own figures.
    """
    trusted = bounds() if trusted is None else trusted
    time = clock(experiment.env.name) if experiment.env.name in list_envs() else "time"
    asked = panelled(experiment, wanted) if wanted else figures(lines, experiment)
    found = ((f, series(lines, f, trusted)) for f in asked)
    return [Panel(f, all[:_MOST], max(0, len(all) - _MOST), experiment.runs, time) for f, all in found if all]


def draw(axes: Axes, panel: Panel, places: dict[str, int]) -> None:
    """Draw a panel; `places` says which style each label has."""
    figure, lines = panel.figure, panel.lines
    for i, line in enumerate(lines):
        how = style(places[line.label])
        if figure.x == "runs":
            axes.step(np.r_[line.x[:1], line.x], np.r_[0, line.center], where="post", color=how.hue, linestyle=how.line)
            axes.plot([np.median(line.x)], [0.5], **{**how.drawn, "linestyle": "none"}, zorder=4)
        elif panel.over is not None:
            _barred(axes, line.x, line, how, xerr=_lengths(line.x, line.left, line.right))
        elif panel.joined:
            _joined(axes, line, i, how)
        else:
            aside = (i - (len(lines) - 1) / 2) * min(0.14, 0.8 / len(lines))
            at = np.array([panel.words.index(word) for word in line.x]) + aside
            _behind(axes, at, line, how)
            _barred(axes, at, line, how, linestyle="none")
        for y in line.bounds.values():
            axes.plot(line.x, y, "--", color=how.hue, linewidth=1.1)
    axes.set_xlabel(wrapped(panel.xlabel, 48))
    axes.set_ylabel(wrapped(panel.ylabel, 28))
    for name in figure.log if panel.joined else figure.log.replace("x", ""):
        axes.set(**{f"{name}scale": "log"})


def finish(axes: Axes, panel: Panel) -> None:
    """Say what an axis reaches and write numbers along it, once all panels that share it are drawn."""
    log = panel.figure.log
    if panel.joined:
        numbers(axes.xaxis, "x" in log, panel.values)
    else:
        labels = [wrapped(short(word), 18) for word in panel.words]
        slanted = max(map(len, labels)) * len(labels) > 36
        slant: Params = {"rotation": 35, "ha": "right", "rotation_mode": "anchor"} if slanted else {}
        axes.set_xticks(range(len(labels)), labels, **slant)
        axes.set_xlim(-0.5, len(labels) - 0.5)
    if "y" not in log:
        if panel.figure.x == "runs" or panel.measure.rate:
            axes.set_ylim(-0.03, 1.03)
        elif min(other.dataLim.y0 for other in axes.get_shared_y_axes().get_siblings(axes)) >= 0:
            axes.set_ylim(bottom=0)
    numbers(axes.yaxis, "y" in log)


def numbers(axis: Axis, log: bool, values: Sequence[float] = ()) -> None:
    """Write numbers along an axis: these values, less those that would meet, or round ones."""
    low, high = axis.get_view_interval()
    # A narrow axis would show one power of ten, or none.
    steps = (1.0, 2.0, 3.0, 5.0) if low > 0 and high / low < 50 else (1.0,)
    if values:
        axis.set_major_locator(ticker.FixedLocator(_spread(values, log)))
        axis.set_minor_locator(ticker.NullLocator())
    else:
        axis.set_major_locator(ticker.LogLocator(subs=steps, numticks=7) if log else ticker.MaxNLocator(5))
    axis.set_major_formatter(ticker.FuncFormatter(plain))
    axis.set_minor_formatter(ticker.NullFormatter())


def _spread(values: Sequence[float], log: bool) -> list[float]:
    """Return the first and the last value, and those between that stand an eighth of the axis apart."""
    at = np.log(values) if log else np.asarray(values, float)
    least = (at[-1] - at[0]) / 8
    kept = [0]
    for i in range(1, len(values) - 1):
        if min(at[i] - at[kept[-1]], at[-1] - at[i]) >= least:
            kept.append(i)
    return [values[i] for i in dict.fromkeys([*kept, len(values) - 1])]


def plain(value: float, _: float | None = None) -> str:
    """Write a number along an axis.

    Examples
    --------
    >>> plain(0), plain(2500), plain(25_000), plain(3e6)
    ('0', '2500', '25k', '3M')
    """
    for least, unit, suffix in ((1e9, 1e9, "G"), (1e6, 1e6, "M"), (1e4, 1e3, "k")):
        if abs(value) >= least:
            return f"{value / unit:g}{suffix}"
    return f"{value:g}"


def short(text: str, most: int = 80) -> str:
    """Return the text in one line of at most `most` letters.

    Examples
    --------
    >>> short("far too long", 6)
    'far t…'
    """
    text = " ".join(text.split())
    return text if len(text) <= most else text[: most - 1] + "…"


def wrapped(text: str, letters: int) -> str:
    """Return the text in lines of at most so many letters; no equation is torn."""
    return fill(text.replace(" = ", "\u00a0=\u00a0"), letters)


def _joined(axes: Axes, line: Series, i: int, how: Style) -> None:
    """Draw a line through its points and a band around it; of a sweep every point is marked, of a curve some."""
    swept = line.other is not None or line.runs
    here = np.isfinite(line.center).any()  # what lies at ∞ has no place on the axes
    some = (0.04 + 0.05 * (i % 4), 0.2) if here and len(line.x) >= 5 and not swept else None  # of the panel's diagonal
    axes.fill_between(line.x, line.low, line.high, color=how.hue, alpha=0.18, linewidth=0)
    _behind(axes, line.x, line, how)
    axes.plot(line.x, line.center, **how.drawn, markevery=some, zorder=4)


def _behind(axes: Axes, at: Array, line: Series, how: Style) -> None:
    """Draw all runs of a sweep, and the other statistic: below the line's own mark, seen where the two differ."""
    for x, values in zip(at, line.runs, strict=False):
        axes.plot(np.full(len(values), x), values, ".", color=how.hue, alpha=0.35, markersize=5, markeredgewidth=0)
    if line.other is not None:
        axes.plot(at, line.other, "o", color=how.hue, markerfacecolor=PAPER, zorder=3)


def _barred(axes: Axes, at: Array, line: Series, how: Style, **more: Any) -> None:
    bars = _lengths(line.center, line.low, line.high)
    axes.errorbar(at, line.center, bars, **{**how.drawn, **more}, elinewidth=1.3, zorder=4)


def _lengths(at: Array, low: Any, high: Any) -> Array:
    """Return the lengths of bars below and above; one without end is not drawn."""
    return np.nan_to_num(np.abs(np.stack([at - low, high - at])), posinf=0)
