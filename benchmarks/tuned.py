"""Scores of agents in the training ids, with settings tuned to such short episodes: docs/to-beat.md.

Run: ``python -m benchmarks tuned [ID ...]`` (some minutes; without names, all ids).  One rule applies to all: every
point of an agent's grid plays 400 runs of seed 10⁶, 100 in the hard ids; the point with the best mean plays 400 fresh
runs of seed 0, which give the score.
"""

from itertools import product

import hushbandits as hb
from benchmarks.scores import interval

RUNS, TUNING, FRESH = 400, 10**6, 0
HARD = 100  # runs per point of the grid in the hard ids
_EXPLORATION = {
    "Gap-Vote": {"c": (0.3, 0.4, 0.5, 0.6, 0.7), "min_pulls": (2, 3, 5, 8, 12)},
    "Central": {"delta": (0.05, 0.5, 0.9, 0.99)},
    "DP-MASE": {"epsilon": (0.1, 1.0, 10.0), "beta": (0.5, 0.9, 0.99), "delta": (0.05, 0.5, 0.9, 0.99)},
}
_FEEDBACK = {
    "Commit-Blocks": {"block": (8, 16, 24, 32, 48, 64, 96)},
    "Dist-DP-SE": {"confidence": (0.01, 0.1, 0.5, 0.9), "batch_growth": (1.5, 2.0, 4.0)},
}
_LED = {
    "QuACK-TS": {},
    "QuACK-TS-Gaussian": {"sigma": (0.1, 0.2, 0.3, 0.5, 1.0)},
    "QuACK-MOSS": {},
    "QuACK-KL-UCB": {},
    "Multi-UCB": {},
}
#: With many agents and many arms, the best settings are lower.
_MANY = {
    "Index-TS": {"sigma": (0.02, 0.05, 0.1, 0.15, 0.2), "prior": (0.1, 0.25, 0.5, 0.75, 1.0)},
    **_LED,
    "Random": {},
}
_VOTES = {**_EXPLORATION, "Random": {}, "Gap-Vote": {"c": (0.1, 0.2, 0.3, 0.4, 0.5), "min_pulls": (2, 3, 5, 8, 12)}}
#: By id and score (with + if more is better): agents and their grids; all combinations are tried.
GRIDS = {
    ("CoopNetwork-Train-v0", "regret"): {
        "Index-TS": {"sigma": (0.1, 0.15, 0.2, 0.25, 0.3), "prior": (0.5, 0.75, 1.0, 1.25)},
        **_LED,
        "Dec-TS": {},
        "coop-UCB": {"sigma": (0.05, 0.1, 0.2, 0.3, 0.5)},
    },
    ("DPMASE-Train-v0", "+correct"): _EXPLORATION,
    ("DistDP-Train-v0", "regret"): _FEEDBACK,
    # Dec-TS and coop-UCB average within the round, which delayed messages do not allow.
    ("CoopNetwork-Train-Grid-v0", "regret"): _MANY,
    ("CoopNetwork-Train-Lossy-v0", "regret"): {
        **_MANY,
        "Dec-TS": {},
        "coop-UCB": {"sigma": (0.01, 0.02, 0.05, 0.1, 0.2)},
    },
    ("DPMASE-Train-Wide-v0", "+correct"): _VOTES,
    ("DPMASE-Train-Uneven-v0", "+correct"): _VOTES,
    ("DistDP-Train-Lossy-v0", "regret"): {**_FEEDBACK, "Random": {}},
    ("DistDP-Train-Tight-v0", "regret"): {
        **_FEEDBACK,
        "Commit-Blocks": {"block": (16, 32, 64, 96, 128, 192, 256)},
        "Random": {},
    },
}


def played(env_id, agent, metric, seed, params, runs=RUNS):
    """Return the score of each run."""
    env = {name: value for name, value in params.items() if name == "confidence"}  # for the mechanism as well
    found = hb.evaluate(env_id, agent, runs=runs, seed=seed, env=env, agent_kwargs=params)
    return found.final(metric)


def best(env_id, agent, metric, grid):
    """Return the point of a grid with the best mean."""
    name, sign = metric.lstrip("+"), 1 if metric.startswith("+") else -1
    points = [dict(zip(grid, point, strict=True)) for point in product(*grid.values())]
    if len(points) == 1:
        return points[0]
    runs = RUNS if env_id.endswith("-Train-v0") else HARD
    return max(points, key=lambda point: sign * played(env_id, agent, name, TUNING, point, runs).mean())


def main(*ids) -> None:
    known = {env_id for env_id, _ in GRIDS}
    if strange := [env_id for env_id in ids if env_id not in known]:
        raise SystemExit(f"{strange[0]!r} is not tuned here: there are {', '.join(sorted(known))}")
    print("| id | agent | settings | score |\n|---|---|---|---|")
    for (env_id, metric), agents in GRIDS.items():
        if ids and env_id not in ids:
            continue
        name = metric.lstrip("+")
        for agent, grid in agents.items():
            params = best(env_id, agent, metric, grid)
            said = ", ".join(f"{key} = {value}" for key, value in params.items()) or "its own"
            print(f"| `{env_id}` | `{agent}` | {said} | {interval(name, played(env_id, agent, name, FRESH, params))} |")
