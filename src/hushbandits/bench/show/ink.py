"""Colours, dashes and marks: on paper, and on a page in the light and in the dark."""

from __future__ import annotations

from dataclasses import dataclass

from hushbandits.core.ground.types import Params

__all__ = ["CSS", "GRID", "LIGHT", "MUTED", "PAPER", "SHAPES", "TEXT", "VARIABLES", "Style", "style"]

#: Line colours on white and on black; told apart by colour-blind eyes (after Okabe & Ito 2008).
LIGHT = ("#0072b2", "#d55e00", "#009e73", "#b5508f", "#b07d00", "#3d9bd1", "#6b5fb5", "#7a7a7a")
_DARK = ("#56b4e9", "#ff8c42", "#2fc59b", "#e59ac5", "#f0c040", "#8fd0f5", "#a99df0", "#b0b0b0")
#: Marks, each as the outline that a legend shows of it in a box of 12 × 12.
SHAPES = {
    "o": "M2 6a4 4 0 1 0 8 0a4 4 0 1 0-8 0z",
    "s": "M2.5 2.5h7v7h-7z",
    "^": "M6 1.5 10.5 10h-9z",
    "D": "M6 1 11 6 6 11 1 6z",
    "v": "M6 10.5 1.5 2h9z",
    "<": "M1.5 6 10 1.5v9z",
    ">": "M10.5 6 2 1.5v9z",
    "p": "M6 1.5 10.5 4.8 8.8 10H3.2L1.5 4.8z",
}
#: Once all colours are used, lines differ by their dashes: lengths on and off, in widths of the line.
_DASHES = ((), (5.0, 1.2, 1.0, 1.2), (2.5, 1.2))


TEXT, MUTED, GRID, PAPER = "#1a1a1a", "#5c5c5c", "#e3e3e3", "#ffffff"
_ROLES = ("--ink", "--muted", "--grid", "--paper", *(f"--line{i}" for i in range(len(LIGHT))))
#: The CSS variable that each colour is on a page; no other colour occurs in a picture.
VARIABLES = dict(zip((TEXT, MUTED, GRID, PAPER, *LIGHT), _ROLES, strict=True))


def _css(*colours: str) -> str:
    return " ".join(f"{role}: {colour};" for role, colour in zip(_ROLES, colours, strict=True))


#: Values of the variables in the light and in the dark.
CSS = {
    "light": _css("#1b1f24", "#5b646d", "#e2e6ea", "#ffffff", *LIGHT),
    "dark": _css("#e6e9ed", "#98a2ad", "#30363d", "#14181d", *_DARK),
}


@dataclass(frozen=True)
class Style:
    """How a line is told from the others, without its colour too."""

    colour: int
    dashes: tuple[float, ...]
    mark: str

    @property
    def hue(self) -> str:
        """Its colour."""
        return LIGHT[self.colour]

    @property
    def line(self) -> str | tuple[float, tuple[float, ...]]:
        """Its dashes, as Matplotlib takes them."""
        return (0.0, self.dashes) if self.dashes else "-"

    def marks(self, size: float = 5.5, edge: float = 0.6) -> Params:
        """Return what Matplotlib is told of its marks."""
        return {"marker": self.mark, "markersize": size, "markeredgecolor": PAPER, "markeredgewidth": edge}


def style(i: int) -> Style:
    """Return the style of the i-th line; 24 lines have styles of their own.

    Examples
    --------
    >>> style(0), style(8).colour, style(8).mark
    (Style(colour=0, dashes=(), mark='o'), 0, 's')
    """
    turn = i // len(LIGHT)
    marks = tuple(SHAPES)
    return Style(i % len(LIGHT), _DASHES[turn % len(_DASHES)], marks[(i + turn) % len(marks)])
