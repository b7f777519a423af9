"""What a policy earns and does in held-out episodes, and what uniform play does in the same."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TypedDict

import numpy as np

from hushbandits.adapters.learners import Rows
from hushbandits.baselines.learned import Learned, Network, heads_of
from hushbandits.core import Array
from hushbandits.core.luck.tapes import run_seeds
from hushbandits.core.play import play
from hushbandits.registry import make_team

#: What was earned in held-out episodes: mean and standard error of the return, and the mean of each metric.
Score = TypedDict("Score", {"return": float, "se": float | None, "metrics": dict[str, float]})

#: Added to a training's seed: its own episodes' seeds are below.
HELD_OUT = 1 << 64


def score(player: Network, rows: Rows, seed: int, name: str) -> Score:
    """Play one episode in every run; return means over runs of the return and of the env's metrics.

    ``se`` is the return's standard error.  The runs are those of ``play(core, team, seed)``, and `name` is the tape
    that the team's actions come from.
    """
    player.reset(run_seeds(seed, rows.runs), name)
    returns = earned(rows, seed, lambda: player.act(rows.task))
    error = float(returns.std(ddof=1) / math.sqrt(rows.runs)) if rows.runs > 1 else None
    return {"return": float(returns.mean()), "se": error, "metrics": _means(rows.core.metrics())}


def uniform(rows: Rows, seed: int) -> Score:
    """Return the same of uniform play: its return is of uniform choices among those that count.

    Its metrics are those of the agent ``Random``, which plays as the env says that somebody without a mind would.
    """
    scores, seen = sum(heads_of(rows.task.action_space)), rows.task.observation_space.shape[0]
    alike = {"head.weight": np.zeros((scores, seen)), "head.bias": np.zeros(scores)}
    found = score(Network(Learned("uniform", alike, "tanh", masked=True)), rows, seed, "agent/uniform")
    found["metrics"] = _means(play(rows.core, make_team("Random"), seed))
    return found


def earned(rows: Rows, seed: int, choose: Callable[[], Array]) -> Array:
    """Play one episode in every run; return what an agent earned on average, ``(R,)``."""
    rows.reset(seed)
    returns = np.zeros(rows.runs)
    going = np.ones(rows.runs, bool)
    while going.any():
        turn = rows.step(choose())
        returns += turn.reward.mean(1)
        going &= ~turn.over
    return returns


def _means(metrics: dict[str, Array]) -> dict[str, float]:
    return {k: float(v.mean()) for k, v in metrics.items() if v.ndim == 1 and np.isfinite(v.astype(float)).all()}
