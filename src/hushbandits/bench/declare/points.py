"""Where a claim looks: the cells of its experiment that its effect is made of."""

from __future__ import annotations

import itertools
from collections.abc import Collection, Mapping

from hushbandits.bench.declare.canonical import canonical
from hushbandits.bench.declare.claim import Claim
from hushbandits.bench.declare.effects import Difference, Line, Value
from hushbandits.bench.declare.spec import Cell, Experiment
from hushbandits.bench.declare.vocabulary import symbol
from hushbandits.core.ground.types import Params
from hushbandits.core.ground.validate import nearest
from hushbandits.core.measure import Measure

__all__ = ["check_claims", "points"]


def _selection(line: Line) -> tuple[str, Params]:
    if isinstance(line, Mapping):
        fixed = dict(line)
        return str(fixed.pop("agent", "")), fixed
    return str(line), {}


def points(experiment: Experiment, claim: Claim) -> list[tuple[str, list[Cell]]]:
    """Where the claim looks: a name and the cells that the effect is made of, in order.

    Line by line; of a slope, place by place within a line.
    """
    effect = claim.effect
    along = effect.along
    lines = [_selection(line) for line in effect.lines]
    given = {key for _, fixed in lines for key in fixed}
    what = f"{experiment.name}, claim {claim.sentence!r}"
    _check_names(experiment, what, lines, [*given, *effect.at, *([along] if along else [])])
    by_place = {(c.line, canonical(c.point)): c for c in experiment.cells()}
    free = {k: v for k, v in experiment.sweep.items() if k not in given and k != along}
    for key, values in effect.at.items():
        if key in free:
            free[key] = _among(free[key], values)
    steps: list[Params] = [{}]
    if along is not None:
        steps = [{along: v} for v in _among(experiment.sweep[along], effect.at.get(along, experiment.sweep[along]))]
    found = []
    for combo in itertools.product(*free.values()):
        point = dict(zip(free, combo, strict=True))
        where = ", ".join(f"{symbol(k)} = {v}" for k, v in point.items())
        cells = []
        for label, fixed in lines:
            for step in steps:
                full = {**point, **fixed, **step}
                place = {k: full[k] for k in experiment.sweep}
                if (label, canonical(place)) not in by_place:
                    raise ValueError(f"{what}: the sweep has no point {place}")
                cells.append(by_place[label, canonical(place)])
        found.append((where, cells))
    return found


def _check_names(experiment: Experiment, what: str, lines: list[tuple[str, Params]], keys: Collection[str]) -> None:
    given = {key for _, fixed in lines for key in fixed}
    for label, fixed in lines:
        if label not in experiment.lines():
            raise ValueError(f"{what}: no line is called {label!r}{nearest(label, experiment.lines())}")
        if missing := given - set(fixed):
            raise ValueError(f"{what}: {label!r} must fix {', '.join(sorted(missing))} as the other line does")
    for key in keys:
        if key not in experiment.sweep:
            hint = nearest(key, experiment.sweep) if experiment.sweep else ""
            raise ValueError(f"{what}: {key!r} is not swept{hint}")


def _among(values: Collection[object], wanted: Collection[object]) -> list[object]:
    """Those of `values` that are wanted, in their order."""
    texts = set(map(canonical, wanted))
    return [v for v in values if canonical(v) in texts]


def check_claims(experiment: Experiment, measures: Mapping[str, Measure] | None = None) -> None:
    """Raise ``ValueError`` if a claim names a line or a point that the experiment does not have, or asks too much.

    `measures`: what its metrics are, where that is known.
    """
    for claim in experiment.claims:
        what, effect, along = f"{experiment.name}, claim {claim.sentence!r}", claim.effect, claim.effect.along
        for _, cells in points(experiment, claim):
            if along is not None and any(not _positive(c.point[along]) for c in cells):
                raise ValueError(f"{what}: a slope needs positive values of {along}")
        measure = (measures or {}).get(effect.metric)
        if measure is not None and measure.rate and not isinstance(effect, (Value, Difference)):
            raise ValueError(f"{what}: of a rate, take a value or a difference")


def _positive(value: object) -> bool:
    return isinstance(value, (int, float)) and value > 0
