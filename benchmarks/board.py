"""Scores of all built-in agents on HushBench-v2, and the frozen anchors of its scores.

Run: ``python -m benchmarks board HEX64 SOURCE``, with a beacon's value and its source (about ten minutes of one core,
half of them for `QuACK-BESA`, and more with compilation; an interrupted run continues).  Rows lie in runs/hushbench-v2,
submissions in reference/hushbench-v2.  The costs of `Random` and of the best agent are written once, into
src/hushbench/hushbench-v2/anchors.json, if that file does not exist.
"""

import json
import platform
import tomllib
from pathlib import Path

import numpy as np

import hushbandits as hb
from hushbench.play import admit, folder, play
from hushbench.submission import header, hidden_seed, make, write
from hushbench.tasks import DATA, LEVEL, NAME, chosen, entry, settings, tasks

FOLDER = Path(__file__).parents[1] / "reference" / NAME
ROWS = Path("runs") / NAME
#: Entries besides the built-in agents at their defaults: with more, or less, privacy.
FURTHER = (
    *(("DP-MASE", {"epsilon": epsilon}) for epsilon in (0.5, 1.0, 5.0)),
    *(("Private-UCB", {"epsilon": epsilon}) for epsilon in (0.1, 0.5)),
)


def absent():
    """Return the built-in agents without a submission, each with a reason and a command that shows it."""
    table = tomllib.loads(Path(__file__).with_name("absent.toml").read_text(encoding="utf-8"))
    return {name: (row["why"], row["shown"]) for name, row in table["agents"].items()}


def entries():
    """Return all built-in agents, except those whose absence has a reason."""
    plain = [(name, {}) for name in hb.list_agents() if name not in absent()]
    return [entry(name, params) for name, params in [*plain, *FURTHER]]


def rows(use, beacon):
    """Return an agent's header and its admission to the tasks, with the metrics of those that it can play."""
    admitted = admit(use, chosen(()))
    head = header(use, [s for s in settings() if {task.name for task in chosen([s])} & {*admitted}])
    playable = [task for task in chosen(()) if "epsilon" in admitted.get(task.name, ())]
    seed = hidden_seed(head, beacon)
    played = play(use, playable, folder(ROWS, use), hb.RunOptions(progress=False), seed)
    return head, admitted, {task: values for task, (_, values) in played.items()}


def anchored(costs, beacon):
    """Return the content of the file: for each task the costs of `Random` and of the best agent, and their agents."""
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
        "benchmark": NAME, "command": "python -m benchmarks board", "beacon": beacon,
        "versions": {"python": platform.python_version(), "numpy": np.__version__, "hushbandits": hb.__version__},
        "runs": next(iter(tasks().values())).runs, "level": LEVEL, "tasks": ends,
    }  # fmt: skip


def main(value, source):
    """Play the missing runs, freeze the anchors if there are none, write the submissions."""
    played, beacon = [], {"value": value, "source": source}
    for use in entries():
        played.append((use, *rows(use, beacon)))
        print(use.called, flush=True)
    ends = DATA / "anchors.json"
    if not ends.exists():
        costs = {
            use.called: {task: tasks()[task].costs(values) for task, values in found.items()}
            for use, *_, found in played
        }
        ends.write_text(json.dumps(anchored(costs, beacon), indent=1, allow_nan=False) + "\n", encoding="utf8")
    FOLDER.mkdir(parents=True, exist_ok=True)
    for use, head, admitted, values in played:
        write(make(head, beacon, admitted, values), FOLDER / f"{folder(FOLDER, use).name}.json")
