"""What agents have seen of their arms: pulls and sums, and how an observation shows them.  Compiled."""

from __future__ import annotations

import math

import numpy as np

from hushbandits.core.utils import jit

__all__ = ["WIDE", "add_pulls", "hear", "pull_one", "show"]

#: Largest number of an observation: what float32 holds.
WIDE = float(np.finfo(np.float32).max)


@jit
def add_pulls(arm, n, total, pulls, sums):
    """Add every agent's `n` pulls of one arm."""
    for r in range(arm.shape[0]):
        for m in range(arm.shape[1]):
            pulls[r, m, arm[r, m]] += n[r, m]
            sums[r, m, arm[r, m]] += total[r, m]


@jit
def pull_one(arm, reward, t, horizon, pulls, sums, obs, mean, width, time):
    """Add every agent's own pull, and write what that changes: `show` of one arm, and the share of time.

    The round that is being played counts as over.
    """
    for r in range(arm.shape[0]):
        clock = min((t[r] + 1) / horizon, 1.0)
        for m in range(arm.shape[1]):
            k = arm[r, m]
            pulls[r, m, k] += 1.0
            sums[r, m, k] += reward[r, m]
            n = max(pulls[r, m, k], 0.0)
            obs[r, m, mean + k] = min(max(sums[r, m, k] / max(n, 1.0), -WIDE), WIDE)
            obs[r, m, width + k] = 1.0 / math.sqrt(1.0 + n)
            obs[r, m, time] = clock


@jit
def hear(pulls, sums, n, total, obs, mean, width):
    """Add this round's tallies to those of before, and `show` what they come to."""
    arms = n.shape[2]
    for r in range(n.shape[0]):
        for m in range(n.shape[1]):
            for k in range(arms):
                n[r, m, k] += pulls[r, m, k]
                total[r, m, k] += sums[r, m, k]
            known, worth, seen = n[r, m], total[r, m], obs[r, m]
            for k in range(arms):
                count = max(known[k], 0.0)
                seen[mean + k] = min(max(worth[k] / max(count, 1.0), -WIDE), WIDE)
            for k in range(arms):
                seen[width + k] = 1.0 / math.sqrt(1.0 + max(known[k], 0.0))


@jit
def show(who, pulls, sums, obs, mean, width):
    """Write ``sums/pulls`` from column `mean` on and ``1/√(1 + pulls)`` from column `width` on."""
    for r in range(who.shape[0]):
        for m in who[r]:
            for k in range(pulls.shape[2]):
                n = max(pulls[r, m, k], 0.0)
                obs[r, m, mean + k] = min(max(sums[r, m, k] / max(n, 1.0), -WIDE), WIDE)
                obs[r, m, width + k] = 1.0 / math.sqrt(1.0 + n)
