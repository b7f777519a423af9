"""What hand-made agents reach in the ids for training, at settings made for episodes that short: docs/learning.md.

Run: ``python -m benchmarks tuned`` (a minute).  One rule for all: of each agent's grid, every point plays 400 runs of
seed 10⁶; the point of the best mean plays 400 fresh runs of seed 0, which are the score.
"""

from itertools import product

import hushbandits as hb
from benchmarks.scores import interval

RUNS, TUNING, FRESH = 400, 10**6, 0
#: By id and score (with + where more is better): agents and their grids, of which all combinations are tried.
GRIDS = {
    ("CoopNetwork-Train-v0", "regret"): {
        "Index-TS": {"sigma": (0.1, 0.15, 0.2, 0.25, 0.3), "prior": (0.5, 0.75, 1.0, 1.25)},
        "Dec-TS": {},
        "QuACK-TS": {},
        "QuACK-TS-Gaussian": {"sigma": (0.1, 0.2, 0.3, 0.5, 1.0)},
        "QuACK-MOSS": {},
        "QuACK-KL-UCB": {},
        "coop-UCB": {"sigma": (0.05, 0.1, 0.2, 0.3, 0.5)},
        "Multi-UCB": {},
    },
    ("DPMASE-Train-v0", "+correct"): {
        "Gap-Vote": {"width": (0.3, 0.4, 0.5, 0.6, 0.7), "least": (2, 3, 5, 8, 12)},
        "Central": {"delta": (0.05, 0.5, 0.9, 0.99)},
        "DP-MASE": {"epsilon": (0.1, 1.0, 10.0), "beta": (0.5, 0.9, 0.99), "delta": (0.05, 0.5, 0.9, 0.99)},
    },
    ("DistDP-Train-v0", "regret"): {
        "Commit-Blocks": {"block": (8, 16, 24, 32, 48, 64, 96)},
        "Dist-DP-SE": {"confidence": (0.01, 0.1, 0.5, 0.9), "batch_base": (1.5, 2.0, 4.0)},
    },
}


def played(env_id, agent, metric, seed, params):
    """The score of each run."""
    env = {name: value for name, value in params.items() if name == "confidence"}  # the mechanism's as well
    found = hb.evaluate(env_id, agent, runs=RUNS, seed=seed, env=env, agent_kwargs=params, progress=False)
    return found.final(metric)


def best(env_id, agent, metric, grid):
    """The point of a grid with the best mean."""
    name, sign = metric.lstrip("+"), 1 if metric.startswith("+") else -1
    points = [dict(zip(grid, point, strict=True)) for point in product(*grid.values())]
    if len(points) == 1:
        return points[0]
    return max(points, key=lambda point: sign * played(env_id, agent, name, TUNING, point).mean())


def main() -> None:
    print("| id | agent | settings | score |\n|---|---|---|---|")
    for (env_id, metric), agents in GRIDS.items():
        name = metric.lstrip("+")
        for agent, grid in agents.items():
            params = best(env_id, agent, metric, grid)
            said = ", ".join(f"{key} = {value}" for key, value in params.items()) or "its own"
            print(f"| `{env_id}` | `{agent}` | {said} | {interval(name, played(env_id, agent, name, FRESH, params))} |")
