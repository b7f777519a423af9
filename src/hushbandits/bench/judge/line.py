"""What was played, as one object: the runs of one cell, wherever they lie, and what is known of them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

import numpy as np

from hushbandits.bench.declare.spec import Cell, Experiment
from hushbandits.bench.play.natures import Measures, measures
from hushbandits.bench.play.store import Store
from hushbandits.core.ground.types import Array, Params
from hushbandits.core.ground.validate import shown
from hushbandits.core.measure import Measure

__all__ = ["Held", "Line", "faced", "lines"]


@dataclass(frozen=True, eq=False)
class Line(ABC):
    """Runs of one cell: `lines` reads those of a store, `Held` has them in memory.

    Parameters
    ----------
    cell : Cell
        Who played where.
    label : str
        What it is called among others.
    measures : dict of Measure
        What its metrics are; of one that nobody declared, any number.
    world : int or None
        What its seeds were made of: run r of two lines drew from the same seed where this is equal; ``None``: it is
        not known.
    faced : dict of str
        The env that it played in, as it was asked for (`faced`); empty: it is not known.
    """

    cell: Cell
    label: str
    measures: Mapping[str, Measure] = field(default_factory=Measures)
    world: int | None = None
    faced: Mapping[str, str] = field(default_factory=dict)

    @abstractmethod
    def metrics(self) -> list[str]:
        """Names of what is known at the end."""

    @abstractmethod
    def runs(self) -> Array:
        """``(n,)`` numbers of its runs."""

    @abstractmethod
    def final(self, metric: str) -> Array:
        """``(n,)`` values at the end, NaN where a run has none; empty if no run has one."""

    @abstractmethod
    def curve(self, metric: str) -> tuple[Array, Array]:
        """Checkpoints ``(C,)`` and values ``(n, C)``; empty if there are none."""


@dataclass(frozen=True, eq=False)
class Held(Line):
    """A line in memory; `numbers` of its runs are 0, 1, … if none are given."""

    finals: Mapping[str, Array] = field(default_factory=dict)
    curves: Mapping[str, tuple[Array, Array]] = field(default_factory=dict)
    numbers: Array | None = None

    def metrics(self) -> list[str]:
        return list(self.finals)

    def runs(self) -> Array:
        return np.arange(len(next(iter(self.finals.values()), ()))) if self.numbers is None else self.numbers

    def final(self, metric: str) -> Array:
        return np.asarray(self.finals.get(metric, ()), float)

    def curve(self, metric: str) -> tuple[Array, Array]:
        times, values = self.curves.get(metric, (np.empty(0), np.empty((0, 0))))
        return np.asarray(times, float), np.asarray(values, float)


@dataclass(frozen=True, eq=False, kw_only=True)
class _Stored(Line):
    """The first `asked` runs that a store holds of a cell, read anew at each call."""

    store: Store
    asked: int

    def metrics(self) -> list[str]:
        return self.store.metrics(self.cell)

    def runs(self) -> Array:
        return self.store.present(self.cell, self.asked)

    def final(self, metric: str) -> Array:
        return self.store.final(self.cell, metric, self.asked)

    def curve(self, metric: str) -> tuple[Array, Array]:
        return self.store.curve(self.cell, metric, self.asked)


def lines(store: Store, experiment: Experiment, cells: Iterable[Cell] | None = None) -> list[Line]:
    """Return the lines of an experiment in a store, at each point of its sweep, or those of some of its cells."""
    known = measures(store, experiment)
    found: list[Line] = []
    for cell in experiment.cells() if cells is None else cells:
        entropy = cell.seeds(store.seed, 0, 1)[0].entropy
        world = entropy if isinstance(entropy, int) else None
        met = faced(cell.env.name, cell.env.params)
        found.append(_Stored(cell, cell.line, known, world, met, store=store, asked=experiment.runs))
    return found


def faced(env: str, params: Params) -> dict[str, str]:
    """Return what runs faced, in words: the env's name and the parameters that it was given.

    Examples
    --------
    >>> faced("CoopNetwork-v0", {"horizon": 100, "means": (0.5, 0.4)})
    {'env': 'CoopNetwork-v0', 'horizon': '100', 'means': '[0.5, 0.4]'}
    """
    return {"env": env, **{k: shown(list(v) if isinstance(v, tuple) else v) for k, v in params.items()}}
