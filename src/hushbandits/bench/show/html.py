"""What a page is made of: tables as data, and the template that they stand in."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from hushbandits.bench.show.tables import Value, written

__all__ = ["Block", "Table", "render"]

_KINDS = {"holds": "holds", "does not hold": "not", "undecided": "muted"}


@dataclass(frozen=True)
class Table:
    """A table that can be sorted; columns `left` hold texts."""

    heads: Sequence[str]
    rows: Sequence[Sequence[Value]]
    left: Collection[int]


@dataclass(frozen=True)
class Block:
    """A part of an experiment's section: its heading, a table, and what there is to say below."""

    heading: str
    table: Table | None
    notes: Sequence[str] = ()


def _kinds(value: Value, left: bool) -> str:
    """Classes of a cell."""
    letters = len(value) if isinstance(value, str) else 0
    kinds = ["t"] * left + ["wrap"] * (letters > 24) + ["wide"] * (letters > 60) + [_KINDS.get(value, "")]  # type: ignore[arg-type]
    return " ".join(filter(None, kinds))


def _key(value: Value) -> float | None:
    """What a number is sorted by; what has none sorts below everything, and texts by themselves."""
    if isinstance(value, str):
        return None
    first = value[0] if isinstance(value, tuple) else value
    return float(first) if first is not None and math.isfinite(first) else -1e308


def render(template: str = "page.html", **context: object) -> str:
    """Return a page; all texts are escaped but its pictures, its style and its script."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    env = Environment(
        loader=PackageLoader("hushbandits.bench.show", "page"), autoescape=True, undefined=StrictUndefined,
        trim_blocks=True, lstrip_blocks=True, keep_trailing_newline=True,
    )  # fmt: skip
    env.filters |= {"written": written, "kinds": _kinds, "key": _key}
    return env.get_template(template).render(**context)
