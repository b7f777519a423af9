"""Figures: the panels of an experiment as one Matplotlib figure, for files and pages."""

import io
import math
import re
import warnings
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from html import escape
from pathlib import Path

import matplotlib
from matplotlib.figure import Figure as Canvas
from matplotlib.legend import Legend
from matplotlib.lines import Line2D
from matplotlib.text import Text

from hushbandits.bench.report.axes import MUTED, Panel, draw, finish, panels, short, style, wrapped
from hushbandits.bench.report.ours import MAKER
from hushbandits.bench.runner.configuration import Configuration
from hushbandits.bench.runner.files import replacing
from hushbandits.bench.spec.experiment import Experiment, Figure
from hushbandits.core import Params

#: Formats of a file with their metadata: the program, and no date, so that equal numbers give equal bytes.
FORMATS: dict[str, Params] = {
    "png": {"dpi": 160, "metadata": {"Software": MAKER}},
    "svg": {"metadata": {"Date": None, "Creator": MAKER}},
    "pdf": {"metadata": {"CreationDate": None, "Creator": MAKER, "Producer": None}},
}
#: Width of a panel in inches, by the number of panels in a row.
_WIDTHS = {1: 5.6, 2: 4.7, 3: 3.7}
#: On a page: panels in a row at most, and the width of a panel in inches if it differs from that of a file.
_PAGES: dict[str, tuple[int, float | None]] = {"wide": (2, None), "narrow": (1, 3.6)}
_SHEET = Path(__file__).parent / "templates" / "figures.mplstyle"


class Picture(Canvas):
    """A Matplotlib figure that renders in a notebook."""

    def save(self, path: Path | str) -> Path:
        """Write the figure to a file, without a date; the suffix gives the format, such as PNG, SVG or PDF."""
        path = Path(path)
        with _styled():
            self.savefig(path, **FORMATS.get(path.suffix[1:].lower(), {}))
        return path

    def _repr_png_(self) -> bytes:
        out = io.BytesIO()
        self.savefig(out, format="png", dpi=110)
        return out.getvalue()


def pictures(
    lines: Sequence[Configuration], experiment: Experiment, folder: Path, trusted: Collection[str] | None = None
) -> list[Path]:
    """Draw an experiment into one file for each of the `FORMATS`; equal rows give equal bytes.

    `trusted`: theory functions that may be called; default: those of the built-in experiments.

    Returns
    -------
    list of Path
        The files; empty if there is nothing to draw.
    """
    shown = panels(lines, experiment, trusted)
    if not shown:
        return []
    with _styled({"svg.hashsalt": experiment.name}):
        picture = compose(shown, experiment.title)
        for format, more in FORMATS.items():
            with replacing(folder / f"{experiment.name}.{format}", binary=True) as out:
                picture.savefig(out, format=format, **more)
            picture.set_layout_engine(None)  # the next formats keep the places found for the first
    return [folder / f"{experiment.name}.{format}" for format in FORMATS]


def inline(
    lines: Sequence[Configuration], experiment: Experiment, trusted: Collection[str] | None = None
) -> dict[str, str]:
    """Return an experiment's figure as ``<svg>`` for a wide and for a narrow page.

    No other figure has the same ids.  The result is empty if there is nothing to draw.
    """
    shown = panels(lines, experiment, trusted)
    found = {}
    for page, (columns, width) in _PAGES.items() if shown else ():
        out = io.StringIO()
        with _styled({"svg.fonttype": "none", "svg.hashsalt": f"{experiment.name}-{page}"}):
            picture = compose(shown, columns=columns, width=width)
            picture.savefig(out, format="svg", transparent=True, metadata={"Date": None})
        found[page] = _embedded(out.getvalue(), f"{experiment.title}. {_caption(shown)}")
    return found


def drawn(lines: Sequence[Configuration], experiment: Experiment, figure: Figure) -> Picture:
    """Return a `Picture` of `figure`, drawn from the configurations `lines` of an experiment.

    Its theory functions are called: the caller wrote them.

    Raises
    ------
    ValueError
        There is nothing to draw.
    """
    shown = panels(lines, experiment, figure.bounds.values(), figure)
    if not shown:
        raise ValueError(f"x={figure.x!r} and y={figure.y!r} cannot be drawn, because no run or curve has these values")
    with _styled():
        return compose(shown, experiment.title)


def compose(shown: Sequence[Panel], title: str = "", *, columns: int = 3, width: float | None = None) -> Picture:
    """Draw all panels in one figure with a title above and one legend below, which explains lines and bands.

    Title and explanation are left out if no panel has a title (``None``), since a paper has a caption.

    Parameters
    ----------
    shown : sequence of Panel
        At least one panel.
    title : str
        Title above all panels; default: none.
    columns : int
        Maximum number of panels in a row.
    width : float, optional
        Width of a panel in inches.
    """
    columns = min(columns, 2 if len(shown) == 4 else len(shown))
    width = width or max(panel.figure.width or _WIDTHS[columns] for panel in shown)
    rows, wide = math.ceil(len(shown) / columns), columns * width
    bare = all(panel.figure.title is None for panel in shown)
    below = max(panel.xlabel.count("\n") for panel in shown)
    # Tick labels of a panel may be slanted, and a label may have several lines.
    high = 1.3 + 0.36 * width + 0.5 * any(panel.words for panel in shown) + 0.17 * below
    picture = Picture(figsize=(wide, rows * high), layout="constrained")
    _grid(picture, shown, columns, int(width * 13))
    parts: list[Legend | Text] = [_legend(picture, keys(shown), "" if bare else _caption(shown))]
    if title and not bare:
        parts.append(picture.suptitle(wrapped(short(title, 400), int(wide * 12)), x=0.01, ha="left"))
    picture.set_figheight(rows * high + sum(part.get_window_extent().height for part in parts) / picture.dpi)
    return picture


def keys(shown: Sequence[Panel]) -> dict[str, Line2D]:
    """Return the legend entries of all panels; a theory curve of a single line has the colour of that line."""
    places = _places(shown)
    found = {short(label): Line2D([], [], **style(i)) for label, i in places.items()}
    lines = [line for panel in shown for line in panel.lines]
    for name in dict.fromkeys(name for line in lines for name in line.bounds):
        of = {places[line.label] for line in lines if name in line.bounds}
        hue, more = (MUTED, ", in each line's colour") if len(of) > 1 else (style(min(of))["color"], "")
        found[short(name) + more] = Line2D([], [], color=hue, linestyle="--", linewidth=1.1)
    return found


def _legend(picture: Picture, entries: Mapping[str, Line2D], caption: str) -> Legend:
    """Add one legend below all panels, in at most four columns, and return it."""
    letters = int(picture.get_figwidth() * 13)
    labels = [wrapped(label, max(20, letters - 8)) for label in entries]
    longest = max(len(part) for label in labels for part in label.splitlines())
    legend = picture.legend(
        entries.values(), labels, title=wrapped(caption, letters) or None, loc="outside lower left", alignment="left",
        ncols=max(1, min(4, letters // (longest + 8))),
    )  # fmt: skip
    legend.get_title().set_color(MUTED)
    return legend


def _caption(shown: Sequence[Panel]) -> str:
    """Return the captions of all panels, joined without duplicates."""
    return ". ".join(dict.fromkeys(panel.caption for panel in shown))


def _places(shown: Sequence[Panel]) -> dict[str, int]:
    """Return the style index of each label, the same in all panels."""
    return {label: i for i, label in enumerate(dict.fromkeys(line.label for p in shown for line in p.lines))}


@contextmanager
def _styled(more: Mapping[str, object] | None = None) -> Iterator[None]:
    """Apply the style sheet inside the block, without warnings about missing glyphs."""
    with warnings.catch_warnings(), matplotlib.rc_context(dict(more or {}), _SHEET):
        warnings.filterwarnings("ignore", "Glyph|constrained_layout not applied", UserWarning)
        yield


def _grid(picture: Picture, shown: Sequence[Panel], columns: int, letters: int) -> None:
    """Draw the panels row by row; if all show the same quantities, they share axes, with labels only at the edge."""
    rows, places = math.ceil(len(shown) / columns), _places(shown)
    alike = len({panel.axes for panel in shown}) == 1
    grid = picture.subplots(rows, columns, sharex=alike, sharey=alike, squeeze=False).ravel()
    for i, (axes, panel) in enumerate(zip(grid, shown, strict=False)):
        draw(axes, panel, places)
        axes.set_title(wrapped(panel.title, letters), parse_math=bool(panel.figure.title))
        if alike and i % columns:
            axes.set_ylabel("")
        if alike and i + columns < len(shown):
            axes.set_xlabel("")
        elif alike:
            axes.tick_params(labelbottom=True)
    for axes, panel in zip(grid, shown, strict=False):
        finish(axes, panel)
    for axes in grid[len(shown) :]:
        axes.remove()


def _embedded(text: str, stated: str) -> str:
    """Return the ``<svg>`` of a figure for a page, with the label `stated` and without ids of groups."""
    head = re.search(r'<svg .*?viewBox="(\S+ \S+ (\S+) [^"]+)".*?</metadata>', text, re.S)
    assert head is not None
    most = f"max-width: {1.6 * float(head[2]):.0f}px"  # keep letters at most as large as the page's
    body = re.sub(r'<g id="[^"]*"', "<g", text[head.end() :])
    return f'<svg viewBox="{head[1]}" style="{most}" role="img" aria-label="{escape(stated)}">{body}'
