"""Experiments with synthetic rows, whose tables and figures are known in advance."""

from __future__ import annotations

import numpy as np

from hushbandits.bench.runner.rows import Runs
from hushbandits.bench.runner.store import Store
from hushbandits.bench.spec.experiment import Component, Experiment
from hushbandits.bench.spec.vocabulary import shipped

RUNS = 12
TIMES = np.array([1.0, 10.0, 100.0])


def known(**changes):
    """Return an experiment and a function that fills a folder with synthetic rows."""
    fields = {
        "name": "known",
        "title": "Rows <made up> & shown",
        "env": Component("CoopNetwork-v0", horizon=100),
        "agents": [Component("Multi-UCB", label="A <b>"), Component("UCB1", label="B")],
        "runs": RUNS,
        "metrics": ("regret",),
    }
    return Experiment(**{**fields, **changes})


def rows(cell):
    rng = np.random.default_rng(int(cell.key[:8], 16))
    return rng.normal(50, 5, RUNS) + (20 if cell.line == "B" else 0)


def filled(folder, *experiments):
    """Write a folder of synthetic rows for experiments."""
    store = begun(folder, *experiments)
    for whole in experiments:
        for cell in whole.cells():
            x = rows(cell)
            put(store, cell, {"regret": x}, {"regret": x[:, None] * TIMES / 100}, TIMES)
    return store


def begun(folder, *experiments):
    """Write a folder without rows."""
    store = Store(folder, experiments)
    store.path.mkdir(parents=True, exist_ok=True)
    store.begin({"hushbandits": "0"})
    store.note("2020-01-01T00:00:00+00:00", {"hushbandits": "0", "sources": "abc", "machine": "x"})
    return store


def put(store, cell, finals, curves=None, times=()):
    """Write runs of a cell with built-in metrics."""
    runs = range(len(next(iter(finals.values()))))
    store.add(cell, Runs.of(runs, {k: np.asarray(v, float) for k, v in finals.items()}, curves or {}, times), shipped())
    store.flush()
    store.reread()
