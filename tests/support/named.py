"""Parameters of registered names."""

from functools import cache

from hushbandits.core.utils import parameters
from hushbandits.registry import AGENTS, ENVS, WRAPPERS


@cache
def taken(name):
    """Return the parameters of a registered name, or nothing if the name is unknown."""
    spec = next((table[name] for table in (ENVS, AGENTS, WRAPPERS) if name in table), None)
    return None if spec is None else parameters(spec)
