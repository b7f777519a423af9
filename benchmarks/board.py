"""HushBench-v1: every agent that ships on it, and the frozen ends of its scores.

Run: ``python -m benchmarks board`` (some ten minutes of one core, half of them for `QuACK-BESA`, and more where nothing
is compiled yet; it goes on where it was stopped).  Rows lie in runs/hushbench-v1, submissions in
reference/hushbench-v1.  What `Random` and the best agent cost is written once, into
src/hushbench/hushbench-v1/anchors.json: a version of the benchmark keeps it.  That file was played on the old random
streams, whose submissions were withdrawn; HushBench-v2 is being made.
"""

import json
import platform
from pathlib import Path

import numpy as np

import hushbandits as hb
from hushbench.play import admit, folder, play
from hushbench.scores import LEVEL
from hushbench.submission import make, write
from hushbench.tasks import DATA, NAME, SEED, absent, chosen, entry, tasks

FOLDER = Path(__file__).parents[1] / "reference" / NAME
ROWS = Path("runs") / NAME
#: Players beyond the defaults of those that ship: what more, or less, privacy does.
FURTHER = (
    *(("DP-MASE", {"epsilon": epsilon}) for epsilon in (0.5, 1.0, 5.0)),
    *(("Private-UCB", {"epsilon": epsilon}) for epsilon in (0.1, 0.5)),
)


def entries():
    """Who is played: all agents that ship, but for those whose absence has a reason."""
    plain = [(name, {}) for name in hb.list_agents() if name not in absent()]
    return [entry(name, params) for name, params in [*plain, *FURTHER]]


def rows(use):
    """How an agent was admitted to the tasks, and what was measured where it can play."""
    admitted = admit(use, chosen(()))
    playable = [task for task in chosen(()) if "epsilon" in admitted.get(task.name, ())]
    played = play(use, playable, folder(ROWS, use), hb.RunOptions(progress=False))
    return admitted, {task: values for task, (_, values) in played.items()}


def anchored(costs):
    """What the file says: of each task what `Random` and the best agent cost, and what was played."""
    ends = {}
    for name in tasks():
        cost = {label: x[name] for label, x in costs.items() if name in x}
        best = min(cost, key=lambda label: cost[label].mean())
        ends[name] = {
            end: {
                "agent": label,
                "mean": float(cost[label].mean()),
                "interval": hb.stats.mean_interval(cost[label], LEVEL),
            }
            for end, label in (("random", "Random"), ("best", best))
        }
    return {
        "benchmark": NAME, "command": "python -m benchmarks board",
        "versions": {"python": platform.python_version(), "numpy": np.__version__, "hushbandits": hb.__version__},
        "runs": next(iter(tasks().values())).runs, "seed": SEED, "level": LEVEL, "tasks": ends,
    }  # fmt: skip


def main():
    """Play what is missing, freeze the ends of the scores if there are none, write the submissions."""
    played = []
    for use in entries():
        played.append((use, *rows(use)))
        print(use.called, flush=True)
    ends = DATA / "anchors.json"
    if not ends.exists():
        costs = {
            use.called: {task: tasks()[task].costs(values) for task, values in found.items()}
            for use, _, found in played
        }
        ends.write_text(json.dumps(anchored(costs), indent=1, allow_nan=False) + "\n", encoding="utf8")
    FOLDER.mkdir(parents=True, exist_ok=True)
    for use, admitted, values in played:
        write(make(use, admitted, values, "python -m benchmarks board"), FOLDER / f"{folder(FOLDER, use).name}.json")
