"""Where a claim looks: the cells of its experiment that its effect is made of."""

from __future__ import annotations

import itertools

from hushbandits.bench.declare.canonical import canonical
from hushbandits.bench.declare.claim import Claim
from hushbandits.bench.declare.spec import Cell, Experiment
from hushbandits.bench.declare.vocabulary import metric, symbol
from hushbandits.core.types import Params
from hushbandits.core.validate import nearest

__all__ = ["check_claims", "points"]


def _selection(line: str | Params) -> tuple[str, Params]:
    if isinstance(line, str):
        return line, {}
    fixed = dict(line)
    return str(fixed.pop("agent", "")), fixed


def points(experiment: Experiment, claim: Claim) -> list[tuple[str, list[Cell]]]:
    """Where the claim looks: a name and the cells that the effect is made of, in order."""
    lines = [_selection(line) for line in (claim.of, claim.over) if line is not None]
    given = {key for _, fixed in lines for key in fixed}
    what = f"{experiment.name}, claim {claim.sentence!r}"
    for label, fixed in lines:
        if label not in experiment.lines():
            raise ValueError(f"{what}: no line is called {label!r}{nearest(label, experiment.lines())}")
        if missing := given - set(fixed):
            raise ValueError(f"{what}: {label!r} must fix {', '.join(sorted(missing))} as the other line does")
    for key in (*given, *claim.at, *([claim.along] if claim.along else [])):
        if key not in experiment.sweep:
            raise ValueError(
                f"{what}: {key!r} is not swept{nearest(key, experiment.sweep) if experiment.sweep else ''}"
            )
    by_place = {(c.line, canonical(c.point)): c for c in experiment.cells()}
    free = {k: v for k, v in experiment.sweep.items() if k not in given and k != claim.along}
    for key, values in claim.at.items():
        if key in free:
            free[key] = [v for v in free[key] if canonical(v) in map(canonical, values)]
    among = None if claim.along is None else claim.at.get(claim.along)
    found = []
    for combo in itertools.product(*free.values()):
        point = dict(zip(free, combo, strict=True))
        where = ", ".join(f"{symbol(k)} = {v}" for k, v in point.items())
        cells = []
        for label, fixed in lines:
            for value in experiment.sweep[claim.along] if claim.along else [None]:
                full = {**point, **fixed, **({claim.along: value} if claim.along else {})}
                place = {k: full[k] for k in experiment.sweep}
                if among is not None and canonical(value) not in map(canonical, among):
                    continue
                if (label, canonical(place)) not in by_place:
                    raise ValueError(f"{what}: the sweep has no point {place}")
                cells.append(by_place[label, canonical(place)])
        found.append((where, cells))
    return found


def check_claims(experiment: Experiment) -> None:
    """Raise ``ValueError`` if a claim names a line or a point that the experiment does not have."""
    for claim in experiment.claims:
        for _, cells in points(experiment, claim):
            if claim.along and any(not _positive(c.point[claim.along]) for c in cells):
                raise ValueError(
                    f"{experiment.name}, claim {claim.sentence!r}: a slope needs positive values of {claim.along}"
                )
        if metric(claim.metric).rate and claim.effect in ("ratio", "slope"):
            raise ValueError(f"{experiment.name}, claim {claim.sentence!r}: of a rate, take a value or a difference")


def _positive(value: object) -> bool:
    return isinstance(value, (int, float)) and value > 0
