"""Scores of runs on a scale from `Random` to the best reference agent, and their aggregates.

The aggregate is that of Agarwal et al. 2021 (*Deep Reinforcement Learning at the Edge of the Statistical Precipice*)
and their library rliable: the interquartile mean over the runs of all tasks together, its interval by a bootstrap of
the runs of each task, and performance profiles.  Two details differ: runs at the edges of the middle half count
fractionally, and the interval's tails are widened for few runs (`hushbandits.stats`), where rliable uses percentiles.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

import hushbandits as hb
from hushbench.tasks import Array, Task, anchors

LEVEL = 0.95


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
    middle = float(_iqm(*strata))
    return middle, hb.stats.bootstrap(_iqm, *strata, level=LEVEL, resamples=2_000)


def _iqm(*strata: Array) -> Array:
    return hb.stats.iqm(np.concatenate(strata))
