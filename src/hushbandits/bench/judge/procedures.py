"""Who gets which interval: the statistic and the effect decide, by one table, before any run.

`PROCEDURES` is that table, `rules` the one of ``docs/statistics.md`` made from it, `ESTIMATES` how an effect is
computed from the statistics of its lines.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from hushbandits.bench.declare.effects import Difference, Effect, Ratio, Slope, Value
from hushbandits.bench.declare.spec import Cell
from hushbandits.bench.judge.intervals import (
    Stratum,
    combined,
    fewest_runs,
    fieller,
    linear,
    log_contrast,
    logs,
    quotient,
    skewed_t,
)
from hushbandits.bench.judge.stats import STATISTICS, Interval
from hushbandits.bench.judge.summary import INTERVALS, statistic_of
from hushbandits.core.ground.types import Array
from hushbandits.core.measure import Measure

__all__ = ["PROCEDURES", "Procedure", "contrast", "estimate", "procedure", "rules"]

_Of = Callable[[Sequence[Stratum], Array, float], Interval]


@dataclass(frozen=True)
class Procedure:
    """How an effect gets its interval.

    Parameters
    ----------
    name : str
        What the page calls it.
    interval : callable
        ``interval(strata, weights, level)``.
    says : str
        In words, for the docs.
    needs : str
        Runs below which it is unbounded: m claims, P points, k lines.
    fewest : callable
        The same as a number: ``fewest(level, lines)``.
    """

    name: str
    interval: _Of
    says: str
    needs: str
    fewest: Callable[[float, int], int]


#: Extremes of an effect over intervals of its lines.
_BOX: Mapping[type[Effect], Callable[[Array, Array], Interval]] = {
    Value: linear,
    Difference: linear,
    Ratio: quotient,
    Slope: logs,
}


def _lines(
    of: type[Effect], each: Callable[[Array, float], Interval], strata: Sequence[Stratum], weights: Array, level: float
) -> Interval:
    divided = 1 - (1 - level) / len(weights)
    found = {c: each(s.values[:, i], divided) for s in strata for i, c in enumerate(s.columns)}
    return combined(_BOX[of], [found[c] for c in range(len(weights))], weights)


def _of_means(level: float, lines: int) -> int:
    return fewest_runs(level)  # of all lines at once


def _of_medians(level: float, lines: int) -> int:
    return math.ceil(1 + math.log2(lines / (1 - level)) - 1e-9)


def _of_bands(level: float, lines: int) -> int:
    return math.floor(8 * math.log(2 * lines / (1 - level))) + 1


_MEANS = "7 ln(m/.05); to reject, 7 ln(mP/.05)"
_SKEWED = Procedure(
    "skewed t",
    skewed_t,
    "Student's t corrected for skewness (Hall 1992), never narrower than Student's; of pairs where both lines faced "
    "the same runs, else with the freedom of the fewer runs",
    _MEANS,
    _of_means,
)
_DIVIDED = "; of k lines each at level 1 − .05/(mk), and the extremes of the effect"
#: By statistic and effect.  Of a rate the statistic is ``rate``.
PROCEDURES: Mapping[tuple[str, type[Effect]], Procedure] = {
    ("mean", Value): _SKEWED,
    ("mean", Difference): _SKEWED,
    ("mean", Ratio): Procedure(
        "skewed t, Fieller",
        fieller,
        "all θ for which `of` − θ·`over` may have mean 0; unbounded where the denominator may be 0",
        _MEANS,
        _of_means,
    ),
    ("mean", Slope): Procedure(
        "skewed t, logarithms",
        log_contrast,
        "linearised at the means, with the logarithm's curvature in the correction",
        _MEANS,
        _of_means,
    ),
    **{
        (statistic, of): Procedure(
            INTERVALS[statistic].name, partial(_lines, of, INTERVALS[statistic].of), says, needs, few
        )
        for statistic, says, needs, few, effects in (
            ("median", f"free of the law{_DIVIDED}", "1 + log₂(mk/.05)", _of_medians, _BOX),
            ("iqm", f"of Dvoretzky, Kiefer & Wolfowitz{_DIVIDED}", "8 ln(2mk/.05)", _of_bands, _BOX),
            ("rate", f"exact{_DIVIDED}", "", lambda level, lines: 1, (Value, Difference)),
        )
        for of in effects
    },
}


def procedure(effect: Effect, measure: Measure) -> Procedure:
    """Return how `effect` of a metric that is a `measure` gets its interval.

    Examples
    --------
    >>> procedure(Value("correct", of="DP-MASE"), Measure("share of runs that are correct", "rate")).name
    'Clopper–Pearson'
    """
    found = PROCEDURES.get((statistic_of(measure, effect.statistic), type(effect)))
    if found is None:
        raise ValueError(f"{effect.words} of {effect.metric!r}: of a rate, take a value or a difference")
    return found


def contrast(effect: Effect, cells: Sequence[Cell]) -> Array | None:
    """Weights of the cells in the effect; of a slope, least squares on the logarithm of the place.

    ``None``: there is no slope through a single place.
    """
    signs = np.array([1.0, -1.0][: len(effect.lines)])
    if (along := effect.along) is None:
        return signs
    x = np.log([float(c.point[along]) for c in cells[: len(cells) // len(signs)]])
    centred = x - x.mean() if len(x) else x
    if not centred.any():
        return None
    return np.kron(signs, centred / (centred @ centred))


def _dot(values: Array, weights: Array) -> float:
    return float(weights @ values)


#: The effect, given the statistics of its cells and their weights.
ESTIMATES: Mapping[type[Effect], Callable[[Array, Array], float]] = {
    Value: _dot,
    Difference: _dot,
    Ratio: lambda values, weights: float(values[0] / values[1]),
    Slope: lambda values, weights: _dot(np.log(values), weights),
}


def estimate(effect: Effect, measure: Measure, strata: Sequence[Stratum], weights: Array) -> float:
    """Return the effect of these runs."""
    centre = STATISTICS["mean" if measure.rate else effect.statistic]
    values = np.empty(len(weights))
    for s in strata:
        values[list(s.columns)] = centre(s.values)
    with np.errstate(divide="ignore", invalid="ignore"):
        return ESTIMATES[type(effect)](values, weights)


def rules() -> str:
    """Return `PROCEDURES` as a table in Markdown.

    Examples
    --------
    >>> print(rules().splitlines()[-1])
    | rate | value, difference | `Clopper–Pearson`: exact; of k lines each at level 1 − .05/(mk), and the extremes of \
the effect | |
    """
    lines = ["| statistic | effect | interval | needs runs |", "|---|---|---|---|"]
    grouped: dict[tuple[str, str, str, str], list[str]] = {}
    for (statistic, of), p in PROCEDURES.items():
        grouped.setdefault((statistic, p.name, p.says, p.needs), []).append(of.kind)
    for (statistic, name, says, needs), kinds in grouped.items():
        lines.append(f"| {statistic} | {', '.join(kinds)} | `{name}`: {says} | {needs} |".replace("|  |", "| |"))
    return "\n".join(lines)
