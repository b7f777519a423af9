"""Evaluate an agent in one call."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from joblib import Parallel, cpu_count, delayed

from hushbandits.bench.batch import play_batch, prepare, reach, split
from hushbandits.bench.folder import afford_points
from hushbandits.bench.progress import Bar, Silent
from hushbandits.core.limits import affordable
from hushbandits.core.tapes import run_seeds
from hushbandits.core.team import Team
from hushbandits.core.types import Array
from hushbandits.core.validate import integer, nearest
from hushbandits.core.wrapper import Wrapper

__all__ = ["Results", "evaluate"]

#: Seconds after which a call shows how far it is.
PATIENCE = 2.0
_RUN = 700  # bytes of one run's seed and metrics


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


def evaluate(
    env_id: str,
    agent: str | Team | Callable[..., Team],
    runs: int = 20,
    seed: int = 0,
    env: dict[str, Any] | None = None,
    agent_kwargs: dict[str, Any] | None = None,
    wrappers: Sequence[Wrapper] = (),
    jobs: int = 1,
    checkpoints: int | Sequence[int] | None = None,
    progress: bool = True,
) -> Results:
    """Play an agent in an env for a number of independent runs.

    Parameters
    ----------
    env_id : str
        One of `list_envs`.
    agent : str, Team, or callable
        One of `list_agents`, ``"my_module:MyAgent"``, a team, or what builds one from `agent_kwargs`.
    runs, seed : int
        Run r draws from ``SeedSequence(seed, spawn_key=(r,))`` alone: the same numbers whatever `runs` and `jobs`.
    env, agent_kwargs : dict
        Parameters of the env and of the agent.
    wrappers : sequence of Wrapper
        On messages' way, outermost first.
    jobs : int
        Processes; −1 for one per core.
    checkpoints : int or sequence of int, optional
        Where to sample curves, in the env's clock: that many points, evenly spaced in the logarithm up to the
        horizon, or these.  Default: 50; none where runs end by themselves (most of exploration).
    progress : bool
        Show a bar on a terminal's stderr once the call has taken two seconds.

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
    runs = integer("runs", runs, 1)
    seed = integer("seed", seed, 0, np.inf)
    affordable(f"runs={runs}", float(runs) * _RUN)
    afford_points(checkpoints, runs)
    jobs = cpu_count() if jobs == -1 else integer("jobs", jobs, 1)
    env, agent_kwargs = dict(env or {}), dict(agent_kwargs or {})
    if not isinstance(agent, (str, Team)):
        agent = agent(**agent_kwargs)
    elif isinstance(agent, Team) and agent_kwargs:
        raise ValueError(f"agent_kwargs={agent_kwargs} cannot change {agent.name}, which is built already")
    prepare(env_id, agent, 1, env, agent_kwargs, wrappers)
    seeds = run_seeds(seed, runs)
    tasks = [
        (i, (env_id, agent, [seeds[r] for r in batch], env, agent_kwargs, wrappers, checkpoints))
        for i, batch in enumerate(split(range(runs), jobs))
    ]
    played: dict[int, Any] = {}
    with Bar(runs, after=PATIENCE) if progress else Silent() as bar:
        bar.at(f"{agent if isinstance(agent, str) else agent.name} on {env_id}")
        parallel = Parallel(n_jobs=min(jobs, len(tasks)), return_as="generator_unordered", batch_size=1)
        for i, part in parallel(delayed(_numbered)(i, os.getcwd(), *task) for i, task in tasks):
            played[i] = part
            bar.advance(len(tasks[i][1][2]))
    parts = [played[i] for i in range(len(tasks))]
    finals = {k: np.concatenate([part[0][k] for part in parts]) for k in parts[0][0]}
    curves = {k: np.concatenate([part[1][k] for part in parts]) for k in parts[0][1]}
    return Results(finals, curves, parts[0][2])


def _numbered(i: int, folder: str, *task: Any) -> tuple[int, Any]:
    reach(folder)
    return i, play_batch(*task)
