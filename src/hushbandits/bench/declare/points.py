"""Where figures and claims look, and what of a declaration would be misread: refused before anything runs."""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterator, Mapping, Sequence

from hushbandits.bench.declare.canonical import canonical
from hushbandits.bench.declare.claim import Claim
from hushbandits.bench.declare.effects import Difference, Value
from hushbandits.bench.declare.parts import Use
from hushbandits.bench.declare.shapes import lacking
from hushbandits.bench.declare.spec import Cell, Experiment
from hushbandits.bench.declare.vocabulary import place
from hushbandits.core.ground.types import Params
from hushbandits.core.ground.validate import nearest, shown
from hushbandits.core.measure import Measure

__all__ = ["check_claims", "check_declared", "picked", "points"]


def points(experiment: Experiment, claim: Claim) -> list[tuple[str, list[Cell]]]:
    """Where the claim looks: a name and the cells that the effect is made of, in order.

    Line by line; of a slope, place by place within a line.
    """
    effect, along, sweep = claim.effect, claim.effect.along, experiment.sweep
    what = f"{experiment.name}, claim {claim.sentence!r}"
    lines = [dict(line) if isinstance(line, Mapping) else {"agent": line} for line in effect.lines]
    labels = [str(line.pop("agent", "")) for line in lines]
    given = {key for line in lines for key in line}
    for label, fixed in zip(labels, lines, strict=True):
        if label not in experiment.lines():
            raise ValueError(f"{what}: no line is called {label!r}{nearest(label, experiment.lines())}")
        if missing := given - set(fixed):
            raise ValueError(f"{what}: {label!r} must fix {', '.join(sorted(missing))} as the other line does")
    picked(what, dict.fromkeys([*given, *effect.at, *([along] if along else [])], ()), sweep)
    by_place = {(c.line, canonical(c.point)): c for c in experiment.cells()}
    looked = {
        k: _among(values, effect.at.get(k, values)) for k, values in sweep.items() if k == along or k not in given
    }
    steps: list[Params] = [{along: value} for value in looked.pop(along)] if along else [{}]
    found = []
    for combo in itertools.product(*looked.values()):
        point = dict(zip(looked, combo, strict=True))
        cells = []
        for label, fixed in zip(labels, lines, strict=True):
            for step in steps:
                full = {**point, **fixed, **step}
                at = {k: full[k] for k in sweep}
                if (label, canonical(at)) not in by_place:
                    raise ValueError(f"{what}: the sweep has no point {at}")
                cells.append(by_place[label, canonical(at)])
        found.append((place(point), cells))
    return found


def _among(values: Collection[object], wanted: Collection[object]) -> list[object]:
    texts = set(map(canonical, wanted))
    return [v for v in values if canonical(v) in texts]


def check_claims(experiment: Experiment, measures: Mapping[str, Measure] | None = None) -> None:
    """Raise ``ValueError`` if a claim names a line or a point that the experiment does not have, or asks too much.

    `measures`: what its metrics are, where that is known.
    """
    for claim in experiment.claims:
        what, effect, along = f"{experiment.name}, claim {claim.sentence!r}", claim.effect, claim.effect.along
        for _, cells in points(experiment, claim):
            if along and not all(isinstance(x := c.point[along], (int, float)) and x > 0 for c in cells):
                raise ValueError(f"{what}: a slope needs positive values of {along}")
        measure = (measures or {}).get(effect.metric)
        if measure is not None and measure.rate and not isinstance(effect, (Value, Difference)):
            raise ValueError(f"{what}: of a rate, take a value or a difference")


def check_declared(experiment: Experiment) -> None:
    """Raise ``ValueError`` where a declaration's sweep, figures or claims cannot mean what they say.

    Of a variation (``--quick``, ``--set``) figures and claims may pick values that are gone.
    """
    name, sweep, varied = experiment.name, experiment.sweep, experiment.varied
    for key in ("runs", "wrappers"):  # every env takes these of whoever builds it
        if key in experiment.env.params or f"env.{key}" in sweep:
            raise ValueError(f"{name}: 'env.{key}' is no parameter of the env's; {key} = … of the experiment says it")
    lacking(f"{name}: sweep", sweep, [a.name for a in experiment.agents])
    _check_given_once(experiment)
    for figure in experiment.figures:
        if figure.x not in ("time", "runs", *sweep) and "." in figure.x:  # without a prefix it is a metric
            raise ValueError(
                f"{name}: a figure runs along {shown(figure.x)}, which is not swept{nearest(figure.x, sweep)}"
            )
        fixed = {key: [value] for key, value in figure.at.items()}
        picked(f"{name}: a figure", {**fixed, **({figure.by: ()} if figure.by else {})}, sweep, varied)
        if figure.by and figure.by in (figure.x, *figure.at):
            raise ValueError(
                f"{name}: a figure has {figure.by!r} as by= and as x= or at=: one point is left in each panel"
            )
    for claim in experiment.claims:
        picked(f"{name}: claim {claim.sentence!r}", claim.effect.at, sweep, varied)


def _check_given_once(experiment: Experiment) -> None:
    """No swept parameter is given a value besides, or swept under two names."""
    by: dict[tuple[int, str], str] = {}
    for key in experiment.sweep:
        what = f"{experiment.name}: sweep {shown(key)}"
        prefix, _, parameter = key.rpartition(".")
        for use in _named(prefix, experiment):
            if parameter in use.params:
                value = shown(use.params[parameter])
                raise ValueError(f"{what}: {use.called} is given {parameter}={value} already; leave out one of the two")
            other = by.setdefault((id(use), parameter), key)
            if other != key:
                raise ValueError(f"{what}: {other!r} sweeps that of {use.name} already; keep one of them")


def _named(prefix: str, experiment: Experiment) -> Iterator[Use]:
    if prefix == "env":
        yield experiment.env
        return
    yield from (a for a in experiment.agents if prefix in ("agent", a.name))
    yield from (w for uses in experiment._choices().values() for w in uses if prefix == w.name)


def picked(
    what: str, at: Mapping[str, Sequence[object]], sweep: Mapping[str, Sequence[object]], varied: bool = False
) -> None:
    """Raise ``ValueError`` where `at` picks a parameter that is not swept, or (unless `varied`) a value of none.

    Examples
    --------
    >>> picked("a figure", {"env.life": [3]}, {"env.life": (1, 2)})
    Traceback (most recent call last):
        ...
    ValueError: a figure picks env.life=3, which the sweep does not take: [1, 2]
    """
    for key, values in at.items():
        if key not in sweep:
            raise ValueError(f"{what} picks values of {shown(key)}, which is not swept{nearest(key, sweep)}")
        known = [canonical(v) for v in sweep[key]]
        for value in values:
            if canonical(value) not in known and not varied:
                raise ValueError(
                    f"{what} picks {key}={shown(value)}, which the sweep does not take: {shown(list(sweep[key]))}"
                )
