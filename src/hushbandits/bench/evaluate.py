"""Evaluate an agent in one call."""

from __future__ import annotations

import os
import pickle
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from cloudpickle import dumps
from joblib import Parallel, cpu_count, delayed

from hushbandits.bench.play.batch import Played, play_batch, prepare, sampled, split
from hushbandits.bench.play.check import afford_points
from hushbandits.bench.play.progress import Bar, Silent
from hushbandits.bench.results import Results, world_of
from hushbandits.core.entries import AnyAgent, AnyEnv, AnyWrapper, title
from hushbandits.core.env import Env
from hushbandits.core.limits import affordable
from hushbandits.core.names import reach
from hushbandits.core.tapes import run_seeds
from hushbandits.core.team import Team
from hushbandits.core.types import Params, Seeds
from hushbandits.core.validate import integer, shown
from hushbandits.registry import adopt, make_team, not_the_envs, own_entries

if TYPE_CHECKING:
    pass

__all__ = ["evaluate"]

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
    return Results(finals, curves, parts[0][2], made, world=world_of(seeds), names=(title(env_id), title(agent)))


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


def _here(i: int, task: _Task) -> tuple[int, Played]:
    return i, play_batch(*task)


def _there(i: int, folder: str, pickled: bytes) -> tuple[int, Played]:
    reach(folder)
    own, task = pickle.loads(pickled)
    adopt(own)
    return _here(i, task)
