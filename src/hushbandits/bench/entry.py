"""Classes of one's own by name: ``"module:Class"`` in a TOML file or on the command line."""

from __future__ import annotations

import importlib
from functools import lru_cache

from hushbandits.core.team import Team
from hushbandits.core.validate import shown

__all__ = ["own_class", "words"]


@lru_cache(maxsize=64)
def own_class(path: str) -> type:
    """Import what ``"module:Class"`` names, and return it if it is a `Team` class or one agent's class for `Each`.

    Nothing but the module is run: what is no such class is refused before it is called.

    Raises
    ------
    ValueError
        Nothing importable under that path, or something else.

    Examples
    --------
    >>> own_class("hushbandits.baselines.auer2002:UCB1").__name__
    'UCB1'
    >>> own_class("os:system")
    Traceback (most recent call last):
        ...
    ValueError: agent 'os:system' must be a Team class, or a class with act (and speak, hear) for Each; it is a builtin\
_function_or_method
    """
    module, _, name = path.partition(":")
    what = f"agent {shown(path)}"
    if not all(part.isidentifier() for part in (*module.split("."), name)):
        raise ValueError(f"{what} must read module:Class, such as my_module:MyAgent")
    try:
        home = importlib.import_module(module)
    except (Exception, SystemExit) as error:
        if isinstance(error, ModuleNotFoundError) and f"{module}.".startswith(f"{error.name}."):
            raise ValueError(f"{what}: there is no module {module!r} here or on the path") from None
        raise ValueError(f"{what}: importing {module!r} raised {words(error)}") from error
    if not hasattr(home, name):
        raise ValueError(f"{what}: module {module!r} has no {name!r}")
    found = getattr(home, name)
    if isinstance(found, type) and (issubclass(found, Team) or callable(getattr(found, "act", None))):
        return found
    kind = f"the class {found.__name__}" if isinstance(found, type) else f"a {type(found).__name__}"
    raise ValueError(f"{what} must be a Team class, or a class with act (and speak, hear) for Each; it is {kind}")


def words(error: BaseException) -> str:
    """Return an error in one line: its class and message.

    Examples
    --------
    >>> words(KeyError("a"))
    "KeyError: 'a'"
    """
    return " ".join(f"{type(error).__name__}: {error}".split())
