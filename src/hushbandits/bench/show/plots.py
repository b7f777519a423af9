"""Pictures: the panels of an experiment side by side, as PNG, SVG and PDF; and one by one in a page's colours."""

from __future__ import annotations

import io
import math
import re
import warnings
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING

from hushbandits.bench.declare.spec import Experiment
from hushbandits.bench.judge.line import lines
from hushbandits.bench.play.store import Store
from hushbandits.bench.show.files import picture
from hushbandits.bench.show.ink import CSS, NAMES, PRINT, SCREEN, Ink, Style, style
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
    "CSS", "FORMATS", "Inline", "Key", "compose", "entry", "inline", "legend", "paper", "pictures", "png", "quietly",
]  # fmt: skip

#: Formats of a picture, and what each is told so that the same numbers give the same bytes.
FORMATS: dict[str, Params] = {
    "png": {"dpi": 160, "metadata": {"Software": None}},
    "svg": {"metadata": {"Date": None, "Creator": None}},
    "pdf": {"metadata": {"CreationDate": None, "Creator": None, "Producer": None}},
}
#: Width and height of a panel in inches, in a row of so many.
_SIZES = {1: (5.6, 3.4), 2: (4.7, 3.2), 3: (3.7, 2.9)}
#: On a wide and on a narrow page: a panel alone in its row, or beside another.
_ROOMS = {"wide": ((5.6, 3.5), (4.5, 3.2)), "narrow": ((3.6, 3.0), (3.6, 3.0))}


@dataclass(frozen=True)
class Key:
    """An entry of the legend: a line, or (no style) a bound in the colour of its line."""

    label: str
    style: Style | None


@dataclass(frozen=True)
class Inline:
    """Pictures of a page: each panel as an ``<svg>`` whose colours are CSS variables, and what its legend says.

    Parameters
    ----------
    panels : sequence of Panel
    keys : sequence of Key
    wide, narrow : sequence of str
        The same panels, drawn for a wide and for a narrow page.
    """

    panels: Sequence[Panel]
    keys: Sequence[Key]
    wide: Sequence[str]
    narrow: Sequence[str]

    @property
    def captions(self) -> tuple[str, ...]:
        """What is drawn, in words: once, if it is the same in all panels."""
        return tuple(dict.fromkeys(panel.caption for panel in self.panels))


def png(store: Store, experiment: Experiment, path: Path, trusted: Collection[str] | None = None) -> Path | None:
    """Draw an experiment into a PNG file; ``None`` if there is nothing to draw.

    `trusted`: bounds that may be called; default: those of the experiments that hushbandits ships.
    """
    shown = panels(lines(store, experiment), experiment, trusted)
    if shown:
        with quietly():
            _save(compose(experiment, shown), experiment.name, path, "png")
    return path if shown else None


def pictures(store: Store, experiment: Experiment, folder: Path, trusted: Collection[str] | None = None) -> list[Path]:
    """Draw an experiment into a file of each of the `FORMATS`; of the same rows always the same bytes.

    Returns
    -------
    list of Path
        Empty if there is nothing to draw.
    """
    shown = panels(lines(store, experiment), experiment, trusted)
    if not shown:
        return []
    with quietly():
        canvas = compose(experiment, shown)
        canvas.draw_without_rendering()
        canvas.set_layout_engine("none")  # what is laid out stays: the formats differ in nothing else
        return [_save(canvas, experiment.name, folder / picture(experiment.name, f), f) for f in FORMATS]


def inline(store: Store, experiment: Experiment, trusted: Collection[str] | None = None) -> Inline | None:
    """Draw every panel by itself, for a page; ``None`` if there is nothing to draw."""
    shown = panels(lines(store, experiment), experiment, trusted)
    if not shown:
        return None
    with quietly():
        drawn = _separate(shown, experiment.name)
    return Inline(shown, legend(shown), **drawn)


def legend(shown: Sequence[Panel]) -> list[Key]:
    """Return what a legend of all panels together says: one entry per line, with what it spent in any of them."""
    keys = []
    for label, i in _places(shown).items():
        drawn = [line for p in shown for one in p.lines if one.label == label for line in one.lines]
        told = spent(list({line.cell.key: line for line in drawn}.values()))
        keys.append(Key(short(f"{label} ({told})" if told else label), style(i)))
    named = dict.fromkeys(name for p in shown for name in p.bounds)
    return [*keys, *(Key(f"{short(name)}, in each line's colour", None) for name in named)]


def _places(shown: Sequence[Panel]) -> dict[str, int]:
    """The same line looks the same in all panels."""
    return {label: i for i, label in enumerate(dict.fromkeys(line.label for p in shown for line in p.lines))}


@contextmanager
def quietly() -> Iterator[None]:
    """A letter that the font lacks is drawn as a box, long labels overlap; nobody needs a warning for each."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph|constrained_layout not applied", UserWarning)
        yield


def paper(ink: Ink, name: str) -> dict[str, object]:
    """Return what Matplotlib goes by while it draws, whatever the user has set."""
    return {
        "font.family": ["DejaVu Sans"],
        "font.size": 9.5,
        "text.color": ink.text,
        "axes.labelcolor": ink.text,
        "axes.edgecolor": ink.muted,
        "axes.titlesize": 9.5,
        "axes.titlecolor": ink.text,
        "axes.titlelocation": "left",
        "xtick.color": ink.muted,
        "ytick.color": ink.muted,
        "xtick.labelcolor": ink.text,
        "ytick.labelcolor": ink.text,
        "axes.spines.top": False,
        "axes.spines.right": False,
        "axes.axisbelow": True,
        "lines.linewidth": 1.7,
        # Titles and labels are texts, not formulas: a lone dollar sign is one.
        "text.parse_math": False,
        "text.usetex": False,
        "pdf.fonttype": 42,
        "svg.hashsalt": name,
    }


def _canvas(ink: Ink) -> Canvas:
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure as Canvas

    canvas = Canvas()
    FigureCanvasAgg(canvas)
    canvas.patch.set_facecolor(ink.paper)
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
    captions = list(dict.fromkeys(panel.caption for panel in shown))
    headed = any(panel.figure.title is not None for panel in shown)
    with matplotlib.rc_context(paper(PRINT, experiment.name)):
        canvas = _canvas(PRINT)
        placed = _grid(canvas, shown, PRINT, tell=len(captions) > 1)
        _edges(placed, shown, columns)
        heading = []
        if headed:
            heading.append(canvas.text(0, 1, short(experiment.title, 400), fontsize=11.5, fontweight="bold", va="top"))
        if headed and len(captions) == 1:
            heading.append(canvas.text(0, 1, captions[0], fontsize=9, color=PRINT.muted, va="top"))
        keys = [entry(canvas, key, PRINT) for key in legend(shown)]
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


def _grid(canvas: Canvas, shown: Sequence[Panel], ink: Ink, tell: bool = False) -> list[Placed]:
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
        draw(axes, panel, places, ink)
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


def entry(canvas: Canvas, key: Key, ink: Ink) -> tuple[Line2D, Text]:
    """An entry of the legend, not yet in its place."""
    line = _handle(key, ink)
    line.set(transform=canvas.transFigure, markevery=[1])
    canvas.add_artist(line)
    return line, canvas.text(0, 0, key.label, fontsize=9)


def _handle(key: Key, ink: Ink) -> Line2D:
    from matplotlib.lines import Line2D

    nowhere = [0.0] * 3, [0.0] * 3  # until it is laid out
    if key.style is None:
        return Line2D(*nowhere, linestyle="--", color=ink.muted, linewidth=1.1, label=key.label)
    return Line2D(
        *nowhere, linestyle=key.style.line, color=ink.lines[key.style.colour], marker=key.style.mark, markersize=5.5,
        markeredgecolor=ink.paper, markeredgewidth=0.6, label=key.label,
    )  # fmt: skip


def _save(canvas: Canvas, name: str, path: Path, format: str) -> Path:
    import matplotlib

    with replacing(path, binary=True) as out, matplotlib.rc_context(paper(PRINT, name)):
        canvas.savefig(out, format=format, **FORMATS[format])
    return path


def _separate(shown: Sequence[Panel], name: str) -> dict[str, list[str]]:
    """Draw all panels once, for the axes that they share, and give each by itself, room by room."""
    import matplotlib

    with matplotlib.rc_context(paper(SCREEN, name)):
        canvas = _canvas(SCREEN)
        placed = _grid(canvas, shown, SCREEN)
    for place in placed:
        place.axes.set(visible=False, in_layout=False)
    drawn: dict[str, list[str]] = {room: [] for room in _ROOMS}
    for i, (place, panel) in enumerate(zip(placed, shown, strict=True)):
        for room, text in _alone(canvas, place, f"{name}-{i}").items():
            drawn[room].append(_tagged(text, f"{name}-{room}{i}", panel))
    return drawn


def _alone(canvas: Canvas, place: Placed, name: str) -> dict[str, str]:
    """One panel of a canvas by itself, as SVG for each of the rooms."""
    import matplotlib

    from hushbandits.bench.show.layout import Sheet

    several = len(canvas.axes) > 1
    found = {}
    place.axes.set(visible=True, in_layout=True, subplotspec=canvas.add_gridspec(1, 1)[0])
    for room, sizes in _ROOMS.items():
        out = io.StringIO()
        canvas.set_size_inches(sizes[several])
        canvas.set_layout_engine(Sheet([place]))
        with matplotlib.rc_context({**paper(SCREEN, f"{name}-{room}"), "svg.fonttype": "none"}):
            canvas.savefig(out, format="svg", transparent=True, metadata={"Date": None, "Creator": None})
        found[room] = out.getvalue()
    place.axes.set(visible=False, in_layout=False)
    return found


def _tagged(text: str, name: str, panel: Panel) -> str:
    """The ``<svg>`` alone, in the page's colours, and with ids that no other picture of the page has."""
    text = text[text.index("<svg") :]
    text = re.sub(r"<metadata>.*?</metadata>", "", text, flags=re.S)
    told = escape(f"{panel.title or panel.figure.y}. {panel.caption}", quote=True)
    box = re.search(r'viewBox="([^"]*)"', text)
    assert box is not None
    text = f'<svg viewBox="{box[1]}" role="img" aria-label="{told}">' + text[text.index(">") + 1 :]
    prefix = re.sub(r"\W", "-", name)

    def tag(found: re.Match[str]) -> str:
        text = found[0]
        for colour, variable in NAMES.items():
            text = text.replace(colour, f"var({variable})")
        text = text.replace('id="', f'id="{prefix}-').replace('xlink:href="#', f'href="#{prefix}-')
        return text.replace("url(#", f"url(#{prefix}-")

    head, body = text.split(">", 1)  # the head has a text of the user's in it
    return f"{head}>" + re.sub(r"<[^>]*>", tag, body)  # tags alone: what is written between them is the user's
