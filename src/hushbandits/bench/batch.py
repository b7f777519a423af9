"""The unit of work that travels to a worker: one batch of runs of one agent in one env."""

from __future__ import annotations

import itertools
import os
import sys
from collections.abc import Sequence
from typing import Any

import numpy as np

from hushbandits.bench.entry import own_class
from hushbandits.core.each import Each
from hushbandits.core.env import Env
from hushbandits.core.play import log_checkpoints, meet, record
from hushbandits.core.team import Team
from hushbandits.core.types import Array, Seeds
from hushbandits.core.validate import check_flags, check_keywords
from hushbandits.core.wrapper import Wrapper
from hushbandits.registry import assemble, make_team

__all__ = ["BATCH", "load_agent", "play_batch", "prepare", "reach", "split"]

#: Most runs per batch: enough to amortise a NumPy call, few enough to keep the caches warm.
BATCH = 25


def split(runs: Sequence[int], jobs: int, batch: int = BATCH) -> list[Sequence[int]]:
    """Cut runs into consecutive batches of nearly equal size, at least one per job where they suffice.

    Examples
    --------
    >>> [list(b) for b in split(range(5), jobs=2)]
    [[0, 1, 2], [3, 4]]
    """
    if not len(runs):
        return []
    parts = max(-(-len(runs) // batch), min(jobs, len(runs)))
    ends = [len(runs) - len(runs) * (parts - i) // parts for i in range(parts + 1)]
    return [runs[a:b] for a, b in itertools.pairwise(ends)]


def reach(folder: str) -> None:
    """Make modules in `folder` importable; a worker may have been started elsewhere."""
    if folder not in sys.path:
        sys.path.insert(0, folder)


def load_agent(name: str, params: dict[str, Any]) -> Team:
    """Build a registered agent, or one of your own by ``"module:Class"``.

    A class that is no `Team` is taken for one agent's code and lifted by `Each`: it is built as ``Class(m, rng)``.

    Raises
    ------
    ValueError, TypeError
        Unknown name, bad parameter, or nothing importable under that path.
    """
    if ":" not in name:
        return make_team(name, **params)
    reach(os.getcwd())
    entry = own_class(name)
    if not issubclass(entry, Team):
        if params:
            raise TypeError(f"agent {name!r} is built as {entry.__name__}(m, rng) and takes no parameters: {params}")
        return Each(entry)
    check_keywords(f"agent {name}", entry, params)
    check_flags(entry, params)
    return entry(**params)


def prepare(
    env_id: str, agent: str | Team, runs: int, env: dict[str, Any], params: dict[str, Any], wrappers: Sequence[Wrapper]
) -> tuple[Env, Team]:
    """Build env and team and let them meet; all that bad input can raise, it raises here."""
    team = load_agent(agent, params) if isinstance(agent, str) else agent
    built = assemble(env_id, team, runs=runs, env=env, wrappers=wrappers)
    meet(built, team)
    return built, team


def play_batch(
    env_id: str,
    agent: str | Team,
    seeds: Seeds,
    env: dict[str, Any],
    params: dict[str, Any],
    wrappers: Sequence[Wrapper],
    checkpoints: int | Sequence[int] | None,
) -> tuple[dict[str, Array], dict[str, Array], Array]:
    """Play one batch of runs, in as many parts as the team asks for.

    Parameters
    ----------
    checkpoints : int, sequence of int, or None
        How many points, or which; ``None``: 50 where an episode lasts exactly `horizon`, else none at all
        (and then a team may play in one compiled call).

    Returns
    -------
    finals : dict of (R, …) arrays
    curves : dict of (R, C) arrays
    times : (C,) array
    """
    built, team = prepare(env_id, agent, len(seeds), env, params, wrappers)
    if checkpoints is None:
        checkpoints = 50 if built.fixed_length else []
    if isinstance(checkpoints, int):
        checkpoints = log_checkpoints(built.horizon, checkpoints) if built.horizon else []
    curves = built.curve_metrics if len(checkpoints) else ()
    most = team.runs_at_once(built) or len(seeds)
    parts = [record(built, team, seeds[i : i + most], checkpoints, curves) for i in range(0, len(seeds), most)]
    return _joined([p[0] for p in parts]), _joined([p[1] for p in parts]), np.asarray(checkpoints)


def _joined(parts: list[dict[str, Array]]) -> dict[str, Array]:
    return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
