"""The scalar rules of voting, shared by the exploration env and the compiled episodes."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from hushbandits.core.ground.jit import jit
from hushbandits.core.ground.types import Array

__all__ = [
    "COORDINATOR",
    "HORIZON",
    "NOTHING",
    "PLAYERS",
    "SEVERAL",
    "STOPS",
    "VoteState",
    "accumulate",
    "cast",
    "charge",
    "clear",
    "count",
    "draw_agent",
    "finished",
    "news",
    "open_votes",
    "retire",
    "settle",
]

#: What an agent holds when it is not one arm.
NOTHING, SEVERAL = -1, -2

#: When a run stops, besides at its horizon: |𝒦| ≤ 1; every agent holds one arm; not before.
STOPS = {"coordinator": 0, "players": 1, "horizon": 2}
COORDINATOR, PLAYERS, HORIZON = STOPS.values()


class VoteState(NamedTuple):
    """The state of R runs of voting among N agents over K arms."""

    weights: Array  # (N,) P
    leaves: bool  # an idle agent leaves the pool
    needed: int  # votes that remove an arm
    stop: int  # one of STOPS
    horizon: int  # −1: none
    vote_cost: int  # messages per new vote that leaves its agent
    round_cost: int  # messages per round
    live: Array  # (R,)
    rounds: Array  # (R,)
    messages: Array  # (R,)
    regret: Array  # (R,) only with a horizon as the stop
    active: Array  # (R, K) 𝒦
    sent: Array  # (R, N, K) votes as their agents cast them
    counted: Array  # (R, N, K) votes as they arrived
    votes: Array  # (R, K)
    pool: Array  # (R, N) who is still drawn
    cumulative: Array  # (R, N) running sums of P over the pool
    holds: Array  # (R, N) the arm that an agent held after its last activation, NOTHING or SEVERAL
    open_seats: Array  # (R, 2) how many that can act do not hold one arm, and how many hold several


def open_votes(
    runs: int,
    n_arms: int,
    weights: Array,
    *,
    leaves: bool,
    needed: int,
    stop: str,
    horizon: int | None,
    costs: tuple[int, int],
) -> VoteState:
    """Return the book of `runs` runs in which nothing has happened yet."""
    n = len(weights)
    book = VoteState(
        weights, leaves, needed, STOPS[stop], -1 if horizon is None else horizon, *costs,
        live=np.ones(runs, bool),
        rounds=np.zeros(runs, np.int64),
        messages=np.zeros(runs, np.int64),
        regret=np.zeros(runs),
        active=np.empty((runs, n_arms), bool),
        sent=np.empty((runs, n, n_arms), bool),
        counted=np.empty((runs, n, n_arms), bool),
        votes=np.empty((runs, n_arms), np.int64),
        pool=np.tile(weights > 0, (runs, 1)),
        cumulative=np.empty((runs, n)),
        holds=np.empty((runs, n), np.int64),
        open_seats=np.empty((runs, 2), np.int64),
    )  # fmt: skip
    for r in range(runs):
        accumulate(weights, book.pool[r], book.cumulative[r])
        clear(book, r)
    return book


def clear(book: VoteState, r: int) -> None:
    """Forget all votes of run r: every arm is in 𝒦 again, and everyone holds them all."""
    book.active[r] = True
    book.sent[r] = False
    book.counted[r] = False
    book.votes[r] = 0
    book.holds[r] = SEVERAL
    book.open_seats[r] = (book.weights > 0).sum()


@jit
def accumulate(weights, pool, cumulative):
    """Running sums of the weights of those still in the pool, in index order."""
    total = 0.0
    for n in range(weights.size):
        if pool[n]:
            total += weights[n]
        cumulative[n] = total


@jit
def draw_agent(cumulative, u):
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
def retire(weights, pool, cumulative, n):
    """Take agent n out of the pool; return whether anybody is left."""
    pool[n] = False
    accumulate(weights, pool, cumulative)
    return cumulative[-1] > 0.0


@jit
def news(vote, ballots):
    """How many of an agent's votes are not yet on its row of a bit matrix."""
    fresh = 0
    for k in range(vote.size):
        fresh += vote[k] and not ballots[k]
    return fresh


@jit
def cast(vote, ballots):
    """Mark an agent's votes on its row of a bit matrix."""
    for k in range(vote.size):
        ballots[k] |= vote[k]


@jit
def count(vote, ballots, votes, needed, active):
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


@jit
def charge(arms, gaps):
    """Regret of pulling a set of arms: the sum of their gaps."""
    total = 0.0
    for k in range(arms.size):
        if arms[k]:
            total += gaps[k]
    return total


@jit
def settle(ballot, active, alone, n, holds, open_seats):
    """Note what agent n holds after its activation: 𝒦 without its own votes, or 𝒦 itself if that was one arm.

    `active` is 𝒦 as the agent read it (that its own votes have left 𝒦 since makes no difference), `alone` whether
    it then had one arm (Féraud et al. 2019, algorithm 2, lines 4–19).
    """
    arm, size = NOTHING, 0
    for k in range(ballot.size):
        if active[k] and (alone or not ballot[k]):
            arm = k
            size += 1
    if size > 1:
        arm = SEVERAL
    before = holds[n]
    open_seats[0] += int(arm < 0) - int(before < 0)
    open_seats[1] += int(arm == SEVERAL) - int(before == SEVERAL)
    holds[n] = arm


@jit
def finished(stop, left, open_seats):
    """Whether a run with |𝒦| = `left` is decided, or will stay as it is."""
    if stop == COORDINATOR:
        return left <= 1
    if stop == PLAYERS:
        # Nothing changes any more once 𝒦 is empty, or nobody can vote on the arms that are left in it.
        return open_seats[0] == 0 or left == 0 or (left > 1 and open_seats[1] == 0)
    return False
