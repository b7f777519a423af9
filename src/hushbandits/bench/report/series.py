"""What a figure shows, as numbers: one series per line of an experiment."""

from __future__ import annotations

import importlib
import inspect
import logging
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, partial
from types import FunctionType
from typing import Any

import numpy as np

from hushbandits.bench.declare.canonical import canonical
from hushbandits.bench.declare.spec import Cell, Experiment, Figure
from hushbandits.bench.declare.vocabulary import symbol
from hushbandits.bench.judge.stats import quantile_band, summary
from hushbandits.bench.runner.configuration import Configuration
from hushbandits.core.ground.names import words
from hushbandits.core.ground.types import Array
from hushbandits.core.measure import Measure

__all__ = ["Series", "drawable", "figures", "panelled", "series"]

_LOG = logging.getLogger("hushbandits")


@dataclass(frozen=True)
class Series:
    """One line: centre and band over x, and what else is drawn of it.

    Parameters
    ----------
    label : str
        Legend entry.
    x : (n,) array or list of str
        Times, swept values, or (``x="runs"``) the sorted values themselves.
    center, low, high : (n,) arrays
        The line and its band; of an ECDF: the share of runs up to x (no band).
    other : (n,) array or None
        The median where the line is a mean, and the other way round (sweeps only).
    runs : list of arrays
        All runs at each x (sweeps only).
    bounds : dict of (n,) arrays
        Lines of theory.
    lines : tuple of Line
        Whose runs these are.
    left, right : (n,) arrays or None
        The interval of x, where that is a metric.
    """

    label: str
    x: Any
    center: Array
    low: Array
    high: Array
    other: Array | None = None
    runs: list[Array] = field(default_factory=list)
    bounds: dict[str, Array] = field(default_factory=dict)
    lines: Sequence[Configuration] = ()
    left: Array | None = None
    right: Array | None = None


def figures(lines: Sequence[Configuration], experiment: Experiment) -> tuple[Figure, ...]:
    """Return the declared figures, panel by panel, or a fitting one: along the sweep, else over time or runs."""
    if experiment.figures:
        drawn = [figure for figure in experiment.figures if drawable(experiment, figure, lines)]
        return tuple(panel for figure in drawn for panel in panelled(experiment, figure))
    names = list(experiment.metrics) or lines[0].metrics()
    if not names:
        return ()
    if experiment.sweep:
        return (Figure(y=names[0], x=next(iter(experiment.sweep)), log=""),)
    curve = next((name for name in names if len(lines[0].curve(name)[0])), None)
    return (Figure(y=names[0], x="runs", log="") if curve is None else Figure(y=curve),)


def panelled(experiment: Experiment, figure: Figure) -> list[Figure]:
    """Return a figure panel by panel: one for each value of its `by`."""
    if not figure.by:
        return [figure]
    return [replace(figure, at={**figure.at, figure.by: value}) for value in experiment.sweep.get(figure.by, ())]


def drawable(experiment: Experiment, figure: Figure, lines: Iterable[Configuration] = ()) -> bool:
    """Whether a figure runs along time, runs, what is swept, or a metric of the lines.

    One that is read may run along anything.

    Examples
    --------
    >>> from hushbandits.bench.declare.spec import Use
    >>> tiny = Experiment(name="tiny", title="Tiny", env=Use("CoopNetwork-v0"), agents=[Use("UCB1")])
    >>> drawable(tiny, Figure(y="regret")), drawable(tiny, Figure(y="regret", x="env.n_agents"))
    (True, False)
    """
    swept = figure.x in ("time", "runs", *experiment.sweep)
    return swept or any(figure.x in line.metrics() for line in lines)


def series(lines: Sequence[Configuration], figure: Figure, trusted: Collection[str] = ()) -> list[Series]:
    """Return what a figure shows of the lines of an experiment, in their order; those without runs are left out.

    Of its bounds only those in `trusted` are called: a store may come from anyone, and `figure` with it.
    """
    swept = list(lines[0].cell.point) if lines else []
    front = figure.x not in ("time", "runs", *swept)
    along = _along(swept, figure) if front else figure.x
    groups: dict[str, list[Configuration]] = {}
    for line in lines:
        point = line.cell.point
        if any(canonical(point.get(k)) != canonical(v) for k, v in figure.at.items()):
            continue
        rest = {k: v for k, v in point.items() if k != along and k not in figure.at}
        label = ", ".join([line.label, *(f"{symbol(k)} = {v}" for k, v in rest.items())])
        if figure.lines and not label.startswith(tuple(figure.lines)):
            continue
        groups.setdefault(label, []).append(line)
    # By all that is swept: lines that lack some runs stand along the same axis.
    numeric = all(isinstance(line.cell.point.get(figure.x, 0), (int, float)) for line in lines)
    build = {"time": _curve, "runs": _law}.get(figure.x, _front if front else partial(_sweep, numeric=numeric))
    found = (build(figure, label, group, trusted) for label, group in groups.items())
    return [line for line in found if len(line.x)]


def _along(swept: Sequence[str], figure: Figure) -> str:
    """The swept parameter that a line over a metric runs along: of the metric's name if there is one, or the first."""
    free = [name for name in swept if name not in figure.at]
    return next((name for name in free if name.rpartition(".")[2] == figure.x), free[0] if free else "")


def _summaries(columns: Iterable[Array], figure: Figure, measure: Measure) -> tuple[Array, Array, Array]:
    """Centres, low and high ends, of columns of runs."""
    center, low, high = np.array([_summary(values, figure, measure) for values in columns]).reshape(-1, 3).T
    return center, low, high


def _summary(values: Array, figure: Figure, measure: Measure) -> tuple[float, float, float]:
    """Centre, low and high of one column of runs."""
    found = summary(values, measure.per_time() if figure.per_time else measure, figure.center)
    if figure.band == "quantiles" and found.statistic != "rate" and found.runs:
        below, above = quantile_band(values[~np.isnan(values)])
        return found.centre, float(below), float(above)
    low, high = (np.nan if np.isinf(end) else end for end in found.interval)
    return found.centre, low, high


@cache
def _bound(path: str) -> Callable[..., Array]:
    """Import a bound; what takes other arguments than one was not written to be one, and is not called."""
    module, _, name = path.partition(":")
    function: Callable[..., Array] = getattr(importlib.import_module(module), name)
    if not isinstance(function, FunctionType) or list(inspect.signature(function).parameters) != ["env", "agent", "x"]:
        raise TypeError("a bound must be a function of (env, agent, x)")
    return function


@cache
def _warn(path: str, where: str, why: str) -> None:
    """Once, however many pictures show it."""
    _LOG.warning("%s is not drawn for %s: %s", path, where, why)


def _theory(figure: Figure, cell: Cell, x: Array, trusted: Collection[str]) -> dict[str, Array]:
    bounds = {}
    for label, path in figure.bounds.items():
        if path not in trusted:
            continue
        try:
            y = np.broadcast_to(np.asarray(_bound(path)(cell.env.params, cell.agent.params, x), float), x.shape)
        except Exception as error:  # a formula at parameters that it was not made for must not cost the picture
            _warn(path, cell.label, words(error))
            continue
        if not np.isnan(y).all():
            bounds[label] = y
    return bounds


def _curve(figure: Figure, label: str, lines: Sequence[Configuration], trusted: Collection[str]) -> Series:
    (line,) = lines
    times, values = line.curve(figure.y)
    late = times >= (figure.since or 0)
    times, values = times[late], values[:, late]
    scale = times if figure.per_time else np.ones_like(times)
    bounds = {k: v / scale for k, v in _theory(figure, line.cell, times, trusted).items()}
    drawn = _summaries((values / scale).T, figure, line.measures[figure.y])
    return Series(label, times, *drawn, bounds=bounds, lines=lines)


def _law(figure: Figure, label: str, lines: Sequence[Configuration], trusted: Collection[str]) -> Series:
    (line,) = lines
    x = np.sort(line.final(figure.y))
    share = np.arange(1, len(x) + 1) / len(x)
    return Series(label, x, share, share, share, lines=lines)


def _sweep(
    figure: Figure, label: str, lines: Sequence[Configuration], trusted: Collection[str], numeric: bool
) -> Series:
    found = [(line.cell, values) for line in lines if len(values := line.final(figure.y))]
    cells, columns = [cell for cell, _ in found], [values for _, values in found]
    at = [cell.point[figure.x] for cell in cells]
    x = np.array(at, float) if numeric else [str(value) for value in at]
    bounds = _theories(figure, cells, np.array(at, float), trusted) if numeric else {}
    measure = lines[0].measures[figure.y]
    drawn = _summaries(columns, figure, measure)
    if measure.rate:
        return Series(label, x, *drawn, bounds=bounds, lines=lines)
    other = np.array([(np.median if figure.center == "mean" else np.mean)(values) for values in columns])
    return Series(label, x, *drawn, other=other, runs=columns, bounds=bounds, lines=lines)


def _theories(figure: Figure, cells: Sequence[Cell], x: Array, trusted: Collection[str]) -> dict[str, Array]:
    """Each point has its own cell: a bound is asked for cell by cell."""
    parts = [_theory(figure, c, np.array([v]), trusted) for c, v in zip(cells, x, strict=True)]
    nothing = np.full(1, np.nan)
    names = dict.fromkeys(name for p in parts for name in p)
    return {name: np.concatenate([p.get(name, nothing) for p in parts]) for name in names}


def _front(figure: Figure, label: str, lines: Sequence[Configuration], trusted: Collection[str]) -> Series:
    """A point for every cell, in the order of the sweep: one metric over another."""
    kinds = lines[0].measures
    found = [(line.cell, line.final(figure.x), line.final(figure.y)) for line in lines]
    found = [(c, x, y) for c, x, y in found if len(x) and len(y)]
    at = replace(figure, per_time=False)
    x, left, right = _summaries([x for _, x, _ in found], at, kinds[figure.x])
    x = np.where(np.isfinite(x), x, np.nan)  # what lies at ∞ has no place on the axes
    drawn = _summaries([y for *_, y in found], figure, kinds[figure.y])
    bounds = _theories(figure, [c for c, *_ in found], x, trusted)
    return Series(label, x, *drawn, bounds=bounds, lines=lines, left=left, right=right)
