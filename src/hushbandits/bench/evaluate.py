"""Evaluate an agent in one call."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Executor
from pathlib import Path
from typing import Any

import numpy as np

from hushbandits.bench.declare.canonical import digest
from hushbandits.bench.declare.world import seeds, world
from hushbandits.bench.judge.line import faced
from hushbandits.bench.play.batch import Played, prepare, sampled, split
from hushbandits.bench.play.check import afford_points
from hushbandits.bench.play.crew import workers
from hushbandits.bench.play.own import renew, texts
from hushbandits.bench.play.player import answers
from hushbandits.bench.play.players import Players
from hushbandits.bench.play.progress import Bar
from hushbandits.bench.play.task import Failed, Task
from hushbandits.bench.results import Results, world_of
from hushbandits.core.entries import AGENTS, AnyAgent, AnyEnv, AnyWrapper, title
from hushbandits.core.env import Env
from hushbandits.core.ground.keywords import named
from hushbandits.core.ground.limits import affordable
from hushbandits.core.ground.spec import parameters
from hushbandits.core.ground.types import Params
from hushbandits.core.ground.validate import integer, shown
from hushbandits.core.team import Team
from hushbandits.registry import make_team, not_the_envs, takes

__all__ = ["evaluate"]

#: Seconds after which a call shows how far it is.
PATIENCE = 2.0
_RUN = 700  # bytes of one run's seed and metrics


def _whose(name: str, value: object, args: Sequence[Any], given: Params) -> str:
    """Where a parameter belongs that `evaluate` itself does not take: to the env, or to the agent."""
    asked = {**dict(zip(("env_id", "agent"), args, strict=False)), **given}
    try:
        if takes(asked["env_id"], name):
            return f"; it is one of env {title(asked['env_id'])}: env={{{name!r}: {shown(value)}}}"
        if name in parameters(AGENTS.find(asked["agent"])):
            return f"; it is one of agent {title(asked['agent'])}: agent_kwargs={{{name!r}: {shown(value)}}}"
    except (KeyError, ValueError):
        pass
    return ""


@named(_whose)
def evaluate(
    env_id: AnyEnv, agent: AnyAgent | Team, runs: int = 20, seed: int = 0, env: Params | None = None,
    agent_kwargs: Params | None = None, wrappers: Sequence[AnyWrapper] = (), jobs: int = 1,
    checkpoints: int | Sequence[int] | None = None, progress: bool = True, backend: str | None = None,
    address: str | None = None, executor: Executor | None = None, patience: float | None = None,
) -> Results:  # fmt: skip
    """Play an agent in an env for a number of independent runs.

    Parameters
    ----------
    env_id : str or class
        One of `list_envs`, ``"my_module:MyEnv"``, or an `Env` class.
    agent : str, class, Team, model, or callable
        One of `list_agents`, ``"my_module:MyAgent"``, a class (a `Team`, or one agent's code, which `Each` lifts), a
        team, or what builds one from `agent_kwargs`.  A policy that was trained: ``"sb3:FOLDER"``, ``"sb3:my.zip"``, a
        model of Stable-Baselines3 as it is in memory, or any function of observations as `Acts`.
    runs, seed : int
        Run r draws from `seed`, the env with its parameters, and r: the same numbers whatever `runs` and `jobs`, those
        of run r of an experiment's cell, and the same arms, graphs and rewards for all agents and wrappers.  (A
        parameter that cannot stand in an experiment counts by its class's name there.)
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
    backend, address, executor, patience : optional
        Who plays, as in `bench.run.run`.

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
    players, many = Players(jobs, backend, address, executor, patience), workers(jobs)
    params, given = dict(env or {}), dict(agent_kwargs or {})
    renew(texts([env_id, agent, *wrappers, params, given]))
    agent, made = _met(env_id, agent, params, given, wrappers, checkpoints)
    where = world(env_id, params)
    digest({"seed": seed})
    label = f"{title(agent)} on {title(env_id)}"
    tasks = [
        Task("", label, env_id, agent, wrappers, params, given, checkpoints, where, seed, tuple(part))
        for part in split(range(runs), many)
    ]
    played: dict[int, Played] = {}
    with players.crew(Path.cwd(), len(tasks)) as by, Bar(runs, after=PATIENCE, shown=progress) as bar:
        for task, reply in answers(tasks, by, bar, patience):
            if isinstance(reply, Failed):
                raise reply.again()
            played[task.runs[0]] = reply
            bar.advance(len(task.runs))
    parts = [played[first] for first in sorted(played)]
    finals = {k: np.concatenate([part[0][k] for part in parts]) for k in parts[0][0]}
    curves = {k: np.concatenate([part[1][k] for part in parts]) for k in parts[0][1]}
    names = title(env_id), title(agent)
    known = world_of(seeds(seed, where, 0, 1))
    return Results(
        finals, curves, parts[0][2], made, world=known, names=names, faced=faced(names[0], params)
    )  # fmt: skip


def _met(
    env_id: AnyEnv, agent: AnyAgent | Team, env: Params, agent_kwargs: Params, wrappers: Sequence[AnyWrapper],
    checkpoints: int | Sequence[int] | None,
) -> tuple[AnyAgent | Team, tuple[Env, Team]]:  # fmt: skip
    """Return the agent, built where one was given, and env and team, having met."""
    if isinstance(agent, Team) and agent_kwargs:
        raise ValueError(f"agent_kwargs={shown(agent_kwargs)} cannot change {agent.name}, which is built already")
    if not isinstance(agent, (str, Team)):
        not_the_envs(env_id, agent, agent_kwargs)
        agent = make_team(agent, **agent_kwargs)
    built, team = prepare(env_id, agent, 1, env, agent_kwargs, wrappers)
    sampled(checkpoints, built)
    return agent, (built, team)
