"""The function `evaluate`, which plays an agent in an env and returns its results."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from hushbandits.bench.parts import Part
from hushbandits.bench.results import Results
from hushbandits.bench.runner.batch import BATCH, Batch, Failed, Played, sampled
from hushbandits.bench.runner.check import afford_points
from hushbandits.bench.runner.configuration import Configuration
from hushbandits.bench.runner.options import RunOptions, chosen_of, workers
from hushbandits.bench.runner.pool import answers
from hushbandits.bench.runner.progress import progress_bar
from hushbandits.bench.runner.rows import Runs
from hushbandits.bench.runner.store import Measures
from hushbandits.bench.spec.experiment import Component, Experiment
from hushbandits.core import Env, Params, Team, affordable, integer, shown
from hushbandits.core.utils import reach, told
from hushbandits.core.wrapper import gathered
from hushbandits.registry import AnyAgent, AnyEnv, AnyWrapper, make_team, title

_RUN = 700  # bytes of the seed and metrics of one run
_PULLS = 200_000  # pulls of a batch with short episodes, which then has more runs than `BATCH`


@told
def evaluate(
    env_id: AnyEnv, agent: AnyAgent | Team, runs: int = 20, seed: int = 0, env: Params | None = None,
    agent_kwargs: Params | None = None, wrappers: Sequence[AnyWrapper] = (), options: RunOptions | None = None,
) -> Results:  # fmt: skip
    """Play `runs` independent runs of an agent in an env, and return their `Results`.

    Parameters
    ----------
    env_id : str or class
        One of `list_envs`, ``"my_module:MyEnv"``, or an `Env` class.
    agent : str, class, Team, model, or callable
        One of `list_agents`, ``"my_module:MyAgent"``, a class (a `Team`, or the code of one agent, which `PerAgent`
        lifts), a team, or a function that builds one from `agent_kwargs`.  A trained policy: ``"sb3:FOLDER"``,
        ``"sb3:my.zip"``, a Stable-Baselines3 model in memory, or a function of observations, as for `FromFunction`.
    runs, seed : int
        Run r draws from `seed`, the env with its parameters, and r.  `runs` and `jobs` do not change its numbers, and
        run r of an experiment's cell has the same ones.  All agents and wrappers face the same arms, graphs and
        rewards.  (A parameter that an experiment cannot contain counts there by the name of its class.)
    env, agent_kwargs : dict
        Parameters of the env and of the agent.
    wrappers : sequence of Wrapper, of their names or classes
        Wrappers of messages, outermost first.
    options : RunOptions, optional
        Processes, checkpoints, progress.

    Returns
    -------
    Results

    Raises
    ------
    ValueError, TypeError
        Invalid input; nothing has run.

    Examples
    --------
    >>> import hushbandits as hb
    >>> results = hb.evaluate("CoopNetwork-v0", "Multi-UCB", runs=2, env={"n_agents": 4, "horizon": 20})
    >>> times, values = results.curve("regret")
    >>> values.shape == (2, len(times))
    True
    """
    chosen = chosen_of(options)
    if chosen.dry_run or chosen.estimate is not None:
        raise ValueError("dry_run and estimate are options of run, not of evaluate")
    tasks, met = planned(env_id, agent, runs, seed, env, agent_kwargs, wrappers, chosen)
    first, runs = tasks[0], tasks[-1].runs[-1] + 1
    played: dict[int, Played] = {}
    with progress_bar(runs, shown=chosen.progress) as bar:
        for batch, reply in answers(tasks, chosen, bar):
            if isinstance(reply, Failed):
                raise reply.raised or RuntimeError(f"a worker failed:\n{reply.error}")
            played[batch.runs[0]] = reply
            bar.end(batch)
    id, who = title(env_id), title(first.agent)
    whole = Experiment(name="results", title=first.label, env=Component(id), agents=[Component(who)], runs=runs)
    (cell,) = whole.cells()
    ends, lines, times = zip(*(played[number] for number in sorted(played)), strict=True)
    finals = {name: np.concatenate([one[name] for one in ends]) for name in ends[0]}
    curves = {name: (times[0], np.concatenate([one[name] for one in lines])) for name in lines[0]}
    data, measures = Runs(np.arange(runs), finals, curves), Measures(gathered(*met))
    source, home = (first.seed, first.seed_text), (id, first.env_params)
    one = Configuration(cell, cell.line, data, measures, seed_source=source, env=home, agent=first.params)
    return Results((Part(whole, (one,)),), met=met)


def planned(
    env_id: AnyEnv, agent: AnyAgent | Team, runs: int, seed: int, env: Params | None, agent_kwargs: Params | None,
    wrappers: Sequence[AnyWrapper], options: RunOptions,
) -> tuple[list[Batch], tuple[Env, Team]]:  # fmt: skip
    """Return the batches of `evaluate`, and the env and team of one run; errors are those of `evaluate`."""
    reach(os.getcwd())
    runs = integer("runs", runs, 1)
    seed = integer("seed", seed, 0, np.inf)
    affordable(f"runs={runs}", float(runs) * _RUN)
    afford_points(options.checkpoints, runs)
    for name, table in {"env": env, "agent_kwargs": agent_kwargs}.items():
        if not isinstance(table, Mapping | None):
            raise TypeError(f"{name}={shown(table)} must be a dict of parameters by name")
    params, given = dict(env or {}), dict(agent_kwargs or {})
    if isinstance(agent, Team) and given:
        raise ValueError(f"agent_kwargs={shown(given)} cannot change {agent.name}, which is already built")
    if not isinstance(agent, (str, Team)):
        agent = make_team(agent, **given)
    about = f"{title(agent)} on {title(env_id)}"
    one = Batch(about, about, env_id, agent, wrappers, params, given, options.checkpoints, "", seed, (0,))
    built, team = one.prepared()
    sampled(options.checkpoints, built)
    pulls = built.n_agents * (built.horizon or _PULLS)
    size = min(max(BATCH, _PULLS // pulls), -(-runs // workers(options.jobs)))
    parts = [tuple(range(first, min(first + size, runs))) for first in range(0, runs, size)]
    return [replace(one, seed_text=built.seed_text, runs=part) for part in parts], (built, team)
