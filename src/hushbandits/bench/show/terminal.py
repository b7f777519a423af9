"""What a run folder says, on a terminal: texts that are shown and not obeyed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from hushbandits.core.ground.strangers import printable

if TYPE_CHECKING:
    from rich.console import Console

__all__ = ["escape", "print_table"]


def escape(text: object) -> str:
    r"""Return the text for a rich console: no bracket is a style, and nothing steers the terminal.

    Examples
    --------
    >>> escape("[red]\x1b[2J")
    '\\[red]\\x1b[2J'
    """
    from rich.markup import escape

    return escape(printable(text))


def print_table(
    console: Console, title: str, heads: Sequence[str], rows: Sequence[Sequence[str]], named: int, left: Sequence[int]
) -> None:
    """Print a table; where it is wider than the console, each row becomes a paragraph, as on a narrow page.

    Parameters
    ----------
    console : rich.console.Console
    title : str
    heads : sequence of str
    rows : sequence of sequence of str
        Texts under `heads`.
    named : int
        How many columns name what a row is about; a name that stands above already is left out of the table.
    left : sequence of int
        Columns of words; all others are of numbers.
    """
    from rich import box
    from rich.measure import Measurement
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD, title=escape(title), title_justify="left")
    for i, head in enumerate(heads):
        table.add_column(escape(head), justify="left" if i in left else "right", no_wrap=True)
    above: Sequence[str] = ()
    for row in rows:
        names = row[:named]
        table.add_row(*map(escape, names if list(names) != list(above) else [""] * named), *map(escape, row[named:]))
        above = names
    unbound = console.options.update(max_width=10_000, width=10_000)
    if Measurement.get(console, unbound, table).maximum <= console.width:
        console.print(table)
        return
    console.print(escape(title), style="italic")
    before: list[str] = []
    for row in rows:
        said = [text if i in left else f"{head} {text}" for i, (head, text) in enumerate(zip(heads, row, strict=True))]
        if said[:named] != before:
            console.print(_wrapped(said[:named], console.width, 2), style="bold")
        before = said[:named]
        parts = [text for text, full in zip(said[named:], row[named:], strict=True) if full]
        console.print(_wrapped(parts, console.width, 4))
    console.print()


def _wrapped(parts: Sequence[str], width: int, indent: int) -> str:
    """Parts one after the other, indented; none is torn that fits a line."""
    lines = [""]
    for part in parts:
        longer = f"{lines[-1]} · {part}" if lines[-1] else part
        if lines[-1] and len(longer) > width - indent:
            lines.append(part)
        else:
            lines[-1] = longer
    return "\n".join(" " * indent + escape(line) for line in lines)
