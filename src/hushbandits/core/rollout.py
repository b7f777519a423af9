"""The rollout loop: a team plays all runs of an env, and metrics are sampled along the way."""

import copy
import math
from collections.abc import Callable, Sequence

import numpy as np

from hushbandits.core.env import Env
from hushbandits.core.messages import Observation
from hushbandits.core.random.names import agent
from hushbandits.core.random.streams import Streams
from hushbandits.core.team import EnvView, Team, check_compatible, revealed
from hushbandits.core.utils import Array, Seeds


def rollout(env: Env, team: Team, seed: int | Seeds = 0, step: Callable[[], None] | None = None) -> dict[str, Array]:
    """Play every run to its end; return the final metrics of env and team, each ``(R, …)``.

    Parameters
    ----------
    env, team : Env, Team
        They must fit (`check_compatible`).
    seed : int or (R, 3) uint64 array
        As in `Env.reset`.
    step : callable, optional
        Called after every round.

    Examples
    --------
    >>> import hushbandits as hb
    >>> env = hb.make_batched("CoopNetwork-v0", runs=2, n_agents=4, horizon=20)
    >>> rollout(env, hb.make_team("Multi-UCB"))["regret"].shape
    (2,)
    """
    return record(env, team, seed, step=step)[0]


def measured(env: Env, team: Team, finals: dict[str, Array]) -> dict[str, Array]:
    """Return `finals`, the final metrics of an env, together with the metrics of the team."""
    if type(team).metrics is not Team.metrics:
        with revealed(env) as its:
            finals = {**finals, **copy.deepcopy(team).metrics(its)}
    return finals


def begin(env: Env, team: Team, seed: int | Seeds) -> Observation:
    """Reset an env and a compatible team with `seed`, and return the first observation."""
    obs = env.reset(seed)
    team.reset(EnvView(env), Streams(env.seeds).below(agent(team.stream)))
    return obs


def _phases(env: Env, team: Team, obs: Observation, look: Callable[[], None]) -> None:
    while np.count_nonzero(obs.running):
        obs = env.pull(team.act(obs))
        obs = env.communicate(team.compose(obs.reward))  # type: ignore[arg-type]  # None if rewards are withheld
        assert obs.inbox is not None, "deliver of a wrapper must return an inbox, not None"
        team.receive(obs.inbox)
        look()


def record(
    env: Env,
    team: Team,
    seed: int | Seeds,
    checkpoints: Sequence[int] = (),
    metrics: Sequence[str] = (),
    step: Callable[[], None] | None = None,
    stops: Sequence[int] = (),
) -> tuple[dict[str, Array], dict[str, Array]]:
    """Play every run to its end; return the final metrics, and `metrics` at the `checkpoints` of the env's clock.

    Parameters
    ----------
    env, team, seed
        As in `play`.
    checkpoints : sequence of C ints
    metrics : sequence of str
        Names.
    step : callable, optional
        Called after every round; with `stops`, compiled code may call it only when the clock reaches one of them.
    stops : sequence of int
        Times, in ascending order.  They change no number.

    Returns
    -------
    final : dict of (R, …) arrays
        As `play`.
    curves : dict of (R, C) arrays
        Values when the clock stood at each checkpoint: exact where the clock ticks in ones, linear inside
        a step where the env says that its metrics are (a block of users); NaN past a run's end.
    """
    check_compatible(env, team)
    obs = begin(env, team, seed)
    curves = _Curves(env, checkpoints, metrics)

    def look() -> None:
        if metrics:
            curves.look()
        if step is not None:
            step()

    rounds = (metrics and env.interpolate_metrics) or (step is not None and not stops)  # look at each of them
    if rounds or not team.episode(env, math.inf, np.union1d(curves.grid, stops).tolist(), look):
        _phases(env, team, obs, look)
    return measured(env, team, env.metrics()), curves.values


class _Curves:
    """Curves of metrics, sampled at checkpoints of the env's clock."""

    def __init__(self, env: Env, checkpoints: Sequence[int], metrics: Sequence[str]):
        self._env, self.grid = env, np.asarray(checkpoints, float)
        self._clock: Array = np.zeros(env.runs)
        self._before = {name: np.zeros(env.runs) for name in metrics}
        #: Per metric (R, C).
        self.values = {name: np.full((env.runs, len(self.grid)), np.nan) for name in metrics}

    def look(self) -> None:
        """Store the env's metrics for all checkpoints that were passed since the last call."""
        env, grid, clock, now = self._env, self.grid, self._clock, self._env.t.astype(float)
        # Where no later step looks back at it, only a step that passes a checkpoint in some run costs anything.
        hit = (clock[:, None] < grid) & (grid <= now[:, None])
        if env.interpolate_metrics:
            values, (r, c) = env.metrics(), np.nonzero(hit)
            share = (grid[c] - clock[r]) / (now[r] - clock[r])
            for name, before in self._before.items():
                value = values[name].astype(float)
                self.values[name][r, c] = before[r] + share * (value[r] - before[r])
                self._before[name] = value
        elif hit.any():
            values = env.metrics()
            for name, table in self.values.items():
                np.copyto(table, values[name][:, None], where=hit)
        self._clock = now
