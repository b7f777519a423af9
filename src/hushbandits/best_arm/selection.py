"""Shared rules of one player's arm-selection routines (Féraud et al. 2019, definition 4).

A routine samples one remaining arm per call, at confidence 1 − η and precision ε, and gives up arms.  A player who
holds one arm plays it on; one who has lost its last arm to the others' votes idles until 𝒦 is one arm.
"""

import math
from typing import NamedTuple

import numpy as np

from hushbandits.core import Array, lean


class Samples(NamedTuple):
    """The samples and routine states of all players, in arrays ``(R, N)`` or ``(R, N, K)``."""

    local: Array  # (R, N, K) 𝒦_n
    sums: Array  # (R, N, K) rewards
    pulls: Array  # (R, N, K)
    stage: Array  # (R, N) a round or an epoch, from 1
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


@lean
def read(local, active):
    """Remove arms outside 𝒦 (`active`) from 𝒦_n (`local`), or set 𝒦_n = 𝒦 if 𝒦 has one arm; return |𝒦_n|.

    Source: Féraud et al. 2019, algorithm 2, lines 4–12.
    """
    alone = active.sum() == 1
    size = 0
    for k in range(local.size):
        local[k] = active[k] and (alone or local[k])
        size += local[k]
    return size


@lean
def fewest_pulls(local, pulls):
    """Return the smallest number of pulls of a remaining arm, and how many remaining arms have this number."""
    fewest, ties = -1, 0
    for k in range(local.size):
        if local[k]:
            if fewest < 0 or pulls[k] < fewest:
                fewest, ties = pulls[k], 0
            ties += int(pulls[k] == fewest)
    return fewest, ties


@lean
def _pick(local, pulls, wanted, arms, rank):
    # play the arm of a rank, from 0, among those of `local` that have as many `pulls` as wanted
    for k in range(local.size):
        if local[k] and pulls[k] == wanted:
            if rank == 0:
                arms[k] = True
                return 1
            rank -= 1
    return 0


@lean
def pick(local, pulls, arms, rank):
    """Mark the arm with index `rank` among the least-pulled remaining arms; return 1, or 0 if no arm has this index."""
    return _pick(local, pulls, fewest_pulls(local, pulls)[0], arms, rank)


@lean
def pick_any(local, arms, rank):
    """Mark the arm with index `rank` among the remaining arms; return 1, or 0 if no arm has this index."""
    return _pick(local, local, True, arms, rank)


@lean
def settle(local, pulls, active, arms):
    """Update `local` by `read`; then mark in `arms` the only remaining arm, or an arm without pulls, if any.

    Return the number of marked arms; −1: several arms remain, and all have pulls.
    """
    size = read(local, active)
    if size == 0:
        return 0
    if size == 1 or fewest_pulls(local, pulls)[0] == 0:
        return pick(local, pulls, arms, 0)
    return -1


@lean
def observe(local, sums, pulls, arms, reward):
    """Add the reward if at least two arms remain; return the pulled arm, or −1 if the reward was not added."""
    pulled = -1
    if local.sum() > 1:
        for k in range(arms.size):
            if arms[k]:
                sums[k] += reward[k]
                pulls[k] += 1
                pulled = k
    return pulled


@lean
def best_mean(local, sums, pulls):
    """Return the remaining arm with the largest empirical mean, or −1 if no arm remains; ties take the first arm."""
    best, top = -1, -math.inf
    for k in range(local.size):
        if local[k] and sums[k] / pulls[k] > top:
            best, top = k, sums[k] / pulls[k]
    return best


@lean
def keep_only(local, best, vote):
    """Vote out all remaining arms except `best`, and remove them from `local`."""
    for k in range(local.size):
        if local[k] and k != best:
            local[k] = False
            vote[k] = True
