"""``hushbandits list``: all that has a name."""

from __future__ import annotations

from typing import Annotated

from tyro.conf import Positional, arg

from hushbandits.bench.declare.catalog import modules
from hushbandits.cli.console import bad_input_is_a_sentence
from hushbandits.core.entries import AGENTS, ENVS, WRAPPERS
from hushbandits.core.ground.table import Table
from hushbandits.core.ground.validate import choice
from hushbandits.policies.shelf import POLICIES

__all__ = ["list_"]


def list_(what: Annotated[Positional[str], arg(metavar="envs|agents|policies|wrappers|experiments")] = "all") -> int:
    """List envs, agents, policies, wrappers and experiments, with a line about each.

    Parameters
    ----------
    what
        One of the five; default: all.
    """

    def about(table: Table) -> dict[str, str]:
        brought = {name: f" ({', '.join(spec.wrappers)})" if spec.wrappers else "" for name, spec in table.items()}
        return {name: table[name].about() + brought[name] for name in sorted(table)}

    kinds = {
        "envs": lambda: about(ENVS),
        "agents": lambda: about(AGENTS),
        "policies": lambda: about(POLICIES),
        "wrappers": lambda: about(WRAPPERS),
        "experiments": lambda: {
            name: text
            for module, (line, declared) in modules().items()
            for name, text in [(module, line), *((f"  {e.name}", e.title) for e in declared)]
        },
    }
    with bad_input_is_a_sentence():
        choice("what", what, ["all", *kinds])
    for kind in kinds if what == "all" else [what]:
        rows = kinds[kind]()
        width = max(map(len, rows)) + 2
        print(kind)
        for name, line in rows.items():
            print(f"  {name:<{width}}{line}")
    return 0
