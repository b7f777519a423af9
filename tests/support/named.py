"""What registered names take."""

from functools import cache

from hushbandits.core.utils import parameters
from hushbandits.registry import AGENTS, ENVS, WRAPPERS


@cache
def taken(name):
    """Return the parameters of what is registered under a name, or nothing where there is no such name."""
    spec = next((table[name] for table in (ENVS, AGENTS, WRAPPERS) if name in table), None)
    return None if spec is None else parameters(spec)
