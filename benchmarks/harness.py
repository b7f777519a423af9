"""CPU seconds to play, open, read and resume 10,000 cells, in this process and in its children.

First the smallest cells, two agents with two arms for 10 rounds; then four private agents, and a sweep over up to 102
agents; last, a page of 500 lines.

Run: ``python -m benchmarks harness [JOBS]``; default: two processes.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np

from hushbandits.bench.report.page import write
from hushbandits.bench.results import load_results
from hushbandits.bench.run import run
from hushbandits.bench.runner.options import RunOptions
from hushbandits.bench.spec.experiment import Component, Experiment

LEAST = Experiment(
    name="least",
    title="The least cells",
    env=Component("CoopNetwork-v0", n_agents=2, n_arms=2, horizon=10),
    agents=[Component("UCB1")],
    # A cycle does not draw its edges: all cells play alike, with separate seeds for arms and rewards.
    sweep={"env.edge_probability": tuple(np.round(np.linspace(0.1, 0.9, 10_000), 6).tolist())},
    runs=1,
)
TINY = Experiment(
    name="tiny",
    title="Tiny cells",
    env=Component("CoopNetwork-v0", n_agents=4, horizon=10),
    agents=[Component("Private-UCB")],
    sweep={"agent.epsilon": tuple(np.round(np.linspace(0.1, 5, 10_000), 6).tolist())},
    runs=1,
)
EPSILONS = tuple(np.round(np.linspace(0.1, 5, 100), 4).tolist())
MANY = Experiment(
    name="many",
    title="Many cells",
    env=Component("CoopNetwork-v0", horizon=10),
    agents=[Component("Private-UCB")],
    sweep={"env.n_agents": tuple(range(3, 103)), "agent.epsilon": EPSILONS},
    runs=1,
)
WIDE = Experiment(
    name="wide",
    title="Many lines",
    env=Component("CoopNetwork-v0", horizon=10),
    agents=[Component("UCB1", label=f"line {i}") for i in range(500)],
    runs=12,
    metrics=("regret",),
)


def shown(what: str, call: Callable[[], object]) -> None:
    """Call a function and print its times."""
    before = os.times()
    call()
    user, system, users, systems, clock = np.subtract(os.times(), before)
    here, there = user + system, users + systems
    print(f"{what}: {here:.2f} CPU-s here, {there:.2f} in children, {clock:.2f} s by the clock", flush=True)


def main(jobs: str = "2") -> None:
    options = RunOptions(int(jobs))
    with tempfile.TemporaryDirectory() as folder:
        for experiment in (LEAST, TINY, MANY):
            out, cells = Path(folder, experiment.name), f"{len(experiment.cells()):,} cells, {experiment.name}:"
            shown(f"{cells} played", partial(run, experiment, out, options=options))
            shown(f"{cells} opened", partial(load_results, out))
            shown(f"{cells} as a frame", load_results(out).to_frame)
            shown(f"{cells} resumed", partial(run, experiment, out, options=options))
        wide = Path(folder, "wide")
        store = run(WIDE, wide, options=RunOptions()).store
        shown("a page of 500 lines", lambda: write(store, wide / "report.html"))
