"""What a page and a legend say of privacy: what each line guarantees, and what its runs spent."""

from __future__ import annotations

import math
from collections.abc import Sequence

from hushbandits.bench.declare.spec import Cell, Experiment
from hushbandits.bench.declare.vocabulary import symbol
from hushbandits.bench.report.tables import number
from hushbandits.bench.runner.configuration import Configuration
from hushbandits.bench.runner.privacy_table import noted
from hushbandits.bench.runner.store import Store
from hushbandits.protection import HEADS

__all__ = ["UNTOLD", "guarantees", "spent"]

#: Stands for the guarantees of a line of which the folder holds none.
UNTOLD = (("not noted when these runs were played", *[""] * (len(HEADS) - 1)),)
#: A smaller relative difference is rounding.
_SAME = 0.005


def guarantees(
    store: Store, experiment: Experiment, along: Sequence[str] = ()
) -> list[tuple[list[str], tuple[tuple[str, ...], ...]]]:
    """Return every line's guarantees, each a text per head; lines that guarantee the same stand together.

    A line is named by its label alone if that decides what it guarantees; else by what else is swept too, at last by
    the parameters `along` which its picture runs.
    """
    cells = experiment.cells()
    told = noted(store)
    rows = {cell.key: told.get(cell.key, UNTOLD) for cell in cells}
    found: dict[tuple[tuple[str, ...], ...], dict[str, None]] = {}
    named: dict[str, set[object]] = {}
    for cell in cells:
        for name in _names(cell, along):
            named.setdefault(name, set()).add(rows[cell.key])
    for cell in cells:
        name = next((name for name in _names(cell, along) if len(named[name]) == 1), cell.label)
        found.setdefault(rows[cell.key], {})[name] = None
    return [(list(names), promises) for promises, names in found.items()]


def _names(cell: Cell, along: Sequence[str]) -> tuple[str, str, str]:
    rest = [f"{symbol(k)} = {v}" for k, v in cell.point.items() if k not in along]
    return cell.line, ", ".join([cell.line, *rest]), cell.label


def spent(lines: Sequence[Configuration]) -> str:
    """Return ``"spent ε = 9.1"``, the most that any run spent on one reward; empty where that is the given ε.

    ``"no ε holds"`` where a run's guarantee did not hold, so that nothing can be said to be spent of it.  Of a line at
    several points, from the one that spent least to the one that spent most.
    """
    known = [(line, most) for line in lines if (most := _most(line, "epsilon")) is not None]
    if all(_equal(most, _given(line.cell)) for line, most in known):
        return ""
    held = [(line, most) for line, most in known if math.isfinite(most)]
    if not held:
        return "no ε holds"
    text = f"spent ε = {_span([most for _, most in held])}"
    weaker = [(most, value) for line, most in held if (value := _most(line, "epsilon_delta")) is not None]
    delta = max((_most(line, "delta") or 0.0 for line, _ in held), default=0.0)
    if not all(_equal(value, most) for most, value in weaker):
        text += f", or {_span([value for _, value in weaker])} with δ > 0"
    elif delta:
        text += f", δ = {number(delta)}"
    return text if len(held) == len(known) else f"{text}; elsewhere no ε holds"


def _most(line: Configuration, metric: str) -> float | None:
    values = line.final(metric)
    return float(values.max()) if len(values) else None


def _span(values: Sequence[float]) -> str:
    low, high = (f"{value:.3g}" if value < 1000 else number(value) for value in (min(values), max(values)))
    return low if low == high else f"{low} to {high}"


def _equal(spent: float, given: float | None) -> bool:
    return given is not None and abs(spent - given) <= _SAME * given


def _given(cell: Cell) -> float | None:
    """Return the ε that the env, a wrapper or the agent was given."""
    given = (use.params.get("epsilon") for use in (cell.env, *cell.wrappers, cell.agent))
    return next((float(value) for value in given if isinstance(value, (int, float))), None)
