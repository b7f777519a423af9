"""Whose a parameter is: of which envs, agents and wrappers that ship."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from hushbandits.core.entries import AGENTS, ENVS, WRAPPERS
from hushbandits.core.ground.spec import Spec, parameters
from hushbandits.core.ground.table import Table
from hushbandits.core.ground.types import Params
from hushbandits.core.ground.validate import otherwise, shown

__all__ = ["elsewhere", "listed", "owners"]

_MOST = 3  # names of a kind in a sentence
#: Who may take what an env does not, and where it is given.
_WHERE = {"agent": " (agent_kwargs)", "wrapper": " (wrappers)", "env": ""}


def owners(parameter: str, setting: str = "", more: Mapping[str, Table] | None = None) -> dict[str, list[str]]:
    """Return who takes a parameter, by kind; of envs and agents only those of `setting`, if it is said.

    `more`: further tables, by their kind.

    Examples
    --------
    >>> owners("rate")["wrapper"]
    ['Huber', 'Loss']
    """
    kinds: dict[str, Table] = {"env": ENVS, "agent": AGENTS, "wrapper": WRAPPERS, **(more or {})}
    found: dict[str, list[str]] = {}
    for kind, table in kinds.items():
        names = [name for name in sorted(table.shipped) if parameter in _parameters(table.entries[name])]
        if setting and kind in ("env", "agent"):
            names = [name for name in names if getattr(table.entries[name].load(), "setting", "") in ("", setting)]
        if names:
            found[kind] = names
    return found


def _parameters(spec: Spec) -> list[str]:
    own = [name for name in parameters(spec) if name not in spec.defaults or not spec.wrappers]
    return [*own, *(p for name in spec.wrappers for p in parameters(WRAPPERS.entries[name]))]


def listed(names: Sequence[str], most: int = _MOST) -> str:
    """Return names in a row, of many the first."""
    more = len(names) - most
    return ", ".join(names[:most]) + (f" and {more} more" if more > 0 else "")


def elsewhere(what: str, known: Sequence[str], given: Params, setting: str) -> None:
    """Raise ``TypeError`` for the first parameter that an env does not take and others do, with where it belongs."""
    for name, value in given.items():
        if name in known:
            continue
        if name in ("seed", "seeds"):
            raise TypeError(f"{name}={shown(value)} is no parameter of {what}: give it to reset(seed={shown(value)})")
        who = {} if otherwise(name, known) else owners(name, setting)
        told = [f"{kind}s such as {listed(who[kind])}{where}" for kind, where in _WHERE.items() if kind in who]
        if told:
            raise TypeError(
                f"{what} takes no parameter {name!r} ({name}={shown(value)}); it is one of {'; of '.join(told)}"
            )
