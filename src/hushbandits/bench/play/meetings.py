"""One meeting of every cell: env and team are built once, and what they say of themselves is kept as data."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from hushbandits.bench.declare.spec import Cell, Experiment
from hushbandits.bench.play.batch import prepare, sampled
from hushbandits.core.face import Face
from hushbandits.core.ground.names import words
from hushbandits.core.measure import Measure, gathered
from hushbandits.core.play import measured
from hushbandits.protection import HEADS, protection
from hushbandits.registry import make_wrapper

__all__ = ["MOST", "Meetings", "Met"]

#: Cells of an experiment whose promises are told.
MOST = 400


class Met(NamedTuple):
    """What env, agent and wrappers of a cell say when they meet."""

    #: What is measured at the end, and along the way.
    finals: frozenset[str]
    curves: frozenset[str]
    measures: dict[str, Measure]
    #: Who is protected from whom, a row per promise; empty beyond an experiment's first cells.
    privacy: list[list[str]]


class Meetings:
    """The meetings of some experiments' cells, each held when it is first asked for.

    Examples
    --------
    >>> from hushbandits.bench.declare.spec import Use
    >>> tiny = Experiment(name="tiny", title="Tiny", env=Use("CoopNetwork-v0"), agents=[Use("UCB1")])
    >>> met = Meetings([tiny]).of(tiny.cells()[0])
    >>> met.measures["messages"].nature, "regret" in met.finals, [row[0] for row in met.privacy]
    ('count', True, ['nobody'])
    """

    def __init__(self, experiments: Iterable[Experiment]):
        self._shown = {cell.key for e in experiments for cell in e.cells()[:MOST]}
        self._met: dict[str, Met] = {}
        self._offered: dict[tuple[str, str], tuple[frozenset[str], frozenset[str]]] = {}

    def of(self, cell: Cell) -> Met:
        """Return what was said.

        Raises
        ------
        ValueError, TypeError
            Whatever a run would stumble over at its start.
        """
        if cell.key not in self._met:
            self._met[cell.key] = self._meet(cell)
        return self._met[cell.key]

    def _meet(self, cell: Cell) -> Met:
        wrappers = [make_wrapper(w.name, **w.params) for w in cell.wrappers]
        env, team = prepare(cell.env.name, cell.agent.name, 1, cell.env.params, cell.agent.params, wrappers)
        sampled(cell.checkpoints, env)
        measures = gathered(env, team)
        privacy = []
        if cell.key in self._shown:
            try:
                privacy = [list(line.texts()) for line in protection(env, team).lines]
            except Exception as error:  # one's own promise may fail as it likes: that must not cost the run
                privacy = [[f"not known: {words(error)}", *[""] * (len(HEADS) - 1)]]
        players = cell.env.name, cell.agent.name
        if players not in self._offered:
            env.reset(0)
            team.reset(Face(env), env.seeds)
            self._offered[players] = frozenset(measured(env, team, env.metrics())), frozenset(env.curve_metrics)
        return Met(*self._offered[players], measures, privacy)
