"""Shared rules of one player's arm-selection routines (Féraud et al. 2019, definition 4).

A routine samples one remaining arm per call, at confidence 1 − η and precision ε, and gives up arms.  A player who
holds one arm plays it on; one who has lost its last arm to the others' votes idles until 𝒦 is one arm.
"""

import math
from typing import NamedTuple

import numpy as np

from hushbandits.core import Array
from hushbandits.core.utils.jit import inlined


class Samples(NamedTuple):
    """The samples and routine states of all players, in arrays ``(R, N)`` or ``(R, N, K)``."""

    local: Array  # (R, N, K) 𝒦_n
    sums: Array  # (R, N, K) rewards
    pulls: Array  # (R, N, K)
    stage: Array  # (R, N) a round or an epoch, from 1; with passes, the arms left in the present one
    mark: Array  # (R, N) the routine's own


def samples(runs: int, n: int, k: int, mark: int = 0) -> Samples:
    """Return the initial state of players without samples."""
    return Samples(
        local=np.ones((runs, n, k), bool),
        sums=np.zeros((runs, n, k)),
        pulls=np.zeros((runs, n, k), np.int64),
        stage=np.ones((runs, n), np.int64),
        mark=np.full((runs, n), mark, np.int64),
    )


@inlined
def read(local, active):
    """Remove arms outside 𝒦 (`active`) from 𝒦_n (`local`), or set 𝒦_n = 𝒦 if 𝒦 has one arm; return |𝒦_n|.

    Source: Féraud et al. 2019, algorithm 2, lines 4–12.
    """
    size = 0
    for k in range(local.size):
        local[k] &= active[k]
        size += local[k]
    if size > 1 or active.sum() != 1:
        return size
    for k in range(local.size):
        local[k] = active[k]
    return 1


@inlined
def least_pulled(local, pulls):
    """Return the first of the remaining arms with the fewest pulls, or −1 if no arm remains."""
    first = -1
    for k in range(local.size):
        if local[k] and (first < 0 or pulls[k] < pulls[first]):
            first = k
    return first


@inlined
def pick(local, pulls, wanted, arms, rank):
    """Mark the arm with index `rank` among the remaining arms with `wanted` pulls; return 1, or 0 if there is none."""
    for k in range(local.size):
        if local[k] and pulls[k] == wanted:
            if rank == 0:
                arms[k] = True
                return 1
            rank -= 1
    return 0


@inlined
def pick_any(local, arms, rank):
    """Mark the arm with index `rank` among the remaining arms; return 1, or 0 if no arm has this index."""
    return pick(local, local, True, arms, rank)


@inlined
def settle(local, pulls, active, arms):
    """Update `local` by `read`; then mark in `arms` the only remaining arm, or an arm without pulls, if any.

    Return the number of marked arms; −1: several arms remain, and all have pulls.
    """
    size = read(local, active)
    if size == 0:
        return 0
    first = least_pulled(local, pulls)
    if size > 1 and pulls[first] > 0:
        return -1
    arms[first] = True
    return 1


@inlined
def observe(local, sums, pulls, arms, reward):
    """Add the reward if at least two arms remain; return the pulled arm, or −1 if the reward was not added."""
    return add(sums, pulls, arms, reward) if local.sum() > 1 else -1


@inlined
def add(sums, pulls, arms, reward):
    """Add the rewards of the marked `arms`; return the last of them."""
    pulled = -1
    for k in range(arms.size):
        if arms[k]:
            sums[k] += reward[k]
            pulls[k] += 1
            pulled = k
    return pulled


@inlined
def best_mean(local, sums, pulls):
    """Return the remaining arm with the largest empirical mean, or −1 if no arm remains; ties take the first arm."""
    best, top = -1, -math.inf
    for k in range(local.size):
        if local[k] and sums[k] / pulls[k] > top:
            best, top = k, sums[k] / pulls[k]
    return best


@inlined
def keep_only(local, best, vote):
    """Vote out all remaining arms except `best`, and remove them from `local`."""
    for k in range(local.size):
        if local[k] and k != best:
            local[k] = False
            vote[k] = True
