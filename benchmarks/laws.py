"""Laws of runs, for tests of intervals and verdicts."""

import math

import numpy as np

BASE, SPREAD = 0.2, 0.05


def modes(p):
    """Return a law with values near .2, and near 1.2 with probability p."""
    return (lambda rng, size: BASE + (rng.random(size) < p) + SPREAD * rng.normal(size=size)), BASE + p


#: Draws and mean of each law.
LAWS = {
    "normal": (lambda rng, size: rng.normal(5, 1, size), 5.0),
    "exponential": (lambda rng, size: rng.exponential(1, size), 1.0),
    "two modes": modes(0.5),
    "mode of 1/7": modes(1 / 7),
    "lognormal": (lambda rng, size: rng.lognormal(0, 1, size), math.exp(0.5)),
    "mode of 1/20": modes(1 / 20),
}


def centre(statistic, law):
    """Return the statistic of a law: its exact mean, or the statistic of four million draws."""
    draw, mean = LAWS[law]
    if statistic == "mean" or law in ("normal", "two modes"):
        return mean
    x = np.sort(draw(np.random.default_rng(1), 4_000_000))
    return float(np.median(x) if statistic == "median" else x[1_000_000:3_000_000].mean())
