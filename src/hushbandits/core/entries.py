"""The tables of envs, agents and wrappers, and what may stand for one of them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from typing import Any, Protocol, runtime_checkable

from hushbandits.core.env import Env
from hushbandits.core.ground.spec import Spec, open_ended, parameters
from hushbandits.core.ground.table import Table
from hushbandits.core.ground.types import Params
from hushbandits.core.ground.validate import shown
from hushbandits.core.team import Team
from hushbandits.core.wrapper import Wrapper

__all__ = ["AGENTS", "ENVS", "WRAPPERS", "AnyAgent", "AnyEnv", "AnyWrapper", "Model", "misplaced", "title"]


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

ENVS = Table("env", Env, "an Env class", "the env comes first, and then the agent")
AGENTS = Table(
    "agent",
    Team,
    "a Team class, or a class with act (and speak, hear) for Each",
    "the agent comes after the env",
    seat=lambda cls: callable(getattr(cls, "act", None)),
)
WRAPPERS = Table("wrapper", Wrapper, "a Wrapper class", "wrappers stand in wrappers=[…]")


def title(given: AnyEnv | AnyAgent | AnyWrapper | Team) -> str:
    """Return what to call it: its name, or its class's."""
    if isinstance(given, str):
        return given
    return given.name if isinstance(given, (Team, Wrapper)) else str(getattr(given, "__name__", type(given).__name__))


def misplaced(
    what: str,
    given: Params,
    spec: Spec,
    also: Collection[str],
    owners: Iterable[tuple[str, Collection[str], str]],
) -> None:
    """Raise ``TypeError`` for the first parameter that is given to `what` but belongs to somebody else.

    Parameters
    ----------
    what : str
        To whom they are given.
    given : mapping
    spec : Spec
        What takes them.
    also : collection of str
        What else `what` takes.
    owners : iterable of (str, collection of str, str)
        Who else there is, what it takes, and where to give it.

    Examples
    --------
    >>> misplaced("env E", {"rate": 1}, Spec(title), (), [("wrapper W", ["rate"], "to the wrapper")])
    Traceback (most recent call last):
        ...
    TypeError: rate=1 is a parameter of wrapper W, not of env E: give it to the wrapper
    """
    known = {*parameters(spec), *also}
    if open_ended(spec):
        return
    for key, value in given.items():
        for who, theirs, where in owners:
            if key not in known and key in theirs:
                raise TypeError(
                    f"{key}={shown(value)} is a parameter of {who}, not of {what}: give it {where.format(key)}"
                )
