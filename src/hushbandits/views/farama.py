"""Modules as Farama's own envs have them: ``hushbandits.dpmase_v0.parallel_env(…)``, one for every id that ships."""

from __future__ import annotations

import re
import sys
from functools import partial
from importlib.machinery import ModuleSpec
from types import ModuleType

from hushbandits.views.aec import make_aec
from hushbandits.views.make import make

__all__ = ["module_name", "put_modules"]


def module_name(id: str) -> str:
    """Return the name of an id's module.

    Examples
    --------
    >>> module_name("DPMASE-v0"), module_name("LocalDPNetwork-v0"), module_name("LTR-v0")
    ('dpmase_v0', 'local_dp_network_v0', 'ltr_v0')
    """
    words = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", id)
    return re.sub(r"\W", "_", words).lower().replace("__", "_")


def put_modules(package: ModuleType, ids: list[str]) -> None:
    """Give `package` a module for every id; there are no files, the modules stand where `import` looks first.

    Each has ``parallel_env`` (`make`), and ``env`` and ``raw_env``, which are the same (`make_aec`): the view checks
    turns and actions by itself, and needs no wrapper.
    """
    for id in ids:
        name = f"{package.__name__}.{module_name(id)}"
        module = ModuleType(name, f"{id} by PettingZoo's names: ``parallel_env``, ``env`` and ``raw_env``.")
        module.__spec__ = ModuleSpec(name, None)
        vars(module).update(parallel_env=partial(make, id), env=partial(make_aec, id), raw_env=partial(make_aec, id))
        vars(module)["__all__"] = ["env", "parallel_env", "raw_env"]
        sys.modules[name] = module
        setattr(package, module_name(id), module)
