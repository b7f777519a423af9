"""Build env and agent of every cell once, and keep as data what they declare."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from hushbandits.bench.declare.spec import Cell, Experiment
from hushbandits.bench.runner.batch import prepare, sampled
from hushbandits.core.face import Face
from hushbandits.core.ground.names import words
from hushbandits.core.measure import Measure, gathered
from hushbandits.core.play import measured
from hushbandits.protection import HEADS, protection
from hushbandits.registry import make_wrapper

__all__ = ["Instance", "Instances", "joined"]


class Instance(NamedTuple):
    """What env, agent and wrappers of a cell declare.

    Parameters
    ----------
    finals, curves : frozenset of str
        Metrics at the end of a run, and those with curves.
    measures : dict of Measure
        What the metrics are.
    privacy : list of list of str
        The table of guarantees, a row each; empty beyond an experiment's first cells.
    """

    finals: frozenset[str]
    curves: frozenset[str]
    measures: dict[str, Measure]
    privacy: list[list[str]]


class Instances:
    """Instances of the cells of some experiments, each built when it is first asked for.

    Examples
    --------
    >>> from hushbandits.bench.declare.spec import Use
    >>> tiny = Experiment(name="tiny", title="Tiny", env=Use("CoopNetwork-v0"), agents=[Use("UCB1")])
    >>> found = Instances([tiny]).of(tiny.cells()[0])
    >>> found.measures["messages"].nature, "regret" in found.finals, [row[0] for row in found.privacy]
    ('count', True, ['nobody'])
    """

    #: Cells of an experiment whose guarantees are kept.
    MOST = 400

    def __init__(self, experiments: Iterable[Experiment]):
        self._shown = {cell.key for e in experiments for cell in e.cells()[: self.MOST]}
        self._built: dict[str, Instance] = {}
        self._kinds: dict[tuple[str, ...], Instance] = {}

    def of(self, cell: Cell) -> Instance:
        """Return what was declared.

        Raises
        ------
        ValueError, TypeError
            Whatever a run would raise at its start.
        """
        if cell.key not in self._built:
            self._built[cell.key] = self._build(cell)
        return self._built[cell.key]

    def measures(self, cell: Cell) -> Mapping[str, Measure]:
        """Return what the metrics of a cell are; each combination of env, agent and wrappers is built once."""
        return (self._kinds.get(_kind(cell)) or self.of(cell)).measures

    def _build(self, cell: Cell) -> Instance:
        wrappers = [make_wrapper(w.name, **w.params) for w in cell.wrappers]
        env, team = prepare(cell.env.name, cell.agent.name, 1, cell.env.params, cell.agent.params, wrappers)
        sampled(cell.checkpoints, env)
        privacy = []
        if cell.key in self._shown:
            try:
                privacy = [list(line.texts()) for line in protection(env, team).lines]
            except Exception as error:  # a user-defined guarantee may fail as it likes: that must not cost the run
                privacy = [[f"not known: {words(error)}", *[""] * (len(HEADS) - 1)]]
        kind = _kind(cell)
        if kind not in self._kinds:
            measures = gathered(env, team)
            env.reset(0)
            team.reset(Face(env), env.seeds)
            finals = frozenset(measured(env, team, env.metrics()))
            self._kinds[kind] = Instance(finals, frozenset(env.curve_metrics), measures, [])
        return self._kinds[kind]._replace(privacy=privacy)


def _kind(cell: Cell) -> tuple[str, ...]:
    return cell.env.name, cell.agent.name, *(w.name for w in cell.wrappers)


def joined(experiment: str, instances: Iterable[Instance]) -> dict[str, Measure]:
    """Return what the metrics of an experiment are; ``ValueError`` where its envs, agents and wrappers disagree."""
    found: dict[str, Measure] = {}
    for name, measure in (item for instance in instances for item in instance.measures.items()):
        if (other := found.setdefault(name, measure)).nature != measure.nature:
            raise ValueError(
                f"{experiment}: the metric {name!r} is declared as {measure.nature}, and by another env, agent or "
                f"wrapper as {other.nature}; call one of them otherwise"
            )
    return found
