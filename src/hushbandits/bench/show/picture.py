"""A picture to keep: a Matplotlib figure that saves itself, and shows itself in a notebook."""

from __future__ import annotations

import io
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import cast

import matplotlib
from matplotlib.backend_bases import RendererBase
from matplotlib.figure import Figure as Canvas

from hushbandits.bench.declare.spec import Experiment, Figure
from hushbandits.bench.judge.line import Line
from hushbandits.bench.show import plots
from hushbandits.bench.show.ink import LIGHT, Style, style
from hushbandits.bench.show.layout import Placed, Sheet
from hushbandits.bench.show.panels import panels
from hushbandits.core.ground.files import replacing
from hushbandits.core.ground.types import Array

__all__ = ["Picture", "drawn", "profiles"]


class Picture(Canvas):
    """A Matplotlib figure, as `drawn` makes it: whatever size it is given, nothing in it overlaps."""

    def draw(self, renderer: RendererBase) -> None:
        """Draw it; ticks that are made only now look like all others."""
        with matplotlib.rc_context(plots.STYLE):
            super().draw(renderer)

    def save(self, path: Path | str) -> Path:
        """Write it to a file, whole or not at all: PNG, SVG or PDF, as the name ends, without a date.

        Raises
        ------
        ValueError
            Another ending, or a file that cannot be written.
        """
        path = Path(path)
        format = path.suffix.lower().removeprefix(".")
        if format not in plots.FORMATS:
            raise ValueError(f"path={str(path)!r} must end with {', '.join(f'.{f}' for f in plots.FORMATS)}")
        try:
            with replacing(path, binary=True, device=True) as out, matplotlib.rc_context(plots.STYLE):
                self.savefig(out, format=format, **plots.FORMATS[format])
        except OSError as error:
            raise ValueError(f"cannot write {path}: {(error.strerror or str(error)).lower()}") from None
        return path

    def _repr_png_(self) -> bytes:
        out = io.BytesIO()
        self.savefig(out, format="png", dpi=110)
        return out.getvalue()

    @classmethod
    def of(cls, figure: Canvas) -> Picture:
        """Return a Matplotlib figure as a picture: the same object, with more methods."""
        figure.__class__ = cls
        return cast(Picture, figure)


def drawn(lines: Sequence[Line], experiment: Experiment, figure: Figure) -> Picture:
    """Draw a figure of some lines of an experiment.

    Bounds are called, and formulas (``"$t$"``) drawn in the figure's own title and labels: whoever asks for them here
    has written them.  What is stored (lines, the experiment's title) is written as it stands, dollar signs too.

    Raises
    ------
    ValueError
        There is nothing to draw, or a formula that Matplotlib cannot read.
    """
    formulas = set(_own(figure))
    shown = panels(lines, experiment, figure.bounds.values(), figure)
    if not shown:
        raise ValueError(f"there is nothing to draw of {figure.y!r} along {figure.x!r}: no such runs, or no such curve")
    with plots.quietly():
        return Picture.of(plots.compose(experiment, shown, formulas))


def _own(figure: Figure) -> Iterator[str]:
    """Texts of a figure that have formulas in them."""
    from matplotlib.mathtext import MathTextParser

    for name in ("title", "xlabel", "ylabel"):
        text = getattr(figure, name)
        if not text or "$" not in text:
            continue
        try:
            MathTextParser("path").parse(text)
        except ValueError:
            raise ValueError(
                f"{name}={text!r} has a formula that cannot be read; a dollar sign itself is \\$"
            ) from None
        yield text


def profiles(thresholds: Array, shares: Mapping[str, Array], label: str) -> Picture:
    """Draw performance profiles: each line's share of runs at or above the thresholds."""
    with matplotlib.rc_context(plots.STYLE):
        figure = Picture.of(plots.blank())
        axes = figure.add_subplot()
        axes.grid(True)
        keys = []
        for i, (name, share) in enumerate(shares.items()):
            how = Style(i % len(LIGHT), style(i).dashes, "")
            # A share falls behind the value: it is of runs at or above.
            axes.step(thresholds, share, linestyle=how.line, where="pre", color=how.hue)
            keys.append(plots.entry(figure, plots.Key(name, how)))
        axes.set_ylim(-0.03, 1.03)
        axes.set_xlabel(f"{label}: x")
        axes.set_ylabel("share of runs at or above x")
        sheet = Sheet([Placed(axes, axes.set_title(""))], keys=keys)
        figure.set_size_inches(6.0, 3.5 + sheet.height(6.0))
        figure.set_layout_engine(sheet)
    return figure
