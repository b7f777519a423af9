"""One panel of a figure: its content and its axes."""

from collections.abc import Collection, Sequence
from dataclasses import replace
from textwrap import fill
from typing import NamedTuple

import numpy as np
from matplotlib import ticker
from matplotlib.axes import Axes
from matplotlib.axis import Axis

from hushbandits.bench.report.series import Series, figures, panelled, series
from hushbandits.bench.runner.configuration import Configuration
from hushbandits.bench.spec.catalog import bounds
from hushbandits.bench.spec.experiment import Experiment, Figure
from hushbandits.bench.spec.vocabulary import symbol, words
from hushbandits.bench.stats import INTERVALS, statistic_of
from hushbandits.core import Array, Metric, Params
from hushbandits.registry import ENVS

_MOST = 12  # lines per panel
#: Distinguishable to colour-blind readers (after Okabe & Ito 2008).
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#b5508f", "#b07d00", "#3d9bd1", "#6b5fb5", "#7a7a7a")
MUTED, PAPER = "#5c5c5c", "#ffffff"
_MARKS = ("o", "s", "^", "D", "v", "<", ">", "p")
#: Once all colours are used, lines differ by their dashes: lengths on and off, in line widths.
_DASHES = ("-", (0.0, (5.0, 1.2, 1.0, 1.2)), (0.0, (2.5, 1.2)))


class Panel(NamedTuple):
    """Content of one panel of a figure.

    Parameters
    ----------
    figure : Figure
        The figure declared, for one value of its `by`.
    lines : sequence of Series
        At most 12 series.
    left : int
        Number of series that are not drawn.
    runs : int
        Runs per cell.
    time : str
        The env's time unit.
    """

    figure: Figure
    lines: Sequence[Series]
    left: int
    runs: int
    time: str

    @property
    def measure(self) -> Metric:
        """Return the metric on the y-axis."""
        return self.lines[0].lines[0].metrics_spec[self.figure.y]

    @property
    def over(self) -> Metric | None:
        """Return the metric on the x-axis, or ``None`` if x is not a metric."""
        line = self.lines[0].lines[0]
        return None if self.figure.x in ("time", "runs", *line.cell.point) else line.metrics_spec[self.figure.x]

    @property
    def words(self) -> tuple[str, ...]:
        """Return the category labels of the x-axis; empty if the axis is numeric."""
        return tuple(dict.fromkeys(x for line in self.lines for x in line.x if isinstance(x, str)))

    @property
    def caption(self) -> str:
        """Return the caption that explains the line, the band and the markers."""
        figure, rate = self.figure, self.measure.rate
        if figure.x == "runs":
            return f"share of {self.runs} runs up to x; mark: median"
        how, _ = INTERVALS[statistic_of(self.measure, figure.center)]
        band = "middle 95 %" if figure.band == "quantiles" and not rate else f"95 % interval ({how})"
        said = f"{'share of runs' if rate else figure.center} and {band} of {self.runs} runs"
        dashed = any(line.bounds for line in self.lines)
        return said + "; dots: runs" * bool(self.lines[0].runs) + "; dashed: theory" * dashed

    @property
    def title(self) -> str:
        """Return the panel's title: the figure's title, the value of `by`, and the number of lines not drawn.

        The title is empty if there is none of these.
        """
        by = self.figure.by
        place = ", ".join(filter(None, (self.figure.title, by and f"{symbol(by)} = {self.figure.at[by]}")))
        return ": ".join(filter(None, (short(place), f"{self.left} more lines not drawn" if self.left else "")))

    @property
    def xlabel(self) -> str:
        """Return the label of the x-axis."""
        along = self.over.label if self.over is not None else words(self.figure.x)
        return wrapped(self.figure.xlabel or {"time": self.time, "runs": self._what}.get(self.figure.x, along), 36)

    @property
    def ylabel(self) -> str:
        """Return the label of the y-axis."""
        return self.figure.ylabel or ("share of runs" if self.figure.x == "runs" else self._what)

    @property
    def _what(self) -> str:
        return f"time-averaged {self.measure.label}" if self.figure.per_time else self.measure.label

    @property
    def axes(self) -> tuple[object, ...]:
        """Return a key that is equal for panels with the same quantities on the same scales."""
        return self.figure.x, self.figure.y, self.figure.per_time, self.figure.log, self.words


def panels(
    lines: Sequence[Configuration], experiment: Experiment, trusted: Collection[str] | None = None,
    wanted: Figure | None = None,
) -> list[Panel]:  # fmt: skip
    """Return the non-empty panels of an experiment's figures.

    `trusted`: theory functions that may be called; default: those of the built-in experiments.  `wanted`: the figures
    to draw; default: those of the experiment.
    """
    trusted = bounds() if trusted is None else trusted
    id = experiment.env.name
    time = str(getattr(ENVS[id].load(), "time_unit", "time")) if id in ENVS else "time"
    asked = panelled(experiment, wanted) if wanted else figures(lines, experiment)
    known = [replace(f, bounds={name: path for name, path in f.bounds.items() if path in trusted}) for f in asked]
    found = ((f, series(lines, f)) for f in known)
    return [Panel(f, all[:_MOST], max(0, len(all) - _MOST), experiment.runs, time) for f, all in found if all]


def style(i: int) -> Params:
    """Return colour, dashes and mark of the i-th line for Matplotlib; the first 24 styles differ.

    Examples
    --------
    >>> style(8)["color"] == style(0)["color"], style(0)["marker"], style(8)["marker"]
    (True, 'o', 's')
    """
    turn = i // len(COLOURS)
    mark = {"marker": _MARKS[(i + turn) % len(_MARKS)], "markeredgecolor": PAPER, "markeredgewidth": 0.6}
    return {"color": COLOURS[i % len(COLOURS)], "linestyle": _DASHES[turn % len(_DASHES)], **mark}


def draw(axes: Axes, panel: Panel, places: dict[str, int]) -> None:
    """Draw a panel; `places` maps each label to its style index."""
    figure, lines, words = panel.figure, panel.lines, panel.words
    for i, line in enumerate(lines):
        how = style(places[line.label])
        hue = how["color"]
        if figure.x == "runs":
            axes.ecdf(line.x, color=hue, linestyle=how["linestyle"])
            axes.plot([np.median(line.x)], [0.5], **{**how, "linestyle": "none"}, zorder=4)
            continue
        aside = (i - (len(lines) - 1) / 2) * min(0.14, 0.8 / len(lines))
        at = np.array([words.index(word) for word in line.x]) + aside if words else line.x
        for x, values in zip(at, line.runs, strict=False):
            axes.plot(np.full(len(values), x), values, ".", color=hue, alpha=0.35, markersize=5, markeredgewidth=0)
        if words or panel.over is not None:
            ends = None if line.left is None or line.right is None else _lengths(at, line.left, line.right)
            how = {**how, "linestyle": "none"} if words else how
            bars = _lengths(line.center, line.low, line.high)
            axes.errorbar(at, line.center, bars, ends, **how, elinewidth=1.3, zorder=4)
        else:
            axes.fill_between(at, line.low, line.high, color=hue, alpha=0.18, linewidth=0)
            # Mark every point of a sweep, and some of a curve, a fifth of the panel's diagonal apart.
            some = figure.x == "time" and len(at) >= 5 and np.isfinite(line.center).any()
            axes.plot(at, line.center, **how, markevery=(0.04 + 0.05 * (i % 4), 0.2) if some else None, zorder=4)
        for y in line.bounds.values():
            axes.plot(at, y, "--", color=hue, linewidth=1.1)
    # The figure's own labels may contain formulas; a dollar sign in any other text is literal.
    axes.set_xlabel(panel.xlabel, parse_math=bool(figure.xlabel))
    axes.set_ylabel(wrapped(panel.ylabel, 28), parse_math=bool(figure.ylabel))
    for name in figure.log.replace("x", "") if words else figure.log:
        axes.set(**{f"{name}scale": "log"})


def _lengths(at: Array, low: Array, high: Array) -> Array:
    """Return the lengths of error bars below and above the points `at`; unbounded bars get length 0."""
    return np.nan_to_num(np.abs(np.stack([at - low, high - at])), posinf=0)


def finish(axes: Axes, panel: Panel) -> None:
    """Set the limits and ticks of a panel's axes, after all panels that share them are drawn."""
    figure, labels = panel.figure, [wrapped(short(word), 18) for word in panel.words]
    if labels:
        slant: Params = {"rotation": 25, "ha": "right", "rotation_mode": "anchor"} if sum(map(len, labels)) > 24 else {}
        axes.set_xticks(range(len(labels)), labels, **slant)
        axes.set_xlim(-0.5, len(labels) - 0.5)
    else:
        swept = figure.x not in ("time", "runs") and panel.over is None
        _number(axes.xaxis, "x" in figure.log, {float(x) for line in panel.lines for x in line.x} if swept else ())
    if "y" not in figure.log:
        if figure.x == "runs" or panel.measure.rate:
            axes.set_ylim(-0.03, 1.03)
        elif min(other.dataLim.y0 for other in axes.get_shared_y_axes().get_siblings(axes)) >= 0:
            axes.set_ylim(bottom=0)
    _number(axes.yaxis, "y" in figure.log)


def _number(axis: Axis, log: bool, swept: Collection[float] = ()) -> None:
    """Set the ticks of an axis: the swept values on a logarithmic axis, else round numbers."""
    low, high = axis.get_view_interval()
    if log and len(swept) in range(1, 11):
        axis.set_major_locator(ticker.FixedLocator(sorted(swept)))
        axis.set_minor_locator(ticker.NullLocator())
    elif log and high >= 3 * low:
        # A narrow axis would show few powers of ten.
        reach = high / low if low > 0 else np.inf
        few: tuple[float, ...] = (1, 3) if reach < 1000 else (1,)
        steps = (1, 1.5, 2, 3, 4, 5, 7) if reach < 5 else (1, 2, 3, 5) if reach < 50 else few
        axis.set_major_locator(ticker.LogLocator(subs=steps, numticks=7))
    else:
        whole = all(value == int(value) for value in swept or [0.5])
        axis.set_major_locator(ticker.MaxNLocator(5, steps=[1, 2, 2.5, 5, 10], integer=whole))
    axis.set_major_formatter(ticker.FuncFormatter(plain))
    axis.set_minor_formatter(ticker.NullFormatter())


def plain(value: float, _: float | None = None) -> str:
    """Return `value` as a tick label.

    From 10,000 on the label has at most four significant digits and a suffix, such as ``k``.

    Examples
    --------
    >>> plain(0), plain(2500), plain(25_000), plain(1_310_720)
    ('0', '2500', '25k', '1.311M')
    """
    for least, unit, suffix in ((1e9, 1e9, "G"), (1e6, 1e6, "M"), (1e4, 1e3, "k")):
        if abs(value) >= least:
            return f"{value / unit:.4g}{suffix}"
    return f"{value:g}"


def short(text: str, most: int = 80) -> str:
    """Return the text on one line, shortened to at most `most` characters.

    Examples
    --------
    >>> short("far too long", 6)
    'far t…'
    """
    text = " ".join(text.split())
    return text if len(text) <= most else text[: most - 1] + "…"


def wrapped(text: str, letters: int) -> str:
    """Return the text in lines of at most `letters` characters, without breaks in equations or before ``%``."""
    return fill(text.replace(" = ", "\u00a0=\u00a0").replace(" %", "\u00a0%"), letters)
