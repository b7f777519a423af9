"""Plug-ins: parts that other installed packages bring, by the entry points that they declare.

A package names its parts in its own ``pyproject.toml``, and they stand in the tables beside what ships:

    [project.entry-points."hushbandits.agents"]
    Bold = "my_package.bold:Bold"

The groups are ``hushbandits.envs``, ``.agents``, ``.policies``, ``.wrappers``, ``.experiments`` and ``.commands``.
What is installed is looked up when a name is not known, or when all names are listed; a part is imported when it is
named.
"""

from __future__ import annotations

import contextlib
import functools
import importlib.util
import os
import re
import sys
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from importlib.metadata import EntryPoint, distributions
from typing import Any

from hushbandits.core.ground.names import reached, words
from hushbandits.core.ground.spec import Spec
from hushbandits.core.ground.table import Table

__all__ = ["Plugged", "plug", "points"]

_FORM = re.compile(r"(\w+)(\.\w+)*(:\w+)?")


@dataclass(frozen=True)
class Plugged(Spec):
    """What a plug-in's name stands for.

    Parameters
    ----------
    whence : str
        The package that brings it, with its version.
    """

    whence: str = ""

    def load(self) -> Callable[..., Any]:
        try:
            return super().load()
        except Exception as error:
            raise ValueError(f"plug-in {self.whence}: importing {self.entry!r} raised {words(error)}") from error

    def about(self) -> str:
        """Nothing: a list imports no plug-in."""
        return ""


def _installed() -> list[str]:
    """Where packages are installed: Python's path without the working folder, which may be a stranger's."""
    with contextlib.suppress(OSError):  # it may be gone
        here = {os.path.realpath(folder) for folder in (os.curdir, *reached())}
        return [folder for folder in sys.path if os.path.realpath(folder) not in here]
    return []


@functools.cache
def _declared(path: tuple[str, ...]) -> list[tuple[EntryPoint, str]]:
    """All entry points for this package, each with the package that brings it; what is installed is read once."""
    return [
        (point, f"{package.name} {package.version}")
        for package in distributions(path=list(path))
        for point in package.entry_points
        if point.group.startswith("hushbandits.")
    ]


def points(group: str, form: str) -> Iterator[tuple[EntryPoint, str]]:
    """Yield the entry points of one group, each with the package that brings it; a broken one is told as a warning.

    Parameters
    ----------
    group : str
        ``"envs"``, ``"agents"``, …
    form : str
        What its values read, such as ``"module:Class"``.
    """
    found_by = {
        (point.name, point.value, whence): point
        for point, whence in _declared(tuple(_installed()))
        if point.group == f"hushbandits.{group}"
    }
    for (_, _, whence), point in sorted(found_by.items()):
        found = _FORM.fullmatch(point.value)
        if found is None or (":" in form) != (found[3] is not None):
            wrong = f"{point.value!r} must read {form}"
        elif importlib.util.find_spec(found[1]) is None:
            wrong = f"there is no module {found[1]!r}"
        else:
            yield point, whence
            continue
        warnings.warn(f"plug-in {whence}: {point.name!r} of hushbandits.{group} is left out: {wrong}", stacklevel=2)


def plug(table: Table, group: str, seen: Callable[[str], None] = lambda name: None) -> None:
    """Let a table ask for plug-ins, as `Table.source` says."""
    table.source(partial(_entries, group), seen)


def _entries(group: str) -> Iterator[tuple[str, Spec, str]]:
    for point, whence in points(group, "module:Class"):
        yield point.name, Plugged(point.value, whence=whence), whence
