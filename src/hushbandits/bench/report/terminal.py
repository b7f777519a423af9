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
    from rich.padding import Padding
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD, title=escape(title), title_justify="left")
    for i, head in enumerate(heads):
        table.add_column(escape(head), justify="left" if i in left else "right", no_wrap=True)
    above: Sequence[str] = ()
    for row in rows:
        names = row[:named]
        table.add_row(*map(escape, names if list(names) != list(above) else [""] * named), *map(escape, row[named:]))
        above = names
    if console.measure(table, options=console.options.update(max_width=10_000)).maximum <= console.width:
        console.print(table)
        return
    console.print(escape(title), style="italic")
    for row in rows:
        said = [text if i in left else f"{heads[i]} {text}" for i, text in enumerate(row)]
        console.print(escape(" · ".join(filter(None, said[:named]))), style="bold")
        rest = (text for text, full in zip(said[named:], row[named:], strict=True) if full)
        console.print(Padding(escape(" · ".join(rest)), (0, 0, 0, 2)))
    console.print()
