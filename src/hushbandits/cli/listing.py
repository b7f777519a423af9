"""``hushbandits list``: all that has a name, or one of it."""

from __future__ import annotations

import inspect
import textwrap
from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from typing import Annotated

from tyro.conf import Positional, arg

from hushbandits.bench.declare.catalog import find, modules, plugged
from hushbandits.bench.declare.spec import Experiment
from hushbandits.cli.console import bad_input_is_a_sentence
from hushbandits.cli.explained import parts, settings
from hushbandits.core.entries import AGENTS, ENVS, WRAPPERS
from hushbandits.core.ground.table import Table
from hushbandits.core.whose import owners
from hushbandits.policies.shelf import POLICIES

__all__ = ["list_"]


_TABLES = {"env": ENVS, "agent": AGENTS, "policy": POLICIES, "wrapper": WRAPPERS}
_WIDTH = 100


def list_(
    what: Annotated[Positional[str], arg(metavar="envs|agents|policies|wrappers|experiments|NAME")] = "all",
) -> int:
    """List envs, agents, policies, wrappers and experiments, with a line about each; or explain one of them.

    Parameters
    ----------
    what
        One of the five, default: all; or a name, such as DPMASE-v0: what it is, and its parameters with their defaults.
    """
    with bad_input_is_a_sentence():
        named = [(kind, table) for kind, table in _TABLES.items() if what in table or what in table.disputed]
        for kind, table in named:
            table.find(what)  # refuses one that two plug-ins bring
            _explain(kind, what, table)
    if named:
        return 0

    def about(table: Table) -> dict[str, str]:
        inside = {name: f" ({', '.join(spec.wrappers)})" if spec.wrappers else "" for name, spec in table.items()}
        lines = {name: _of(table, name) or table[name].about() + inside[name] for name in table}
        lines |= {name: f"brought by {whence}: use module:Class" for name, whence in table.disputed.items()}
        return dict(sorted(lines.items()))

    kinds = {
        "envs": lambda: about(ENVS),
        "agents": lambda: about(AGENTS),
        "policies": lambda: about(POLICIES),
        "wrappers": lambda: about(WRAPPERS),
        "experiments": lambda: (
            {
                name: text
                for module, (line, declared) in modules().items()
                for name, text in [(module, line), *((f"  {e.name}", e.title) for e in declared)]
            }
            | {name: f"of {whence}" for name, (_, whence) in plugged().items()}
        ),
    }
    with bad_input_is_a_sentence():
        if what not in ("all", *kinds):
            experiments = {e.name: e for _, declared in modules().values() for e in declared}
            if what not in experiments and what.partition("-")[0] in plugged():
                experiments |= {e.name: e for e in find(what)}
            if what in experiments:
                _declared(experiments[what])
                return 0
            if what in modules():
                _module(what)
                return 0
            if taken := owners(what, more={"policy": POLICIES}):
                _parameter(what, taken)
                return 0
            near = get_close_matches(
                what, [*kinds, *(name for table in _TABLES.values() for name in table), *experiments]
            )
            hint = f"did you mean {' or '.join(dict.fromkeys(near))}" if near else "hushbandits list prints them"
            raise ValueError(
                f"what={what!r} is not one of all, {', '.join(kinds)}, nor a name or a parameter of theirs; {hint}"
            )
    for kind in kinds if what == "all" else [what]:
        rows = kinds[kind]()
        width = max(map(len, rows)) + 2
        print(kind)
        for name, line in rows.items():
            print(f"  {name:<{width}}{line}")
    return 0


def _of(table: Table, name: str) -> str:
    """Who brings it, where it does not ship."""
    return f"of {table.brought[name]}" if name in table.brought else ""


def _explain(kind: str, name: str, table: Table) -> None:
    spec = table[name]
    print(f"{name} ({kind}{f', {of}' if (of := _of(table, name)) else ''})\n")
    print(textwrap.indent(parts(spec.load())[""].replace("``", ""), "  "))
    if spec.wrappers:
        print(f"\nwrappers inside: {', '.join(spec.wrappers)}")
    for i, (parameter, value, said) in enumerate(settings(spec, spec.wrappers)):
        given = "" if value is inspect.Parameter.empty else f" = {value!r}"
        print("\nparameters" * (i == 0) + f"\n  {parameter}{given}")
        if said:
            print(textwrap.fill(said.replace("``", ""), _WIDTH, initial_indent="      ", subsequent_indent="      "))


def _module(name: str) -> None:
    line, declared = modules()[name]
    print(f"{name} (experiments)\n\n  {line}\n")
    for e in declared:
        print(f"  {e.name}  {e.title}")


def _parameter(name: str, taken: Mapping[str, Sequence[str]]) -> None:
    print(f"{name} (parameter): hushbandits list NAME says what it is there\n")
    for kind, names in taken.items():
        text = f"{kind}: {', '.join(names)}"
        print(textwrap.fill(text, _WIDTH, initial_indent="  ", subsequent_indent="      ", break_on_hyphens=False))


def _declared(experiment: Experiment) -> None:
    print(f"{experiment.name} (experiment)\n\n  {experiment.title}\n")
    env = ", ".join([experiment.env.name, *(f"{key} = {value!r}" for key, value in experiment.env.params.items())])
    facts: dict[str, object] = {"source": experiment.source, "env": env, "lines": ", ".join(experiment.lines())}
    for key, values in experiment.sweep.items():
        facts[key] = ", ".join(map(str, values))
    for name, fact in {**facts, "runs": experiment.runs}.items():
        print(textwrap.fill(f"{name}: {fact}", _WIDTH, initial_indent="  ", subsequent_indent="      "))
    for claim in experiment.claims:
        print(textwrap.fill(f"claim: {claim.sentence}", _WIDTH, initial_indent="  ", subsequent_indent="      "))
