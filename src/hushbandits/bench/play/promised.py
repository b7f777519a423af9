"""What a run's cells promise: told when they are played, kept as texts, shown on the page.

A page reads these texts and builds nothing: what a store names is not imported, and not built either.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Sequence

from hushbandits.bench.declare.spec import Cell, Experiment
from hushbandits.bench.play.batch import prepare
from hushbandits.bench.play.store import Store
from hushbandits.core.ground.names import words
from hushbandits.core.ground.strangers import printable
from hushbandits.protection import HEADS, protection
from hushbandits.registry import make_wrapper

__all__ = ["MOST", "UNHELD", "groups", "told"]

#: Of a folder that does not hold its promises by a checksum.
UNHELD = "An older hushbandits noted these promises, without a checksum: damage to them would not show."

#: Cells of an experiment whose promises are told.
MOST = 400
_Rows = tuple[tuple[str, ...], ...]


def told(experiments: Iterable[Experiment], but: Container[str] = ()) -> dict[str, list[list[str]]]:
    """Return the tables of the first cells of each experiment, by the cell's key, without those whose keys `but` holds.

    Examples
    --------
    >>> from hushbandits.bench.declare.spec import Use
    >>> tiny = Experiment(name="tiny", title="Tiny", env=Use("CoopNetwork-v0"), agents=[Use("UCB1")])
    >>> [[row[0] for row in rows] for rows in told([tiny]).values()]
    [['nobody']]
    """
    return {cell.key: _table(cell) for e in experiments for cell in e.cells()[:MOST] if cell.key not in but}


def _table(cell: Cell) -> list[list[str]]:
    try:
        wrappers = [make_wrapper(w.name, **w.params) for w in cell.wrappers]
        met = prepare(cell.env.name, cell.agent.name, 1, cell.env.params, cell.agent.params, wrappers)
        return [list(line.texts()) for line in protection(*met).lines]
    except Exception as error:  # one's own promise may fail as it likes: that must not cost the run
        return [[f"not known: {words(error)}", *[""] * (len(HEADS) - 1)]]


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
