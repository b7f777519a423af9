"""Pictures: the panels of an experiment side by side, as PNG, SVG and PDF; and one by one in a page's colours."""

from __future__ import annotations

import io
import math
import warnings
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING
from xml.etree import ElementTree

from hushbandits.bench.declare.shapes import plain_name
from hushbandits.bench.declare.spec import Experiment
from hushbandits.bench.judge.line import lines
from hushbandits.bench.play.store import Store
from hushbandits.bench.show.ink import GRID, MUTED, PAPER, TEXT, VARIABLES, Style, style
from hushbandits.bench.show.ours import MAKER
from hushbandits.bench.show.panels import Panel, draw, panels, reach, short
from hushbandits.bench.show.spent import spent
from hushbandits.core.ground.files import replacing
from hushbandits.core.ground.types import Params

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Canvas
    from matplotlib.lines import Line2D
    from matplotlib.text import Text

    from hushbandits.bench.show.layout import Placed

__all__ = [
    "FORMATS", "STYLE", "Inline", "Key", "blank", "compose", "drawings", "entry", "inline", "legend", "pictures",
    "quietly",
]  # fmt: skip

#: Formats of a picture, and what each is told: who made it, and no date, so that the same numbers give the same bytes.
FORMATS: dict[str, Params] = {
    "png": {"dpi": 160, "metadata": {"Software": MAKER}},
    "svg": {"metadata": {"Date": None, "Creator": MAKER}},
    "pdf": {"metadata": {"CreationDate": None, "Creator": MAKER, "Producer": None}},
}
#: Width and height of a panel in inches, in a row of so many.
_SIZES = {1: (5.6, 3.4), 2: (4.7, 3.2), 3: (3.7, 2.9)}
#: Width and height of a panel on a wide and on a narrow page: alone in its row, or one of several.
_PAGES = {"wide": ((5.6, 3.5), (4.5, 3.2)), "narrow": ((3.6, 3.0), (3.6, 3.0))}
#: Of a picture in a page nothing is said besides, and two letters are replaced that no XML may have.
_UNSAID: Params = dict.fromkeys(("Date", "Creator", "Format", "Type"))
_NO_XML = dict.fromkeys((0xFFFE, 0xFFFF), "\ufffd")


#: What Matplotlib goes by while it draws, whatever the user has set.
STYLE: dict[str, object] = {
    "font.family": ["DejaVu Sans"],
    "font.size": 9.5,
    "text.color": TEXT,
    "figure.facecolor": PAPER,
    "axes.facecolor": "none",
    "axes.labelcolor": TEXT,
    "axes.edgecolor": MUTED,
    "axes.titlesize": 9.5,
    "axes.titlecolor": TEXT,
    "axes.titlelocation": "left",
    "xtick.color": MUTED,
    "ytick.color": MUTED,
    "xtick.labelcolor": TEXT,
    "ytick.labelcolor": TEXT,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.axisbelow": True,
    "grid.color": GRID,
    "grid.linewidth": 0.8,
    "lines.linewidth": 1.7,
    "errorbar.capsize": 2.5,
    # Titles and labels are texts, not formulas: a lone dollar sign is one.
    "text.parse_math": False,
    "text.usetex": False,
    "pdf.fonttype": 42,
    "svg.hashsalt": "hushbandits",
}


@dataclass(frozen=True)
class Key:
    """An entry of the legend: a line, or (no style) a bound in the colour of its line."""

    label: str
    style: Style | None


@dataclass(frozen=True)
class Inline:
    """Pictures of a page, and what stands above and below them.

    Parameters
    ----------
    captions : list of str
        What is drawn, in words: once, if it is the same in all panels.
    keys : list of Key
    drawings : list of dict
        Each panel as ``<svg>`` whose colours are CSS variables, by the page that it is laid out for: wide and narrow.
    """

    captions: Sequence[str]
    keys: Sequence[Key]
    drawings: Sequence[Mapping[str, str]]


def pictures(store: Store, experiment: Experiment, folder: Path, trusted: Collection[str] | None = None) -> list[Path]:
    """Draw an experiment into a file of each of the `FORMATS`; of the same rows always the same bytes.

    `trusted`: bounds that may be called; default: those of the experiments that hushbandits ships.

    Returns
    -------
    list of Path
        Empty if there is nothing to draw.
    """
    import matplotlib

    shown = panels(lines(store, experiment), experiment, trusted)
    if not shown:
        return []
    name = plain_name("experiment name", experiment.name)
    paths = [folder / f"{name}.{format}" for format in FORMATS]
    with quietly(), matplotlib.rc_context({**STYLE, "svg.hashsalt": experiment.name}):
        canvas = compose(experiment, shown)
        canvas.draw_without_rendering()
        canvas.set_layout_engine("none")  # what is laid out stays: the formats differ in nothing else
        for path, (format, more) in zip(paths, FORMATS.items(), strict=True):
            with replacing(path, binary=True) as out:
                canvas.savefig(out, format=format, **more)
    return paths


def inline(store: Store, experiment: Experiment, trusted: Collection[str] | None = None) -> Inline | None:
    """Draw every panel by itself, for a page; ``None`` if there is nothing to draw.

    All are drawn once, on one canvas for the axes that they share, and laid out one by one in each size.
    """
    import matplotlib

    from hushbandits.bench.show.layout import Sheet

    shown = panels(lines(store, experiment), experiment, trusted)
    if not shown:
        return None
    with quietly(), matplotlib.rc_context({**STYLE, "svg.fonttype": "none"}):
        canvas = blank()
        placed = _grid(canvas, shown)
        canvas.set_layout_engine(Sheet(placed))
        for place in placed:
            place.axes.set(visible=False, in_layout=False)
        drawings = [
            _alone(canvas, place.axes, panel, f"{experiment.name}-{i}")
            for i, (place, panel) in enumerate(zip(placed, shown, strict=True))
        ]
    return Inline(_captions(shown), legend(shown), drawings)


def legend(shown: Sequence[Panel]) -> list[Key]:
    """Return what a legend of all panels together says: one entry per line, with what it spent in any of them."""
    keys = []
    for label, i in _places(shown).items():
        drawn = [line for p in shown for one in p.lines if one.label == label for line in one.lines]
        told = spent(list({line.cell.key: line for line in drawn}.values()))
        keys.append(Key(short(f"{label} ({told})" if told else label), style(i)))
    named = dict.fromkeys(name for p in shown for name in p.bounds)
    return [*keys, *(Key(f"{short(name)}, in each line's colour", None) for name in named)]


def _captions(shown: Sequence[Panel]) -> list[str]:
    return list(dict.fromkeys(panel.caption for panel in shown))


def _places(shown: Sequence[Panel]) -> dict[str, int]:
    """The same line looks the same in all panels."""
    return {label: i for i, label in enumerate(dict.fromkeys(line.label for p in shown for line in p.lines))}


@contextmanager
def quietly() -> Iterator[None]:
    """A letter that the font lacks is drawn as a box, long labels overlap; nobody needs a warning for each."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph|constrained_layout not applied", UserWarning)
        yield


def blank() -> Canvas:
    """Return a canvas that nothing is drawn on."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure as Canvas

    canvas = Canvas()
    FigureCanvasAgg(canvas)
    return canvas


def compose(experiment: Experiment, shown: Sequence[Panel], formulas: Collection[str] = ()) -> Canvas:
    """All panels on white, a title above and one legend below; laid out when it is drawn, for the size it has then.

    `formulas`: texts in which dollar signs enclose formulas; in any other a dollar sign is one.
    """
    import matplotlib
    from matplotlib.text import Text

    from hushbandits.bench.show.layout import Sheet

    columns = _columns(len(shown))
    across, high = _SIZES[columns]
    captions = _captions(shown)
    headed = any(panel.figure.title is not None for panel in shown)
    with matplotlib.rc_context(STYLE):
        canvas = blank()
        placed = _grid(canvas, shown, tell=len(captions) > 1)
        _edges(placed, shown, columns)
        heading = []
        if headed:
            heading.append(canvas.text(0, 1, short(experiment.title, 400), fontsize=11.5, fontweight="bold", va="top"))
        if headed and len(captions) == 1:
            heading.append(canvas.text(0, 1, captions[0], fontsize=9, color=MUTED, va="top"))
        keys = [entry(canvas, key) for key in legend(shown)]
        for text in canvas.findobj(Text):
            text.set_parse_math(text.get_text() in formulas)
        sheet = Sheet(placed, heading, keys)
        usual = across + 0.4 / columns
        width = columns * max(panel.figure.width or usual for panel in shown)
        high = max(min(high, 2.2), high * width / (columns * usual))
        canvas.set_size_inches(width, high * math.ceil(len(shown) / columns) + sheet.height(width))
        canvas.set_layout_engine(sheet)
    return canvas


def _columns(n: int) -> int:
    return n if n <= 3 else 2 if n == 4 else 3


def _grid(canvas: Canvas, shown: Sequence[Panel], tell: bool = False) -> list[Placed]:
    """Draw panels row by row; those of one quantity share its axis."""
    from hushbandits.bench.show.layout import Placed

    columns = _columns(len(shown))
    rows = math.ceil(len(shown) / columns)
    places = _places(shown)
    first: tuple[dict[object, Axes], dict[object, Axes]] = {}, {}  # by quantity: the panels whose x and y axis it is
    placed = []
    for i, panel in enumerate(shown):
        share = [first[k].get(panel.axes[k]) for k in (0, 1)]
        axes = canvas.add_subplot(rows, columns, i + 1, sharex=share[0], sharey=share[1])
        for k in (0, 1):
            first[k].setdefault(panel.axes[k], axes)
        draw(axes, panel, places)
        told = panel.caption if tell and panel.figure.title is not None else ""
        title = axes.set_title("\n".join(part for part in (panel.title, told) if part))
        placed.append(Placed(axes, title, [short(word) for word in panel.words]))
    reach([(p.axes, panel) for p, panel in zip(placed, shown, strict=True)])
    return placed


def _edges(placed: Sequence[Placed], shown: Sequence[Panel], columns: int) -> None:
    """Leave the numbers of a shared axis, and what they are, at the edge alone."""
    said = [
        ((panel.axes[0], place.axes.get_xlabel()), (panel.axes[1], place.axes.get_ylabel()))
        for place, panel in zip(placed, shown, strict=True)
    ]
    for i, place in enumerate(placed):
        if i % columns and said[i - 1][1] == said[i][1]:
            place.axes.tick_params(labelleft=False)
            place.axes.set_ylabel("")
        if i + columns < len(placed) and said[i + columns][0] == said[i][0]:
            place.axes.tick_params(labelbottom=False)
            place.axes.set_xlabel("")


def entry(canvas: Canvas, key: Key) -> tuple[Line2D, Text]:
    """An entry of the legend, not yet in its place."""
    from matplotlib.lines import Line2D

    line = Line2D([0.0] * 3, [0.0] * 3, label=key.label, markevery=[1])
    if key.style is None:
        line.set(color=MUTED, linestyle="--", linewidth=1.1)
    else:
        line.set(color=key.style.hue, linestyle=key.style.line, **key.style.marks())
    canvas.add_artist(line)
    return line, canvas.text(0, 0, key.label, fontsize=9)


def _alone(canvas: Canvas, axes: Axes, panel: Panel, name: str) -> dict[str, str]:
    """One panel of a canvas by itself, for each page; `name` makes its ids those of no other picture."""
    axes.set(visible=True, in_layout=True, subplotspec=canvas.add_gridspec(1, 1)[0])
    found = drawings(canvas, name, f"{panel.title or panel.figure.y}. {panel.caption}", several=len(canvas.axes) > 1)
    axes.set(visible=False, in_layout=False)
    return found


def drawings(canvas: Canvas, name: str, told: str, *, several: bool = False) -> dict[str, str]:
    """Return a canvas as ``<svg>`` for a wide and for a narrow page; `told`: what there is to see, in words."""
    import matplotlib

    found = {}
    for page, sizes in _PAGES.items():
        out = io.StringIO()
        canvas.set_size_inches(sizes[several])
        with matplotlib.rc_context({"svg.hashsalt": f"{name}-{page}"}):
            canvas.savefig(out, format="svg", transparent=True, metadata=_UNSAID)
        found[page] = _embedded(out.getvalue(), told)
    return found


def _embedded(text: str, told: str) -> str:
    """The ``<svg>`` as a part of a page: in its colours, with those ids alone that are referred to."""
    root = ElementTree.fromstring(text.translate(_NO_XML))
    for part in root.iter():
        part.tag = _local(part.tag)
        part.attrib = {_local(key): value for key, value in part.attrib.items()}
        if part.tag == "g":
            part.attrib.pop("id", None)
        for colour, variable in VARIABLES.items():
            if colour in part.get("style", ""):
                part.set("style", part.attrib["style"].replace(colour, f"var({variable})"))
    root.attrib = {"viewBox": root.attrib["viewBox"], "role": "img", "aria-label": told}
    return ElementTree.tostring(root, encoding="unicode")


def _local(name: str) -> str:
    """A name without its namespace: a page has none."""
    return name.rpartition("}")[2]
