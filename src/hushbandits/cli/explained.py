"""Parser of the docstrings of envs, agents and wrappers: summaries and parameters."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Sequence
from itertools import zip_longest

from hushbandits.core.utils import Spec, parameters
from hushbandits.registry import WRAPPERS

__all__ = ["parts", "said_of_parameters", "settings"]


def parts(it: Callable[..., object]) -> dict[str, str]:
    """Return the docstring sections of `it` by title; the title of the text before the first section is ``""``."""
    found = re.split(r"^(\w[\w ]*)\n-{3,}\n", inspect.cleandoc(it.__doc__ or ""), flags=re.M)
    return {"": found[0].strip()} | dict(zip(found[1::2], found[2::2], strict=True))


def said_of_parameters(entry: Callable[..., object]) -> dict[str, str]:
    """Return the description of each parameter in the docstrings of a class and its bases."""
    said: dict[str, str] = {}
    for it in inspect.getmro(entry)[::-1] if inspect.isclass(entry) else [entry]:
        names: list[str] = []
        lines = parts(it).get("Parameters", "").rstrip().splitlines()
        for line, below in zip_longest(lines, lines[1:], fillvalue=""):
            if line.startswith(" "):
                said |= {name: f"{said[name]} {line.strip()}".strip() for name in names}
            else:
                names = [name.strip("* ") for name in line.partition(" : ")[0].split(",")]
                names = [name for name in names if not said.get(name) or not below.strip().startswith("As in")]
                said |= dict.fromkeys(names, "")
    return said


def settings(spec: Spec, wrappers: Sequence[str] = ()) -> dict[str, tuple[object, str]]:
    """Return default and description of each parameter of `spec` and of `wrappers`, by name.

    A parameter that several classes take appears once, with the first description found.  One without a default has
    ``inspect.Parameter.empty``.
    """
    found: dict[str, tuple[object, str]] = {}
    for owner in (spec, *(WRAPPERS[name] for name in wrappers)):
        said = said_of_parameters(owner.load())
        if owner.rest is not None:
            said = {**said_of_parameters(owner.rest.load()), **said}
        for name, parameter in parameters(owner).items():
            given = {**owner.defaults, **spec.defaults}
            value, words = found.get(name, (given.get(name, parameter.default), ""))
            found[name] = value, words or said.get(name, "")
    return found
