"""Evaluate an agent in one call."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from joblib import Parallel, delayed

from hushbandits.core.play import log_checkpoints, record
from hushbandits.core.tapes import run_seeds
from hushbandits.core.team import Team
from hushbandits.core.types import Array, Seeds
from hushbandits.core.validate import integer, nearest
from hushbandits.core.wrapper import Wrapper
from hushbandits.registry import assemble, make_team

__all__ = ["Results", "evaluate", "play_batch"]

#: Runs per batch: enough to amortise a NumPy call, few enough to keep the caches warm.
BATCH = 25


@dataclass(frozen=True)
class Results:
    """Rows of one evaluation.

    Parameters
    ----------
    finals : dict of (runs, …) arrays
        Every metric at the end.
    curves : dict of (runs, C) arrays
        Scalar metrics at the checkpoints.
    times : (C,) array
        Checkpoints, in the env's clock (rounds; users in feedback).
    """

    finals: dict[str, Array]
    curves: dict[str, Array]
    times: Array

    def final(self, metric: str) -> Array:
        """``(runs,)`` values at the end (``(runs, M)`` for per-agent metrics)."""
        if metric not in self.finals:
            raise ValueError(f"no metric is named {metric!r}{nearest(metric, self.finals)}")
        return self.finals[metric]

    def curve(self, metric: str) -> tuple[Array, Array]:
        """Return checkpoints ``(C,)`` and values ``(runs, C)``."""
        if metric not in self.curves:
            if not self.curves:
                raise ValueError("no curves were recorded: pass checkpoints=[…] to evaluate")
            raise ValueError(f"no curve is named {metric!r}{nearest(metric, self.curves)}")
        return self.times, self.curves[metric]

    def to_frame(self) -> Any:
        """One tidy row per run and scalar metric, a ``pandas.DataFrame`` (run, metric, time, value)."""
        import pandas as pd

        rows = []
        for metric, values in self.finals.items():
            if values.ndim == 1:
                rows += [(r, metric, np.nan, float(v)) for r, v in enumerate(values)]
        for metric, values in self.curves.items():
            times = self.times.astype(float)
            rows += [(r, metric, t, float(v)) for r, row in enumerate(values) for t, v in zip(times, row, strict=True)]
        return pd.DataFrame(rows, columns=["run", "metric", "time", "value"])


def play_batch(
    env_id: str,
    agent: str | Team,
    seeds: Seeds,
    env: dict[str, Any],
    agent_kwargs: dict[str, Any],
    wrappers: Sequence[Wrapper],
    checkpoints: Sequence[int] | None,
) -> tuple[dict[str, Array], dict[str, Array], Array]:
    """Play one batch of runs; the unit of work that travels to a worker."""
    team = make_team(agent, **agent_kwargs) if isinstance(agent, str) else agent
    built = assemble(env_id, team, runs=len(seeds), env=env, wrappers=wrappers)
    if checkpoints is None:
        checkpoints = log_checkpoints(built.horizon) if built.fixed_length else []
    finals, curves = record(built, team, seeds, checkpoints, built.curve_metrics if len(checkpoints) else ())
    return finals, curves, np.asarray(checkpoints)


def evaluate(
    env_id: str,
    agent: str | Team | Callable[..., Team],
    runs: int = 20,
    seed: int = 0,
    env: dict[str, Any] | None = None,
    agent_kwargs: dict[str, Any] | None = None,
    wrappers: Sequence[Wrapper] = (),
    jobs: int = 1,
    checkpoints: Sequence[int] | None = None,
) -> Results:
    """Play an agent in an env for a number of independent runs.

    Parameters
    ----------
    env_id : str
        One of `list_envs`.
    agent : str, Team, or callable
        One of `list_agents`, a team, or what builds one from `agent_kwargs`.
    runs, seed : int
        Run r draws from ``SeedSequence(seed, spawn_key=(r,))`` alone: the same numbers whatever `runs` and `jobs`.
    env, agent_kwargs : dict
        Parameters of the env and of the agent.
    wrappers : sequence of Wrapper
        On messages' way, outermost first.
    jobs : int
        Processes; −1 for one per core.
    checkpoints : sequence of int, optional
        Where to sample curves, in the env's clock; default: 50 points, evenly spaced in the logarithm, up to the
        horizon (none in exploration, whose runs end by themselves).

    Returns
    -------
    Results

    Raises
    ------
    ValueError, TypeError
        Bad input; nothing has run then.

    Examples
    --------
    >>> import hushbandits as hb
    >>> results = hb.evaluate("CoopNetwork-v0", "Multi-UCB", runs=2, env={"n_agents": 4, "horizon": 20})
    >>> times, values = results.curve("regret")
    >>> values.shape == (2, len(times))
    True
    """
    integer("runs", runs, 1)
    integer("seed", seed, 0)
    if jobs != -1:
        integer("jobs", jobs, 1)
    env, agent_kwargs = dict(env or {}), dict(agent_kwargs or {})
    if not isinstance(agent, (str, Team)):
        agent = agent(**agent_kwargs)
    elif isinstance(agent, Team) and agent_kwargs:
        raise ValueError(f"agent_kwargs={agent_kwargs} cannot change {agent.name}, which is built already")
    seeds = run_seeds(seed, runs)
    batches = [seeds[i : i + BATCH] for i in range(0, runs, BATCH)]
    parts = Parallel(n_jobs=jobs)(
        delayed(play_batch)(env_id, agent, batch, env, agent_kwargs, wrappers, checkpoints) for batch in batches
    )
    finals = {k: np.concatenate([part[0][k] for part in parts]) for k in parts[0][0]}
    curves = {k: np.concatenate([part[1][k] for part in parts]) for k in parts[0][1]}
    return Results(finals, curves, parts[0][2])
