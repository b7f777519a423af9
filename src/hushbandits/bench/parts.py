"""The part of an experiment that results hold: its configurations, their rows, and the figure that is asked for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from hushbandits.bench.declare.canonical import canonical
from hushbandits.bench.declare.points import picked
from hushbandits.bench.declare.spec import Cell, Experiment, Figure
from hushbandits.bench.declare.vocabulary import symbol
from hushbandits.bench.runner.configuration import Configuration
from hushbandits.core.ground.types import Params
from hushbandits.core.ground.validate import nearest

__all__ = ["Part", "at_point", "columns_of", "figure_of", "same"]


@dataclass(frozen=True, eq=False)
class Part:
    """An experiment, and those of its configurations that are looked at."""

    experiment: Experiment
    configurations: tuple[Configuration, ...]

    @property
    def labels(self) -> list[str]:
        """Labels of the configurations, each once."""
        return list(dict.fromkeys(c.label for c in self.configurations))

    @property
    def sweep(self) -> dict[str, list[object]]:
        """Swept parameters, with the values that its cells take."""
        taken = {key: {canonical(c.cell.point[key]) for c in self.configurations} for key in self.experiment.sweep}
        return {key: [v for v in self.experiment.sweep[key] if canonical(v) in some] for key, some in taken.items()}

    def at(self, wanted: Mapping[str, Sequence[object]]) -> Part:
        """Return the part where swept parameters take these values."""
        some = {key: {canonical(v) for v in values} for key, values in wanted.items()}
        kept = (c for c in self.configurations if all(canonical(c.cell.point[key]) in some[key] for key in some))
        return replace(self, configurations=tuple(kept))

    def of(self, labels: Sequence[str]) -> Part:
        """Return the part with these labels alone."""
        return replace(self, configurations=tuple(c for c in self.configurations if c.label in labels))

    def __str__(self) -> str:
        n = len(self.labels)
        swept = "".join(f" × {len(v)} {symbol(k)}" for k, v in self.sweep.items() if len(v) > 1)
        runs = self.experiment.runs
        named = f"{n} configuration{'s' * (n != 1)}" if n != 1 else self.labels[0]
        return f"{self.experiment.name} ({named}{swept}, {runs:,} run{'s' * (runs != 1)})"


def at_point(parts: Sequence[Part], wanted: Mapping[str, Sequence[object]]) -> list[Part]:
    """Return the parts that sweep these parameters, where they take these values."""
    known = [part for part in parts if all(key in part.sweep for key in wanted)]
    if not known:
        swept: dict[str, Sequence[object]] = {k: v for part in parts for k, v in part.sweep.items()}
        picked("at", wanted, swept)
        raise ValueError(f"at: no experiment sweeps {' and '.join(wanted)} together")
    for part in known:
        picked(f"{part.experiment.name}: at", wanted, part.sweep)
    return [part.at(wanted) for part in known]


def columns_of(experiment: Experiment, c: Configuration, alone: bool) -> Iterator[dict[str, object]]:
    """Columns of the rows of a configuration, metric by metric."""
    cell: Cell = c.cell
    head = {} if alone else {"experiment": experiment.name, "cell": cell.key, "agent": cell.line, **cell.point}
    for metric in c.metrics():
        values = c.final(metric)
        yield {**head, "run": c.runs(), "metric": metric, "time": np.full(len(values), np.nan), "value": values}
    for metric, (times, table) in c.data.curves.items():
        n, points = table.shape
        run, time = np.repeat(c.runs(), points), np.tile(np.asarray(times, float), n)
        yield {**head, "run": run, "metric": metric, "time": time, "value": table.ravel()}


def figure_of(part: Part, metric: str | None, asked: Params) -> Figure:
    """Return the figure asked for: along what is swept, else over time where there is a curve, else over runs."""
    sweep = part.sweep
    finals = list(dict.fromkeys(name for c in part.configurations for name in c.metrics()))
    curves = list(dict.fromkeys(name for c in part.configurations for name in c.data.curves))
    fixed = {k: v[0] for k, v in sweep.items() if len(v) == 1}
    asked = dict(asked)
    along = next((k for k in sweep if k not in fixed and k != asked.get("by")), None)
    if "x" not in asked and along is not None:
        asked = {"x": along, **asked}
    if metric is None:
        metric = next((m for m in [*part.experiment.metrics, *curves, *finals] if m in (*finals, *curves)), "")
    x = asked.get("x", "time" if metric in curves else "runs")
    if x not in ("time", "runs", *finals, *sweep):
        raise ValueError(f"x={x!r} is not swept here{nearest(str(x), ['time', 'runs', *sweep])}")
    if (by := asked.get("by", "")) not in ("", *sweep):
        raise ValueError(f"by={by!r} is not swept here{nearest(str(by), sweep)}")
    known = curves if x == "time" else finals
    if metric not in known:
        what = "curve" if x == "time" else "metric of one number a run"
        raise ValueError(f"no {what} is named {metric!r}{nearest(str(metric), known) if known else ''}")
    log = {} if x == "time" else {"log": ""}
    try:
        figure = Figure(**{"y": metric, "x": x, **log, **asked})
    except TypeError:
        unknown = next(name for name in asked if name not in Figure.__dataclass_fields__ or name == "y")
        raise ValueError(f"a figure has no {unknown!r}{nearest(unknown, Figure.__dataclass_fields__)}") from None
    return replace(figure, at={**{k: v for k, v in fixed.items() if k != figure.x}, **figure.at})


def same(one: Configuration, other: Configuration) -> bool:
    """Whether two configurations hold the same numbers, NaN equal to NaN."""
    a, b = one.data, other.data
    if a.finals.keys() != b.finals.keys() or a.curves.keys() != b.curves.keys():
        return False
    pairs = [(a.finals[k], b.finals[k]) for k in a.finals]
    pairs += [(x, y) for k in a.curves for x, y in zip(a.curves[k], b.curves[k], strict=True)]
    return all(np.array_equal(np.asarray(x, float), np.asarray(y, float), equal_nan=True) for x, y in pairs)
