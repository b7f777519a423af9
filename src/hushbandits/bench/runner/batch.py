"""The unit of work that travels to a worker: one batch of runs of one agent in one env."""

from __future__ import annotations

import copy
from collections.abc import Sequence

import numpy as np

from hushbandits.core.entries import AnyAgent, AnyEnv, AnyWrapper
from hushbandits.core.env import Env
from hushbandits.core.face import Face
from hushbandits.core.ground.types import Array, Params, Seeds
from hushbandits.core.ground.validate import integer
from hushbandits.core.play import log_checkpoints, measured, meet, played, record
from hushbandits.core.team import Team
from hushbandits.registry import assemble, make_team, not_the_envs

__all__ = ["Played", "play_batch", "prepare", "sampled"]

#: Finals, curves and times of a batch.
Played = tuple[dict[str, Array], dict[str, Array], Array]


def prepare(
    env: AnyEnv,
    agent: AnyAgent | Team,
    runs: int,
    env_params: Params,
    params: Params,
    wrappers: Sequence[AnyWrapper],
) -> tuple[Env, Team]:
    """Build env and team and let them meet; all that bad input can raise, it raises here."""
    if isinstance(agent, Team):
        team = agent
    else:
        not_the_envs(env, agent, params)
        team = make_team(agent, **params)
    built = assemble(env, team, runs=runs, env=env_params, wrappers=wrappers)
    meet(built, team)
    return built, team


def sampled(checkpoints: int | Sequence[int] | None, env: Env) -> list[int]:
    """Return where curves are sampled: that many points up to the horizon, or these.

    ``None``: 50 where an episode lasts exactly `horizon`, else none at all (and then a team may play in one compiled
    call).

    Raises
    ------
    ValueError
        A point that no run reaches; points to be spread where there is no horizon.

    Examples
    --------
    >>> import hushbandits as hb
    >>> sampled(3, hb.make_core("CoopNetwork-v0", horizon=100))
    [1, 10, 100]
    """
    horizon = None if env.horizon is None else int(env.horizon)
    if checkpoints is None:
        checkpoints = 50 if env.fixed_length else []
    if not isinstance(checkpoints, (Sequence, np.ndarray)) or isinstance(checkpoints, str):
        points = integer("checkpoints", checkpoints, 0)
        if points and horizon is None:
            raise ValueError(f"checkpoints={points} are spread up to the horizon, and the env has none: give it one")
        return log_checkpoints(horizon, points) if horizon is not None else []
    listed = [integer(f"checkpoints[{i}]", point, 1) for i, point in enumerate(checkpoints)]
    for point in listed:
        if horizon is not None and point > horizon:
            raise ValueError(
                f"checkpoints: {point} lies beyond the horizon of {horizon} {env.clock}: no run gets there"
            )
    return listed


def numbers_of(env: Env, team: Team) -> list[str]:
    """Names of the metrics of one number a run that `team` will have in `env`; both are reset for it, none plays."""
    env.reset(0)
    team.reset(Face(env), env.seeds)
    return [name for name, value in measured(env, team, env.metrics()).items() if value.ndim == 1]


def play_batch(
    env: AnyEnv,
    agent: AnyAgent | Team,
    seeds: Seeds,
    env_params: Params,
    params: Params,
    wrappers: Sequence[AnyWrapper],
    checkpoints: int | Sequence[int] | None,
) -> Played:
    """Play one batch of runs, in as many parts as the team asks for.

    Parameters
    ----------
    checkpoints : int, sequence of int, or None
        As `sampled`.

    Returns
    -------
    finals : dict of (R, …) arrays
    curves : dict of (R, C) arrays
    times : (C,) array
    """
    built, team = prepare(env, agent, len(seeds), env_params, params, wrappers)
    points = sampled(checkpoints, built)
    curves = built.curve_metrics if points else ()
    most = _at_once(built, team) or len(seeds)
    if most >= len(seeds):
        return *record(built, team, seeds, points, curves), np.asarray(points)
    parts = _in_parts(built, team, [seeds[i : i + most] for i in range(0, len(seeds), most)], points, curves)
    return _joined([p[0] for p in parts]), _joined([p[1] for p in parts]), np.asarray(points)


def _at_once(env: Env, team: Team) -> int | None:
    asked = team.runs_at_once(Face(env))
    return None if asked is None else integer(f"runs_at_once of {team.name}", asked, 1)


def _in_parts(
    env: Env, team: Team, parts: Sequence[Seeds], points: Sequence[int], curves: Sequence[str]
) -> list[tuple[dict[str, Array], dict[str, Array]]]:
    """Play every part with a team of its own; what teams say of themselves is asked when the last part is over."""
    says = type(team).metrics is not Team.metrics
    over: list[tuple[Env, Team, dict[str, Array], dict[str, Array]]] = []
    for seeds in parts:
        mine = copy.deepcopy(team)
        finals, lines = played(env, mine, seeds, points, curves)
        over.append((copy.deepcopy(env) if says else env, mine if says else team, finals, lines))
    return [(measured(its, mine, finals), lines) for its, mine, finals, lines in over]


def _joined(parts: list[dict[str, Array]]) -> dict[str, Array]:
    return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
