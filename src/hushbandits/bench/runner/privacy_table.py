"""Tables of guarantees as they were recorded when cells were played."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, cast

from hushbandits.bench.declare.spec import Cell
from hushbandits.bench.runner.store import Store
from hushbandits.protection import HEADS, Line, Protection

__all__ = ["grouped", "recorded"]

_Rows = tuple[tuple[str, ...], ...]


class _Recorded(NamedTuple):
    """A row of a table of guarantees, under `HEADS`."""

    cells: tuple[str, ...]

    def texts(self) -> tuple[str, ...]:
        return self.cells


def _rows(store: Store) -> dict[str, _Rows]:
    known: dict[str, _Rows] = {}
    for session in store.sessions():
        kept = session.get("privacy")
        for key, rows in kept.items() if isinstance(kept, dict) else ():
            if isinstance(rows, list) and all(isinstance(row, list) and len(row) == len(HEADS) for row in rows):
                known[key] = tuple(tuple(map(str, row)) for row in rows)
    return known


def recorded(store: Store) -> dict[str, Protection]:
    """Return the tables that a folder holds, by their cell's key."""
    known = _rows(store)
    return {
        key: Protection(
            f"{cell.env.name} with {cell.label}", cast("tuple[Line, ...]", tuple(map(_Recorded, known[key])))
        )
        for key, cell in store.cells.items()
        if key in known
    }


def grouped(store: Store, cells: Sequence[Cell]) -> list[tuple[list[str], _Rows]]:
    """Return the tables of some cells, each with the labels of those that it is about."""
    known = _rows(store)
    found: dict[_Rows, list[str]] = {}
    for cell in cells:
        if cell.key in known:
            found.setdefault(known[cell.key], []).append(cell.label)
    return [(labels, rows) for rows, labels in found.items()]
