"""Multi-agent bandits with private, delayed and corrupted feedback.

Four settings (private exploration, cooperation over a delayed graph, privatized feedback, linear contexts) with
wrappers for secure aggregation, shuffling, local noise, contamination and loss, and the papers' algorithms as reference
agents.

>>> import hushbandits as hb
>>> results = hb.evaluate("CoopNetwork-v0", "Multi-UCB", runs=2, env={"n_agents": 4, "horizon": 100})
>>> results.final("regret").shape
(2,)
"""

import ast as _ast
import sys as _sys
from importlib import import_module as _import_module
from importlib.metadata import version as _version
from pathlib import Path as _Path

from hushbandits.adapters.pettingzoo_modules import put_modules as _put_modules
from hushbandits.builtin import ENVS as _ENVS

__version__ = _version("hushbandits")

#: What is offered, and where it is written: imported when it is first asked for.
_HOMES = {
    alias.name: node.module
    for node in _ast.parse(_Path(__file__).with_suffix(".pyi").read_text()).body
    if isinstance(node, _ast.ImportFrom)
    for alias in node.names
}
__all__ = sorted(_HOMES)


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    home = _HOMES[name]
    found = _import_module(f"{home}.{name}") if name in ("stats", "testing") else getattr(_import_module(home), name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOMES})


_put_modules(_sys.modules[__name__], sorted(_ENVS))
