"""What a policy earns and does in held-out episodes, and what uniform play does in the same."""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import pairwise
from typing import TypedDict

import numpy as np

from hushbandits.adapters.learners import Rows
from hushbandits.baselines.learned import Network, heads_of
from hushbandits.core import Array
from hushbandits.core.luck.tapes import run_seeds, streams
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
    return _told(rows, seed, lambda: player.act(rows.task))


def uniform(rows: Rows, seed: int) -> Score:
    """Return the same of uniform play: its return is of uniform choices among those that count.

    Its metrics are those of the agent ``Random``, which plays as the env says that somebody without a mind would.
    """
    rngs = streams(run_seeds(seed, rows.runs), "agent/uniform")
    ends = np.cumsum([0, *heads_of(rows.task.action_space)])

    def choose() -> Array:
        mask = rows.task.mask()
        luck = np.stack([rng.random((mask.shape[1], mask.shape[2])) for rng in rngs])
        ahead = np.where(mask, luck, -1.0)  # the largest of uniforms is any of them
        parts = [ahead[..., a:b].argmax(-1) for a, b in pairwise(ends)]
        return np.stack(parts, -1) if rows.task.action_space.shape else parts[0]

    told = _told(rows, seed, choose)
    metrics = play(rows.core, make_team("Random"), seed)
    return {"return": told["return"], "se": told["se"], "metrics": _means(metrics)}


def _told(rows: Rows, seed: int, choose: Callable[[], Array]) -> Score:
    returns = earned(rows, seed, choose)
    error = float(returns.std(ddof=1) / math.sqrt(rows.runs)) if rows.runs > 1 else None
    return {"return": float(returns.mean()), "se": error, "metrics": _means(rows.core.metrics())}


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
