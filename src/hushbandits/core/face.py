"""What a team may know of the env that it plays in: the experiment's public side, and nothing that luck decided."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from types import MappingProxyType
from typing import TYPE_CHECKING

import numpy as np

from hushbandits.core.edge import handed
from hushbandits.core.ground.types import Array, Params
from hushbandits.core.luck.rewards import LAWS
from hushbandits.core.world import World
from hushbandits.core.wrapper import Wrapper

__all__ = ["Face", "face", "known_settings", "revealed"]

#: What every env shows.
_SHOWN = (
    "setting", "clock", "n_agents", "n_arms", "runs", "horizon", "actions", "fields", "inbox_fields", "sent_fields",
    "told", "reductions", "report", "learner",
)  # fmt: skip
#: What a team without a mind of its own may ask the env to do for it.
_ANSWERS = ("no_action", "random_action", "random_message", "standard_report")


class Face(World):
    """The public face of an env, as a team gets it in `Team.reset`.

    It shows sizes, horizon, declared fields, the law's family, the wrappers as configured, and what the setting
    declares as `Env.public` (a network its graph).  Arms' means, gaps, metrics, other agents' messages and pictures
    belong to the experimenter.

    Parameters
    ----------
    env : Env

    Examples
    --------
    >>> import hushbandits as hb
    >>> face = Face(hb.make_core("CoopNetwork-v0", n_agents=4))
    >>> face.n_agents, face.distance.shape
    (4, (1, 4, 4))
    >>> face.metrics
    Traceback (most recent call last):
        ...
    AttributeError: a team does not see 'metrics' of its env; it sees: actions, adjacency, ...
    """

    def __init__(self, env: World):
        self._env = env
        self._shown = frozenset((*_SHOWN, *env.public, "law", "wrappers"))

    def __deepcopy__(self, memo: object) -> Face:
        return self  # it is no part of a team that keeps it

    @property
    def wrappers(self) -> tuple[Wrapper, ...]:
        """The wrappers as configured, without their state."""
        return self._env.configured

    @property
    def live(self) -> Array:
        """``(R,)`` bool: which runs go on."""
        return handed(self._env.live)

    @property
    def t(self) -> Array:
        """``(R,)`` rounds so far (users, in feedback), as in an `Obs`."""
        return handed(self._env.t)

    @property
    def agents_speak(self) -> bool:
        """Whether messages are the agents' own (else users')."""
        return bool(self._env.payload.named)

    if not TYPE_CHECKING:  # where types are checked, it shows what `World` declares

        def __getattr__(self, name):
            if name.startswith("__") or "_shown" not in self.__dict__:
                raise AttributeError(name)
            if hasattr(type(self), name):  # a property that fails says why
                return object.__getattribute__(self, name)
            if name in _ANSWERS:
                return getattr(self._env, name)
            if name not in self._shown:
                seen = ", ".join(sorted({*self._shown, "live", "t"}))
                raise AttributeError(f"a team does not see {name!r} of its env; it sees: {seen}")
            value = getattr(self._env, name)
            if isinstance(value, Wrapper):  # as configured, like all wrappers
                return self._env.configured[self._env.wrappers.index(value)]
            if name == "law" and type(value) not in LAWS.values():
                raise AttributeError(
                    f"a team does not see the law of its env: {type(value).__name__} holds what the arms are"
                )
            if isinstance(value, np.ndarray):
                return handed(value)
            return MappingProxyType(value) if isinstance(value, dict) else value

    def __dir__(self) -> list[str]:
        return sorted({*self._shown, *_ANSWERS, "live", "t", "agents_speak"})

    def __repr__(self) -> str:
        return f"Face({self.setting}: n_agents={self.n_agents}, n_arms={self.n_arms}, runs={self.runs})"


def face(env: World) -> Face:
    """Return the face of an env; a face is its own."""
    return env if isinstance(env, Face) else Face(env)


@contextmanager
def revealed(env: World) -> Iterator[Face]:
    """Yield the face of an env whose game is over: while the block lasts, it shows the arms as well (`Env.truth`).

    Examples
    --------
    >>> import hushbandits as hb
    >>> env = hb.make_core("CoopNetwork-v0", n_agents=4)
    >>> obs = env.reset(0)
    >>> with revealed(env) as its:
    ...     its.means.shape
    (1, 10)
    >>> hasattr(its, "means")
    False
    """
    its = Face(env)
    shown = its._shown
    its._shown = shown | {*env.truth}
    try:
        yield its
    finally:
        its._shown = shown


def known_settings(entry: Callable[..., object], given: Mapping[str, object], brought: Iterable[str]) -> Params:
    """Return those of an env's parameters that a team may know before there is an env: none that says what arms pay.

    Parameters
    ----------
    entry : callable
        What builds the env: what its face shows, and the parameters that it lists in `Env.settings`.
    given : mapping
    brought : iterable of str
        Parameters of the wrappers that are part of it.

    Examples
    --------
    >>> import hushbandits as hb
    >>> network = type(hb.make_core("CoopNetwork-v0"))
    >>> known_settings(network, {"means": [0.9, 0.1], "graph": "star", "n_agents": 4}, ())
    {'graph': 'star', 'n_agents': 4}
    """
    known = {*_SHOWN, *getattr(entry, "public", ()), *getattr(entry, "settings", ()), *brought}
    return {name: value for name, value in given.items() if name in known}
