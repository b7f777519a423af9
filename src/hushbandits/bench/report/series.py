"""Data series of a figure, one per line of the figure."""

import logging
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cache

import numpy as np

from hushbandits.bench.runner.configuration import Configuration
from hushbandits.bench.spec.experiment import Experiment, Figure
from hushbandits.bench.spec.vocabulary import symbol
from hushbandits.bench.stats import quantile_band, summary
from hushbandits.core import Array, Metric
from hushbandits.core.random.seed_text import canonical
from hushbandits.core.utils import imported, words


@dataclass(frozen=True)
class Series:
    """One line of a figure: its x values, centres, band, runs and theory values.

    Parameters
    ----------
    label : str
        Legend entry.
    lines : sequence of Configuration
        Configurations whose runs are drawn.
    x : (n,) array
        Times, swept values, or (``x="runs"``) the sorted values themselves.
    center, low, high : (n,) arrays
        The line and its band; of an ECDF: the share of runs up to x (no band).
    runs : list of arrays
        All runs at each x (sweeps only).
    bounds : dict of (n,) arrays
        Lines of theory.
    left, right : (n,) arrays or None
        The interval of x, where that is a metric.
    """

    label: str
    lines: Sequence[Configuration]
    x: Array
    center: Array
    low: Array
    high: Array
    runs: Sequence[Array] = ()
    bounds: dict[str, Array] = field(default_factory=dict)
    left: Array | None = None
    right: Array | None = None


def figures(lines: Sequence[Configuration], experiment: Experiment) -> tuple[Figure, ...]:
    """Return the panels of the declared figures; without any, one default figure over the sweep, time or runs."""
    if experiment.figures:
        return tuple(panel for figure in experiment.figures for panel in panelled(experiment, figure))
    names = list(experiment.metrics) or lines[0].metrics()
    if not names:
        return ()
    if experiment.sweep:
        return (Figure(y=names[0], x=next(iter(experiment.sweep)), log=""),)
    curve = next((name for name in names if len(lines[0].curve(name)[0])), None)
    return (Figure(y=names[0], x="runs", log="") if curve is None else Figure(y=curve),)


def panelled(experiment: Experiment, figure: Figure) -> list[Figure]:
    """Return the panels of a figure, one for each value of the parameter `by`; without `by`, the figure itself."""
    if not figure.by:
        return [figure]
    return [replace(figure, at={**figure.at, figure.by: value}) for value in experiment.sweep.get(figure.by, ())]


def series(lines: Sequence[Configuration], figure: Figure) -> list[Series]:
    """Return the series of a figure in the order of the experiment's lines; lines without runs are left out.

    The theory functions of `figure` are called.
    """
    swept = list(lines[0].cell.point) if lines else []
    free = [name for name in swept if name not in figure.at]
    # A line over a metric has a point per value of the parameter of the metric's name, or else of the first parameter.
    named = (name for name in free if name.rpartition(".")[2] == figure.x)
    along = figure.x if figure.x in ("time", "runs", *swept) else next(named, free[0] if free else "")
    groups: dict[str, list[Configuration]] = {}
    for line in lines:
        point = line.cell.point
        if any(canonical(point.get(k)) != canonical(v) for k, v in figure.at.items()):
            continue
        rest = [f"{symbol(k)} = {v}" for k, v in point.items() if k != along and k not in figure.at]
        label = ", ".join([line.label, *rest])
        if not figure.lines or label.startswith(tuple(figure.lines)):
            groups.setdefault(label, []).append(line)
    # Use all swept values: lines that lack some runs share the axis.
    numeric = all(isinstance(line.cell.point.get(figure.x, 0), (int, float)) for line in lines)
    build = {"time": _curve, "runs": _law}.get(figure.x)
    found = [build(figure, x, own[0]) if build else _points(figure, x, own, numeric) for x, own in groups.items()]
    return [line for line in found if len(line.x)]


def _curve(figure: Figure, label: str, line: Configuration) -> Series:
    times, values = line.curve(figure.y)
    late = times >= (figure.since or 0)
    times, values = times[late], values[:, late]
    scale = times if figure.per_time else np.ones_like(times)
    bounds = {name: y / scale for name, y in _theory(figure, [line], [times]).items()}
    drawn = _summaries((values / scale).T, figure, line.metrics_spec[figure.y])
    return Series(label, [line], times, *drawn, bounds=bounds)


def _law(figure: Figure, label: str, line: Configuration) -> Series:
    x = np.sort(line.final(figure.y))
    share = np.arange(1, len(x) + 1) / len(x)
    return Series(label, [line], x, share, share, share)


def _points(figure: Figure, label: str, lines: Sequence[Configuration], numeric: bool) -> Series:
    """Return a series of one point per cell, in sweep order, against the swept parameter or another metric."""
    front = figure.x not in lines[0].cell.point
    lines = [line for line in lines if len(line.final(figure.y)) and (not front or len(line.final(figure.x)))]
    if not lines:
        return Series(label, lines, *np.empty((4, 0)))
    measures, columns = lines[0].metrics_spec, [line.final(figure.y) for line in lines]
    runs: Sequence[Array] = () if front or measures[figure.y].rate else columns
    left = right = None
    if front:
        at = replace(figure, per_time=False)
        x, left, right = _summaries([line.final(figure.x) for line in lines], at, measures[figure.x])
        x = np.where(np.isfinite(x), x, np.nan)  # a point at ∞ cannot be drawn
    else:
        swept = [line.cell.point[figure.x] for line in lines]
        x = np.array(swept, float) if numeric else np.array([str(value) for value in swept], object)
    bounds = _theory(figure, lines, list(x[:, None])) if numeric else {}
    return Series(label, lines, x, *_summaries(columns, figure, measures[figure.y]), runs, bounds, left, right)


def _summaries(columns: Iterable[Array], figure: Figure, measure: Metric) -> tuple[Array, Array, Array]:
    """Return the centre of each column of runs, and the lower and upper end of its band."""
    found = []
    for values in columns:
        one = summary(values, measure.per_time() if figure.per_time else measure, figure.center)
        ends: Sequence[object] = [np.nan if np.isinf(end) else end for end in one.interval]
        if figure.band == "quantiles" and one.statistic != "rate" and one.runs:
            ends = quantile_band(values[~np.isnan(values)])
        found.append((one.centre, *ends))
    center, low, high = np.array(found, float).reshape(-1, 3).T
    return center, low, high


def _theory(figure: Figure, lines: Sequence[Configuration], parts: Sequence[Array]) -> dict[str, Array]:
    """Return the values of each theory function at the x of each configuration; leave out what is always NaN."""
    found = {
        name: np.concatenate([_called(path, line, x) for line, x in zip(lines, parts, strict=True)])
        for name, path in figure.bounds.items()
    }
    return {name: y for name, y in found.items() if not np.isnan(y).all()}


def _called(path: str, line: Configuration, x: Array) -> Array:
    _, env = line.env or ("", {})
    try:
        y = imported("bound", path)(env, {"type": line.cell.agent.name, **line.agent}, x)
        return np.broadcast_to(np.asarray(y, float), x.shape)
    except Exception as error:  # a formula that fails at these parameters must not prevent the figure
        _warn(path, line.cell.label, words(error))
        return np.full(x.shape, np.nan)


@cache
def _warn(path: str, where: str, why: str) -> None:
    """Log, once per theory function, cell and reason, that the function is not drawn for the cell."""
    logging.getLogger("hushbandits").warning("%s is not drawn for %s: %s", path, where, why)
