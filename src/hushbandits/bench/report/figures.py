"""Figures: the panels of an experiment as one Matplotlib figure, in files and in a page's colours."""

from __future__ import annotations

import io
import math
import re
import warnings
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING

from hushbandits.bench.declare.parts import plain_name
from hushbandits.bench.declare.spec import Experiment, Figure
from hushbandits.bench.report.axes import Panel, draw, finish, panels, short, wrapped
from hushbandits.bench.report.ours import MAKER
from hushbandits.bench.report.privacy import spent
from hushbandits.bench.report.theme import MUTED, VARIABLES, style
from hushbandits.bench.runner.configuration import Configuration
from hushbandits.core.ground.extras import extra
from hushbandits.core.ground.files import replacing
from hushbandits.core.ground.types import Array, Params

with extra("bench"):
    import matplotlib
    from matplotlib.figure import Figure as Canvas
    from matplotlib.lines import Line2D
    from matplotlib.text import Text

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.legend import Legend

__all__ = ["FORMATS", "Picture", "compose", "drawn", "inline", "keys", "pictures", "profiles"]

#: Formats of a file, and what each is told: who made it, and no date, so that the same numbers give the same bytes.
FORMATS: dict[str, Params] = {
    "png": {"dpi": 160, "metadata": {"Software": MAKER}},
    "svg": {"metadata": {"Date": None, "Creator": MAKER}},
    "pdf": {"metadata": {"CreationDate": None, "Creator": MAKER, "Producer": None}},
}
#: Width of a panel in inches, in a row of so many.
_WIDTHS = {1: 5.6, 2: 4.7, 3: 3.7}
#: On a page: most panels in a row, and the width of a panel in inches if it is not that of a file.
_PAGES: dict[str, tuple[int, float | None]] = {"wide": (2, None), "narrow": (1, 3.6)}
_SHEET = Path(__file__).parent / "templates" / "figures.mplstyle"


class Picture(Canvas):
    """A Matplotlib figure with constrained layout, which shows itself in a notebook."""

    def __init__(self, **how: object):
        super().__init__(layout="constrained", **how)  # type: ignore[arg-type]

    def save(self, path: Path | str) -> Path:
        """Write it to a file of the format that the name ends in, such as PNG, SVG or PDF, without a date."""
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
    """Draw an experiment into a file of each of the `FORMATS`; of the same rows always the same bytes.

    `trusted`: bounds that may be called; default: those of the experiments that hushbandits ships.

    Returns
    -------
    list of Path
        Empty if there is nothing to draw.
    """
    shown = panels(lines, experiment, trusted)
    if not shown:
        return []
    name = plain_name("experiment name", experiment.name)
    paths = [folder / f"{name}.{format}" for format in FORMATS]
    with _styled({"svg.hashsalt": name}):
        picture = compose(shown, experiment.title)
        for path, (format, more) in zip(paths, FORMATS.items(), strict=True):
            with replacing(path, binary=True) as out:
                picture.savefig(out, format=format, **more)
    return paths


def inline(
    lines: Sequence[Configuration], experiment: Experiment, trusted: Collection[str] | None = None
) -> dict[str, str]:
    """Return an experiment's picture as ``<svg>``, by the page that it is laid out for: wide and narrow.

    Its colours are CSS variables, and its ids those of no other picture.  Empty if there is nothing to draw.
    """
    shown = panels(lines, experiment, trusted)
    found = {}
    for page, (columns, width) in _PAGES.items() if shown else ():
        told = {"svg.fonttype": "none", "svg.hashsalt": f"{experiment.name}-{page}"}
        out = io.StringIO()
        with _styled(told):
            picture = compose(shown, columns=columns, width=width)
            picture.savefig(out, format="svg", transparent=True, metadata={"Date": None})
        found[page] = _embedded(out.getvalue(), f"{experiment.title}. {_caption(shown)}")
    return found


def drawn(lines: Sequence[Configuration], experiment: Experiment, figure: Figure) -> Picture:
    """Draw a figure of some lines of an experiment.

    Bounds are called, and formulas (``"$t$"``) drawn in the figure's own title and labels: whoever asks for them here
    has written them.  What is stored (lines, the experiment's title) is written as it stands, dollar signs too.

    Raises
    ------
    ValueError
        There is nothing to draw.
    """
    shown = panels(lines, experiment, figure.bounds.values(), figure)
    if not shown:
        raise ValueError(f"there is nothing to draw of {figure.y!r} along {figure.x!r}: no such runs, or no such curve")
    formulas = {text for text in (figure.title, figure.xlabel, figure.ylabel) if text}
    with _styled():
        return compose(shown, experiment.title, formulas=formulas)


def profiles(thresholds: Array, shares: Mapping[str, Array], label: str) -> Picture:
    """Draw performance profiles: each configuration's share of runs at or above the thresholds."""
    with _styled():
        picture = Picture(figsize=(5.6, 3.4))
        axes = picture.add_subplot()
        for i, (name, share) in enumerate(shares.items()):
            # A share falls behind the value: it is of runs at or above.
            axes.step(thresholds, share, where="pre", color=style(i).hue, linestyle=style(i).line, label=name)
        axes.set(ylim=(-0.03, 1.03), xlabel=f"{label}: x", ylabel="share of runs at or above x")
        _legend(picture, dict(zip(shares, axes.get_lines(), strict=True)))
    return picture


def compose(
    shown: Sequence[Panel],
    title: str = "",
    *,
    columns: int = 3,
    width: float | None = None,
    formulas: Collection[str] = (),
) -> Picture:
    """Draw all panels in one figure, the title above, and one legend below that says what lines and bands are.

    Neither title nor explanation where no panel has a title (``None``), since a paper has a caption.

    Parameters
    ----------
    shown : sequence of Panel
        At least one.
    title : str
        Above all panels; default: none.
    columns : int
        Panels in a row at most.
    width : float, optional
        Of a panel, in inches.
    formulas : collection of str
        Texts in which dollar signs enclose formulas; in any other a dollar sign is one.
    """
    columns = min(columns, 2 if len(shown) == 4 else len(shown))
    width = width or max(panel.figure.width or _WIDTHS[columns] for panel in shown)
    rows, wide = math.ceil(len(shown) / columns), columns * width
    bare = all(panel.figure.title is None for panel in shown)
    high = 1.3 + 0.36 * width + 0.5 * any(panel.words for panel in shown)  # of a panel; words may be slanted
    picture = Picture(figsize=(wide, rows * high))
    _edges(_grid(picture, shown, columns, int(width * 13)), shown, columns)
    parts: list[Legend | Text] = [_legend(picture, keys(shown), "" if bare else _caption(shown))]
    if title and not bare:
        parts.append(picture.suptitle(wrapped(short(title, 400), int(wide * 11)), x=0.01, ha="left"))
    more = sum(part.get_window_extent().height for part in parts) / picture.dpi
    picture.set_figheight(rows * high + more)
    for text in picture.findobj(Text):
        text.set_parse_math(" ".join(text.get_text().split()) in formulas)
    return picture


def keys(shown: Sequence[Panel]) -> dict[str, Line2D]:
    """Return the entries of one legend of all panels: each line, with what it spent of privacy in any, and bounds."""
    found = {}
    for label, i in _places(shown).items():
        mine = {line.cell.key: line for p in shown for one in p.lines if one.label == label for line in one.lines}
        told = spent(list(mine.values()))
        found[short(f"{label} ({told})" if told else label)] = Line2D([], [], **style(i).drawn)
    for name in dict.fromkeys(name for p in shown for name in p.bounds):
        found[f"{short(name)}, in each line's colour"] = Line2D([], [], color=MUTED, linestyle="--", linewidth=1.1)
    return found


def _legend(picture: Picture, entries: Mapping[str, Line2D], caption: str = "") -> Legend:
    """Write one legend below all panels, in as many columns as there is room for."""
    wide = picture.get_figwidth()
    labels = [wrapped(label, max(20, int(wide * 12) - 6)) for label in entries]
    title = wrapped(caption, int(wide * 13)) or None
    columns = 5
    while True:
        columns -= 1
        legend = picture.legend(
            entries.values(), labels, title=title, loc="outside lower left", alignment="left", ncols=columns
        )
        if columns == 1 or legend.get_window_extent().width < wide * picture.dpi:
            legend.get_title().set_color(MUTED)
            return legend
        legend.remove()


def _caption(shown: Sequence[Panel]) -> str:
    """Say what lines and bands are; once, if it is the same in all panels."""
    return ". ".join(dict.fromkeys(panel.caption for panel in shown))


def _places(shown: Sequence[Panel]) -> dict[str, int]:
    """The same line looks the same in all panels."""
    return {label: i for i, label in enumerate(dict.fromkeys(line.label for p in shown for line in p.lines))}


@contextmanager
def _styled(more: Mapping[str, object] | None = None) -> Iterator[None]:
    """Draw by the style sheet; a letter that the font lacks is a box, without a warning for each."""
    with warnings.catch_warnings(), matplotlib.rc_context({**_sheet(), **(more or {})}):
        warnings.filterwarnings("ignore", "Glyph|constrained_layout not applied", UserWarning)
        yield


@cache
def _sheet() -> Mapping[str, object]:
    return matplotlib.rc_params_from_file(_SHEET, use_default_template=False)


def _grid(picture: Picture, shown: Sequence[Panel], columns: int, letters: int) -> list[Axes]:
    """Draw panels row by row; those of one quantity share its axis."""
    rows, places = math.ceil(len(shown) / columns), _places(shown)
    first: tuple[dict[object, Axes], dict[object, Axes]] = {}, {}  # by quantity: the panels whose x and y axis it is
    found = []
    for i, panel in enumerate(shown):
        x, y = (first[k].get(panel.axes[k]) for k in (0, 1))
        axes = picture.add_subplot(rows, columns, i + 1, sharex=x, sharey=y)
        for k in (0, 1):
            first[k].setdefault(panel.axes[k], axes)
        draw(axes, panel, places)
        axes.set_title(wrapped(panel.title, letters))
        found.append(axes)
    for axes, panel in zip(found, shown, strict=True):
        finish(axes, panel)
    return found


def _edges(drawn: Sequence[Axes], shown: Sequence[Panel], columns: int) -> None:
    """Leave the numbers of a shared axis, and what they are, at the edge alone."""
    said = [[(p.axes[0], p.xlabel), (p.axes[1], p.ylabel)] for p in shown]
    for i, axes in enumerate(drawn):
        if i % columns and said[i - 1][1] == said[i][1]:
            axes.tick_params(labelleft=False)
            axes.set_ylabel("")
        if i + columns < len(drawn) and said[i + columns][0] == said[i][0]:
            axes.tick_params(labelbottom=False)
            axes.set_xlabel("")


def _embedded(text: str, told: str) -> str:
    """Return the ``<svg>`` as a part of a page: in its colours, with those ids alone that are referred to."""
    head = re.search(r'<svg .*?viewBox="(\S+ \S+ (\S+) [^"]+)".*?</metadata>', text, re.S)
    assert head is not None
    most = f"max-width: {1.6 * float(head[2]):.0f}px"  # no letter larger than the page's
    body = re.sub(r'<g id="[^"]*"', "<g", text[head.end() :])
    for colour, variable in VARIABLES.items():
        body = re.sub(rf"(?<=: ){colour}\b", f"var({variable})", body)
    return f'<svg viewBox="{head[1]}" style="{most}" role="img" aria-label="{escape(told)}">{body}'
