"""What a run folder says, on a terminal: texts that are shown and not obeyed."""

from __future__ import annotations

from hushbandits.core.strangers import printable

__all__ = ["escape"]


def escape(text: object) -> str:
    """Return the text for a rich console: no bracket is a style, and nothing steers the terminal.

    Examples
    --------
    >>> escape("[red]\\x1b[2J")
    '\\\\[red]\\\\x1b[2J'
    """
    from rich.markup import escape

    return escape(printable(text))
