"""How often an interval covers the truth, by procedure, law, number of runs and level.

Run: ``python -m benchmarks coverage`` (some minutes; a table of docs/statistics.md); words after it pick rows
by their names.  The intervals are those of tables, figures and comparisons; what verdicts promise together is the table
of ``python -m benchmarks verdicts``.
"""

import numpy as np
from scipy.stats import binom

from hushbandits.bench.judge.stats import STATISTICS, paired_difference
from hushbandits.bench.judge.summary import INTERVALS, summary
from hushbandits.core.measure import Measure

LEVELS, SIZES = (0.95, 0.99), (10, 20, 50, 100)


def modes(p):
    """Runs at .2, with probability p at 1.2."""
    return lambda rng, size: 0.2 + (rng.random(size) < p) + 0.05 * rng.normal(size=size)


LAWS = {
    "normal": lambda rng, size: rng.normal(5, 1, size),
    "exponential": lambda rng, size: rng.exponential(1, size),
    "two modes": modes(0.5),
    "mode of 1/7": modes(1 / 7),
    "lognormal": lambda rng, size: rng.lognormal(0, 1, size),
}
#: Shares, one per column of the laws.
SHARES = dict(zip(LAWS, (0.5, 0.2, 0.05, 0.95, 0.99), strict=True))


def truth(statistic, law):
    """The statistic of four million runs, sorted once."""
    x = np.sort(LAWS[law](np.random.default_rng(1), 4_000_000))
    middle = x[1_000_000:3_000_000]
    return float({"mean": x.mean, "median": lambda: np.median(x), "iqm": middle.mean}[statistic]())


TRUTH = {(statistic, law): truth(statistic, law) for statistic in STATISTICS for law in LAWS}


def of_summary(statistic):
    """The interval of a table or figure."""

    def covered(rng, law, n, level):
        low, high = summary(LAWS[law](rng, n), Measure("x"), statistic, level).interval
        return low <= TRUTH[statistic, law] <= high

    return covered


def of_rate(law, n, level):
    """Exactly: every outcome of n runs, by its probability."""
    p, rate = SHARES[law], Measure("x", "rate")
    chance = binom.pmf(np.arange(n + 1), n, p)
    ends = (summary((np.arange(n) < s).astype(float), rate, level=level).interval for s in range(n + 1))
    return sum(c for c, (low, high) in zip(chance, ends, strict=True) if low <= p <= high)


def of_pairs(statistic):
    """The paired difference of a comparison: the law against a normal line, in worlds that they share."""

    def covered(rng, law, n, level):
        luck = rng.normal(size=n)
        x, seed = LAWS[law](rng, n) + luck, int(rng.integers(2**31))
        low, high = paired_difference(x, luck, statistic, level, seed)[1]
        return low <= TRUTH[statistic, law] <= high

    return covered


ROWS = {
    **{f"{INTERVALS[s].name}: {s}": (of_summary(s), 5_000) for s in STATISTICS},
    "bootstrap of pairs: difference of means": (of_pairs("mean"), 500),
}


def percent(x):
    """As in the table."""
    return f"{100 * x:.1f}"


def row(name, n, level):
    """One line of the table."""
    if name == "Clopper–Pearson: rate":
        return [percent(of_rate(law, n, level)) for law in LAWS]
    covered, trials = ROWS[name]
    found = []
    for law in LAWS:
        rng = np.random.default_rng(0)
        found.append(percent(np.mean([covered(rng, law, n, level) for _ in range(trials)])))
    return found


def main(*words):
    """Print the rows whose names have one of the words in them; default: all."""
    print("| procedure | n | level | " + " | ".join(LAWS) + " |")
    print("|---|---|---|" + "---|" * len(LAWS))
    for name in [*ROWS, "Clopper–Pearson: rate"]:
        if any(word in name for word in words or [""]):
            for n in SIZES:
                for level in LEVELS:
                    print(f"| {name} | {n} | {100 * level:g} | " + " | ".join(row(name, n, level)) + " |", flush=True)
