"""Code shared by the adapters: construction of envs for learners, and seeds of episodes."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np
from gymnasium import spaces

from hushbandits.core import Array, Env, Field, Params, RLTask, Seeds, as_array, choice, integer, shown, spawn_seeds
from hushbandits.core.utils.jit import lean
from hushbandits.core.validation import Stacked, fits, shaped, stacked
from hushbandits.registry import ENVS, AnyEnv, AnyWrapper, make_batched, takes, title

Info = dict[str, Any]

#: Rounds of an exploration episode, where none are asked for: about twice what DP-MASE needs at ε = 0.1.
HORIZON = 100_000
#: What the horizon does to an episode: a learner adds the value of the last observation, or adds nothing.
HORIZONS = ("truncates", "ends")
#: What the shipped tasks can be asked for; ``None``: as it is by default.
_TASKS = (
    "action_format", "agent_id", "squash_unbounded", "observe_messages", "cost_coefficients", "reward_source",
)  # fmt: skip


def learners_core(
    id: AnyEnv, runs: int, wrappers: Sequence[AnyWrapper], extra_fields: Mapping[str, Field] | None, given: Params,
    horizon: int = HORIZON,
) -> Env:  # fmt: skip
    """Build the array core of a learner's env from `given`; an env without a horizon gets `horizon` rounds.

    Arms are shuffled in every run, so that none is the best by its index.

    Examples
    --------
    >>> learners_core("DPMASE-v0", 1, (), None, {}).horizon
    100000
    """  # fmt: skip
    params = dict(given)
    if extra_fields is not None:
        if not isinstance(extra_fields, Mapping) or not extra_fields:
            raise ValueError(
                f"extra_fields={shown(extra_fields)} must be a dict of fields, such as {{'bit': Field(dtype='?')}}"
            )
        params["extra_fields"] = extra_fields
    core = make_batched(id, runs, wrappers=wrappers, **params)
    if core.horizon is None:
        core = make_batched(id, runs, wrappers=wrappers, **{**params, "horizon": horizon})
    return core


def task_options(id: AnyEnv, given: Params) -> tuple[Info, Info]:
    """Split `given` into the options of the env's RL task and the parameters of the env; return both.

    ``TypeError``: an option of a user-defined task is also a parameter of the env.

    Examples
    --------
    >>> task_options("DistDP-v0", {"action_format": "native", "reward_source": None, "n_agents": 3})
    ({'action_format': 'native'}, {'n_agents': 3})
    """
    learner = getattr(ENVS.find(id).load(), "rl_task", None)  # an env may declare no task
    own = {*learner.takes()} - {*_TASKS} if learner is not None else set()
    if both := [name for name in given if name in own and (takes(id, name) or name in ENVS.find(id).defaults)]:
        raise TypeError(f"{both[0]}= is both a parameter of env {title(id)} and a task option: rename the option")
    options = {k: v for k, v in given.items() if k in own or (k in _TASKS and v is not None)}
    return options, {k: v for k, v in given.items() if k not in own and k not in _TASKS}


def of_run(metrics: Mapping[str, Array], run: int) -> Info:
    """Return the metrics of `run` by name: a number, or an array ``(M,)`` for a per-agent metric."""
    return {name: value[run].item() if value.ndim == 1 else value[run].copy() for name, value in metrics.items()}


def checked_mode(mode: str | None, modes: Collection[str]) -> str | None:
    """Return `mode`; raise ``ValueError`` unless it is ``None`` or one of `modes`."""
    return None if mode is None else choice("render_mode", mode, modes)


def begun(already: bool, what: str) -> None:
    """Raise ``RuntimeError``, with the call `what` in its message, if no episode has begun (`already` is false)."""
    if not already:
        raise RuntimeError(f"{what} before the start of an episode: call reset() first")


def spelled(core: Env) -> str:
    """Return the env's name for other libraries: ``hushbandits/ID``, or ``hushbandits`` if the env has no id."""
    return "hushbandits" if core.spec is None else f"hushbandits/{title(core.spec[0])}"


class Episodes:
    """The seeds of the successive episodes of R runs of an array core.

    The first episode of row i under a seed s is run i of ``core.reset(s)``, or run 0 if each row has its own seed; its
    e-th one after it is that run's number + e·2³², whatever the other rows do.

    Parameters
    ----------
    runs : int
        R.
    again : (1, 3) uint64 array, optional
        The run that an episode without a seed plays again.

    Examples
    --------
    >>> import hushbandits as hb
    >>> episodes, core = Episodes(2), hb.make_batched("CoopNetwork-v0", runs=2)
    >>> episodes.start(7, core)[:, 2].tolist(), episodes.following(np.array([1]), core)[:, 2].tolist()
    ([0, 1], [4294967297])
    """

    def __init__(self, runs: int, again: Seeds | None = None):
        self._runs, self._again = runs, again
        self._own: list[int] = []  # one for all runs, or one for each

    def start(self, seed: int | Sequence[int] | None, core: Env) -> Seeds:
        """Return the seeds of all runs' first episodes under `seed`, or without a seed those of the next episodes.

        With a sequence of seeds, row r plays run 0 of ``core.reset(seed[r])``.  Without a seed they are the next of the
        stream that goes on; it begins with fresh entropy.
        """
        if seed is None and self._again is not None:
            return self._again
        if seed is None and self._own:
            return self.following(np.arange(self._runs), core)
        fresh = np.random.SeedSequence().entropy if seed is None else seed
        own = fresh if isinstance(fresh, Sequence) else [fresh]
        self._own = [int(integer("seed", one, 0, np.inf)) for one in own]
        self._core, self._seeds = core, self._first(core)
        return self._seeds.copy()

    def following(self, rows: Array, core: Env) -> Seeds:
        """Return the seeds of the next episodes of the runs `rows`, ``(len(rows), 3)``."""
        if core is not self._core:  # another world has other keys
            self._core, numbers = core, self._seeds[:, 2]
            self._seeds = self._first(core)
            self._seeds[:, 2] = numbers
        seeds = np.empty((len(rows), 3), np.uint64)
        _follow(self._seeds, rows, seeds)
        return seeds

    def _first(self, core: Env) -> Seeds:
        runs = self._runs if len(self._own) < self._runs else 1
        return np.concatenate([spawn_seeds(one, runs, world=core.seed_text) for one in self._own])


@lean
def _follow(seeds, rows, out):  # type: ignore[no-untyped-def]
    """Move the `seeds` of the runs `rows` on by an episode, and write them to `out`."""
    for i in range(len(rows)):
        seeds[rows[i], 2] += np.uint64(1 << 32)
        for word in range(3):
            out[i, word] = seeds[rows[i], word]


class Rows:
    """R runs of an env's RL task, played by a vector view; the episodes of different runs start independently.

    Parameters
    ----------
    core : Env
        With a horizon; it has ``runs`` and ``n_agents``, R and M.
    **options
        The task's.
    """

    def __init__(self, core: Env, **options: object):
        self.core, self.options = core, options
        self.task: RLTask = core.task(**options)
        self.runs, self.n_agents = core.runs, core.n_agents
        self._episodes = Episodes(self.runs)
        #: Whether everyone's first episode has begun.
        self.begun = False

    def reset(self, seed: int | Sequence[int] | None = None, rows: Array | None = None) -> Array:
        """Start the next episodes of all runs, or of the runs `rows`; return observations ``(R, M, D)``."""
        if rows is None or len(rows) == self.runs:
            self.task.reset(self._episodes.start(seed, self.core))
        else:
            self.task.reset(self._episodes.following(rows, self.core), rows)
        self.begun = True
        return self.task.observe()

    def read(self, actions: Stacked) -> Stacked:
        """Check `actions`, one per sub-env, against the action space; return the actions as arrays ``(R, M, …)``.

        Raises
        ------
        ValueError
            Another number of actions than sub-envs, or one outside its space.
        """
        space, m = self.task.action_space, self.n_agents
        if isinstance(space, spaces.Dict):
            if not isinstance(actions, Mapping) or set(actions) != set(space):
                raise ValueError(f"actions={shown(actions)} must be a dict with the keys {', '.join(space)}")
            flat: Stacked = {name: self._sized(f"actions[{name!r}]", actions[name]) for name in space}
        else:
            flat = self._sized("actions", actions)
        if fits(space, flat):
            return shaped(flat, (self.runs, m))
        each = range(self.runs * m)
        values = [{k: part[i] for k, part in flat.items()} for i in each] if isinstance(flat, dict) else list(flat)
        names = [f"sub-env {i}, agent_{i % m} of run {i // m}," for i in each]
        return stacked(space, values, names, (self.runs, m))

    def _sized(self, what: str, value: object) -> Array:
        array, many = as_array(value), self.runs * self.n_agents
        if array.shape[:1] != (many,):
            raise ValueError(f"{what} of shape {array.shape} must have one entry for each of {many} sub-envs")
        return array.copy()

    def metrics(self, run: int) -> Info:
        """Return the metrics of `run` so far, by name: a number, or an array ``(M,)`` for a per-agent metric."""
        return of_run(self.core.metrics(), run)

    def step(self, action: Stacked) -> tuple[Array, Array, Array]:
        """Play a round with `action`; return rewards ``(R, M)``, which runs ended, and which terminated, ``(R,)`` each.

        Runs that are over earn 0 until `reset`.
        """
        task, before = self.task, self.task.obs.running
        reward = task.step(action)
        live = task.obs.running
        if live.all():
            return reward, ~live, ~live
        over = np.empty_like(live)
        _end(before, live, task.final_reward(), reward, over)
        return reward, over, over & task.solved()


@lean
def _end(before, live, final, reward, over):  # type: ignore[no-untyped-def]
    """Write to `over` which runs ended now; add `final` to their rewards, and set those of earlier ended runs to 0."""
    for r in range(live.size):
        over[r] = before[r] and not live[r]
        for m in range(0 if live[r] else reward.shape[1]):
            reward[r, m] = reward[r, m] + final[r] if before[r] else 0.0
