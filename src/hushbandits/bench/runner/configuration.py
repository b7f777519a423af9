"""The runs of one cell in memory, and what is known of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import NamedTuple

import numpy as np

from hushbandits.bench.declare.spec import Cell, Experiment
from hushbandits.bench.runner.rows import Runs
from hushbandits.bench.runner.store import Measures, Store
from hushbandits.core import Array, Params, shown
from hushbandits.core.metric import Metric
from hushbandits.guarantee_table import PrivacyReport

__all__ = ["Configuration", "configurations", "noted", "recorded"]


@dataclass(frozen=True, eq=False)
class Configuration:
    """One agent in one env, with its runs.

    Parameters
    ----------
    cell : Cell
        Env, wrappers and agent.
    label : str
        Its name among others.
    source : Runs or callable
        Its runs, or what returns them when they are first asked for.
    measures : mapping of str to Measure
        What the metrics are; of one that nobody declared, any number.
    seed : int, optional
        Master seed of its runs; without one it is not known what they drew from, unless `luck` says it.
    luck : tuple, optional
        Master seed and seed text of its runs, where these are not the cell's.
    """

    cell: Cell
    label: str
    source: Runs | Callable[[], Runs]
    measures: Mapping[str, Metric] = field(default_factory=Measures)
    seed: int | None = None
    luck: tuple[int, str] | None = None
    env: tuple[str, Params] | None = None

    @cached_property
    def data(self) -> Runs:
        """Numbers of its runs and their metrics."""
        return self.source if isinstance(self.source, Runs) else self.source()

    @cached_property
    def world(self) -> tuple[int, str] | None:
        """Master seed and a text: run r of two configurations drew from the same seed where these are equal."""
        if self.luck is not None or self.seed is None:
            return self.luck
        return self.seed, self.cell.shared_runs

    @cached_property
    def faced(self) -> dict[str, str]:
        """The env's name and the parameters that it was given, in words; empty: unknown."""
        if self.env is None:
            return {}
        name, params = self.env
        return {"env": name, **{k: shown(list(v) if isinstance(v, tuple) else v) for k, v in params.items()}}

    def metrics(self) -> list[str]:
        """Return the names of metrics of one number per run."""
        return [name for name, values in self.data.finals.items() if np.ndim(values) == 1]

    def runs(self) -> Array:
        """``(n,)`` numbers of its runs."""
        return self.data.numbers

    def final(self, metric: str) -> Array:
        """``(n,)`` values at the end, NaN where a run has none; empty if no run has one."""
        return np.asarray(self.data.finals.get(metric, ()), float)

    def curve(self, metric: str) -> tuple[Array, Array]:
        """Checkpoints ``(C,)`` and values ``(n, C)``; empty if there are none."""
        return self.data.curves.get(metric, (np.empty(0), np.empty((0, 0))))


def configurations(store: Store, experiment: Experiment, cells: Iterable[Cell] | None = None) -> list[Configuration]:
    """Read the configurations of an experiment from a folder, at each point of its sweep, or those of some cells."""
    return [
        Configuration(
            cell, cell.line, partial(store.rows.runs, cell.key, experiment.runs), store.measures(cell), store.seed,
            env=(cell.env.name, cell.env.params),
        )
        for cell in (experiment.cells() if cells is None else cells)
    ]  # fmt: skip


class _Row(NamedTuple):
    """A row of a table of guarantees, under ``HEADS``."""

    cells: tuple[str, ...]

    def texts(self) -> tuple[str, ...]:
        return self.cells


def noted(store: Store) -> dict[str, tuple[tuple[str, ...], ...]]:
    """Return the tables that a folder holds, a text per head in each row, by their cell's key."""
    told = [session.get("privacy", {}) for session in store.sessions()]
    return {key: tuple(map(tuple, rows)) for tables in told for key, rows in tables.items()}


def recorded(store: Store) -> dict[str, PrivacyReport]:
    """Return the same as tables that can be shown."""
    return {
        key: PrivacyReport(f"{cell.env.name} with {cell.label}", tuple(map(_Row, rows)))  # type: ignore[arg-type]
        for key, rows in noted(store).items()
        if (cell := store.cells.get(key))
    }
