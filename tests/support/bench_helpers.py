"""Shared helpers for tests of the harness: small experiments, a table's fingerprint, synthetic rows, a TOML file."""

from __future__ import annotations

import hashlib
import tomllib

import numpy as np

import hushbandits as hb
from hushbandits.bench.run import run
from hushbandits.bench.runner.configuration import Configuration
from hushbandits.bench.runner.options import RunOptions
from hushbandits.bench.runner.rows import Runs
from hushbandits.bench.runner.store import Measures, Store
from hushbandits.bench.spec.experiment import Component, Experiment
from hushbandits.bench.spec.vocabulary import shipped
from hushbandits.core.random.rewards import UniformMeans


def small(**changes):
    fields = {
        "name": "small",
        "title": "Small",
        "env": Component("CoopNetwork-v0", horizon=60, means=UniformMeans(0.0, 1.0), n_arms=3),
        "agents": [Component("Multi-UCB"), Component("Private-UCB", epsilon=0.5), Component("UCB1")],
        "sweep": {"env.n_agents": (3, 4)},
        "runs": 7,
        "metrics": ("regret",),
    }
    return Experiment(**{**fields, **changes})


#: Number of runs of `experiment`, and times of the curves of `synthetic`.
RUNS = 40
TIMES = np.array([1.0, 10.0, 100.0])


def experiment(*claims, **changes):
    """Return two lines along three sizes, for synthetic rows."""
    fields = {
        "name": "known",
        "title": "Known rows",
        "source": "Somebody 1999, figure 1",
        "env": Component("CoopNetwork-v0", horizon=100),
        "agents": [Component("Multi-UCB", label="A"), Component("UCB1", label="B")],
        "sweep": {"env.n_agents": (4, 8, 16)},
        "runs": RUNS,
        "claims": claims,
    }
    return Experiment(**{**fields, **changes})


def known(**changes):
    """Return an experiment with special letters in its texts, for pages and figures of synthetic rows."""
    agents = [Component("Multi-UCB", label="A <b>"), Component("UCB1", label="B")]
    fields = {"title": "Rows <made up> & shown", "agents": agents, "sweep": {}, "metrics": ("regret",), "source": ""}
    return experiment(**{**fields, **changes})


def evaluated(*agents):
    """Return the results of two short runs of each agent."""
    return [hb.evaluate("CoopNetwork-v0", agent, runs=2, env={"n_agents": 3, "horizon": 9}) for agent in agents]


def table(results):
    """Return a fingerprint of all rows, exact to the last digit."""
    return hashlib.sha256(results.to_frame().to_csv(index=False).encode()).hexdigest()


def played(experiment, folder, *, seed=0, shard=None, **options):
    """Run into a folder; return the fingerprint of its content."""
    return table(run(experiment, folder, seed=seed, shard=shard, options=RunOptions(**options)).results)


def rows(cell):
    """Return the synthetic regret of the runs of a cell."""
    rng = np.random.default_rng(int(cell.key[:8], 16))
    return rng.normal(50, 5, RUNS) + (20 if cell.line == "B" else 0)


def synthetic(cell):
    x = rows(cell)
    return {"regret": x}, {"regret": x[:, None] * TIMES / 100}, TIMES


def begun(folder, *experiments):
    """Write a folder without rows."""
    store = Store(folder, experiments)
    store.begin({"hushbandits": "0"})
    store.note("2020-01-01T00:00:00+00:00", {"hushbandits": "0", "sources": "abc", "machine": "x"})
    return store


def filled(folder, *experiments, values=synthetic, measures=None):
    """Write a folder of synthetic rows: ``values(cell)`` gives the finals, or finals, curves and their times."""
    store = begun(folder, *experiments)
    for cell in store.cells.values():
        found = values(cell)
        finals, curves, times = found if isinstance(found, tuple) else (found, {}, ())
        finals = {name: np.asarray(x, float) for name, x in finals.items()}
        runs = range(len(next(iter(finals.values()))))
        store.add(cell, Runs.of(runs, finals, curves, times), shipped() if measures is None else measures)
    store.flush()
    store.reread()
    return store


def lines(experiment, finals, numbers=None, curves=None, metric="regret"):
    """Return configurations in memory with synthetic runs: ``finals(cell)`` is the metric, ``None`` without runs."""
    found = []
    for cell in experiment.cells():
        x = finals(cell)
        x = np.empty(0) if x is None else np.asarray(x, float)
        runs = np.arange(len(x)) if numbers is None else numbers(cell)
        along = {metric: curves(x)} if curves and len(x) else {}
        data = Runs(runs, {metric: x} if len(x) else {}, along)
        found.append(Configuration(cell, cell.line, data, Measures(), seed=0))
    return found


TOML = """
title = "Sharing among four"
runs = 3
metrics = ["regret"]

[env]
type = "CoopNetwork-v0"
horizon = 20
n_arms = 3
means = { UniformMeans = { low = 0.25, high = 0.75 } }

[[agents]]
type = "Multi-UCB"

[[agents]]
type = "UCB1"
label = "alone"

[sweep]
"env.n_agents" = [3, 4]

[[figures]]
y = "regret"
log = ""
"""

BASE = """
title = "Base"
env = { type = "CoopNetwork-v0", horizon = 10, n_agents = 3 }
agents = [{ type = "UCB1" }]
"""


def declared(line, name="base"):
    """Return the experiment of a file that begins with a line."""
    return Experiment.from_dict({"name": name, **tomllib.loads(line + BASE)})
