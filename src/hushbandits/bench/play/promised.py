"""What a run's cells promise: told when they are played, kept as texts, shown on the page.

A page reads these texts and builds nothing: what a store names is not imported, and not built either.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Sequence

from hushbandits.bench.declare.spec import Cell, Experiment
from hushbandits.bench.play.meetings import MOST, Meetings
from hushbandits.bench.play.store import Store
from hushbandits.core.ground.strangers import printable
from hushbandits.protection import HEADS

__all__ = ["groups", "told"]

_Rows = tuple[tuple[str, ...], ...]


def told(experiments: Iterable[Experiment], meetings: Meetings, but: Container[str] = ()) -> dict[str, list[list[str]]]:
    """Return the tables of the first cells of each experiment, by the cell's key, without those whose keys `but` holds.

    `met`: where cells have met already.

    Examples
    --------
    >>> from hushbandits.bench.declare.spec import Use
    >>> tiny = Experiment(name="tiny", title="Tiny", env=Use("CoopNetwork-v0"), agents=[Use("UCB1")])
    >>> [[row[0] for row in rows] for rows in told([tiny], Meetings([tiny])).values()]
    [['nobody']]
    """
    return {
        cell.key: meetings.of(cell).privacy for e in experiments for cell in e.cells()[:MOST] if cell.key not in but
    }


def groups(store: Store, cells: Sequence[Cell]) -> list[tuple[list[str], _Rows]]:
    """Return the tables that the store holds of these cells, each with the labels of those that it is about."""
    known: dict[str, _Rows] = {}
    for _, about in store.sessions():
        kept = about.get("privacy")
        for key, rows in kept.items() if isinstance(kept, dict) else ():
            if isinstance(rows, list) and all(isinstance(row, list) and len(row) == len(HEADS) for row in rows):
                known[key] = tuple(tuple(map(printable, row)) for row in rows)
    found: dict[_Rows, list[str]] = {}
    for cell in cells[:MOST]:
        if cell.key in known:
            found.setdefault(known[cell.key], []).append(cell.label)
    return [(labels, rows) for rows, labels in found.items()]
