"""What docstrings say of a part: its first words, and its parameters."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator, Sequence
from itertools import zip_longest

from hushbandits.core.utils import Spec, parameters
from hushbandits.registry import WRAPPERS

__all__ = ["parts", "said_of_parameters", "settings"]


def parts(it: Callable[..., object]) -> dict[str, str]:
    """Return a docstring in its parts: what stands before the sections as "", then each section by its title."""
    found = re.split(r"^(\w[\w ]*)\n-{3,}\n", inspect.cleandoc(it.__doc__ or ""), flags=re.M)
    return {"": found[0].strip()} | dict(zip(found[1::2], found[2::2], strict=True))


def said_of_parameters(entry: Callable[..., object]) -> dict[str, str]:
    """Return what the docstrings of a class and its bases say of each parameter, there where they say it."""
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


def settings(spec: Spec, wrappers: Sequence[str] = ()) -> Iterator[tuple[str, object, str]]:
    """Return name, default and meaning of what may be given by name, the parameters of `wrappers` included.

    A parameter that several take stands once, with the words of the first that has some; one without a default has
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
    for name, (value, words) in found.items():
        yield name, value, words
