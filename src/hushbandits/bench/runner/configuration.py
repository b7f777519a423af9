"""The runs of one cell in memory, with their metadata."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import NamedTuple

import numpy as np

from hushbandits.bench.runner.rows import Runs
from hushbandits.bench.runner.store import Measures, Store
from hushbandits.bench.spec.experiment import Cell, Experiment
from hushbandits.core import Array, Metric, Params
from hushbandits.guarantee_table import PrivacyReport


@dataclass(frozen=True, eq=False)
class Configuration:
    """The runs of one agent in one env, at one point of a sweep.

    Parameters
    ----------
    cell : Cell
        Env, wrappers and agent.
    label : str
        Its name among the configurations.
    source : Runs or callable
        The runs, or a function that loads them on first use.
    metrics_spec : mapping of str to Metric
        Specifications of the metrics; an undeclared metric may be any number.
    seed : int, optional
        Master seed of the runs.  Without one the seed is unknown, unless `seed_source` gives it.
    seed_source : tuple, optional
        Master seed and seed text of the runs, if they differ from the cell's.
    env : tuple, optional
        The env's name and the given parameters, if they are known.
    agent : dict
        The given parameters of the agent, as far as they are known.
    """

    cell: Cell
    label: str
    source: Runs | Callable[[], Runs]
    metrics_spec: Mapping[str, Metric] = field(default_factory=Measures)
    seed: int | None = None
    seed_source: tuple[int, str] | None = None
    env: tuple[str, Params] | None = None
    agent: Params = field(default_factory=dict)

    @cached_property
    def data(self) -> Runs:
        """Return the `Runs` of the cell, which are loaded on first use."""
        return self.source if isinstance(self.source, Runs) else self.source()

    @cached_property
    def world(self) -> tuple[int, str] | None:
        """Return the master seed and the seed text; configurations that share both have the same seed in run r."""
        if self.seed_source is not None or self.seed is None:
            return self.seed_source
        return self.seed, self.cell.shared_runs

    def metrics(self) -> list[str]:
        """Return the names of metrics with one number per run."""
        return [name for name, values in self.data.finals.items() if np.ndim(values) == 1]

    def runs(self) -> Array:
        """Return the run numbers, ``(n,)``."""
        return self.data.numbers

    def final(self, metric: str) -> Array:
        """Return the final values of `metric`, ``(n,)``, NaN for a run without a value; empty if no run has a value."""
        return np.asarray(self.data.finals.get(metric, ()), float)

    def curve(self, metric: str) -> tuple[Array, Array]:
        """Return the checkpoints ``(C,)`` and values ``(n, C)`` of a metric; empty arrays if it has no curve."""
        return self.data.curves.get(metric, (np.empty(0), np.empty((0, 0))))


def configurations(store: Store, experiment: Experiment, cells: Iterable[Cell] | None = None) -> list[Configuration]:
    """Return the configurations of an experiment, loaded from a folder, for all cells or for `cells`."""
    return [
        Configuration(
            cell, cell.line, partial(store.rows.runs, cell.key, experiment.runs), store.metrics_spec(cell), store.seed,
            env=(cell.env.name, cell.env.params), agent=cell.agent.params,
        )
        for cell in (experiment.cells() if cells is None else cells)
    ]  # fmt: skip


class _Row(NamedTuple):
    """Row of a table of guarantees, with the columns ``HEADS``."""

    cells: tuple[str, ...]

    def texts(self) -> tuple[str, ...]:
        return self.cells


def noted(store: Store) -> dict[str, tuple[tuple[str, ...], ...]]:
    """Return the tables of guarantees stored in a folder, by cell key; each row is a tuple of texts."""
    stated = [session.get("privacy", {}) for session in store.sessions()]
    return {key: tuple(map(tuple, rows)) for tables in stated for key, rows in tables.items()}


def recorded(store: Store) -> dict[str, PrivacyReport]:
    """Return the tables of guarantees stored in a folder as `PrivacyReport` objects, by cell key."""
    return {
        key: PrivacyReport(f"{cell.env.name} with {cell.label}", tuple(map(_Row, rows)))  # type: ignore[arg-type]
        for key, rows in noted(store).items()
        if (cell := store.cells.get(key))
    }
