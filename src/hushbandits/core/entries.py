"""The registries of envs, agents and wrappers, and what may stand for one of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol, runtime_checkable

from hushbandits.core.env import Env
from hushbandits.core.team import Team
from hushbandits.core.utils import Registry
from hushbandits.core.wrapper import Wrapper


@runtime_checkable
class Model(Protocol):
    """A model of Stable-Baselines3 in memory, of any of its algorithms."""

    policy: Any
    observation_space: Any
    action_space: Any

    def predict(self, observation: Any) -> Any:
        """What it would do."""


#: What may stand for an env, an agent, a wrapper: a registered name, ``"module:Class"``, or the class itself; for an
#: agent also a model.
AnyEnv = str | type[Env]
AnyAgent = str | type[Any] | Callable[..., Team] | Model
AnyWrapper = str | Wrapper | type[Wrapper]

ENVS = Registry("env", Env, "an Env class", group="envs")
AGENTS = Registry(
    "agent",
    Team,
    "a Team class, or a class with act (and speak, hear) for Each",
    group="agents",
    fits=lambda cls: callable(getattr(cls, "act", None)),
)
WRAPPERS = Registry("wrapper", Wrapper, "a Wrapper class", group="wrappers")


def title(given: AnyEnv | AnyAgent | AnyWrapper | Team) -> str:
    """Return what to call it: its name, or its class's."""
    if isinstance(given, str):
        return given
    return given.name if isinstance(given, (Team, Wrapper)) else str(getattr(given, "__name__", type(given).__name__))
