"""Pictures: one panel per figure of an experiment, as PNG and as SVG that follows the page's colours."""

from __future__ import annotations

import io
import math
import re
import textwrap
import warnings
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from hushbandits.bench.declare.spec import Experiment, Figure
from hushbandits.bench.declare.vocabulary import metric, words
from hushbandits.bench.play.store import Store
from hushbandits.bench.show.files import replacing
from hushbandits.bench.show.series import Series, caption, figures, series
from hushbandits.experiments import bounds
from hushbandits.registry import clock, list_envs

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Canvas

__all__ = ["CSS", "png", "svg"]

#: Line colours on white and on black; told apart by colour-blind eyes (after Okabe & Ito 2008).
_LIGHT = ("#0072b2", "#d55e00", "#009e73", "#b5508f", "#b07d00", "#3d9bd1", "#6b5fb5", "#7a7a7a")
_DARK = ("#56b4e9", "#ff8c42", "#2fc59b", "#e59ac5", "#f0c040", "#8fd0f5", "#a99df0", "#b0b0b0")
_MARKERS = "os^Dv<>p"
_MOST = 12  # lines per panel


@dataclass(frozen=True)
class _Ink:
    text: str
    muted: str
    grid: str
    paper: str
    lines: Sequence[str]


_PRINT = _Ink("#1a1a1a", "#666666", "#e3e3e3", "#ffffff", _LIGHT)
#: Colours that stand for CSS variables; no other colour occurs in an SVG.
_NAMES = {"#010101": "--ink", "#020202": "--muted", "#030303": "--grid", "#040404": "--paper"}
_LINES = {f"#{i + 16:02x}0101": f"--line{i}" for i in range(len(_LIGHT))}
_SCREEN = _Ink("#010101", "#020202", "#030303", "#040404", tuple(_LINES))


def _variables(ink: Sequence[str], lines: Sequence[str]) -> str:
    pairs = [*zip(_NAMES.values(), ink, strict=True), *zip(_LINES.values(), lines, strict=True)]
    return " ".join(f"{name}: {value};" for name, value in pairs)


#: Values of the variables in the light and in the dark.
CSS = {
    "light": _variables(("#1b1f24", "#667079", "#e2e6ea", "#ffffff"), _LIGHT),
    "dark": _variables(("#e6e9ed", "#98a2ad", "#30363d", "#14181d"), _DARK),
}


def png(store: Store, experiment: Experiment, path: Path, trusted: Collection[str] | None = None) -> Path | None:
    """Draw an experiment into a PNG file; ``None`` if there is nothing to draw.

    `trusted`: bounds that may be called; default: those of the experiments that hushbandits ships.
    """
    panels = _panels(store, experiment, trusted)
    if not panels:
        return None
    with _quietly(), replacing(path, binary=True) as out:
        drawn = _draw(experiment, panels, _PRINT, experiment.title)
        drawn.savefig(out, format="png", dpi=160, metadata={"Software": None})
    return path


def svg(store: Store, experiment: Experiment, trusted: Collection[str] | None = None) -> list[str]:
    """Draw every panel as an inline ``<svg>``, without the experiment's title; all its colours are CSS variables."""
    panels = _panels(store, experiment, trusted)
    with _quietly():
        drawn = [_draw(experiment, [panel], _SCREEN) for panel in panels]
        return [_inline(canvas, f"{experiment.name}-{i}") for i, canvas in enumerate(drawn)]


@contextmanager
def _quietly() -> Iterator[None]:
    """A letter that the font lacks is drawn as a box, long labels overlap; nobody needs a warning for each."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph|constrained_layout not applied", UserWarning)
        yield


def _inline(drawn: Canvas, name: str) -> str:
    import matplotlib

    out = io.StringIO()
    with matplotlib.rc_context({"svg.fonttype": "none", "svg.hashsalt": name}):
        drawn.savefig(out, format="svg", transparent=True, metadata={"Date": None, "Creator": None})
    text = out.getvalue()
    text = text[text.index("<svg") :]
    text = re.sub(r"<metadata>.*?</metadata>", "", text, flags=re.S)
    text = re.sub(r'^<svg[^>]*?viewBox="([^"]*)"[^>]*>', r'<svg viewBox="\1" role="img">', text, flags=re.S)
    # Ids are the page's: two pictures on one page must not share them.
    prefix = re.sub(r"\W", "-", name)

    def tag(found: re.Match[str]) -> str:
        text = found[0]
        for colour, variable in {**_NAMES, **_LINES}.items():
            text = text.replace(colour, f"var({variable})")
        text = text.replace('id="', f'id="{prefix}-').replace('xlink:href="#', f'href="#{prefix}-')
        return text.replace("url(#", f"url(#{prefix}-")

    return re.sub(r"<[^>]*>", tag, text)  # tags alone: what is written between them is the user's


def _panels(store: Store, experiment: Experiment, trusted: Collection[str] | None) -> list[tuple[Figure, list[Series]]]:
    trusted = bounds() if trusted is None else trusted
    panels = [(f, series(store, experiment, f, trusted)) for f in figures(store, experiment)]
    return [(f, lines) for f, lines in panels if lines]


def _draw(experiment: Experiment, panels: list[tuple[Figure, list[Series]]], ink: _Ink, title: str = "") -> Canvas:
    import matplotlib
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure as Canvas

    columns = min(2, len(panels))
    rows = math.ceil(len(panels) / columns)
    style = {
        "font.family": ["DejaVu Sans"],
        "font.size": 9,
        "text.color": ink.text,
        "axes.labelcolor": ink.text,
        "axes.edgecolor": ink.muted,
        "xtick.color": ink.muted,
        "ytick.color": ink.muted,
        "xtick.labelcolor": ink.text,
        "ytick.labelcolor": ink.text,
        "axes.spines.top": False,
        "axes.spines.right": False,
        "axes.axisbelow": True,
        "lines.linewidth": 1.8,
        # Titles and labels are texts, not formulas: a lone dollar sign is one.
        "text.parse_math": False,
        "text.usetex": False,
    }
    with matplotlib.rc_context(style):
        legend = max(len(lines) for _, lines in panels)
        canvas = Canvas(figsize=(5.6 * columns + 0.4, 3.7 * rows + 0.2 * legend), layout="constrained")
        FigureCanvasAgg(canvas)
        canvas.patch.set_facecolor(ink.paper)
        for i, (figure, lines) in enumerate(panels):
            axes = canvas.add_subplot(rows, columns, i + 1)
            axes.set_facecolor("none")
            _panel(axes, experiment, figure, lines, ink)
        if title:
            wrapped = textwrap.fill(_short(title, 400), 62 * columns)
            canvas.suptitle(wrapped, fontsize=11, fontweight="bold", color=ink.text, x=0.02, ha="left")
        canvas.draw_without_rendering()
    return canvas


def _panel(axes: Axes, experiment: Experiment, figure: Figure, lines: list[Series], ink: _Ink) -> None:
    axes.grid(True, color=ink.grid, linewidth=0.8)
    shown = lines[:_MOST]
    measure = shown[0].measure or metric(figure.y)
    swept = figure.x not in ("time", "runs")
    categories = swept and isinstance(shown[0].x, list)
    for i, line in enumerate(shown):
        colour = ink.lines[i % len(ink.lines)]
        if figure.x == "runs":
            _ecdf(axes, line, colour, ink)
        elif swept:
            _points(axes, line, colour, i, len(shown), categories, "x" in figure.log, ink)
        else:
            dashes = "-" if i < len(ink.lines) else "-."
            axes.plot(line.x, line.center, dashes, color=colour, label=_short(line.legend))
            axes.fill_between(line.x, line.low, line.high, color=colour, alpha=0.18, linewidth=0)
        for y in line.bounds.values():
            axes.plot(line.x, y, "--", color=colour, linewidth=1.2)
    for name in dict.fromkeys(name for line in shown for name in line.bounds):
        axes.plot([], [], "--", color=ink.muted, linewidth=1.2, label=f"{_short(name)}, in each line's colour")
    if "x" in figure.log and not categories:
        axes.set_xscale("log")
    if "y" in figure.log:
        axes.set_yscale("log")
    elif figure.x != "runs" and not measure.rate:
        axes.set_ylim(bottom=0)
    if measure.rate and figure.x != "runs":
        axes.set_ylim(-0.03, 1.03)
    _scales(axes, figure, shown, categories)
    label = measure.label
    ticks = clock(experiment.env.name) if experiment.env.name in list_envs() else "time"
    if figure.per_time:
        label = f"time-averaged {label}"
    axes.set_xlabel({"time": ticks, "runs": label}.get(figure.x, words(figure.x)))
    axes.set_ylabel("share of runs" if figure.x == "runs" else label)
    note = caption(figure, experiment.runs, measure)
    if len(lines) > len(shown):
        note += f"; {len(lines) - len(shown)} more lines not drawn"
    above = f"{_short(figure.title)}\n{note}" if figure.title else note
    axes.set_title(above, fontsize=8, color=ink.muted, loc="left")
    wide = max(len(label) for label in axes.get_legend_handles_labels()[1]) > 40
    axes.legend(
        loc="upper center",
        bbox_to_anchor=(0.5, -0.16),
        ncols=1 if wide else 2,
        frameon=False,
        fontsize=8,
        labelcolor=ink.text,
    )


def _short(text: str, most: int = 80) -> str:
    text = " ".join(text.split())
    return text if len(text) <= most else text[: most - 1] + "…"


def _ecdf(axes: Axes, line: Series, colour: str, ink: _Ink) -> None:
    x = np.concatenate([line.x[:1], line.x])
    axes.step(x, np.concatenate([[0], line.center]), where="post", color=colour, label=_short(line.legend))
    assert line.median is not None
    axes.plot([line.median], [0.5], "o", color=colour, markersize=6, markeredgecolor=ink.paper)


def _points(axes: Axes, line: Series, colour: str, i: int, n: int, categories: bool, log: bool, ink: _Ink) -> None:
    x = np.arange(len(line.x), dtype=float) if categories else np.asarray(line.x)
    # Lines stand a little apart, so that their intervals can be told from each other.
    aside = (i - (n - 1) / 2) * min(0.025, 0.1 / n)
    at = x * (1 + aside) if log else x + aside * (np.ptp(x) / 2 if len(x) > 1 else 1)
    errors = np.abs(np.stack([line.center - line.low, line.high - line.center]))
    errors[np.isnan(errors)] = 0
    axes.errorbar(
        at, line.center, errors, color=colour, label=_short(line.legend), marker=_MARKERS[i % len(_MARKERS)],
        markersize=4.5, capsize=2.5, elinewidth=1.2,
    )  # fmt: skip
    for xi, values in zip(at, line.runs, strict=False):
        axes.plot(np.full(len(values), xi), values, ".", color=colour, alpha=0.5, markersize=6, markeredgewidth=0)
    if line.other is not None:
        axes.plot(at, line.other, "o", color=colour, markerfacecolor=ink.paper, markersize=5, zorder=5)


def _scales(axes: Axes, figure: Figure, lines: list[Series], categories: bool) -> None:
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter, NullLocator

    def plain(value: float, _: float | None) -> str:
        if value == 0:
            return "0"
        for unit, suffix in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
            if abs(value) >= 10 * unit or (abs(value) >= unit and suffix != "k"):
                return f"{value / unit:g}{suffix}"
        return f"{value:g}"

    for axis, log in ((axes.xaxis, "x" in figure.log), (axes.yaxis, "y" in figure.log)):
        if log:
            low, high = axis.get_view_interval()
            # A narrow axis would show one power of ten, or none.
            steps = (1.0, 2.0, 3.0, 5.0) if low > 0 and high / low < 50 else (1.0,)
            axis.set_major_locator(LogLocator(subs=steps, numticks=12))
            axis.set_minor_formatter(NullFormatter())
        axis.set_major_formatter(FuncFormatter(plain))
    if categories:
        axes.set_xticks(range(len(lines[0].x)), [_short(x, 30) for x in lines[0].x])
    elif figure.x not in ("time", "runs"):
        values = sorted({float(v) for line in lines for v in line.x})
        if len(values) <= 10:
            axes.set_xticks(values, [f"{v:g}" for v in values])
            axes.xaxis.set_minor_locator(NullLocator())
