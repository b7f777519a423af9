"""What a line of a figure spent of privacy, where that is not the ε that it was given."""

from __future__ import annotations

import math
from collections.abc import Sequence

from hushbandits.bench.declare.spec import Cell
from hushbandits.bench.judge.line import Line
from hushbandits.bench.show.tables import number
from hushbandits.core.entries import AGENTS, ENVS, WRAPPERS
from hushbandits.core.ground.spec import default
from hushbandits.core.ground.types import Array

__all__ = ["spent"]

#: A smaller difference is rounding.
_SAME = 0.005


def spent(lines: Sequence[Line]) -> str:
    """Return ``"spent ε = 9.1"`` for what the dearest reward of any run cost; empty where that is the parameter.

    ``"no ε holds"`` where a run's promise did not hold, so that nothing can be said to be spent of it.  Of a line at
    several points, from the one that spent least to the one that spent most.
    """
    known = [(line, most) for line in lines if (most := _worst(line.final("epsilon"))) is not None]
    if not known or all(_equal(most, _given(line.cell)) for line, most in known):
        return ""
    held = [(line, most) for line, most in known if math.isfinite(most)]
    if not held:
        return "no ε holds"
    text = _cost(held)
    return text if len(held) == len(known) else f"{text}; elsewhere no ε holds"


def _cost(known: Sequence[tuple[Line, float]]) -> str:
    text = f"spent ε = {_span([most for _, most in known])}"
    weaker = [(_worst(line.final("epsilon_delta")), most) for line, most in known]
    told = [(value, most) for value, most in weaker if value is not None]
    if any(not _equal(value, most) for value, most in told):
        return f"{text}, or {_span([value for value, _ in told])} with δ > 0"
    deltas = [_worst(line.final("delta")) for line, _ in known]
    largest = max((d for d in deltas if d is not None), default=0.0)
    return f"{text}, δ = {number(largest)}" if largest else text


def _worst(values: Array) -> float | None:
    return float(values.max()) if len(values) else None


def _span(values: Sequence[float]) -> str:
    low, high = (_short(value) for value in (min(values), max(values)))
    return low if low == high else f"{low} to {high}"


def _short(value: float) -> str:
    return f"{value:.3g}" if math.isfinite(value) and value < 1000 else number(value)


def _equal(spent: float, given: float | None) -> bool:
    return given is not None and abs(spent - given) <= _SAME * given


def _given(cell: Cell) -> float | None:
    """The mechanism's ε: the env's, a wrapper's or the agent's, given or by default."""
    uses = [cell.env, *cell.wrappers, cell.agent]
    for use in uses:
        value = use.params.get("epsilon")
        if isinstance(value, (int, float)):
            return float(value)
    return next((value for use in uses if (value := _by_default(use.name)) is not None), None)


def _by_default(name: str) -> float | None:
    """What is registered under the name has this ε if nobody gives one; nothing else is imported for it."""
    tables = ENVS, WRAPPERS, AGENTS
    spec = next((table[name] for table in tables if name in table), None)
    for part in () if spec is None else (spec, *(WRAPPERS[w] for w in spec.wrappers)):
        found = part.defaults.get("epsilon", default(part, "epsilon"))
        if isinstance(found, (int, float)):
            return float(found)
    return None
