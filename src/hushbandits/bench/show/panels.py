"""One panel of a picture: what is drawn in its axes, and along them."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from hushbandits.bench.declare.catalog import bounds
from hushbandits.bench.declare.spec import Experiment, Figure
from hushbandits.bench.declare.vocabulary import symbol, words
from hushbandits.bench.judge.line import Line
from hushbandits.bench.show.ink import PAPER, Style, style
from hushbandits.bench.show.series import Series, figures, panelled, series
from hushbandits.core.ground.types import Array
from hushbandits.core.measure import Measure
from hushbandits.registry import clock, list_envs

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis

__all__ = ["Panel", "draw", "numbers", "panels", "reach", "short"]

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
    def axes(self) -> tuple[tuple[object, ...], tuple[object, ...]]:
        """Two panels share an axis, x or y, where these are equal: the same quantity on the same scale."""
        f = self.figure
        quantity = (f.y, f.per_time and f.x == "time")
        law = f.x == "runs"
        along = (f.x, *quantity) if law else (f.x, *self.words)
        return (*along, "x" in f.log), ("share", "y" in f.log) if law else (*quantity, "y" in f.log)


def panels(
    lines: Sequence[Line],
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
    runs = max(len(line.runs()) for line in lines) if experiment.looks else experiment.runs  # that looks asked for
    asked = panelled(experiment, wanted) if wanted else figures(lines, experiment)
    found = ((f, series(lines, f, trusted)) for f in asked)
    return [Panel(f, all[:_MOST], max(0, len(all) - _MOST), runs, time) for f, all in found if all]


def draw(axes: Axes, panel: Panel, places: dict[str, int]) -> None:
    """Draw a panel; `places` says which style each label has.  What its axes reach is for `reach` to say."""
    figure, lines = panel.figure, panel.lines
    axes.grid(True)
    for i, line in enumerate(lines):
        how = style(places[line.label])
        if figure.x == "runs":
            _law(axes, line, how)
        elif not panel.joined:
            aside = (i - (len(lines) - 1) / 2) * min(0.14, 0.8 / len(lines))
            _apart(axes, line, panel.words, aside, how)
        elif panel.over is not None:
            _front(axes, line, how)
        else:
            _joined(axes, line, i, how)
        for y in line.bounds.values():
            axes.plot(line.x, y, "--", color=how.hue, linewidth=1.1)
    label = panel.measure.label
    if figure.per_time:
        label = f"time-averaged {label}"
    along = panel.over.label if panel.over is not None else words(figure.x)
    axes.set_xlabel(figure.xlabel or {"time": panel.time, "runs": label}.get(figure.x, along))
    axes.set_ylabel(figure.ylabel or ("share of runs" if figure.x == "runs" else label))


def reach(drawn: Sequence[tuple[Axes, Panel]]) -> None:
    """Say what axes reach once all panels are drawn: what is shared has room for the data of all who share it."""
    for k in (0, 1):
        groups: dict[object, list[tuple[Axes, Panel]]] = {}
        for axes, panel in drawn:
            groups.setdefault(panel.axes[k], []).append((axes, panel))
        for group in groups.values():
            (_across if k == 0 else _up)(group)


def _across(group: Sequence[tuple[Axes, Panel]]) -> None:
    """Scale and numbers along x."""
    panels = [panel for _, panel in group]
    first = panels[0]
    log = "x" in first.figure.log and first.joined
    swept = first.joined and first.over is None and first.figure.x not in ("time", "runs")
    values = {float(v) for p in panels for line in p.lines for v in line.x} if swept else ()
    for axes, _ in group:
        if log:
            axes.set_xscale("log")
        if first.joined:
            numbers(axes.xaxis, log, sorted(values) if len(values) <= 10 else ())
        else:
            axes.set_xlim(-0.5, len(first.words) - 0.5)


def _up(group: Sequence[tuple[Axes, Panel]]) -> None:
    """Scale, limits and numbers along y."""
    first = group[0][1]
    log = "y" in first.figure.log
    share = first.figure.x == "runs" or any(panel.measure.rate for _, panel in group)
    negative = any(np.nanmin(np.r_[line.low, line.center]) < 0 for _, panel in group for line in panel.lines)
    for axes, _ in group:
        if log:
            axes.set_yscale("log")
        numbers(axes.yaxis, log)
    if share and not log:
        group[0][0].set_ylim(-0.03, 1.03)
    elif not log and not negative:
        group[0][0].set_ylim(bottom=0)


def numbers(axis: Axis, log: bool, values: Sequence[float] = ()) -> None:
    """Write numbers along an axis: these, else round ones, as many as have room."""
    from matplotlib import ticker

    from hushbandits.bench.show.ticks import Spaced, plain

    low, high = axis.get_view_interval()
    # A narrow axis would show one power of ten, or none.
    steps = (1.0, 2.0, 3.0, 5.0) if low > 0 and high / low < 50 else (1.0,)
    found = ticker.LogLocator(subs=steps, numticks=12) if log else ticker.AutoLocator()
    written = (lambda v, _=None: f"{v:g}") if values else plain
    axis.set_major_locator(Spaced(ticker.FixedLocator(values) if values else found, written))
    axis.set_major_formatter(ticker.FuncFormatter(written))
    axis.set_minor_formatter(ticker.NullFormatter())
    if values:
        axis.set_minor_locator(ticker.NullLocator())


def short(text: str, most: int = 80) -> str:
    """Return the text in one line of at most `most` letters.

    Examples
    --------
    >>> short("far too long", 6)
    'far t…'
    """
    text = " ".join(text.split())
    return text if len(text) <= most else text[: most - 1] + "…"


def _law(axes: Axes, line: Series, how: Style) -> None:
    axes.step(np.r_[line.x[:1], line.x], np.r_[0, line.center], linestyle=how.line, where="post", color=how.hue)
    axes.plot([np.median(line.x)], [0.5], linestyle="none", color=how.hue, **how.marks(6.5, 1.0), zorder=4)


def _joined(axes: Axes, line: Series, i: int, how: Style) -> None:
    """A line through its points, a band around it; of a sweep every point is marked, of a curve some."""
    swept = line.other is not None or line.runs
    here = np.isfinite(line.center).any()  # what lies at ∞ has no place on the axes
    some = (0.04 + 0.05 * (i % 4), 0.2) if here and len(line.x) >= 5 and not swept else None  # of the panel's diagonal
    axes.fill_between(line.x, line.low, line.high, color=how.hue, alpha=0.18, linewidth=0)
    _behind(axes, line.x, line, how)
    axes.plot(line.x, line.center, linestyle=how.line, color=how.hue, **how.marks(5), markevery=some, zorder=4)


def _apart(axes: Axes, line: Series, words: Sequence[str], aside: float, how: Style) -> None:
    """Points of a sweep over what has no order: each with its bar at its word, a little beside the others'."""
    at = np.array([words.index(word) for word in line.x]) + aside
    _behind(axes, at, line, how)
    _barred(axes, at, line, how, linestyle="none")


def _front(axes: Axes, line: Series, how: Style) -> None:
    """Points over what was measured, each with its bars, joined in the order of the sweep."""
    assert line.left is not None
    assert line.right is not None
    _barred(axes, line.x, line, how, xerr=_lengths(line.x, line.left, line.right), linestyle=how.line)


def _behind(axes: Axes, at: Array, line: Series, how: Style) -> None:
    """All runs of a sweep, and the other statistic: below the line's own mark, seen where the two differ."""
    for x, values in zip(at, line.runs, strict=False):
        axes.plot(np.full(len(values), x), values, ".", color=how.hue, alpha=0.35, markersize=5, markeredgewidth=0)
    if line.other is not None:
        axes.plot(at, line.other, "o", color=how.hue, markerfacecolor=PAPER, markersize=5.5, zorder=3)


def _barred(axes: Axes, at: Array, line: Series, how: Style, **more: Any) -> None:
    bars = _lengths(line.center, line.low, line.high)
    axes.errorbar(at, line.center, bars, color=how.hue, **how.marks(), elinewidth=1.3, zorder=4, **more)


def _lengths(at: Array, low: Array, high: Array) -> Array:
    """Lengths of bars below and above; one without end is not drawn."""
    return np.nan_to_num(np.abs(np.stack([at - low, high - at])), posinf=0)
