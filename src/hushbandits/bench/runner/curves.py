"""A rollout whose metrics are sampled at checkpoints of the clock."""

from collections.abc import Callable, Sequence

import numpy as np

from hushbandits.core import Array, Env, Seeds, Team
from hushbandits.core.rollout import begin, measured, play
from hushbandits.core.team import check_compatible


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
        As in `rollout`.
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
        As `rollout` returns them.
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
    play(env, team, obs, look, None if rounds else np.union1d(curves.grid, stops).tolist())
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
