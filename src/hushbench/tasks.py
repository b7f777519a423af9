"""The tasks of HushBench-v2: envs, numbers of runs, valid rows, costs of runs, and their scores.

A score is on a scale from `Random` to the best reference agent.  The aggregate is that of Agarwal et al. 2021 (*Deep
Reinforcement Learning at the Edge of the Statistical Precipice*) and their library rliable: the interquartile mean over
the runs of all tasks together, its interval by a bootstrap of the runs of each task, and performance profiles.  Two
details differ: runs at the edges of the middle half count fractionally, and the interval's tails are widened for few
runs (`hushbandits.stats`), where rliable uses percentiles.
"""

import json
import math
import os
import sys
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.machinery import PathFinder
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import hushbandits as hb

#: Name of the benchmark, and the public seed of practice runs.
NAME, PRACTICE = "hushbench-v2", 0
#: Level of the intervals of scores.
LEVEL = 0.95
#: Folder of tasks and anchors.
DATA = Path(__file__).parent / NAME

#: The team that plays a user-defined agent in a process of its own.
PLAYER = "hushbench.isolated:Isolated"

Array = NDArray[np.float64]
#: Part of a submission: the entry of a task, or the header.
Row = dict[str, object]
#: Metrics of runs by task and name, each ``(runs,)``.
Values = Mapping[str, Mapping[str, Array]]


@dataclass(frozen=True, kw_only=True)
class Task:
    """A task: an env with fixed parameters, played for a number of runs.

    Parameters
    ----------
    name, setting, level, why : str
        Name, setting, difficulty, and purpose.
    env : Component
        The env.
    wrappers : tuple of Component
        Wrappers of messages, outermost first.
    runs : int
        Number of runs; all agents face the same.
    metric : str
        Metric for the cost of a run: ``"regret"``, or ``"rounds"`` until the correct arm is named.
    homes : mapping of str to str
        Other env ids on which an agent may play the task, by agent.
    """

    name: str
    setting: str
    level: str
    why: str
    env: hb.Component
    wrappers: tuple[hb.Component, ...]
    runs: int
    metric: str
    homes: Mapping[str, str]

    @property
    def metrics(self) -> tuple[str, ...]:
        """Return the names of the metrics from which the cost is computed."""
        return ("rounds", "correct") if self.metric == "rounds" else (self.metric,)

    @property
    def gap(self) -> float:
        """Return the gap between the two best means; 0 if means are drawn."""
        means = self.env.params.get("means")
        return float(np.diff(np.sort(means)[-2:])[0]) if isinstance(means, list | tuple) else 0.0

    def costs(self, values: Mapping[str, Array]) -> Array:
        """Return the cost of each run, ``(runs,)``: regret, or rounds (the horizon if the decision is wrong).

        Examples
        --------
        >>> vote = tasks()["vote-small"]
        >>> vote.costs({"rounds": np.array([20.0, 30.0]), "correct": np.array([1.0, 0.0])}).tolist()
        [20.0, 200.0]
        """
        cost = np.asarray(values[self.metric], float)
        if self.metric == "rounds":
            return np.where(np.asarray(values["correct"]) == 1, cost, float(self.env.params["horizon"]))
        return cost

    def check(self, values: Mapping[str, Array]) -> None:
        """Raise ``ValueError`` unless the task's metrics in `values` are valid for all runs; ``epsilon`` is optional.

        Examples
        --------
        >>> tasks()["vote-small"].check({"rounds": np.full(24, 7.0), "correct": np.full(24, 2.0)})
        Traceback (most recent call last):
            ...
        ValueError: vote-small: correct=2.0 of run 0 must be in 0..1 and whole
        """
        if odd := ({*values} - {"epsilon"}) ^ {*self.metrics}:
            raise ValueError(f"{self.name}: the metrics {sorted(odd)} are missing or unexpected")
        whole = {"rounds": (1, self.env.params.get("horizon", math.inf)), "correct": (0, 1)}
        for metric, row in values.items():
            if row.shape != (self.runs,):
                raise ValueError(f"{self.name}: {metric} has {len(row)} of {self.runs} runs; a submission needs all")
            low, high = whole.get(metric, (0, math.inf))
            good = (row >= low) & (row <= high) & ((row == row.round()) | (metric not in whole))
            if not good.all():
                stated = f"{metric}={row[run := int(good.argmin())]} of run {run}"
                raise ValueError(f"{self.name}: {stated} must be in {low}..{high}" + " and whole" * (metric in whole))

    def experiment(self, agent: hb.Component) -> hb.Experiment:
        """Return the task as an experiment of one agent, with the `seed_group` of the benchmark.

        Raises
        ------
        ValueError
            The agent names an env on which this task is not played.
        """
        on = agent.on or self.homes.get(agent.name)
        if on is not None and on not in (self.env.name, *self.homes.values()):
            known = ", ".join(dict.fromkeys((self.env.name, *self.homes.values())))
            raise ValueError(f"{agent.name}@{on}: the task {self.name} is played only on {known}")
        name, params, digest = agent.name, agent.params, source(agent)
        if digest and not name.startswith("sb3:"):  # a name without its colon is imported nowhere but in that process
            name, params = PLAYER, {"agent": name.split(":"), "source": digest, "params": params}
        one = hb.Component(name, label=agent.called, on=None if on == self.env.name else on, **params)
        return hb.Experiment(
            name=f"{NAME}-{self.name}", title=self.why, env=self.env, wrappers=self.wrappers, agents=[one],
            runs=self.runs, seed_group=NAME, checkpoints=(), metrics=self.metrics,
        )  # fmt: skip


@cache
def tasks() -> dict[str, Task]:
    """Return all tasks by name, in the order of their file."""
    table = tomllib.loads((DATA / "tasks.toml").read_text(encoding="utf-8"))
    found = {}
    for row in table["tasks"]:
        env, wrappers = hb.Component.from_dict(row["env"]), tuple(map(hb.Component.from_dict, row.get("wrappers", ())))
        metric, homes = table["costs"][row["setting"]], table["homes"].get(row["setting"], {})
        parts = {"env": env, "wrappers": wrappers, "runs": table["runs"], "metric": metric, "homes": homes}
        found[row["name"]] = Task(**(row | parts))
    return found


def settings() -> list[str]:
    """Return the settings that have tasks."""
    return list(dict.fromkeys(task.setting for task in tasks().values()))


def chosen(names: Sequence[str]) -> list[Task]:
    """Return the tasks that `names` lists by task or by setting; all tasks if `names` is empty.

    Raises
    ------
    ValueError
        A name is neither a task nor a setting.

    Examples
    --------
    >>> len(chosen(())), [task.name for task in chosen(["feedback"])][:2]
    (20, ['users-small', 'users-plain'])
    """
    known = [*settings(), *tasks()]
    if strange := [name for name in names if name not in known]:
        raise ValueError(f"tasks={strange[0]!r} must be a setting or a task: {', '.join(known)}")
    return [task for task in tasks().values() if not names or task.setting in names or task.name in names]


@cache
def anchors() -> dict[str, dict[str, dict[str, dict[str, float]]]]:
    """Return the frozen reference numbers: for each task the costs of `Random` and of the best reference agent."""
    return json.loads((DATA / "anchors.json").read_text(encoding="utf-8"))


def entry(text: str, params: Mapping[str, Any]) -> hb.Component:
    """Return the component of the agent ``NAME`` or ``NAME@ENV``, whose label contains `params`.

    Examples
    --------
    >>> entry("own:Server@LocalDP-v0", {"looks": 3}).label, entry("UCB1", {}).on
    ('Server@LocalDP-v0 looks=3', None)
    """
    name, at, on = text.rpartition("@") if "@" in text else (text, "", None)
    short = name.rpartition(":")[2] if not name.startswith("sb3:") else name
    stated = " ".join(f"{key}={value}" for key, value in hb.Component(name, **params).params.items())  # 1.0 as 1
    return hb.Component(name, label=" ".join(filter(None, (f"{short}{at}{on or ''}", stated))), on=on, **params)


def source(agent: hb.Component) -> str:
    """Return a digest of the source files of a user-defined agent; ``""`` for a built-in one.

    Raises
    ------
    ValueError
        A file of this folder, where the agent's is, would be imported here instead of an installed module.
    """
    if ":" in agent.name:
        _check_folder(os.getcwd())
    env = next(iter(tasks().values())).env
    one = hb.Experiment(name=NAME, title=NAME, env=env, agents=[hb.Component(agent.name, **agent.params)])
    return hb.source_digests([one]).get(agent.name, "")


def _check_folder(folder: str) -> None:
    """Raise ``ValueError`` if a module of the folder has the name of a module elsewhere on the import path."""
    elsewhere = [path for path in sys.path if path not in ("", folder)]
    for name in {path.name.partition(".")[0] for path in Path(folder).iterdir()}:
        here, there = (PathFinder.find_spec(name, where) for where in ([folder], elsewhere))
        if here and there and here.origin and there.origin and here.origin != there.origin:
            raise ValueError(f"{here.origin} must be renamed, because it hides the module {there.origin}")


@cache
def protocol() -> tuple[str, ...]:
    """Return the parameters and wrappers of an env that a user-defined agent may require."""
    return tuple(tomllib.loads((DATA / "tasks.toml").read_text(encoding="utf-8"))["protocol"])


# -- scores -----------------------------------------------------------------------------------------------------------


def scaled(costs: Array, random: float, best: float) -> Array:
    """Return unclipped scores: 0 at the mean cost of `Random`, 1 at the mean cost of the best reference agent.

    Examples
    --------
    >>> scaled(np.array([50.0, 30.0, 20.0, 60.0]), random=50.0, best=30.0).tolist()
    [0.0, 1.0, 1.5, -0.5]
    """
    return (random - np.asarray(costs, float)) / (random - best)


@dataclass(frozen=True)
class Standing:
    """Scores of an agent in a setting.

    Parameters
    ----------
    scores : dict of (runs,) array
        Scores by task; 0 for each run of a task that the agent cannot play.
    iqm : float
        Interquartile mean of the scores.
    interval : (float, float)
        Interval of the mean at `LEVEL`; the anchors count as constants.
    """

    scores: Mapping[str, Array]
    iqm: float
    interval: tuple[float, float]

    def profile(self, thresholds: Array) -> Array:
        """Return the share of runs at or above each threshold, with equal weights of tasks."""
        return np.mean([hb.stats.profile(x, thresholds) for x in self.scores.values()], axis=0)


def of(task: Task, costs: Mapping[str, Array]) -> Array:
    """Return the scores of the runs of `task`, ``(runs,)``; all are 0 if `costs` lacks the task."""
    if task.name not in costs:
        return np.zeros(task.runs)
    ends = anchors()["tasks"][task.name]
    return scaled(costs[task.name], ends["random"]["mean"], ends["best"]["mean"])


def standing(tasks: Sequence[Task], costs: Mapping[str, Array]) -> Standing:
    """Return an agent's scores in a setting from the costs of all its `tasks`."""
    found = {task.name: of(task, costs) for task in tasks}
    return Standing(found, *aggregate(list(found.values())))


def aggregate(strata: Sequence[Array]) -> tuple[float, tuple[float, float]]:
    """Return the interquartile mean over all runs and its interval, with runs resampled within each task.

    Examples
    --------
    >>> middle, (low, high) = aggregate([np.linspace(0, 1, 24), np.linspace(0, 1, 24)])
    >>> round(middle, 3), bool(0.3 < low < middle < high < 0.7)
    (0.5, True)
    """
    return float(_iqm(*strata)), hb.stats.bootstrap(_iqm, *strata, level=LEVEL, resamples=2_000)


def _iqm(*strata: Array) -> Array:
    return hb.stats.iqm(np.concatenate(strata))
