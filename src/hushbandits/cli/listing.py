"""``hushbandits list``: list the names of envs, agents, policies, wrappers and experiments, or explain a name."""

import inspect
import re
import textwrap
import tomllib
from collections.abc import Callable, Iterator, Sequence
from importlib.resources import files
from itertools import zip_longest
from typing import Annotated

from tyro.conf import Positional, arg

from hushbandits.bench.spec.catalog import find, modules, plugged
from hushbandits.bench.spec.experiment import Experiment
from hushbandits.core.utils import Registry, Spec, nearest, parameters
from hushbandits.policies.registry import POLICIES
from hushbandits.registry import AGENTS, ENVS, WRAPPERS, owners

_TABLES = {"envs": ENVS, "agents": AGENTS, "policies": POLICIES, "wrappers": WRAPPERS}
_KINDS = (*_TABLES, "experiments")


def list_(
    what: Annotated[Positional[str], arg(metavar="envs|agents|policies|wrappers|experiments|NAME")] = "all",
) -> int:
    """List the names of all envs, agents, policies, wrappers and experiments, or explain one name.

    For example:

      hushbandits list agents
      hushbandits list DPMASE-v0
      hushbandits list epsilon

    Parameters
    ----------
    what
        A kind of names (default: all); a name such as DPMASE-v0, to print the description and the parameters with
        defaults; or a parameter or symbol, such as epsilon or ε, to print its meanings and the names that take it.
    """
    if what in ("all", *_KINDS):
        for kind in _KINDS if what == "all" else [what]:
            rows = dict(_experiments() if kind == "experiments" else _named(_TABLES[kind]))
            print(kind, *(f"  {name:<{max(map(len, rows)) + 2}}{line}" for name, line in rows.items()), sep="\n")
        return 0
    tables = [table for table in _TABLES.values() if what in table]
    declared = () if tables else _declared(what)
    taken = {} if tables or declared else owners(what)
    meanings = [] if tables or declared else _meanings(what)
    for table in tables:
        _explain(what, table)
    for e in declared:
        _describe(e) if len(declared) == 1 else print(f"{e.name}  {e.title}")
    for meaning in meanings:
        print(f"{meaning['sign']}: {meaning['meaning']}".replace("`", ""))
        _say(meaning["where"].replace("`", ""))
    for kind, names in taken.items():
        _say(f"{kind}: {', '.join(names)}")
    if not (tables or declared or taken or meanings):
        known = [*_KINDS, *(name for table in _TABLES.values() for name in table), *dict(_experiments()), *symbols()]
        kinds = f"all, {', '.join(_KINDS)}, or a name or a parameter of one of these, or a symbol"
        raise ValueError(f"what={what!r} must be {kinds}{nearest(what, map(str.strip, known))}")
    return 0


def _named(table: Registry) -> Iterator[tuple[str, str]]:
    """Yield each name of a registry with one line of description."""
    for name, spec in sorted(table.items()):
        inside = f" ({', '.join(spec.wrappers)})" if spec.wrappers else ""
        yield name, f"of {spec.source}" if spec.source else spec.about() + inside


def _experiments() -> Iterator[tuple[str, str]]:
    """Yield each built-in module with its indented experiments, and then each plug-in's experiments as one entry."""
    for module, (line, declared) in modules().items():
        yield module, line
        yield from ((f"  {e.name}", e.title) for e in declared)
    yield from ((name, f"of {whence}") for name, (_, whence) in plugged().items())


def _declared(what: str) -> tuple[Experiment, ...]:
    """Return the experiments that the name `what` selects, or an empty tuple."""
    shipped = (what in (module, *(e.name for e in declared)) for module, (_, declared) in modules().items())
    return find(what) if any(shipped) or what.partition("-")[0] in plugged() else ()


def symbols() -> dict[str, list[dict[str, str]]]:
    """Return the meanings of each symbol: its `sign`, its `meaning`, and `where` it has this meaning."""
    return tomllib.loads(files("hushbandits").joinpath("data/symbols.toml").read_text(encoding="utf-8"))


def _meanings(what: str) -> list[dict[str, str]]:
    """Return the meanings of the symbol or parameter `what`."""
    rows = [(name, row) for name, meanings in symbols().items() for row in meanings]
    return [row for name, row in rows if what in (name, row["sign"]) or f"`{what}`" in row["where"]]


def _say(text: str) -> None:
    print(textwrap.fill(text, 100, initial_indent="  ", subsequent_indent="      ", break_on_hyphens=False))


def _explain(name: str, table: Registry) -> None:
    spec = table[name]
    of = f", of {spec.source}" if spec.source else ""
    print(f"{name} ({table.kind}{of})\n")
    print(textwrap.indent(parts(spec.load())[""].replace("``", ""), "  "))
    if spec.wrappers:
        print(f"\nwrappers inside: {', '.join(spec.wrappers)}")
    given = settings(spec, spec.wrappers)
    print("\nparameters" if given else "")
    for parameter, (value, said) in given.items():
        print(f"\n  {parameter}" + ("" if value is inspect.Parameter.empty else f" = {value!r}"))
        if said:
            print(textwrap.indent(textwrap.fill(said.replace("``", ""), 94), "      "))


def _describe(experiment: Experiment) -> None:
    print(f"{experiment.name} (experiment)\n\n  {experiment.title}\n")
    env = ", ".join([experiment.env.name, *(f"{key} = {value!r}" for key, value in experiment.env.params.items())])
    _say(f"source: {experiment.source}")
    _say(f"env: {env}")
    _say(f"lines: {', '.join(experiment.lines())}")
    for key, values in experiment.sweep.items():
        _say(f"{key}: {', '.join(map(str, values))}")
    _say(f"runs: {experiment.runs}")
    for claim in experiment.claims:
        _say(f"claim: {claim.sentence}")


# -- docstrings ------------------------------------------------------------------------------------------------------


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
