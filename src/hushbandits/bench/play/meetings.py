"""Who meets whom: a cell's env and team are built once to be looked at, whoever asks what of them."""

from __future__ import annotations

from hushbandits.bench.declare.spec import Cell
from hushbandits.bench.play.batch import prepare
from hushbandits.core.env import Env
from hushbandits.core.ground.names import words
from hushbandits.core.measure import Measure, gathered
from hushbandits.core.team import Team
from hushbandits.protection import HEADS, protection
from hushbandits.registry import make_wrapper

__all__ = ["Meetings"]


class Meetings:
    """What cells say of themselves when env and team meet: noted at the first meeting, kept for whoever asks next.

    Examples
    --------
    >>> from hushbandits.bench.declare.spec import Experiment, Use
    >>> tiny = Experiment(name="tiny", title="Tiny", env=Use("CoopNetwork-v0"), agents=[Use("UCB1")])
    >>> met = Meetings()
    >>> met.measures(tiny.cells()[0])["messages"].nature, met.table(tiny.cells()[0])[0][0]
    ('count', 'nobody')
    """

    def __init__(self) -> None:
        self._measures: dict[tuple[str, ...], dict[str, Measure]] = {}
        self._tables: dict[str, list[list[str]]] = {}

    def meet(self, cell: Cell, *, table: bool = False) -> tuple[Env, Team]:
        """Build a cell's env and team of one run; note what they measure, and what they promise if `table`."""
        wrappers = [make_wrapper(w.name, **w.params) for w in cell.wrappers]
        met = prepare(cell.env.name, cell.agent.name, 1, cell.env.params, cell.agent.params, wrappers)
        if (players := _players(cell)) not in self._measures:
            self._measures[players] = gathered(*met)
        if table and cell.key not in self._tables:
            self._tables[cell.key] = _table(*met)
        return met

    def measures(self, cell: Cell) -> dict[str, Measure]:
        """Return what a cell's env, agent and wrappers declare; cells of the same names declare the same."""
        if (players := _players(cell)) not in self._measures:
            self.meet(cell)
        return self._measures[players]

    def table(self, cell: Cell) -> list[list[str]]:
        """Return the table of what a cell promises, as texts."""
        if cell.key not in self._tables:
            try:
                self.meet(cell, table=True)
            except Exception as error:  # that must not cost the run
                self._tables[cell.key] = _unknown(error)
        return self._tables[cell.key]


def _players(cell: Cell) -> tuple[str, ...]:
    return cell.env.name, cell.agent.name, *(w.name for w in cell.wrappers)


def _table(env: Env, team: Team) -> list[list[str]]:
    try:
        return [list(line.texts()) for line in protection(env, team).lines]
    except Exception as error:  # one's own promise may fail as it likes: that must not cost the run
        return _unknown(error)


def _unknown(error: Exception) -> list[list[str]]:
    return [[f"not known: {words(error)}", *[""] * (len(HEADS) - 1)]]
