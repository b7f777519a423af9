"""Experiments from a TOML file."""

from __future__ import annotations

import tomllib
from pathlib import Path

from hushbandits.bench.declare.spec import Experiment
from hushbandits.core.ground.validate import shown

__all__ = ["read_toml"]


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
