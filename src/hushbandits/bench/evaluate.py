"""Evaluate an agent in one call."""

from __future__ import annotations

import os
import pickle
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from cloudpickle import dumps
from joblib import Parallel, cpu_count, delayed

from hushbandits.bench.play.batch import Played, play_batch, prepare, sampled, split
from hushbandits.bench.play.check import afford_points
from hushbandits.bench.play.progress import Bar, Silent
from hushbandits.core.entries import AnyAgent, AnyEnv, AnyWrapper, title
from hushbandits.core.env import Env
from hushbandits.core.limits import affordable
from hushbandits.core.names import reach
from hushbandits.core.tapes import run_seeds
from hushbandits.core.team import Team
from hushbandits.core.types import Array, Params, Seeds
from hushbandits.core.validate import integer, nearest, shown
from hushbandits.protection import Protection, protection
from hushbandits.registry import adopt, make_team, not_the_envs, own_entries

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Results", "evaluate"]

#: Seconds after which a call shows how far it is.
PATIENCE = 2.0
_RUN = 700  # bytes of one run's seed and metrics

#: Arguments of `play_batch`.
_Task = tuple[
    AnyEnv,
    AnyAgent | Team,
    Seeds,
    Params,
    Params,
    Sequence[AnyWrapper],
    int | Sequence[int] | None,
]


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
    met : (Env, Team), optional
        Who played, as they met.
    """

    finals: dict[str, Array]
    curves: dict[str, Array]
    times: Array
    met: tuple[Env, Team] | None = field(default=None, repr=False, compare=False)

    @cached_property
    def privacy(self) -> Protection:
        """Who was protected from whom, by how much, and what these runs really spent (`hushbandits.privacy`)."""
        if self.met is None:
            raise ValueError("these results do not know who played; ask hushbandits.privacy(env, agent)")
        table = protection(*self.met)
        return replace(table, notes=(*table.notes, *spent(self.finals)))

    def __getstate__(self) -> dict[str, object]:
        # Who played may be of a class that no other process knows; what was promised is data.
        told = {} if self.met is None else {"privacy": self.privacy}
        return {**vars(self), **told, "met": None}

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

    def to_frame(self) -> pd.DataFrame:
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
    env_id: AnyEnv, agent: AnyAgent | Team, runs: int = 20, seed: int = 0, env: Params | None = None,
    agent_kwargs: Params | None = None, wrappers: Sequence[AnyWrapper] = (), jobs: int = 1,
    checkpoints: int | Sequence[int] | None = None, progress: bool = True,
) -> Results:  # fmt: skip
    """Play an agent in an env for a number of independent runs.

    Parameters
    ----------
    env_id : str or class
        One of `list_envs`, ``"my_module:MyEnv"``, or an `Env` class.
    agent : str, class, Team, or callable
        One of `list_agents`, ``"my_module:MyAgent"``, a class (a `Team`, or one agent's code, which `Each` lifts), a
        team, or what builds one from `agent_kwargs`.
    runs, seed : int
        Run r draws from ``SeedSequence(seed, spawn_key=(r,))`` alone: the same numbers whatever `runs` and `jobs`.
    env, agent_kwargs : dict
        Parameters of the env and of the agent.
    wrappers : sequence of Wrapper, of their names or classes
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
    batches = split(range(runs), jobs)
    made, task = _met((env_id, agent, (), dict(env or {}), dict(agent_kwargs or {}), wrappers, checkpoints))
    seeds = run_seeds(seed, runs)
    parts = _parts([(*task[:2], [seeds[r] for r in batch], *task[3:]) for batch in batches], jobs, progress)
    finals = {k: np.concatenate([part[0][k] for part in parts]) for k in parts[0][0]}
    curves = {k: np.concatenate([part[1][k] for part in parts]) for k in parts[0][1]}
    return Results(finals, curves, parts[0][2], made)


def _met(task: _Task) -> tuple[tuple[Env, Team], _Task]:
    """Env and team that the arguments stand for, having met; and the arguments, with the agent built where one is."""
    env_id, agent, seeds, env, agent_kwargs, wrappers, checkpoints = task
    if isinstance(agent, Team) and agent_kwargs:
        raise ValueError(f"agent_kwargs={shown(agent_kwargs)} cannot change {agent.name}, which is built already")
    if not isinstance(agent, (str, Team)):
        not_the_envs(env_id, agent, agent_kwargs)
        agent = make_team(agent, **agent_kwargs)
    built, team = prepare(env_id, agent, 1, env, agent_kwargs, wrappers)
    sampled(checkpoints, built)
    return (built, team), (env_id, agent, seeds, env, agent_kwargs, wrappers, checkpoints)


def _parts(tasks: Sequence[_Task], jobs: int, progress: bool) -> list[Played]:
    """Play all tasks; what each of them gave, in their order."""
    played: dict[int, Played] = {}
    jobs = min(jobs, len(tasks))
    with Bar(sum(len(task[2]) for task in tasks), after=PATIENCE) if progress else Silent() as bar:
        bar.at(f"{title(tasks[0][1])} on {title(tasks[0][0])}")
        parallel = Parallel(n_jobs=jobs, return_as="generator_unordered", batch_size=1)
        if jobs == 1:
            calls = (delayed(_here)(i, task) for i, task in enumerate(tasks))
        else:  # what a worker unpickles may be of a module in our folder, which it must know first
            calls = (delayed(_there)(i, os.getcwd(), dumps((own_entries(), task))) for i, task in enumerate(tasks))
        for i, part in parallel(calls):
            played[i] = part
            bar.advance(len(tasks[i][2]))
    return [played[i] for i in range(len(tasks))]


def spent(finals: Mapping[str, Array]) -> tuple[str, ...]:
    """Say in words what runs measured of ε, if they did.

    Examples
    --------
    >>> spent({"epsilon": np.array([0.5, 2.0])})
    ('Spent in these runs: ε up to 2 (metric epsilon).',)
    """
    found = []
    for name, unit in (("epsilon", "ε"), ("epsilon_delta", "ε at the mechanism's δ"), ("delta", "δ")):
        values = finals.get(name)
        if values is not None and len(values) and (name != "delta" or values.max() > 0):
            found.append(f"{unit} up to {float(values.max()):.4g} (metric {name})")
    return (f"Spent in these runs: {'; '.join(found)}.",) if found else ()


def _here(i: int, task: _Task) -> tuple[int, Played]:
    return i, play_batch(*task)


def _there(i: int, folder: str, pickled: bytes) -> tuple[int, Played]:
    reach(folder)
    own, task = pickle.loads(pickled)
    adopt(own)
    return _here(i, task)
