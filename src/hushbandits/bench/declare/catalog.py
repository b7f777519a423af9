"""Experiments by name: those that ship, and TOML files.

What a module declares may be run one by one, or all together under the module's own name.
"""

from __future__ import annotations

import importlib
import pkgutil
import tomllib
import warnings
from collections.abc import Iterable
from functools import cache
from pathlib import Path

from hushbandits.bench.declare.spec import Experiment
from hushbandits.builtin import EXPERIMENTS
from hushbandits.core import shown
from hushbandits.core.utils import nearest, words
from hushbandits.core.utils.registry import points

__all__ = ["bounds", "family", "find", "modules", "plugged", "read_toml", "reasons"]


@cache
def modules() -> dict[str, tuple[str, tuple[Experiment, ...]]]:
    """Return every module of experiments that ships: its first line, and what it declares."""
    found = {}
    folder = importlib.import_module(EXPERIMENTS).__path__
    for name in sorted(info.name for info in pkgutil.iter_modules(folder) if not info.name.startswith("_")):
        module = importlib.import_module(f"{EXPERIMENTS}.{name}")
        found[name] = (module.__doc__ or "").strip().splitlines()[0], tuple(module.EXPERIMENTS)
    return found


@cache
def plugged() -> dict[str, tuple[str, str]]:
    """Return what plug-ins declare, by its name: a module with `EXPERIMENTS`, not imported, and who brings it."""
    found: dict[str, tuple[str, str]] = {}
    for name, module, whence in points("experiments"):
        taken = found[name][1] if name in found else "hushbandits" if name in modules() else ""
        if taken:
            warnings.warn(f"experiments {name!r} of {whence} are left out: {taken} has some of that name", stacklevel=2)
        else:
            found[name] = module, whence
    return found


@cache
def _brought(name: str) -> tuple[Experiment, ...]:
    """What the plug-in declares that `name` belongs to: its own name, or one that begins with that and a hyphen."""
    prefix = max((known for known in plugged() if f"{name}-".startswith(f"{known}-")), key=len, default=None)
    if prefix is None:
        return ()
    module, whence = plugged()[prefix]
    try:
        declared = tuple(importlib.import_module(module).EXPERIMENTS)
    except Exception as error:
        raise ValueError(f"plug-in {whence}: importing {module!r} raised {words(error)}") from error
    for e in declared:
        if not isinstance(e, Experiment) or not f"{e.name}-".startswith(f"{prefix}-"):
            raise ValueError(
                f"plug-in {whence}: EXPERIMENTS of {module} must be Experiments whose names begin with {prefix}-"
            )
    return declared


def find(name: str) -> tuple[Experiment, ...]:
    """Return the experiments of that name: one, a module's, or those of a TOML file.

    Raises
    ------
    ValueError
        Nothing of that name; the message names the nearest ones.
    """
    if name.endswith(".toml"):
        return read_toml(Path(name))
    several = {module: declared for module, (_, declared) in modules().items()}
    if brought := _brought(name):
        several |= {name if name in plugged() else "": brought}
    known = {e.name: (e,) for declared in several.values() for e in declared} | several
    path = Path(name)
    if name not in known:
        file = path.suffix or path.exists() or path.with_suffix(".toml").exists()
        told = f"; a file is TOML, {path.stem}.toml; hushbandits report shows a folder; a module's agent is named by"
        hint = f"{told} --agents {path.stem}:MyAgent" if file else nearest(name, known)
        raise ValueError(f"no experiment is named {name!r}{hint}")
    return known[name]


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
    except (ValueError, RecursionError) as error:  # of TOML, UTF-8, a number too long, a path that no file can have
        raise ValueError(f"{path} is no TOML: {error}") from None
    several = table.pop("experiments", None)
    if several is None:
        return (Experiment.from_dict({"name": path.stem, **table}),)
    if table:
        raise ValueError(f"{path}: {', '.join(table)} stands beside [[experiments]]; write it into each of them")
    if not isinstance(several, list) or not several:
        raise ValueError(f"{path}: experiments={shown(several)} must be a list of tables")
    return tuple(map(Experiment.from_dict, several))


@cache
def reasons(module: str) -> dict[str, str]:
    """Return why claims of a module do not hold, as far as we know: by a part of the claim's sentence."""
    (folder,) = importlib.import_module(EXPERIMENTS).__path__
    text = Path(folder, "reasons.toml").read_text(encoding="utf-8")
    return dict(tomllib.loads(text).get(module, {}))


def family(name: str) -> int:
    """Return how many claims are judged together with those of the experiment `name`: all of its module.

    0 where no module declares it.
    """
    several = [declared for _, declared in modules().values()] + [_brought(name)]
    return next((sum(len(e.claims) for e in all) for all in several if name in [e.name for e in all]), 0)


def bounds(experiments: Iterable[Experiment] | None = None) -> frozenset[str]:
    """Return the ``"module:function"`` of dashed lines that may be called: of these experiments; default: what ships.

    Give what you declared yourself, never what a store brought.

    Examples
    --------
    >>> sorted(path.rpartition(".")[2] for path in bounds())[:2]
    ['dubey2020:byzantine_bound', 'dubey2020:private_bound']
    """
    trusted = (e for _, declared in modules().values() for e in declared) if experiments is None else experiments
    return frozenset(path for e in trusted for f in e.figures for path in f.bounds.values())
