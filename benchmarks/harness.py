"""Seconds that it takes to list and resume an experiment of 10,000 finished cells: ``python -m benchmarks harness``."""

from __future__ import annotations

import tempfile
import time

import numpy as np

from hushbandits.bench.declare.spec import Experiment, Use
from hushbandits.bench.play.run import open_folder
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
        with open_folder([MANY], folder) as store:
            store._db.execute("BEGIN")
            for cell in MANY.cells():
                store._insert(store._ids[cell.key], cell.key, 0, {}, {})
            store._db.execute("COMMIT")
        start = time.perf_counter()
        outcome = run(MANY, folder, progress=False)
        outcome.store.close()
        assert outcome.played == 0
        print(f"{len(MANY.cells()):,} cells: {time.perf_counter() - start:.2f} s")
