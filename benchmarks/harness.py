"""Seconds that 10,000 tiny cells take to be played, read and resumed: ``python -m benchmarks harness``."""

from __future__ import annotations

import tempfile
import time

import numpy as np

from hushbandits.bench.declare.spec import Experiment, Use
from hushbandits.bench.results import load_results
from hushbandits.bench.run import run

EPSILONS = tuple(np.round(np.linspace(0.1, 5, 100), 4).tolist())
MANY = Experiment(
    name="many",
    title="Many cells",
    env=Use("CoopNetwork-v0", horizon=10),
    agents=[Use("Private-UCB")],
    sweep={"env.n_agents": tuple(range(3, 103)), "agent.epsilon": EPSILONS},
    runs=1,
)


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        start, spent = time.perf_counter(), time.process_time()
        run(MANY, folder)
        cells = len(MANY.cells())
        took = time.perf_counter() - start
        print(f"{cells:,} cells played: {took:.2f} s, {time.process_time() - spent:.2f} of the CPU")
        for what, call in (("read", lambda: load_results(folder)), ("resumed", lambda: run(MANY, folder))):
            start = time.perf_counter()
            call()
            print(f"{cells:,} cells {what}: {time.perf_counter() - start:.2f} s")
