"""Batches of runs, the unit of work: how runs are divided into them, those with missing runs, and how one is played."""

import copy
import math
import re
import traceback
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import cast

import numpy as np

from hushbandits.bench.runner.curves import record
from hushbandits.bench.runner.errors import RunError
from hushbandits.bench.runner.store import Store
from hushbandits.bench.spec.experiment import Cell, Component, Experiment
from hushbandits.bench.spec.vocabulary import agree
from hushbandits.core import LONGEST, Array, Env, Params, integer, shown, spawn_seeds
from hushbandits.core.rollout import begin, measured
from hushbandits.core.team import EnvView, Team, check_compatible
from hushbandits.core.wrapper import gathered
from hushbandits.registry import AnyAgent, AnyEnv, AnyWrapper, assemble, make_team, make_wrapper

#: Final metrics, curves and times of a batch.
Played = tuple[dict[str, Array], dict[str, Array], Array]
#: Receives the progress of a batch.
Watch = Callable[[float], None]
#: Times in an episode of fixed length at which progress is reported.
_SLICES = 32


def sampled(checkpoints: int | Sequence[int] | None, env: Env) -> Sequence[int]:
    """Return the times at which curves are sampled: at most `checkpoints` log-spaced times, or the listed times.

    A number gives up to so many whole numbers, evenly spaced in the logarithm.  ``None``: 50 if an episode lasts
    exactly `horizon`, else none (then a team may play the episode in one compiled call).

    Raises
    ------
    ValueError
        A point that no run reaches, or a number of points without a horizon.

    Examples
    --------
    >>> import hushbandits as hb
    >>> sampled(5, hb.make_batched("CoopNetwork-v0", horizon=100))
    (1, 3, 10, 32, 100)
    """
    horizon = None if env.horizon is None else int(env.horizon)
    if checkpoints is None:
        checkpoints = 50 if env.fixed_length else []
    if not isinstance(checkpoints, (Sequence, np.ndarray)) or isinstance(checkpoints, str):
        points = integer("checkpoints", checkpoints, 0)
        if points and horizon is None:
            raise ValueError(f"checkpoints={points} needs an env with a horizon; for this env, list the checkpoints")
        return tuple(sorted({int(x) for x in np.round(np.geomspace(1, horizon or 1, points))}))
    listed = [integer(f"checkpoints[{i}]", point, 1) for i, point in enumerate(checkpoints)]
    if late := [point for point in listed if horizon is not None and point > horizon]:
        raise ValueError(f"checkpoints: {late[0]} must be at most the horizon of {horizon} {env.time_unit}")
    return listed


def numbers_of(env: Env, team: Team) -> list[str]:
    """Reset `env` and `team`, and return the names of the metrics with one number per run."""
    begin(env, team, 0)
    return [name for name, value in measured(env, team, env.metrics()).items() if value.ndim == 1]


@dataclass(frozen=True)
class Batch:
    """One batch of runs; the results do not depend on the process that plays the batch.

    Parameters
    ----------
    key, label : str
        Key and label of the cell.
    env, agent, wrappers
        Names, classes or objects; a wrapper may also be a `Component`.
    env_params, params : dict
        Parameters of env and agent.
    checkpoints : int, sequence of int, or None
        As in `sampled`.
    seed_text : str
        Text that enters the run seeds besides `seed` and the run's number.
    seed : int
        Master seed.
    runs : tuple of int
        Consecutive run numbers.
    """

    key: str
    label: str
    env: AnyEnv
    agent: AnyAgent | Team
    wrappers: Sequence[AnyWrapper | Component]
    env_params: Params
    params: Params
    checkpoints: int | Sequence[int] | None
    seed_text: str
    seed: int
    runs: tuple[int, ...]

    @classmethod
    def of(cls, cell: Cell, seed: int, runs: Sequence[int]) -> "Batch":
        """Return the batch with the runs of `cell` whose numbers are in `runs`."""
        return cls(
            cell.key, cell.label, cell.env.name, cell.agent.name, cell.wrappers, cell.env.params, cell.agent.params,
            cell.checkpoints, cell.seed_text, seed, tuple(runs),
        )  # fmt: skip

    def prepared(self) -> tuple[Env, Team]:
        """Return a new env and team for the batch; raise ``ValueError`` or ``TypeError`` if they are incompatible."""
        wrappers = cast(Sequence[AnyWrapper], self.wrappers)
        if isinstance(wrappers, (list, tuple)):  # anything else is refused below
            wrappers = [make_wrapper(w.name, **w.params) if isinstance(w, Component) else w for w in self.wrappers]
        team = self.agent if isinstance(self.agent, Team) else make_team(self.agent, **self.params)
        env = assemble(self.env, team, runs=len(self.runs), env=self.env_params, wrappers=wrappers)
        check_compatible(env, team)
        return env, team

    def play(self, watch: Watch | None = None) -> Played:
        """Play the batch in this process, in parts if the team limits the number of runs, and return its metrics.

        Parameters
        ----------
        watch : callable, optional
            Called at the beginning, now and then, and at the end, with the share of the batch that is played; with
            minus the mean clock of the runs, if an episode has no fixed length.

        Returns
        -------
        finals : dict of (R, …) arrays
        curves : dict of (R, C) arrays
        times : (C,) array
        """
        seeds = spawn_seeds(self.seed, len(self.runs), self.runs[0], self.seed_text)
        env, team = self.prepared()
        points = sampled(self.checkpoints, env)
        asked = team.runs_at_once(EnvView(env))
        most = len(seeds) if asked is None else integer(f"runs_at_once of {team.name}", asked, 1)
        parts = [seeds[i : i + most] for i in range(0, len(seeds), most)]
        found = []
        for i, part in enumerate(parts):
            mine = (env, team) if len(parts) == 1 else copy.deepcopy((env, team))
            slices = () if watch is None else _sliced(mine[0], watch, i, len(parts))
            found.append(record(*mine, part, points, env.logged_metrics if points else (), *slices))
            if watch is not None:
                watch(_progress(mine[0], i, len(parts)))
        finals, lines = ({k: np.concatenate([p[i][k] for p in found]) for k in found[0][i]} for i in (0, 1))
        agree(finals, gathered(env, team))
        return finals, lines, np.asarray(points)


def _progress(env: Env, part: int, parts: int) -> float:
    clock = float(env.t.mean())
    return (part + clock / env.horizon) / parts if env.fixed_length and env.horizon else -clock


def _sliced(env: Env, watch: Watch, part: int, parts: int) -> tuple[Callable[[], None], list[int]]:
    """Return arguments `step` and `stops` of `record` that call `watch` when the clock has passed certain times."""
    end = env.horizon if env.fixed_length and env.horizon else LONGEST
    # dense at the beginning for probes, and then for the progress bar
    stops = sorted({*(int(2 ** (i / 2)) for i in range(2 * int(end).bit_length())), *range(0, end, -(-end // _SLICES))})
    waiting = [stop for stop in reversed(stops) if 0 < stop < end]

    def step() -> None:
        now = env.t.max()
        if waiting and waiting[-1] <= now:
            while waiting and waiting[-1] <= now:
                waiting.pop()
            watch(_progress(env, part, parts))

    return step, waiting[::-1]


@dataclass(frozen=True)
class Failed:
    """Error of a batch: its traceback, and the exception itself if this process raised it."""

    error: str
    raised: BaseException | None = field(default=None, compare=False, repr=False)


Reply = Played | Failed


def attempted(play: Callable[[], Played]) -> Reply:
    """Return the result of `play`, or a `Failed` with its error, so that other batches continue."""
    try:
        return play()
    except RunError:
        raise
    except (Exception, SystemExit) as error:
        return Failed("".join(traceback.format_exception(error)), error)


# -- division into batches -------------------------------------------------------------------------------------------

#: Runs of a batch, which share the cost of its NumPy calls; of a batch of a shard; at least, of a part of a batch.
BATCH, SMALL, _LEAST = 50, 25, 12

#: Number of a shard, from 1, and number of shards.
Shard = tuple[int, int]


def parse_shard(text: str) -> Shard:
    """Return ``(i, n)`` for the text ``"i/n"``, shard i of n.

    Raises
    ------
    ValueError
        The text is not a shard.

    Examples
    --------
    >>> parse_shard("2/5")
    (2, 5)
    """
    match = re.fullmatch(r"([0-9]{1,7})/([0-9]{1,7})", text)
    if match and 1 <= int(match[1]) <= int(match[2]) <= 1_000_000:
        return int(match[1]), int(match[2])
    raise ValueError(f"shard={shown(text)} must read i/n with 1 ≤ i ≤ n ≤ 1,000,000, such as 2/5")


def batches(experiments: Sequence[Experiment], size: int = SMALL) -> list[tuple[Cell, range]]:
    """Return batches of `size` runs, or fewer at the end of a cell, each as a cell and its run numbers.

    Examples
    --------
    >>> from hushbandits.bench.spec.experiment import Component
    >>> one = Experiment(name="one", title="One", env=Component("CoopNetwork-v0"), agents=[Component("UCB1")], runs=60)
    >>> [runs for _, runs in batches([one])]
    [range(0, 25), range(25, 50), range(50, 60)]
    """
    asked: dict[str, tuple[Cell, int]] = {}
    for experiment in experiments:
        for cell in experiment.cells():
            known, runs = asked.get(cell.key, (cell, 0))
            asked[cell.key] = known, max(runs, experiment.runs)
    every = ((cell, runs, first) for cell, runs in asked.values() for first in range(0, runs, size))
    return [(cell, range(first, min(first + size, runs))) for cell, runs, first in every]


def missing(store: Store, shard: Shard = (1, 1)) -> list[Batch]:
    """Return the batches of `shard`, each from its first to its last missing run, in the order of the declaration."""
    done = {key: set(store.rows.numbers(key).tolist()) for key in store.cells}
    part = batches(store.experiments, BATCH if shard == (1, 1) else SMALL)[shard[0] - 1 :: shard[1]]
    waiting = ((cell, [run for run in runs if run not in done[cell.key]]) for cell, runs in part)
    some = ((cell, range(runs[0], runs[-1] + 1)) for cell, runs in waiting if runs and cell.key not in store.skipped)
    return [Batch.of(cell, store.seed, runs) for cell, runs in some]


def divided(tasks: Sequence[Batch], seconds: Mapping[str, float], processes: int) -> list[Batch]:
    """Cut long batches, so that all processes have work up to the end, and sort them, the longest first.

    Parameters
    ----------
    tasks : sequence of Batch
    seconds : mapping
        Expected CPU seconds of a run, by the key of its cell; 1 if unknown.
    processes : int
        Number of processes that play.
    """

    def cost(task: Batch) -> float:
        return seconds.get(task.key, 1.0) * len(task.runs)

    longest = max(1.0, sum(map(cost, tasks)) / (3 * processes))
    found: list[Batch] = []
    for task in tasks:
        parts = max(1, min(math.ceil(cost(task) / longest), len(task.runs) // _LEAST))
        size = -(-len(task.runs) // parts)
        found += [replace(task, runs=task.runs[i : i + size]) for i in range(0, len(task.runs), size)]
    return sorted(found, key=cost, reverse=True)
