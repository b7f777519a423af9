"""Modules as Farama's own envs have them: ``hushbandits.dpmase_v0.parallel_env(…)``, one for every id that ships."""

from __future__ import annotations

import re
import sys
from functools import partial
from importlib.machinery import ModuleSpec
from types import ModuleType

__all__ = ["module_name", "put_modules"]

_OFFERED = ["env", "parallel_env", "raw_env"]


def module_name(id: str) -> str:
    """Return the name of an id's module."""
    words = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", id)
    return re.sub(r"\W", "_", words).lower().replace("__", "_")


class _Named(ModuleType):
    """An id's module: views are imported when one of its three names is asked for."""

    def __getattr__(self, name: str) -> object:
        if name not in _OFFERED:
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")
        from hushbandits.views.aec import make_aec
        from hushbandits.views.make import make

        found = vars(self)[name] = partial(make if name == "parallel_env" else make_aec, vars(self)["id"])
        return found

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *_OFFERED]


def put_modules(package: ModuleType, ids: list[str]) -> None:
    """Give `package` a module for every id; there are no files, the modules stand where `import` looks first.

    Each has ``parallel_env`` (`make`), and ``env`` and ``raw_env``, which are the same (`make_aec`): the view checks
    turns and actions by itself, and needs no wrapper.
    """
    for id in ids:
        name = f"{package.__name__}.{module_name(id)}"
        module = _Named(name, f"{id} by PettingZoo's names: ``parallel_env``, ``env`` and ``raw_env``.")
        module.__spec__ = ModuleSpec(name, None)
        vars(module).update(id=id, __all__=_OFFERED)
        sys.modules[name] = module
        setattr(package, module_name(id), module)
