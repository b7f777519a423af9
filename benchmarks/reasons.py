"""Numbers behind the reasons why claims do not hold (src/hushbandits/experiments/_reasons.toml).

Run: ``python -m benchmarks reasons`` (seconds).
"""

import math

import numpy as np
import scipy.special

from hushbandits.best_arm.private_elimination import epoch_length, radii
from hushbandits.experiments.azize2022 import MEANS
from hushbandits.experiments.azize2023 import INSTANCES

GRID = 4001  # candidates for the start of the shortest interval


def kept(n, epsilon, t=1000):
    """Return the share of Y in the shortest interval of `TrimmedMean`, of n samples in round t (δ = 1/t²)."""
    half, log = n / 2, 2 * math.log(t)
    alpha, rest = max(epsilon, log / half), (log + math.log(4)) / half
    return 1 - 2 * alpha - math.sqrt(2 * alpha * rest) - rest


def trimmed(mean, share, concentration=4.0):
    """Return the mean of a Beta law inside the shortest interval with mass `share`."""
    a, b = mean * concentration, (1 - mean) * concentration
    p = np.linspace(0, 1 - share, GRID)
    low, high = scipy.special.betaincinv(a, b, p), scipy.special.betaincinv(a, b, np.minimum(p + share, 1))
    i = (high - low).argmin()
    return mean * (scipy.special.betainc(a + 1, b, high[i]) - scipy.special.betainc(a + 1, b, low[i])) / share


def stretched(best, other, n, shown=(0.001, 0.05)):
    """Return the ratio of the pulls that two ϵ need to separate two Beta arms, second over first: gaps⁻²."""
    first, second = (trimmed(best, kept(n, e)) - trimmed(other, kept(n, e)) for e in shown)
    return (first / second) ** 2


def identified(means, epsilon, delta, keeps_counts, rng):
    """Return the pulls until `DP-SE-alone` has one arm left.

    `keeps_counts`: as in the code of its comparison, which sets values to 0 at the start of an epoch and divides by the
    pulls of all epochs.
    """
    left, counts, epoch = np.arange(len(means)), np.zeros(len(means)), 0
    while len(left) > 1:
        epoch += 1
        r = epoch_length(len(left), epoch, epsilon, delta)
        total = rng.binomial(int(r), np.asarray(means)[left])
        counts[left] += r
        noised = total / (counts[left] if keeps_counts else r) + rng.laplace(0, 1 / (epsilon * r), len(left))
        h, c = radii(len(left), epoch, epsilon, delta, r)
        left = left[noised.max() - noised <= 2 * (h + c)]
    return counts.sum()


def main(*_):
    """Print all numbers."""
    print("told ϵ = .05 on Beta arms: pulls needed, over those of .001, by means and samples held")
    for pair in ((0.65, 0.55), (0.6, 0.5), (0.55, 0.45), (0.7, 0.6), (0.7, 0.5), (0.5, 0.3)):
        print(*pair, *(f"{stretched(*pair, n):.2f}" for n in (4_000, 20_000, 100_000)))
    gap = sum(max(MEANS) - mean for mean in MEANS)
    first, second = (epoch_length(5, epoch, 1.0, 1e-7) for epoch in (1, 2))
    print(f"DP-SE of azize2022-fig2 that drops nothing in its first epoch: ({first:.0f} + {second:.0f}) · {gap:g} = "
          f"{gap * (first + second):,.0f} regret")  # fmt: skip
    print("DP-SE-alone, δ = .01: pulls as in its paper, and with counts that are kept (300 runs)")
    for name, means in INSTANCES.items():
        for epsilon in (0.1, 1.0, 100.0):
            pulls = [
                np.mean([identified(means, epsilon, 0.01, keeps, np.random.default_rng(i)) for i in range(300)])
                for keeps in (False, True)
            ]
            print(f"{name}, ε = {epsilon:g}: {pulls[0]:,.0f} and {pulls[1]:,.0f}")
