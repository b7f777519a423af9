"""`World`, the interface of envs for wrappers, and `EnvView`, the part of an env that teams see."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from hushbandits.core.messages import Fields
from hushbandits.core.random.rewards import LAWS, Law
from hushbandits.core.utils import Array
from hushbandits.core.validation import handed

#: Attributes that every env shows to teams.
SHOWN = (
    "setting", "time_unit", "n_agents", "n_arms", "runs", "horizon", "actions", "fields", "inbox_fields", "sent_fields",
    "own_reward_fields", "reductions", "report", "rl_task",
)  # fmt: skip
#: Methods of the env that a team without an algorithm may call.
_ANSWERS = ("no_action", "random_action", "random_message", "standard_report")


class World:
    """Base of `Env` and `EnvView`, which declares the attributes for sizes, time and fields.

    What it does not declare is of any type: what one setting shows, and what has a class that is built upon this one.
    """

    if TYPE_CHECKING:
        setting: ClassVar[str]
        time_unit: ClassVar[str]
        n_agents: int  # M
        n_arms: int  # K
        runs: int  # R
        horizon: Any  # an int; None: exploration, until it is decided
        law: Law  # family of the reward laws
        fields: Fields  # what a team sends
        sent_fields: Fields  # what reaches the transport
        inbox_fields: Fields  # what a team may read
        own_reward_fields: Fields  # fields of the agents' own rewards

        @property
        def t(self) -> Array: ...
        @property
        def running(self) -> Array: ...
        @property
        def active_agents(self) -> Array: ...
        @property
        def actions(self) -> Fields: ...
        @property
        def report(self) -> Fields: ...
        @property
        def reductions(self) -> tuple[str, ...]: ...
        def __getattr__(self, name: str) -> Any: ...


class EnvView(World):
    """The public view of an env, as a team gets it in `Team.reset`.

    It shows sizes, horizon, declared fields, the law's family, the wrappers as configured, and what the setting
    declares as `Env.agent_visible` (a network its graph).  Arms' means, gaps, metrics, other agents' messages and
    pictures belong to the experimenter.

    Parameters
    ----------
    env : Env

    Examples
    --------
    >>> import hushbandits as hb
    >>> view = EnvView(hb.make_batched("CoopNetwork-v0", n_agents=4))
    >>> view.n_agents, view.distance.shape
    (4, (1, 4, 4))
    >>> view.metrics
    Traceback (most recent call last):
        ...
    AttributeError: a team does not see 'metrics' of its env; it sees: actions, adjacency, ...
    """

    def __init__(self, env: World):
        self._env = env
        self._shown = frozenset((*SHOWN, *env.agent_visible, "law", "wrappers", "running", "t"))

    def __deepcopy__(self, memo: object) -> EnvView:
        return self  # it is no part of a team that keeps it

    @property
    def agents_speak(self) -> bool:
        """Return whether agents, not users, send the messages."""
        return bool(self._env.message_class.identified_senders)

    if not TYPE_CHECKING:  # where types are checked, it shows what `World` declares

        def __getattr__(self, name):
            if name.startswith("__") or "_shown" not in self.__dict__:
                raise AttributeError(name)
            if name in _ANSWERS:
                return getattr(self._env, name)
            if name not in self._shown:
                raise AttributeError(
                    f"a team does not see {name!r} of its env; it sees: {', '.join(sorted(self._shown))}"
                )
            value = self._env.configured if name == "wrappers" else getattr(self._env, name)
            for mine, configured in zip(self._env.wrappers, self._env.configured, strict=True):
                if value is mine:  # without the state of its runs
                    return configured
            if name == "law" and type(value) not in LAWS.values():
                own = type(value).__name__
                raise AttributeError(f"a team does not see the law of its env: {own} holds what the arms are")
            if isinstance(value, np.ndarray):
                return handed(value)
            return MappingProxyType(value) if isinstance(value, dict) else value

    def __dir__(self) -> list[str]:
        return sorted({*self._shown, *_ANSWERS, "agents_speak"})


def view_of(env: World) -> EnvView:
    """Return the view of an env; return a view unchanged."""
    return env if isinstance(env, EnvView) else EnvView(env)


@contextmanager
def revealed(env: World) -> Iterator[EnvView]:
    """Yield the view of an env after its last round, which also shows the arms inside the block.

    `Env.visible_after_episode` lists what it shows.

    Examples
    --------
    >>> import hushbandits as hb
    >>> env = hb.make_batched("CoopNetwork-v0", n_agents=4)
    >>> obs = env.reset(0)
    >>> with revealed(env) as its:
    ...     its.means.shape
    (1, 10)
    >>> hasattr(its, "means")
    False
    """
    its = EnvView(env)
    shown = its._shown
    its._shown = shown | {*env.visible_after_episode}
    try:
        yield its
    finally:
        its._shown = shown
