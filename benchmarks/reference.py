"""Reference numbers: results of each agent on fixed instances, from ``reference/*.toml`` into ``reference/*.json``.

Run: ``python -m benchmarks reference`` (some minutes); names after it select instances.  The page is
docs/reference-numbers.md; ``tests/bench/test_reference_numbers.py`` plays some of them again.
"""

import json
import platform
import tempfile
from pathlib import Path

import numpy as np

import hushbandits as hb
from hushbandits.bench.spec.catalog import read_toml
from hushbandits.bench.stats import summary

FOLDER = Path(__file__).parents[1] / "reference"
SEED, LEVEL = 0, 0.95


def declared(name):
    """Return the experiment of an instance."""
    (experiment,) = read_toml(FOLDER / f"{name}.toml")
    return experiment


def played(experiment):
    """Return for each line the agent with its parameters, its env, and its numbers by metric."""
    lines = {}
    with tempfile.TemporaryDirectory() as folder:
        results = hb.run(experiment, folder, seed=SEED, options=hb.RunOptions(jobs=-1)).results
        for cell, line in zip(experiment.cells(), results, strict=True):
            measures = hb.make_batched(cell.env.name, **cell.env.params).metrics_spec
            metrics = {}
            for metric in experiment.metrics:
                found = summary(line.final(metric), measures[metric], level=LEVEL)
                metrics[metric] = {found.statistic: found.centre, "interval": found.interval}
            lines[cell.line] = {
                "agent": cell.agent.name, "kwargs": cell.agent.params, "env": cell.env.name, "metrics": metrics,
            }  # fmt: skip
    return lines


def artefact(experiment):
    """Return the content of the file: the experiment, the versions, and the results."""
    return {
        "title": experiment.title,
        "command": f"python -m benchmarks reference {experiment.name}",
        "versions": {"python": platform.python_version(), "numpy": np.__version__, "hushbandits": hb.__version__},
        "env": {"type": experiment.env.name, "params": experiment.env.params},
        "runs": experiment.runs,
        "seed": SEED,
        "level": LEVEL,
        "lines": played(experiment),
    }


def main(*names):
    """Write the files of the named instances; default: all."""
    for name in names or sorted(path.stem for path in FOLDER.glob("*.toml")):
        made = json.dumps(artefact(declared(name)), indent=1, ensure_ascii=False, allow_nan=False)
        (FOLDER / f"{name}.json").write_text(made + "\n", encoding="utf8")
        print(name, flush=True)
