"""The scalar rules of voting, shared by the exploration env and the compiled episodes."""

from __future__ import annotations

from hushbandits.core.jit import jit

__all__ = ["accumulate", "cast", "count", "draw_agent", "retire"]


@jit
def accumulate(weights, pool, cumulative):  # type: ignore[no-untyped-def]
    """Running sums of the weights of those still in the pool, in index order."""
    total = 0.0
    for n in range(weights.size):
        if pool[n]:
            total += weights[n]
        cumulative[n] = total


@jit
def draw_agent(cumulative, u):  # type: ignore[no-untyped-def]
    """First agent whose running weight exceeds ``u`` times the total: never one of weight 0."""
    target = u * cumulative[-1]
    low, high = 0, cumulative.size - 1
    guess = int(u * cumulative.size)  # right for a uniform P while nobody has left
    if cumulative[guess] > target and (guess == 0 or cumulative[guess - 1] <= target):
        return guess
    while low < high:
        middle = (low + high) // 2
        if cumulative[middle] > target:
            high = middle
        else:
            low = middle + 1
    return low


@jit
def retire(weights, pool, cumulative, n):  # type: ignore[no-untyped-def]
    """Take agent n out of the pool; return whether anybody is left."""
    pool[n] = False
    accumulate(weights, pool, cumulative)
    return cumulative[-1] > 0.0


@jit
def cast(vote, ballots):  # type: ignore[no-untyped-def]
    """Mark an agent's votes on its row of a bit matrix; return how many are new."""
    fresh = 0
    for k in range(vote.size):
        if vote[k] and not ballots[k]:
            ballots[k] = True
            fresh += 1
    return fresh


@jit
def count(vote, ballots, votes, needed, active):  # type: ignore[no-untyped-def]
    """Count an agent's new votes, drop the arms that have enough; return how many arms are left."""
    left = 0
    for k in range(vote.size):
        if vote[k] and not ballots[k]:
            ballots[k] = True
            votes[k] += 1
            if votes[k] >= needed:
                active[k] = False
        left += active[k]
    return left
