"""Selections of an experiment's configurations, and the figures to plot."""

from collections.abc import Collection
from dataclasses import dataclass

import numpy as np

from hushbandits.bench.runner.configuration import Configuration
from hushbandits.bench.spec.experiment import Experiment, Figure
from hushbandits.bench.spec.vocabulary import symbol
from hushbandits.core import Array, Params, nearest, shown
from hushbandits.core.random.seed_text import canonical


@dataclass(frozen=True, eq=False)
class Part:
    """An experiment with a selection of its configurations."""

    experiment: Experiment
    configurations: tuple[Configuration, ...]

    @property
    def sweep(self) -> dict[str, list[object]]:
        """Return the swept parameters with the values that occur in `configurations`."""
        taken = {key: {canonical(c.cell.point[key]) for c in self.configurations} for key in self.experiment.sweep}
        return {key: [v for v in self.experiment.sweep[key] if canonical(v) in some] for key, some in taken.items()}

    def __str__(self) -> str:
        labels, runs = {c.label for c in self.configurations}, self.experiment.runs
        swept = "".join(f" × {len(v)} {symbol(k)}" for k, v in self.sweep.items() if len(v) > 1)
        named = self.configurations[0].label if len(labels) == 1 else f"{len(labels)} configurations"
        return f"{self.experiment.name} ({named}{swept}, {runs:,} run{'s' * (runs != 1)})"


def among(name: str, value: object, known: Collection[str]) -> str:
    """Return `value` if `known` contains it; else raise ``ValueError`` with the nearest known names."""
    if value not in list(known):
        raise ValueError(f"{name}={shown(value)} is unknown{nearest(str(value), known)}")
    return str(value)


def figure_of(part: Part, metric: str | None, asked: Params) -> Figure:
    """Return the `Figure` of `metric` with the fields `asked`; x is by default a swept parameter, time or runs."""
    sweep = part.sweep
    finals = list(dict.fromkeys(name for c in part.configurations for name in c.metrics()))
    curves = list(dict.fromkeys(name for c in part.configurations for name in c.data.curves))
    fixed = {k: v[0] for k, v in sweep.items() if len(v) == 1}
    along = next((k for k in sweep if k not in fixed and k != asked.get("by")), None)
    if metric is None:
        metric = next((m for m in [*part.experiment.metrics, *curves, *finals] if m in (*finals, *curves)), "")
    x = among("x", asked.get("x", along or ("time" if metric in curves else "runs")), ["time", "runs", *finals, *sweep])
    if "by" in asked:
        among("by", asked["by"], sweep)
    among("metric", metric, curves if x == "time" else finals)
    log = {} if x == "time" else {"log": ""}
    at = {**{k: v for k, v in fixed.items() if k != x}, **asked.get("at", {})}
    return Figure.from_dict({**log, **asked, "y": metric, "x": x, "at": at})


def same(one: Configuration, other: Configuration) -> bool:
    """Return whether two configurations contain the same numbers, with NaN equal to NaN."""
    a, b = _numbers(one), _numbers(other)
    return a.keys() == b.keys() and all(np.array_equal(a[k], b[k], equal_nan=True) for k in a)


def _numbers(c: Configuration) -> dict[str, Array]:
    along = {f"{name}, {i}": values for name, pair in c.data.curves.items() for i, values in enumerate(pair)}
    return {name: np.asarray(values, float) for name, values in {**c.data.finals, **along}.items()}
