"""Terminal output of a results folder's texts: control characters are replaced, so that they have no effect."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console


def printable(text: object) -> str:
    """Return a text in which control characters are replaced by their code points.

    Line ends and tabs stay; escapes, other controls, bidirectional marks and lone surrogates do not.
    """
    return "".join(c if c.isprintable() or c in "\n\t" else ascii(c)[1:-1] for c in str(text))


def escape(text: object) -> str:
    r"""Return the text for a rich console, with escaped markup and without control characters.

    Examples
    --------
    >>> escape("[red]\x1b[2J")
    '\\[red]\\x1b[2J'
    """
    from rich.markup import escape

    return escape(printable(text))


def print_table(
    console: Console, title: str, heads: Sequence[str], rows: Sequence[Sequence[str]], named: int, left: Collection[int]
) -> None:
    """Print a table; if it is wider than the console, each row becomes a paragraph.

    Parameters
    ----------
    console : rich.console.Console
    title : str
    heads : sequence of str
    rows : sequence of sequence of str
        Texts under `heads`.
    named : int
        Number of columns that identify a row; a value that is equal to the one above is left out.
    left : collection of int
        Columns of words; all others hold numbers.
    """
    from rich import box
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD, title=escape(title), title_justify="left")
    for i, head in enumerate(heads):
        table.add_column(escape(head), justify="left" if i in left else "right", no_wrap=True)
    for above, row in zip([(), *rows], rows, strict=False):
        known = list(row[:named]) == list(above[:named])
        table.add_row(*("" if known else escape(name) for name in row[:named]), *map(escape, row[named:]))
    if console.measure(table, options=console.options.update(max_width=10_000)).maximum <= console.width:
        console.print(table)
        return
    console.print(escape(title), style="italic")
    for row in rows:
        said = [text if i in left else f"{heads[i]} {text}" for i, text in enumerate(row) if text]
        console.print(escape(" · ".join(said)))
    console.print()
