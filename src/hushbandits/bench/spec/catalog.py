"""Experiments by name: built-in ones, and those of plug-ins and TOML files.

Experiments of one module run one by one, or all together under the name of the module.
"""

import importlib
import tomllib
import warnings
from collections.abc import Iterable
from functools import cache
from pathlib import Path

from hushbandits.bench.spec.experiment import Experiment
from hushbandits.builtin import EXPERIMENTS
from hushbandits.core import nearest, shown, words
from hushbandits.core.utils.files import ROOT
from hushbandits.core.utils.registry import points

_FOLDER = ROOT / "experiments"


@cache
def modules() -> dict[str, tuple[str, tuple[Experiment, ...]]]:
    """Return the first line and the experiments of each built-in module or TOML file, by its name."""
    found = {}
    for path in sorted(_FOLDER.glob("[!_]*.*")):
        if path.suffix == ".toml":
            found[path.stem] = path.read_text(encoding="utf-8").partition("\n")[0].strip("# "), read_toml(path)
        else:
            module = importlib.import_module(f"{EXPERIMENTS}.{path.stem}")
            found[path.stem] = (module.__doc__ or "").strip().splitlines()[0], tuple(module.EXPERIMENTS)
    return found


@cache
def plugged() -> dict[str, tuple[str, str]]:
    """Return the module (not imported) and the distribution of each plug-in's experiments, by name."""
    found: dict[str, tuple[str, str]] = {}
    for name, module, whence in points("experiments"):
        taken = found[name][1] if name in found else "hushbandits" if name in modules() else ""
        if taken:
            warnings.warn(f"experiments {name!r} of {whence} are ignored: {taken} uses that name already", stacklevel=2)
        else:
            found[name] = module, whence
    return found


@cache
def _brought(name: str) -> tuple[Experiment, ...]:
    """Return all experiments of the plug-in whose name is `name` or the longest prefix of `name` before a hyphen."""
    stem = max((known for known in plugged() if f"{name}-".startswith(f"{known}-")), key=len, default=None)
    if stem is None:
        return ()
    module, home = plugged()[stem]
    try:
        declared = tuple(importlib.import_module(module).EXPERIMENTS)
    except Exception as error:
        raise ValueError(f"plug-in {home}: importing {module!r} raised {words(error)}") from error
    if not all(isinstance(e, Experiment) and f"{e.name}-".startswith(f"{stem}-") for e in declared):
        raise ValueError(f"plug-in {home}: EXPERIMENTS of {module} must be Experiments with names {stem} or {stem}-…")
    return declared


def find(name: str) -> tuple[Experiment, ...]:
    """Return the experiments that `name` selects: one, or all of a module, plug-in or TOML file.

    Raises
    ------
    ValueError
        An unknown name; the message gives the nearest ones.
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
        stated = f"; a file must be TOML, as {path.stem}.toml; for a folder, use hushbandits report; for an agent,"
        hint = f"{stated} use --agents {path.stem}:MyAgent" if file else nearest(name, known)
        raise ValueError(f"no experiment is named {name!r}{hint}")
    return known[name]


def read_toml(path: Path) -> tuple[Experiment, ...]:
    """Return the experiment that a TOML file declares, or those of its ``[[experiments]]`` tables.

    Raises
    ------
    ValueError
        The file is missing, is not valid TOML, or declares an unknown name.
    """
    try:
        table = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ValueError(f"cannot read {path}: {(error.strerror or str(error)).lower()}") from None
    except (ValueError, RecursionError) as error:  # from TOML, UTF-8, too long a number, an impossible path
        raise ValueError(f"{path} is not valid TOML: {error}") from None
    several = table.pop("experiments", None)
    if several is None:
        return (Experiment.from_dict({"name": path.stem, **table}),)
    if table:
        raise ValueError(f"{path}: move the keys {', '.join(table)} into each table of [[experiments]]")
    if not isinstance(several, list) or not several:
        raise ValueError(f"{path}: experiments={shown(several)} must be a list of at least one table")
    return tuple(map(Experiment.from_dict, several))


@cache
def reasons(module: str) -> dict[str, str]:
    """Return the known reasons why claims of a module do not hold, by a part of the claim's sentence."""
    return dict(tomllib.loads((_FOLDER / "_reasons.toml").read_text(encoding="utf-8")).get(module, {}))


def family(name: str) -> int:
    """Return the number of claims in the module that declares experiment `name`; they are judged together.

    The number is 0 if no module declares the experiment.
    """
    several = [declared for _, declared in modules().values()] + [_brought(name)]
    return next((sum(len(e.claims) for e in all) for all in several if name in [e.name for e in all]), 0)


def bounds(experiments: Iterable[Experiment] | None = None) -> frozenset[str]:
    """Return the functions ``"module:function"`` that figures of `experiments` (default: built-in) may call.

    Pass only experiments that you declared, never those of a results folder.

    Examples
    --------
    >>> sorted(path.rpartition(".")[2] for path in bounds())[:2]
    ['dubey2020:byzantine_bound', 'dubey2020:private_bound']
    """
    trusted = (e for _, declared in modules().values() for e in declared) if experiments is None else experiments
    return frozenset(path for e in trusted for f in e.figures for path in f.bounds.values())
