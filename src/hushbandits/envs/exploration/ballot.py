"""The state of a vote and the compiled rules that update it, for one run or for all runs."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from hushbandits.core import Array, World, jit

#: Codes for an agent that does not hold exactly one arm.
NOTHING, SEVERAL = -1, -2

#: When a run stops before its horizon: at |𝒦| ≤ 1; when every agent holds one arm; never.
STOPS = {"coordinator": 0, "players": 1, "horizon": 2}
COORDINATOR, PLAYERS, HORIZON = STOPS.values()


class VoteState(NamedTuple):
    """The state of R runs in which N agents vote over K arms."""

    weights: Array  # (N,) P
    leaves: bool  # an idle agent leaves the pool
    needed: int  # votes that remove an arm
    stop: int  # one of STOPS
    horizon: int  # −1: none
    vote_cost: int  # messages per new vote sent
    round_cost: int  # messages per round
    running: Array  # (R,)
    rounds: Array  # (R,)
    messages: Array  # (R,)
    regret: Array  # (R,) only if runs stop at the horizon
    active: Array  # (R, K) 𝒦
    sent: Array  # (R, N, K) votes as their agents cast them
    counted: Array  # (R, N, K) votes as they arrived
    votes: Array  # (R, K)
    active_agents: Array  # (R,) the agent that acts next
    pool: Array  # (R, N) agents that are still drawn
    cumulative: Array  # (R, N) running sums of P over the pool
    holds: Array  # (R, N) the arm that an agent held after its last activation, NOTHING or SEVERAL
    open_seats: Array  # (R, 2) of the agents that can act: how many do not hold one arm, and how many hold several


class Outcomes(NamedTuple):
    """Rewards, gaps and random numbers of the next activations of one run."""

    rewards: Array  # (B, K)
    gaps: Array  # (B, K), or (1, K): all alike
    turns: Array  # (B,) uniforms that draw the next agent


def open_votes(env: World, runs: int) -> VoteState:
    """Return a `VoteState` for `runs` runs; `open_rows` sets the values."""
    weights, n, k = env.weights, env.n_agents, env.n_arms
    vote_cost, round_cost = env.costs
    return VoteState(
        weights, env.inactive_agents == "drop", env.votes_needed, STOPS[env.termination], -1 if env.horizon is None else
        env.horizon, vote_cost, round_cost, running=np.ones(runs, bool), rounds=np.zeros(runs, np.int64),
        messages=np.zeros(runs, np.int64), regret=np.zeros(runs), active=np.empty((runs, k), bool), sent=np.empty((runs,
        n, k), bool), counted=np.empty((runs, n, k), bool), votes=np.empty((runs, k), np.int64),
        active_agents=np.zeros(runs, np.int64), pool=np.tile(weights > 0, (runs, 1)),
        cumulative=np.empty((runs, n)), holds=np.empty((runs, n),
        np.int64), open_seats=np.empty((runs, 2), np.int64),
    )  # fmt: skip


@jit
def clear(book, r):
    """Delete all votes of run r, so that 𝒦 contains every arm again."""
    book.active[r] = True
    book.sent[r] = False
    book.counted[r] = False
    book.votes[r] = 0
    book.holds[r] = SEVERAL
    book.open_seats[r] = (book.weights > 0).sum()


@jit
def open_rows(rows, turns, book):
    """Reset the state of the runs `rows`, and draw their first active agents from the uniforms `turns`."""
    for i, r in enumerate(rows):
        book.running[r] = True
        book.rounds[r] = 0
        book.messages[r] = 0
        book.regret[r] = 0.0
        for n in range(book.weights.size):
            book.pool[r, n] = book.weights[n] > 0
        accumulate(book.weights, book.pool[r], book.cumulative[r])
        book.active_agents[r] = draw_agent(book.cumulative[r], turns[i])
        clear(book, r)


@jit
def accumulate(weights, pool, cumulative):
    """Write the cumulative weights of the agents in the pool, in index order, to `cumulative`."""
    total = 0.0
    for n in range(weights.size):
        if pool[n]:
            total += weights[n]
        cumulative[n] = total


@jit
def draw_agent(cumulative, u):
    """Return the first agent whose cumulative weight exceeds ``u`` times the total; the agent's weight is positive."""
    target = u * cumulative[-1]
    guess = int(u * cumulative.size)  # correct for a uniform P while all agents are in the pool
    if cumulative[guess] > target and (guess == 0 or cumulative[guess - 1] <= target):
        return guess
    low, high = 0, cumulative.size
    while low < high:
        middle = (low + high) // 2
        if cumulative[middle] > target:
            high = middle
        else:
            low = middle + 1
    return low


@jit
def retire(weights, pool, cumulative, n):
    """Remove agent n from the pool; return whether the pool still has an agent with a positive weight."""
    pool[n] = False
    accumulate(weights, pool, cumulative)
    return cumulative[-1] > 0.0


@jit
def count(vote, ballots, votes, needed, active):
    """Count the new votes of an agent, remove arms with at least `needed` votes, and return how many arms are left."""
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
def settle(ballot, active, alone, n, holds, open_seats):
    """Store in ``holds[n]`` the only arm that agent n has left, or a code if it has none or several.

    An agent has left the arms of 𝒦 that it has not voted out, or the arm of 𝒦 if 𝒦 has one arm.

    `active` is 𝒦 as the agent read it (arms that its own votes have removed since make no difference).  `alone` is
    whether 𝒦 then was one arm (Féraud et al. 2019, algorithm 2, lines 4–19).
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
    """Return whether the rule `stop` regards a run with `left` arms in 𝒦 as decided or unable to change."""
    if stop == COORDINATOR:
        return left <= 1
    if stop == PLAYERS:
        # Nothing changes any more once 𝒦 is empty, or no agent can vote on the arms left in it.
        return open_seats[0] == 0 or left == 0 or (left > 1 and open_seats[1] == 0)
    return False


@jit
def only_arm(kept):
    """Return the only arm in a set ``(K,)``, or `NOTHING` if the set does not have exactly one arm."""
    return kept.argmax() if kept.sum() == 1 else NOTHING


@jit
def _judged(rows, stop, weights, running, active, sent, holds, right, everyone):
    n = rows.size
    correct, inconclusive, left = np.ones(n, np.bool_), np.zeros(n, np.bool_), np.zeros(n, np.int64)
    alone = stop != PLAYERS and not everyone  # the coordinator decides
    for i, r in enumerate(rows):
        left[i], held = active[r].sum(), only_arm(active[r])
        for agent in range(1 if alone else weights.size):
            if alone or weights[agent] > 0:
                if stop == PLAYERS:
                    held = holds[r, agent]
                elif everyone:
                    held = only_arm(~sent[r, agent])
                correct[i] &= held >= 0 and right[r, held]
                inconclusive[i] |= held < 0 and not running[r]
    return correct, inconclusive, left


def judged(book: VoteState, right: Array, everyone: bool, rows: Array) -> tuple[Array, Array, Array]:
    """Return whether each of the runs `rows` is correct, whether it is inconclusive, and how many arms 𝒦 has.

    With the players' stop, the arm that each player holds decides.  Otherwise it is the arm that each agent holds by
    its own votes if `everyone` counts, or the arm that the coordinator holds.
    """
    parts = book.weights, book.running, book.active, book.sent, book.holds  # one by one: the whole state takes longer
    found: tuple[Array, Array, Array] = _judged(rows, book.stop, *parts, right, everyone)
    return found


@jit
def decided(stop, running, active, open_seats, cumulative):
    """Return ``(R,)`` bool: whether the run is decided, can no longer change, or has no agent that can act."""
    found = np.zeros(running.size, np.bool_)
    for r in range(found.size):
        if not running[r]:
            found[r] = cumulative[r, -1] == 0.0 or finished(stop, active[r].sum(), open_seats[r])
    return found


# -- the phases: all runs, each by the rules above -----------------------------------------------------------------


@jit
def pull_rows(pulls, gaps, turns, book):
    """After phase 1, update every run that is not over, and draw its next active agent.

    If idle agents leave, an agent without pulls leaves, and its activation is no round.
    """
    for r in range(turns.size):
        if not book.running[r]:
            continue
        n, deserted = book.active_agents[r], False
        if book.stop == HORIZON:
            book.regret[r] += gaps[r][pulls[r]].sum()
        if book.leaves and not pulls[r].any():
            deserted = not retire(book.weights, book.pool[r], book.cumulative[r], n)
        else:
            book.rounds[r] += 1
            book.messages[r] += book.round_cost
        if not deserted:
            book.active_agents[r] = draw_agent(book.cumulative[r], turns[r])


@jit
def cast_rows(vote, who, running, sent):
    """Write the votes of the active agents `who` to `sent`, in the runs that are not over."""
    for r in range(who.size):
        for k in range(vote.shape[1]):
            sent[r, who[r], k] |= running[r] and vote[r, k]


@jit
def count_rows(vote, heard, who, book):
    """Count the votes that reached the coordinator, remove arms with enough votes, and charge new votes as messages."""
    for r in range(who.size):
        for k in range(vote.shape[1]):
            if heard[r] and vote[r, k] and not book.counted[r, who[r], k]:
                book.counted[r, who[r], k] = True
                book.messages[r] += book.vote_cost
                book.votes[r, k] += 1
                book.active[r, k] &= book.votes[r, k] < book.needed


@jit
def add_rows(vote, heard, who, left, sums, book):
    """Add a wrapper's vote counts per arm, remove arms with enough votes, and charge each sent vote once."""
    for r in range(who.size):
        if heard[r]:
            ballot = left[r, who[r]]
            book.messages[r] += book.vote_cost * (vote[r] & ~ballot).sum()
            ballot |= vote[r]
        for k in range(sums.shape[1]):
            book.votes[r, k] += sums[r, k]
            if book.running[r] and book.votes[r, k] >= book.needed:
                book.active[r, k] = False


@jit
def close_rows(who, read, book):
    """End runs that are decided, have no agent left to act, or have reached the horizon.

    If the players end the runs, first store which arm each active agent still holds.
    """
    for r in range(who.size):
        if book.running[r]:
            seats = book.open_seats[r]
            if book.stop == PLAYERS:
                n = who[r]
                settle(book.sent[r, n], read[r], read[r].sum() == 1, n, book.holds[r], seats)
            over = book.cumulative[r, -1] == 0.0 or (book.horizon >= 0 and book.rounds[r] >= book.horizon)
            book.running[r] = not (over or finished(book.stop, book.active[r].sum(), seats))
