"""What stands in the place of something else: the advice behind "is not known" in every error of a name."""

from __future__ import annotations

from hushbandits.core.entries import AGENT, ENV, WRAPPER
from hushbandits.core.env import Env
from hushbandits.core.team import Team
from hushbandits.core.wrapper import Wrapper
from hushbandits.policies.policy import Policy
from hushbandits.policies.shelf import POLICIES, POLICY
from hushbandits.registry import _AGENTS, _ENVS, _WRAPPERS

__all__ = ["misread"]


def misread(given: object, wanted: str) -> str:
    """Return what stands where something else is wanted, and where it belongs; ``""``: it is nothing that is known.

    Examples
    --------
    >>> misread("CoopNetwork-v0", "agent")
    'CoopNetwork-v0 is an env: the env comes first, and then the agent'
    """
    kinds = {
        "env": (_ENVS, Env),
        "agent": (_AGENTS, Team),
        "wrapper": (_WRAPPERS, Wrapper),
        "policy": (POLICIES, Policy),
    }
    cls = given if isinstance(given, type) else type(given)
    found = [
        k for k, (table, base) in kinds.items() if issubclass(cls, base) or (isinstance(given, str) and given in table)
    ]
    name = given if isinstance(given, str) else cls.__name__
    if wanted in found and not isinstance(given, (str, type)):
        return f"it is built already; give its class, {name}"
    if not found and not isinstance(given, (str, type)) and callable(getattr(given, "act", None)):
        return f"give its class, {name}, of which every seat gets its own"
    places = {
        "env": "the env comes first, and then the agent",
        "agent": "the agent comes after the env",
        "wrapper": "wrappers stand in wrappers=[…]",
        "policy": f"an agent plays it, 'Alone' or 'QuACK', with agent_kwargs={{'policy': {name}}}",
    }
    an = {"env": "an env", "agent": "an agent"}
    return next((f"{name} is {an.get(k, f'a {k}')}: {places[k]}" for k in found if k != wanted), "")


AGENT.instead.append(lambda given: misread(given, "agent"))
ENV.instead.append(lambda given: misread(given, "env"))
WRAPPER.instead.append(lambda given: misread(given, "wrapper"))
POLICY.instead.append(lambda given: misread(given, "policy"))
