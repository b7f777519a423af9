"""What a page is made of: tables as data, and the template that they stand in."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from importlib.resources import files

__all__ = ["Block", "Entry", "Table", "Value", "render", "table"]

#: What stands in a table: a text, or a text and what it is sorted by.
Value = str | tuple[str, float | None]
_KINDS = {"holds": "holds", "does not hold": "not", "undecided": "muted"}


@dataclass(frozen=True)
class Entry:
    """A text of a table, its classes, and for a number what it is sorted by."""

    text: str
    kinds: str = ""
    key: str | None = None


@dataclass(frozen=True)
class Table:
    """A table that can be sorted; columns `left` hold texts."""

    heads: Sequence[str]
    rows: Sequence[Sequence[Entry]]
    left: frozenset[int]


@dataclass(frozen=True)
class Block:
    """A part of an experiment's section: its heading, a table, and what there is to say below."""

    heading: str
    table: Table | None
    notes: Sequence[str] = ()


def table(heads: Sequence[str], rows: Iterable[Sequence[Value]], texts: Iterable[int] = ()) -> Table:
    """Return a table; a value is a text, or a pair (text, number to sort by); columns `texts` stand left.

    Examples
    --------
    >>> table(["agent", "mean"], [["UCB1", ("3", 3.0)]], [0]).rows[0][1]
    Entry(text='3', kinds='', key='3.0')
    """
    left = frozenset(texts)

    def entry(i: int, value: Value) -> Entry:
        if not isinstance(value, tuple):
            text = str(value)
            kinds = (
                ["t"] * (i in left) + ["wrap"] * (len(text) > 24) + ["wide"] * (len(text) > 60) + [_KINDS.get(text, "")]
            )
            return Entry(text, " ".join(filter(None, kinds)))
        text, key = value
        # What has no number sorts below everything.
        key = -1e308 if key is None or key != key or key in (float("inf"), float("-inf")) else float(key)
        return Entry(text, "t" if i in left else "", repr(key))

    return Table(heads, [[entry(i, v) for i, v in enumerate(row)] for row in rows], left)


def render(**context: object) -> str:
    """Return the page; all texts are escaped but those that are ``markupsafe.Markup``."""
    from jinja2 import Environment, PackageLoader, StrictUndefined
    from markupsafe import Markup

    loader = PackageLoader("hushbandits.bench.show", "page")
    env = Environment(
        loader=loader, autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True,
        keep_trailing_newline=True,
    )  # fmt: skip
    folder = files("hushbandits.bench.show") / "page"
    own = {name: Markup((folder / name).read_text("utf-8")) for name in ("style.css", "script.js")}
    return env.get_template("page.html").render(style=own["style.css"], script=own["script.js"], **context)
