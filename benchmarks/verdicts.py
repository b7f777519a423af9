"""Chance that any of m claims gets a wrong verdict, by procedure, law, number of runs and m.

Run: ``python benchmarks/verdicts.py`` (some minutes; the table of docs/harness.md).  Every claim sits exactly at its
boundary, so that each verdict but "undecided" is wrong; claims are independent.  With p the chance that the interval of
one misses the truth, on either side, the table holds ``1 − (1 − p)^m``.
"""

import math
import sys

import numpy as np

from hushbandits.bench.intervals import PROCEDURES, Stratum, fewest_runs
from hushbandits.bench.stats import mean_interval
from hushbandits.bench.verdicts import ALPHA

BASE, SPREAD = 0.2, 0.05


def modes(rng, size, p):
    """Runs at .2, with probability p at 1.2."""
    return BASE + (rng.random(size) < p) + SPREAD * rng.normal(size=size)


#: Draws, and the mean.
LAWS = {
    "normal": (lambda rng, size: rng.normal(5, 1, size), 5.0),
    "exponential": (lambda rng, size: rng.exponential(1, size), 1.0),
    "two modes": (lambda rng, size: modes(rng, size, 0.5), BASE + 0.5),
    "mode of 1/7": (lambda rng, size: modes(rng, size, 1 / 7), BASE + 1 / 7),
    "lognormal": (lambda rng, size: rng.lognormal(0, 1, size), math.exp(0.5)),
    "mode of 1/20": (lambda rng, size: modes(rng, size, 1 / 20), BASE + 1 / 20),
}
PLACES = np.array([1.0, 2.0, 4.0, 8.0, 16.0])


def centre(statistic, law):
    draw, mean = LAWS[law]
    if statistic == "mean" or law in ("normal", "two modes"):
        return mean
    x = np.sort(draw(np.random.default_rng(1), 4_000_000))
    return float(np.median(x) if statistic == "median" else x[1_000_000:3_000_000].mean())


def value(rng, law, n, statistic):
    """One line."""
    x = LAWS[law][0](rng, (n, 1))
    return [Stratum.of([0], x, statistic)], np.ones(1), centres[statistic, law]


def difference(rng, law, n, statistic):
    """A line of the law against one of another, in worlds of their own."""
    x, y = LAWS[law][0](rng, (n, 1)), rng.normal(0, 0.5, (n, 1))
    strata = [Stratum.of([0], x, statistic), Stratum.of([1], y, statistic)]
    return strata, np.array([1.0, -1.0]), centres[statistic, law]


def ratio(rng, law, n, statistic):
    """A line of the law over a normal one, on the same runs, which share some luck."""
    y = rng.normal(1, 0.3, n)
    x = LAWS[law][0](rng, n) + 0.3 * (y - 1)
    truth = centres[statistic, law] if statistic == "mean" or law == "normal" else math.nan
    return [Stratum.of([0, 1], np.stack([x, y], 1), statistic)], np.array([1.0, -1.0]), truth


def slope(rng, law, n, statistic):
    """Five lines that grow linearly, each in its own world."""
    x = np.log(PLACES) - np.log(PLACES).mean()
    draw = LAWS[law][0]
    strata = [Stratum.of([i], place * draw(rng, (n, 1)), statistic) for i, place in enumerate(PLACES)]
    return strata, x / (x @ x), 1.0


def scaling(rng, law, n, statistic):
    """Two lines, of the law and of a normal one, which share their runs at each of two places."""
    draw = LAWS[law][0]
    strata = [
        Stratum.of([i, i + 2], place * np.stack([draw(rng, n), rng.normal(2, 0.5, n)], 1), statistic)
        for i, place in enumerate((1.0, 4.0))
    ]
    w = np.array([-1.0, 1.0]) / math.log(4)
    return strata, np.concatenate([w, -w]), 0.0


EFFECTS = {"value": value, "difference": difference, "ratio": ratio, "slope": slope, "slope of ratio": scaling}
centres = {(s, law): centre(s, law) for s in ("mean", "iqm", "median") for law in LAWS}


def missed(procedure, effect, law, n, level, statistic, trials, seed=0):
    """Share of intervals that miss the truth."""
    rng, misses = np.random.default_rng(seed), 0
    for _ in range(trials):
        strata, weights, truth = EFFECTS[effect](rng, law, n, statistic)
        if effect == "ratio" and statistic == "mean":
            # All θ inside are those whose interval of μ_0 − θ μ_1 has 0 in it.
            weights, truth = np.array([1.0, -truth]), 0.0
        low, high = procedure(strata, weights, level)
        misses += not low <= truth <= high
    return misses / trials


def student(strata, weights, level):
    """Student's interval, for comparison."""
    return mean_interval(strata[0].values[:, 0], level)


def row(name, procedure, effect, statistic, trials, enough=True):
    for m in (1, 20, 60, 200):
        n = fewest_runs(1 - ALPHA / m) if enough else 20
        cells = []
        for law in LAWS:
            p = missed(procedure, effect, law, n, 1 - ALPHA / m, statistic, trials)
            cells.append(f"{100 * (1 - (1 - p) ** m):.1f}")
        print(f"| {name} | {n} | {m} | " + " | ".join(cells) + " |", flush=True)


def main():
    scale = float(sys.argv[1]) if len(sys.argv) > 1 else 1.0
    print("| procedure | n | m | " + " | ".join(LAWS) + " |")
    print("|---|---|---|" + "---|" * len(LAWS))
    row("Student, mean", student, "value", "mean", int(40_000 * scale))
    for effect, trials in (("value", 60_000), ("difference", 40_000), ("ratio", 40_000), ("slope", 15_000)):
        name, procedure = PROCEDURES["mean", "difference" if effect == "ratio" else effect]
        name = PROCEDURES["mean", effect][0]
        row(f"{name}: {effect} of means", procedure, effect, "mean", int(trials * scale))
    name, procedure = PROCEDURES["mean", "slope"]
    row(f"{name}: slope of ratio of means", procedure, "slope of ratio", "mean", int(15_000 * scale))
    name, procedure = PROCEDURES["iqm", "value"]
    row(f"{name}: iqm", procedure, "value", "iqm", int(30_000 * scale))
    name, procedure = PROCEDURES["median", "value"]
    row(f"{name}: median", procedure, "value", "median", int(30_000 * scale))
    name, procedure = PROCEDURES["median", "slope"]
    row(f"{name}: slope of medians", procedure, "slope", "median", int(10_000 * scale))


if __name__ == "__main__":
    main()
