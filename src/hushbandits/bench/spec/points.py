"""Points of a sweep that figures and claims select, and checks of these selections before anything runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from hushbandits.bench.spec.claim import Claim, Difference, Slope, Value
from hushbandits.bench.spec.experiment import Cell, Experiment
from hushbandits.bench.spec.vocabulary import place
from hushbandits.core import shown
from hushbandits.core.metric import Metric
from hushbandits.core.random.seed_text import canonical
from hushbandits.core.utils import nearest


def points(experiment: Experiment, claim: Claim) -> list[tuple[str, list[Cell]]]:
    """Return the sweep points at which a claim is judged, each as a name and the cells of the effect in order.

    Cells are ordered line by line; those of a slope point by point within a line.
    """
    effect, sweep, what = claim.effect, experiment.sweep, f"{experiment.name}, claim {claim.sentence!r}"
    along = [effect.along] if isinstance(effect, Slope) else []
    lines = [dict(line) if isinstance(line, Mapping) else {"agent": line} for line in effect.lines]
    labels = [str(line.pop("agent", "")) for line in lines]
    picked(what, dict.fromkeys([*effect.at, *along], ()), sweep)
    for label, fixed in zip(labels, lines, strict=True):
        if label not in experiment.lines():
            raise ValueError(f"{what}: no legend entry is {label!r}{nearest(label, experiment.lines())}")
        if fixed.keys() != lines[0].keys():
            raise ValueError(f"{what}: {label!r} fixes {[*fixed]}, but must fix {[*lines[0]]}, as {labels[0]!r} does")
        picked(what, {key: [value] for key, value in fixed.items()}, sweep)
    free = [key for key in sweep if key not in (*along, *lines[0])]
    found: dict[str, list[Cell]] = {}
    for label, fixed in zip(labels, lines, strict=True):
        at = {**effect.at, **{key: [value] for key, value in fixed.items()}}
        texts = {key: set(map(canonical, values)) for key, values in at.items()}
        for cell in experiment.cells():
            if cell.line == label and all(canonical(cell.point[key]) in texts[key] for key in texts):
                found.setdefault(canonical([cell.point[key] for key in free]), []).append(cell)
    return [(place({key: cells[0].point[key] for key in free}), cells) for cells in found.values()]


def check_claims(experiment: Experiment, measures: Mapping[str, Metric] | None = None) -> None:
    """Raise ``ValueError`` if a claim names an unknown line or point, or if its effect is not possible there.

    `measures`: metric specifications, as far as they are known.
    """
    for claim in experiment.claims:
        what, effect = f"{experiment.name}, claim {claim.sentence!r}", claim.effect
        picked(what, effect.at, experiment.sweep, experiment.varied)
        for _, cells in points(experiment, claim):
            at = [cell.point[effect.along] for cell in cells] if isinstance(effect, Slope) else []
            if not all(isinstance(value, (int, float)) and value > 0 for value in at):
                raise ValueError(f"{what}: a slope needs positive values of the swept parameter, not {shown(at)}")
        measure = (measures or {}).get(effect.metric)
        if measure is not None and measure.rate and not isinstance(effect, (Value, Difference)):
            raise ValueError(f"{what}: the metric is a rate; use Value or Difference")


def check_declared(experiment: Experiment) -> None:
    """Raise ``ValueError`` if a figure selects a parameter that is not swept, or a value not in the sweep.

    In a variation (``--quick``, ``--set``), figures and claims may pick values that no longer exist.
    """
    for figure in experiment.figures:
        keys = [key for key in (figure.x, figure.by) if "." in key or key == figure.by != ""]  # others are metrics
        asked = {**{key: [value] for key, value in figure.at.items()}, **dict.fromkeys(keys, ())}
        picked(f"{experiment.name}: a figure", asked, experiment.sweep, experiment.varied)


def picked(
    what: str, at: Mapping[str, Sequence[object]], sweep: Mapping[str, Sequence[object]], varied: bool = False
) -> None:
    """Raise ``ValueError`` if `at` selects a parameter that is not swept or, unless `varied`, an unknown value.

    Examples
    --------
    >>> picked("a figure", {"env.max_hops": [3]}, {"env.max_hops": (1, 2)})
    Traceback (most recent call last):
        ...
    ValueError: a figure picks env.max_hops=3, which is not in the sweep [1, 2]
    """
    for key, values in at.items():
        if key not in sweep:
            raise ValueError(f"{what} selects values of {shown(key)}, which is not swept{nearest(key, sweep)}")
        known = [canonical(v) for v in sweep[key]]
        for value in values:
            if canonical(value) not in known and not varied:
                raise ValueError(f"{what} picks {key}={shown(value)}, which is not in the sweep {shown([*sweep[key]])}")
