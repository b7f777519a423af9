"""The seeding rule: a run's seed comes from the master seed, the env part of what is played, and the run's number."""

from __future__ import annotations

from collections.abc import Collection, Mapping

import numpy as np

from hushbandits.bench.declare.canonical import canonical, digest, plain
from hushbandits.core.ground.types import Params, Seeds

__all__ = ["seeds", "world"]


def world(env: str | type, params: Params, paired: Collection[str] = (), luck: str = "") -> str:
    """Return the env part that run seeds come from, as text: all who play in one world face the same runs.

    Parameters
    ----------
    env : str or class
        A name, or a class, which stands for its ``"module:Class"``.
    params : mapping
        The env's parameters.  One that has no plain form (a law defined in a script, a function, an infinite number)
        is stood for by its class's name, or its own if it has one: two of a kind then share seeds.
    paired : collection of str
        Parameters that are left out.
    luck : str
        A name under which the runs are others.

    Examples
    --------
    >>> world("CoopNetwork-v0", {"n_agents": 4.0, "life": 2}, paired=["life"])
    '{"n_agents":4,"use":"CoopNetwork-v0"}'
    >>> world("Mine-v0", {}, luck="fresh")
    '{"luck":"fresh","of":{"use":"Mine-v0"}}'
    >>> world("Mine-v0", {"graph": max})
    '{"graph":{"object":"builtins:max"},"use":"Mine-v0"}'
    """
    name = env if isinstance(env, str) else _path(env)
    told: Params = {"use": name, **{k: v for k, v in params.items() if k not in paired}}
    told = {"luck": luck, "of": told} if luck else told
    try:
        return canonical(told)
    except TypeError:
        return canonical(_standing(told))


def seeds(seed: int, world: str, first: int, runs: int) -> Seeds:
    """Return the seeds of runs `first`, `first` + 1, … of a world.

    Examples
    --------
    >>> [s.spawn_key for s in seeds(7, world("CoopNetwork-v0", {}), first=2, runs=2)]
    [(2,), (3,)]
    """
    entropy = int(digest({"seed": seed, "world": world})[:32], 16)
    return [np.random.SeedSequence(entropy, spawn_key=(r,)) for r in range(first, first + runs)]


def _standing(value: object) -> object:
    """The value as JSON can hold it; what it cannot hold, by name."""
    try:
        return plain(value)
    except TypeError:
        if isinstance(value, Mapping):
            return {str(k): _standing(v) for k, v in value.items()}
        if isinstance(value, (list, tuple)):
            return [_standing(v) for v in value]
        return {"object": _path(value if hasattr(value, "__qualname__") else type(value))}


def _path(named: object) -> str:
    return f"{getattr(named, '__module__', '')}:{getattr(named, '__qualname__', '')}"
