"""Claims judged: an effect with its interval, against the region in which a paper says that it lies.

Every effect is a statistic of runs, a difference or ratio of two, or a slope; its interval comes from `stats`:

* a value: Student (mean), order statistics (median), Clopper–Pearson (rates), bootstrap (iqm);
* a difference or ratio: a bootstrap of pairs where both lines faced the same runs, of each line by itself elsewhere;
  of rates: Newcombe;
* a slope: a bootstrap of every point of the sweep.

Several claims are judged together so that all their verdicts are right with 95 % (Bonferroni): with m claims, one
holds if its interval at level ``1 − .05/m`` lies in the region, at each of its P points; it does not hold if at one
point the interval at level ``1 − .05/(mP)`` lies outside.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from hushbandits.bench.canonical import canonical
from hushbandits.bench.claim import Claim
from hushbandits.bench.spec import Cell, Experiment
from hushbandits.bench.stats import (
    STATISTICS,
    Interval,
    bootstrap,
    mean_interval,
    median_interval,
    share_difference_interval,
    share_interval,
)
from hushbandits.bench.store import Store
from hushbandits.bench.vocabulary import metric, symbol
from hushbandits.core.types import Array
from hushbandits.core.validate import nearest

__all__ = ["ALPHA", "Finding", "Verdict", "check_claims", "judge"]

#: Chance that any of the claims judged together gets a wrong verdict.
ALPHA = 0.05


@dataclass(frozen=True)
class Finding:
    """An effect at one point of the sweep."""

    where: str
    effect: float
    interval: Interval
    runs: int


@dataclass(frozen=True)
class Verdict:
    """A claim's verdict (``holds``, ``does not hold``, ``undecided``) and what it rests on."""

    claim: Claim
    experiment: Experiment
    verdict: str
    findings: tuple[Finding, ...]

    @property
    def worst(self) -> Finding | None:
        """The finding that is nearest to contradicting the claim, or contradicts it most."""
        return min(self.findings, key=lambda f: _margin(self.claim, f.interval), default=None)

    @property
    def region(self) -> str:
        """The claimed region in signs."""
        low, high = self.claim.above, self.claim.below
        if low is None:
            return f"< {high:g}"
        return f"> {low:g}" if high is None else f"in ({low:g}, {high:g})"


def judge(store: Store, experiment: Experiment, claims: int | None = None) -> list[Verdict]:
    """Judge every claim of an experiment.

    Parameters
    ----------
    store : Store
        Holds its runs; points without runs leave a claim undecided, and so does a sweep without the claim's points.
    experiment : Experiment
        With its claims.
    claims : int, optional
        m, how many claims are judged together; default: this experiment's.
    """
    m = len(experiment.claims) if claims is None else claims
    return [_judge(store, experiment, claim, m) for claim in experiment.claims]


def _judge(store: Store, experiment: Experiment, claim: Claim, m: int) -> Verdict:
    points = _points(experiment, claim)
    findings, inside, outside = [], [], []
    for where, cells in points:
        samples = [_sample(store, experiment, claim, cell) for cell in cells]
        if any(len(x) == 0 for _, x in samples):
            findings.append(Finding(where, math.nan, (-math.inf, math.inf), 0))
            inside.append(False)
            continue
        effect, interval = _effect(claim, cells, samples)
        findings.append(Finding(where, effect, interval(1 - ALPHA / m), min(len(x) for _, x in samples)))
        inside.append(_margin(claim, findings[-1].interval) > 0)
        outside.append(_outside(claim, interval(1 - ALPHA / (m * len(points)))))
    verdict = "holds" if inside and all(inside) else "does not hold" if any(outside) else "undecided"
    return Verdict(claim, experiment, verdict, tuple(findings))


def _margin(claim: Claim, interval: Interval) -> float:
    """How far inside the region the interval ends; negative: it straddles an end, or lies outside."""
    low, high = interval
    if math.isnan(low) or math.isnan(high):
        return -math.inf
    room = []
    if claim.above is not None:
        room.append(low - claim.above)
    if claim.below is not None:
        room.append(claim.below - high)
    return min(room)


def _outside(claim: Claim, interval: Interval) -> bool:
    low, high = interval
    return (claim.above is not None and high < claim.above) or (claim.below is not None and low > claim.below)


# -- which cells ----------------------------------------------------------------------------------------------


def _selection(line: str | Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    if isinstance(line, str):
        return line, {}
    fixed = dict(line)
    return str(fixed.pop("agent", "")), fixed


def _points(experiment: Experiment, claim: Claim) -> list[tuple[str, list[Cell]]]:
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
    found = []
    for combo in itertools.product(*free.values()):
        point = dict(zip(free, combo, strict=True))
        where = ", ".join(f"{symbol(k)} = {v}" for k, v in point.items())
        cells = []
        for label, fixed in lines:
            for value in experiment.sweep[claim.along] if claim.along else [None]:
                full = {**point, **fixed, **({claim.along: value} if claim.along else {})}
                place = {k: full[k] for k in experiment.sweep}
                if claim.along in claim.at and canonical(value) not in map(canonical, claim.at[claim.along]):  # type: ignore[index]
                    continue
                if (label, canonical(place)) not in by_place:
                    raise ValueError(f"{what}: the sweep has no point {place}")
                cells.append(by_place[label, canonical(place)])
        found.append((where, cells))
    return found


def check_claims(experiment: Experiment) -> None:
    """Raise ``ValueError`` if a claim names a line or a point that the experiment does not have."""
    for claim in experiment.claims:
        for _, cells in _points(experiment, claim):
            if claim.along and any(not _positive(c.point[claim.along]) for c in cells):
                raise ValueError(
                    f"{experiment.name}, claim {claim.sentence!r}: a slope needs positive values of {claim.along}"
                )
        if metric(claim.metric).rate and claim.effect in ("ratio", "slope"):
            raise ValueError(f"{experiment.name}, claim {claim.sentence!r}: of a rate, take a value or a difference")


def _positive(value: Any) -> bool:
    return isinstance(value, (int, float)) and value > 0


# -- what they say --------------------------------------------------------------------------------------------


def _sample(store: Store, experiment: Experiment, claim: Claim, cell: Cell) -> tuple[Array, Array]:
    """Runs and their values of a cell."""
    runs = store.present(cell, experiment.runs)
    if claim.time is None:
        return runs, store.final(cell, claim.metric, experiment.runs)
    times, values = store.curve(cell, claim.metric, experiment.runs)
    if not len(times) or not times[0] <= claim.time <= times[-1]:
        return runs[:0], np.empty(0)
    x = np.array([np.interp(claim.time, times, row) for row in values])
    return runs, x / claim.time if claim.per_time else x


def _effect(
    claim: Claim, cells: Sequence[Cell], samples: Sequence[tuple[Array, Array]]
) -> tuple[float, Callable[[float], Interval]]:
    """Return the effect, and its interval as a function of the level."""
    if metric(claim.metric).rate:
        return _rate_effect([x for _, x in samples])
    f = STATISTICS[claim.statistic]
    if claim.effect == "value":
        x = samples[0][1]
        exact = {"mean": mean_interval, "median": median_interval}.get(claim.statistic)
        if exact is not None:
            return float(f(x)), lambda level: exact(x, level)

    strata = _strata(cells, samples)
    places = np.log([float(c.point[claim.along]) for c in cells]) if claim.along else np.empty(0)

    def effect(*resampled: Array) -> Array:
        # Each stratum is (n, B, columns); its columns are the cells that share runs.
        with np.errstate(divide="ignore", invalid="ignore"):
            values = np.concatenate([f(s) for s in resampled], axis=-1)
            if claim.effect == "difference":
                return values[..., 0] - values[..., 1]
            if claim.effect == "ratio":
                return values[..., 0] / values[..., 1]
            if claim.effect == "slope":
                return _slope(places, np.log(values))
            return values[..., 0]

    whole = float(effect(*(s[:, None] for s in strata))[0])
    return whole, lambda level: bootstrap(effect, *strata, level=level, resamples=20_000)


def _rate_effect(samples: Sequence[Array]) -> tuple[float, Callable[[float], Interval]]:
    counts = [(int(x.sum()), len(x)) for x in samples]
    if len(counts) == 1:
        ((s, n),) = counts
        return s / n, lambda level: share_interval(s, n, level)
    (s, n), (t, k) = counts
    return s / n - t / k, lambda level: share_difference_interval(s, n, t, k, level)


def _strata(cells: Sequence[Cell], samples: Sequence[tuple[Array, Array]]) -> list[Array]:
    """One stratum ``(n, cells)`` if all cells faced the same runs, else one ``(n, 1)`` per cell."""
    if len({c.world for c in cells}) > 1:
        return [x[:, None] for _, x in samples]
    shared = sorted(set.intersection(*(set(runs.tolist()) for runs, _ in samples)))
    return [np.stack([x[np.isin(runs, shared)] for runs, x in samples], axis=1)]


def _slope(x: Array, y: Array) -> Array:
    """Least-squares slope of y (last axis) on x."""
    centred = x - x.mean()
    slope: Array = (y * centred).sum(-1) / (centred**2).sum()
    return slope
