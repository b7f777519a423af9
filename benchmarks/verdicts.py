"""Probability that any of m claims gets a wrong verdict, by procedure, law, number of runs and m.

Run: ``python -m benchmarks verdicts`` (some minutes; the table of docs/statistics.md).  Every claim lies exactly at
its boundary, so that each verdict but "undecided" is wrong; claims are independent.  If p is the probability that one
interval misses the truth, on either side, the table has ``1 − (1 − p)^m``.
"""

import math

import numpy as np

from benchmarks.laws import LAWS, centre
from hushbandits.bench.spec.claim import EFFECTS as KINDS
from hushbandits.bench.stats import mean_interval
from hushbandits.bench.stats.intervals import PROCEDURES, Stratum, fewest_runs
from hushbandits.bench.stats.verdicts import ALPHA

PLACES = np.array([1.0, 2.0, 4.0, 8.0, 16.0])


def value(rng, law, n, statistic):
    """Return a line of the law."""
    x = LAWS[law][0](rng, (n, 1))
    return [Stratum([0], x)], np.ones(1), centres[statistic, law]


def difference(rng, law, n, statistic):
    """Return a line of the law minus one of another law, on separate seeds."""
    x, y = LAWS[law][0](rng, (n, 1)), rng.normal(0, 0.5, (n, 1))
    strata = [Stratum([0], x), Stratum([1], y)]
    return strata, np.array([1.0, -1.0]), centres[statistic, law]


def ratio(rng, law, n, statistic):
    """Return a line of the law over a normal one around 1, on the same runs."""
    x, y = LAWS[law][0](rng, n), rng.normal(1, 0.3, n)
    return [Stratum([0, 1], np.stack([x, y], 1))], np.array([1.0, -1.0]), centres[statistic, law]


def slope(rng, law, n, statistic):
    """Return five lines that grow linearly, each on separate seeds."""
    x = np.log(PLACES) - np.log(PLACES).mean()
    draw = LAWS[law][0]
    strata = [Stratum([i], place * draw(rng, (n, 1))) for i, place in enumerate(PLACES)]
    return strata, x / (x @ x), 1.0


def scaling(rng, law, n, statistic):
    """Return two lines, of the law and of a normal one, which share their runs at each of two places."""
    draw = LAWS[law][0]
    strata = [
        Stratum([i, i + 2], place * np.stack([draw(rng, n), rng.normal(2, 0.5, n)], 1))
        for i, place in enumerate((1.0, 4.0))
    ]
    w = np.array([-1.0, 1.0]) / math.log(4)
    return strata, np.concatenate([w, -w]), 0.0


EFFECTS = {"value": value, "difference": difference, "ratio": ratio, "slope": slope, "slope of ratio": scaling}
centres = {(s, law): centre(s, law) for s in ("mean", "iqm", "median") for law in LAWS}


def missed(procedure, effect, law, n, level, statistic, trials, seed=0):
    """Return the share of intervals that miss the truth."""
    rng, misses = np.random.default_rng(seed), 0
    for _ in range(trials):
        strata, weights, truth = EFFECTS[effect](rng, law, n, statistic)
        if effect == "ratio" and statistic == "mean":
            # The interval contains all θ for which that of μ_0 − θ μ_1 contains 0.
            weights, truth = np.array([1.0, -truth]), 0.0
        low, high = procedure(strata, weights, level)
        misses += not low <= truth <= high
    return misses / trials


def student(strata, weights, level):
    """Return Student's interval, for comparison."""
    return mean_interval(strata[0].values[:, 0], level)


def row(name, procedure, effect, statistic, trials, sizes=((1, 0), (20, 0), (60, 0), (60, 100))):
    """Print the probabilities for each m and n; n = 0: the fewest runs that allow a verdict on a mean."""
    for m, n in sizes:
        n = n or fewest_runs(1 - ALPHA / m)
        cells = []
        for law in LAWS:
            p = missed(procedure, effect, law, n, 1 - ALPHA / m, statistic, trials)
            cells.append(f"{100 * (1 - (1 - p) ** m):.1f}")
        print(f"| {name} | {n} | {m} | " + " | ".join(cells) + " |", flush=True)


ROWS = {
    "Student: mean": (student, "value", "mean", 60_000),
    **{
        f"{PROCEDURES[statistic, KINDS[effect]].name}: {of or effect} of {statistic}s": (
            # The interval contains the ratio θ if that of μ_0 − θ μ_1 contains 0.
            PROCEDURES[statistic, KINDS["difference" if (statistic, effect) == ("mean", "ratio") else effect]].interval,
            of or effect,
            statistic,
            trials,
        )
        for statistic, effect, of, trials in (
            ("mean", "value", "", 60_000),
            ("mean", "difference", "", 10_000),
            ("mean", "ratio", "", 10_000),
            ("mean", "slope", "", 8_000),
            ("mean", "slope", "slope of ratio", 8_000),
            ("iqm", "value", "", 10_000),
            ("median", "value", "", 10_000),
            ("median", "ratio", "", 10_000),
        )
    },
}


def main(*words):
    """Print the rows whose names contain one of the words; default: all."""
    print("| procedure | n | m | " + " | ".join(LAWS) + " |")
    print("|---|---|---|" + "---|" * len(LAWS))
    for name, (procedure, effect, statistic, trials) in ROWS.items():
        if any(word in name for word in words or [""]):
            row(name, procedure, effect, statistic, trials)
