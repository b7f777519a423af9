"""CPU seconds of all processes that 10,000 tiny cells take to be played, opened, read and resumed.

Run: ``python -m benchmarks harness [JOBS]``; two processes unless told otherwise.  Last: a page of 500 lines.
"""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from hushbandits.bench.declare.spec import Experiment, Use
from hushbandits.bench.report.page import write
from hushbandits.bench.results import load_results
from hushbandits.bench.run import run
from hushbandits.bench.runner.options import RunOptions

EPSILONS = tuple(np.round(np.linspace(0.1, 5, 100), 4).tolist())
MANY = Experiment(
    name="many",
    title="Many cells",
    env=Use("CoopNetwork-v0", horizon=10),
    agents=[Use("Private-UCB")],
    sweep={"env.n_agents": tuple(range(3, 103)), "agent.epsilon": EPSILONS},
    runs=1,
)
WIDE = Experiment(
    name="wide",
    title="Many lines",
    env=Use("CoopNetwork-v0", horizon=10),
    agents=[Use("UCB1", label=f"line {i}") for i in range(500)],
    runs=12,
    metrics=("regret",),
)


def told(what: str, call: Callable[[], object]) -> None:
    """Do something, and say what it took."""
    begun, spent = time.perf_counter(), sum(os.times()[:4])
    call()
    print(
        f"{what}: {sum(os.times()[:4]) - spent:.2f} CPU-s, {time.perf_counter() - begun:.2f} s by the clock", flush=True
    )


def main(jobs: str = "2") -> None:
    options = RunOptions(int(jobs))
    with tempfile.TemporaryDirectory() as folder:
        many, wide = Path(folder, "many"), Path(folder, "wide")
        cells = f"{len(MANY.cells()):,} cells"
        told(f"{cells} played", lambda: run(MANY, many, options=options))
        told(f"{cells} opened", lambda: load_results(many))
        told(f"{cells} as a frame", lambda: load_results(many).to_frame())
        told(f"{cells} resumed", lambda: run(MANY, many, options=options))
        store = run(WIDE, wide, options=RunOptions()).store
        told("a page of 500 lines", lambda: write(store, wide / "report.html"))
