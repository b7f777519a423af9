"""Experiments by name: every module of this folder, and TOML files.

A module's ``EXPERIMENTS`` may be run one by one, or all together under the module's own name.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterable
from functools import cache
from pathlib import Path

from hushbandits.bench.declare.spec import Experiment
from hushbandits.bench.declare.toml import read_toml
from hushbandits.core.ground.validate import nearest

__all__ = ["bounds", "family", "find", "modules"]


@cache
def modules() -> dict[str, tuple[str, tuple[Experiment, ...]]]:
    """Return every module of experiments: its first line, and what it declares.

    Examples
    --------
    >>> [e.name for e in modules()["rio2023"][1]][0]
    'rio2023-fig1'
    """
    found = {}
    for info in sorted(pkgutil.iter_modules(__path__), key=lambda i: i.name):
        module = importlib.import_module(f"{__name__}.{info.name}")
        found[info.name] = (module.__doc__ or "").strip().splitlines()[0], tuple(module.EXPERIMENTS)
    return found


def find(name: str) -> tuple[Experiment, ...]:
    """Return the experiments of that name: one, a module's, or those of a TOML file.

    Raises
    ------
    ValueError
        Nothing of that name; the message names the nearest ones.

    Examples
    --------
    >>> len(find("quickstart"))
    3
    """
    if name.endswith(".toml"):
        return read_toml(Path(name))
    known: dict[str, tuple[Experiment, ...]] = {e.name: (e,) for _, all in modules().values() for e in all}
    known |= {module: declared for module, (_, declared) in modules().items()}
    if name not in known:
        if Path(f"{name}.toml").is_file():
            raise ValueError(f"no experiment is named {name!r}; there is a file {name}.toml: name it with its ending")
        raise ValueError(f"no experiment is named {name!r}{nearest(name, known)}")
    return known[name]


def family(name: str) -> int | None:
    """Return how many claims are judged together with those of the experiment `name`: all of its module.

    ``None`` where no module declares it: then its own.

    Examples
    --------
    >>> family("no such experiment") is None
    True
    """
    for _, experiments in modules().values():
        if name in [e.name for e in experiments]:
            return sum(len(e.claims) for e in experiments)
    return None


def bounds(experiments: Iterable[Experiment] | None = None) -> frozenset[str]:
    """Return the ``"module:function"`` of dashed lines that may be called: of these experiments; default: what ships.

    Give what you declared yourself, never what a store brought.

    Examples
    --------
    >>> "hushbandits.experiments.rio2023:proposition_4_3" in bounds()
    True
    """
    trusted = (e for _, declared in modules().values() for e in declared) if experiments is None else experiments
    return frozenset(path for e in trusted for f in e.figures for path in f.bounds.values())
