"""Coverage of intervals, by procedure, law, number of runs and level.

Run: ``python -m benchmarks coverage`` (some minutes; a table of docs/statistics.md); words after it select rows by
their names.  The intervals are those of tables, figures and comparisons; ``python -m benchmarks verdicts`` makes the
table on verdicts.
"""

import numpy as np
from scipy.stats import binom

from benchmarks import laws
from hushbandits.bench.stats import INTERVALS, STATISTICS, bootstrap, summary
from hushbandits.core.metric import Metric

LEVELS, SIZES = (0.95, 0.99), (10, 20, 50, 100)


#: Five laws, with their draws.
LAWS = {law: draw for law, (draw, _) in laws.LAWS.items() if law != "mode of 1/20"}
#: Shares, one per law (column).
SHARES = dict(zip(LAWS, (0.5, 0.2, 0.05, 0.95, 0.99), strict=True))


TRUTH = {(statistic, law): laws.centre(statistic, law) for statistic in STATISTICS for law in LAWS}


def of_summary(statistic):
    """Return the interval of a table or figure."""

    def covered(rng, law, n, level):
        low, high = summary(LAWS[law](rng, n), Metric("x"), statistic, level).interval
        return low <= TRUTH[statistic, law] <= high

    return covered


def of_rate(law, n, level):
    """Return the exact coverage: over every outcome of n runs, by its probability."""
    p, rate = SHARES[law], Metric("x", "rate")
    chance = binom.pmf(np.arange(n + 1), n, p)
    ends = (summary((np.arange(n) < s).astype(float), rate, level=level).interval for s in range(n + 1))
    return sum(c for c, (low, high) in zip(chance, ends, strict=True) if low <= p <= high)


def of_pairs(statistic):
    """Return the paired difference of a comparison: the law against a normal line, on shared seeds."""
    f = STATISTICS[statistic]

    def covered(rng, law, n, level):
        uniforms = rng.normal(size=n)
        pairs, seed = np.stack([LAWS[law](rng, n) + uniforms, uniforms], axis=1), int(rng.integers(2**31))
        low, high = bootstrap(lambda s: f(s[..., 0]) - f(s[..., 1]), pairs, level=level, seed=seed)
        return low <= TRUTH[statistic, law] <= high

    return covered


ROWS = {
    **{f"{INTERVALS[s][0]}: {s}": (of_summary(s), 5_000) for s in STATISTICS},
    "bootstrap of pairs: difference of means": (of_pairs("mean"), 500),
}


def percent(x):
    """Format a share as in the table."""
    return f"{100 * x:.1f}"


def row(name, n, level):
    """Return one line of the table."""
    if name == "Clopper–Pearson: rate":
        return [percent(of_rate(law, n, level)) for law in LAWS]
    covered, trials = ROWS[name]
    found = []
    for law in LAWS:
        rng = np.random.default_rng(0)
        found.append(percent(np.mean([covered(rng, law, n, level) for _ in range(trials)])))
    return found


def main(*words):
    """Print the rows whose names contain one of the words; default: all."""
    print("| procedure | n | level | " + " | ".join(LAWS) + " |")
    print("|---|---|---|" + "---|" * len(LAWS))
    for name in [*ROWS, "Clopper–Pearson: rate"]:
        if any(word in name for word in words or [""]):
            for n in SIZES:
                for level in LEVELS:
                    print(f"| {name} | {n} | {100 * level:g} | " + " | ".join(row(name, n, level)) + " |", flush=True)
