"""Evaluate an agent in one call."""

from __future__ import annotations

import itertools
import os
from collections.abc import Sequence
from typing import Any

import numpy as np

from hushbandits.bench.declare.canonical import digest
from hushbandits.bench.declare.spec import Experiment, Use
from hushbandits.bench.declare.world import seeds, world
from hushbandits.bench.parts import Part
from hushbandits.bench.results import Results
from hushbandits.bench.runner.batch import Played, prepare, sampled
from hushbandits.bench.runner.check import afford_points
from hushbandits.bench.runner.configuration import Configuration
from hushbandits.bench.runner.options import RunOptions, workers
from hushbandits.bench.runner.plan import BATCH
from hushbandits.bench.runner.pool import answers
from hushbandits.bench.runner.progress import Bar
from hushbandits.bench.runner.rows import Runs
from hushbandits.bench.runner.store import Measures
from hushbandits.bench.runner.task import Failed, Task
from hushbandits.core.entries import AGENTS, AnyAgent, AnyEnv, AnyWrapper, title
from hushbandits.core.env import Env
from hushbandits.core.ground.keywords import named
from hushbandits.core.ground.limits import affordable
from hushbandits.core.ground.names import reach
from hushbandits.core.ground.spec import parameters
from hushbandits.core.ground.types import Params, Seeds
from hushbandits.core.ground.validate import integer, shown
from hushbandits.core.measure import gathered
from hushbandits.core.team import Team
from hushbandits.registry import make_team, not_the_envs, takes

__all__ = ["evaluate"]

_RUN = 700  # bytes of one run's seed and metrics


def _whose(name: str, value: object, args: Sequence[Any], given: Params) -> str:
    """Where a parameter belongs that `evaluate` itself does not take: to the env, or to the agent."""
    if name in RunOptions.__dataclass_fields__:
        return f"; it is an option: options=RunOptions({name}={shown(value)})"
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
    agent_kwargs: Params | None = None, wrappers: Sequence[AnyWrapper] = (), options: RunOptions | None = None,
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
    options : RunOptions, optional
        Processes, checkpoints, progress.

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
    reach(os.getcwd())
    chosen = RunOptions() if options is None else options
    runs = integer("runs", runs, 1)
    seed = integer("seed", seed, 0, np.inf)
    affordable(f"runs={runs}", float(runs) * _RUN)
    afford_points(chosen.checkpoints, runs)
    params, given = dict(env or {}), dict(agent_kwargs or {})
    agent, met = _met(env_id, agent, params, given, wrappers, chosen.checkpoints)
    where = world(env_id, params)
    digest({"seed": seed})
    names = title(env_id), title(agent)
    tasks = [
        Task(
            "",
            f"{names[1]} on {names[0]}",
            env_id,
            agent,
            wrappers,
            params,
            given,
            chosen.checkpoints,
            where,
            seed,
            part,
        )
        for part in _parts(runs, workers(chosen.jobs))
    ]
    played: dict[int, Played] = {}
    with Bar(runs, shown=chosen.progress) as bar:
        for task, reply in answers(tasks, chosen, bar):
            if isinstance(reply, Failed):
                raise reply.again()
            played[task.runs[0]] = reply
            bar.advance(len(task.runs))
    return _results([played[first] for first in sorted(played)], met, names, params, seeds(seed, where, 0, 1))


def _parts(runs: int, jobs: int) -> list[tuple[int, ...]]:
    """Cut runs into consecutive batches, at least one per job where they suffice."""
    parts = max(-(-runs // BATCH), min(jobs, runs))
    ends = [runs - runs * (parts - i) // parts for i in range(parts + 1)]
    return [tuple(range(a, b)) for a, b in itertools.pairwise(ends)]


def _results(
    parts: Sequence[Played], met: tuple[Env, Team], names: tuple[str, str], params: Params, first: Seeds
) -> Results:
    """Put the batches of one configuration together."""
    finals = {k: np.concatenate([part[0][k] for part in parts]) for k in parts[0][0]}
    curves = {k: (parts[0][2], np.concatenate([part[1][k] for part in parts])) for k in parts[0][1]}
    numbers = np.arange(sum(len(next(iter(part[0].values()))) for part in parts))
    experiment = Experiment(
        name="results", title=f"{names[1]} on {names[0]}", env=Use(names[0]), agents=[Use(names[1])],
        runs=len(numbers),
    )  # fmt: skip
    (cell,) = experiment.cells()
    (entropy,) = {s.entropy for s in first}
    world = entropy if isinstance(entropy, int) else None
    one = Configuration(
        cell, cell.line, Runs(numbers, finals, curves), Measures(gathered(*met)), entropy=world,
        env=(names[0], params),
    )  # fmt: skip
    return Results((Part(experiment, (one,)),), met=met)


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
