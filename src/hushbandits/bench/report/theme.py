"""Colours, dashes and marks of figures: on paper, and on a page in the light and in the dark.

All else that Matplotlib goes by stands in ``templates/figures.mplstyle``.
"""

from __future__ import annotations

from dataclasses import dataclass

from hushbandits.core.ground.types import Params

__all__ = ["CSS", "LIGHT", "MUTED", "PAPER", "VARIABLES", "Style", "style"]

#: Colours of lines on white and on black; told apart by colour-blind eyes (after Okabe & Ito 2008).
LIGHT = ("#0072b2", "#d55e00", "#009e73", "#b5508f", "#b07d00", "#3d9bd1", "#6b5fb5", "#7a7a7a")
_DARK = ("#56b4e9", "#ff8c42", "#2fc59b", "#e59ac5", "#f0c040", "#8fd0f5", "#a99df0", "#b0b0b0")
_MARKS = ("o", "s", "^", "D", "v", "<", ">", "p")
#: Once all colours are used, lines differ by their dashes: lengths on and off, in widths of the line.
_DASHES = ((), (5.0, 1.2, 1.0, 1.2), (2.5, 1.2))

_TEXT, MUTED, _GRID, PAPER = "#1a1a1a", "#5c5c5c", "#e3e3e3", "#ffffff"
_ROLES = ("--ink", "--muted", "--grid", "--paper", *(f"--line{i}" for i in range(len(LIGHT))))
#: The CSS variable that each colour is on a page; no other colour occurs in a figure.
VARIABLES = dict(zip((_TEXT, MUTED, _GRID, PAPER, *LIGHT), _ROLES, strict=True))


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

    @property
    def drawn(self) -> Params:
        """Colour, dashes and mark, as Matplotlib takes them."""
        marks = {"marker": self.mark, "markeredgecolor": PAPER, "markeredgewidth": 0.6}
        return {"color": self.hue, "linestyle": self.line, **marks}


def style(i: int) -> Style:
    """Return the style of the i-th line; 24 lines have styles of their own.

    Examples
    --------
    >>> style(0), style(8).colour, style(8).mark
    (Style(colour=0, dashes=(), mark='o'), 0, 's')
    """
    turn = i // len(LIGHT)
    return Style(i % len(LIGHT), _DASHES[turn % len(_DASHES)], _MARKS[(i + turn) % len(_MARKS)])
