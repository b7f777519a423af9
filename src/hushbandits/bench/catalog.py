"""Experiments by name: every module in `bench/experiments`, and TOML files.

A module's ``EXPERIMENTS`` may be run one by one, or all together under the module's own name.
"""

from __future__ import annotations

import importlib
import pkgutil
import tomllib
from collections.abc import Iterable
from functools import cache
from pathlib import Path

from hushbandits.bench import experiments as folder
from hushbandits.bench.spec import Experiment
from hushbandits.core.validate import nearest, shown

__all__ = ["bounds", "family", "find", "modules", "read_toml"]


@cache
def modules() -> dict[str, tuple[str, tuple[Experiment, ...]]]:
    """Return every module of experiments: its first line, and what it declares.

    Examples
    --------
    >>> [e.name for e in modules()["rio2023"][1]][0]
    'rio2023-fig1'
    """
    found = {}
    for info in sorted(pkgutil.iter_modules(folder.__path__), key=lambda i: i.name):
        module = importlib.import_module(f"{folder.__name__}.{info.name}")
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


def bounds(experiments: Iterable[Experiment] = ()) -> frozenset[str]:
    """Return the ``"module:function"`` of dashed lines that may be called: of shipped experiments, and of these.

    Give what you declared yourself, never what a store brought.

    Examples
    --------
    >>> "hushbandits.bench.experiments.rio2023:proposition_4_3" in bounds()
    True
    """
    shipped = (e for _, declared in modules().values() for e in declared)
    return frozenset(path for e in (*shipped, *experiments) for f in e.figures for path in f.bounds.values())


def read_toml(path: Path) -> tuple[Experiment, ...]:
    """Read one experiment from a TOML file, or several from its ``[[experiments]]``.

    Raises
    ------
    ValueError
        The file is missing, no TOML, or declares something unknown.
    """
    try:
        table = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ValueError(f"cannot read {path}: {(error.strerror or str(error)).lower()}") from None
    except ValueError as error:  # of TOML, of UTF-8, of a number too long for Python, of a path that no file can have
        raise ValueError(f"{path} is no TOML: {error}") from None
    except RecursionError:
        raise ValueError(f"{path} is no TOML: too many brackets in each other") from None
    if "experiments" not in table:
        return (Experiment.from_dict({"name": path.stem, **table}),)
    several = table.pop("experiments")
    if table:
        raise ValueError(f"{path}: {', '.join(table)} stands beside [[experiments]]; write it into each of them")
    if not isinstance(several, list) or not several:
        raise ValueError(f"{path}: experiments={shown(several)} must be a list of tables")
    return tuple(map(Experiment.from_dict, several))
