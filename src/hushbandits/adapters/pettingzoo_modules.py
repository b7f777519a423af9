"""A PettingZoo-style module for every built-in id, as used in ``hushbandits.dpmase_v0.parallel_env(…)``."""

import re
import sys
from functools import partial
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import TYPE_CHECKING, Any

from hushbandits.core import count

if TYPE_CHECKING:
    from hushbandits.adapters.vector import VectorView

_OFFERED = ["env", "parallel_env", "raw_env"]


def module_name(id: str) -> str:
    """Return the module name of `id`, such as ``dpmase_v0`` for ``DPMASE-v0``."""
    words = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", id)
    return re.sub(r"\W", "_", words).lower().replace("__", "_")


class _Named(ModuleType):
    """The module of an id, which imports `make` and `make_aec` when one of its functions is first used."""

    def __getattr__(self, name: str) -> object:
        if name not in _OFFERED:
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")
        from hushbandits.adapters.make import make, make_aec

        found = vars(self)[name] = partial(make if name == "parallel_env" else make_aec, vars(self)["id"])
        return found

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *_OFFERED]


def put_modules(package: ModuleType, ids: list[str]) -> None:
    """Add a module for every id to `package` and to ``sys.modules``.

    Each has ``parallel_env`` (`make`), and ``env`` and ``raw_env``, which are the same (`make_aec`).
    """
    for id in ids:
        name = f"{package.__name__}.{module_name(id)}"
        module = _Named(name, f"{id} by PettingZoo's names: ``parallel_env``, ``env`` and ``raw_env``.")
        module.__spec__ = ModuleSpec(name, None)
        vars(module).update(id=id, __all__=_OFFERED)
        sys.modules[name] = module
        setattr(package, module_name(id), module)


def of_gymnasium(env_id: str, num_envs: int = 1, **kwargs: Any) -> "VectorView":
    """Build a vector env of `num_envs` sub-envs for ``gymnasium.make_vec``: ``num_envs / M`` runs of M agents.

    Raises
    ------
    ValueError
        `num_envs` is no multiple of the agents of a run.
    """
    from hushbandits.adapters.make import make_vec

    one = make_vec(env_id, **kwargs)
    if count("num_envs", num_envs, 1) % one.n_agents:
        raise ValueError(
            f"num_envs={num_envs} must be a multiple of n_agents={one.n_agents}, such as {num_envs * one.n_agents}: "
            f"every agent of every run counts as an env"
        )
    return make_vec(env_id, num_envs // one.n_agents, **kwargs)


def one_agent(**kwargs: object) -> None:
    """Raise ``ValueError``, because ``gymnasium.make`` does not build an env with many agents."""
    raise ValueError(
        "gymnasium.make, and make_vec with vectorization_mode='sync' or 'async', build only envs with one agent: "
        "use hushbandits.make, make_vec without vectorization_mode, or 'hushbandits/Bandit-v0'"
    )
