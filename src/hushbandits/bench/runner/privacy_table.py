"""Tables of guarantees as they were recorded when cells were played."""

from __future__ import annotations

from typing import NamedTuple

from hushbandits.bench.runner.store import Store
from hushbandits.protection import Protection

__all__ = ["noted", "recorded"]


class _Row(NamedTuple):
    """A row of a table of guarantees, under ``HEADS``."""

    cells: tuple[str, ...]

    def texts(self) -> tuple[str, ...]:
        return self.cells


def noted(store: Store) -> dict[str, tuple[tuple[str, ...], ...]]:
    """Return the tables that a folder holds, a text per head in each row, by their cell's key."""
    told = [session.get("privacy", {}) for session in store.sessions()]
    return {key: tuple(map(tuple, rows)) for tables in told for key, rows in tables.items()}


def recorded(store: Store) -> dict[str, Protection]:
    """Return the same as tables that can be shown."""
    return {
        key: Protection(f"{cell.env.name} with {cell.label}", tuple(map(_Row, rows)))  # type: ignore[arg-type]
        for key, rows in noted(store).items()
        if (cell := store.cells.get(key))
    }
