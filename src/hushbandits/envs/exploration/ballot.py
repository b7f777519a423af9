"""The state of a vote and the compiled rules that update it, for one run or for all runs."""

from typing import NamedTuple

import numpy as np

from hushbandits.core import Array, World, jit, lean
from hushbandits.core.utils.jit import alike

#: Codes for an agent that does not hold exactly one arm.
NOTHING, SEVERAL = -1, -2

#: When a run stops before its horizon: at |𝒦| ≤ 1; when every agent holds one arm; never.
STOPS = {"coordinator": 0, "players": 1, "horizon": 2}
COORDINATOR, PLAYERS, HORIZON = STOPS.values()


class VoteState(NamedTuple):
    """The state of R runs in which N agents vote over K arms: first what phase 1 needs, from `running` on phase 2."""

    weights: Array  # (N,) P
    leaves: bool  # an idle agent leaves the pool
    round_cost: int  # messages per round
    regret: Array  # (R,) only if runs stop at the horizon
    active_agents: Array  # (R,) the agent that acts next
    pool: Array  # (R, N) agents that are still drawn
    running: Array  # (R,)
    rounds: Array  # (R,)
    messages: Array  # (R,)
    cumulative: Array  # (R, 2, N) running sums of P over the pool, and the agents that u = 0, 1/N, …, (N − 1)/N draw
    stop: int  # one of STOPS
    horizon: int  # −1: none
    needed: int  # votes that remove an arm
    vote_cost: int  # messages per new vote sent
    active: Array  # (R, K) 𝒦
    sent: Array  # (R, N, K) votes as their agents cast them
    counted: Array  # (R, N, K) votes as they arrived
    votes: Array  # (R, K)
    read: Array  # (R, N) the size of 𝒦 when an agent last read it
    holds: Array  # (R, N) the arm that an agent held after its last activation, NOTHING or SEVERAL
    open_seats: Array  # (R, 2) of the agents that can act: how many do not hold one arm, and how many hold several


class Outcomes(NamedTuple):
    """Rewards, gaps and random numbers of the next activations of one run."""

    rewards: Array  # (B, K); if `first` ≥ 0, (1, K): room for the Bernoulli rewards of an activation
    first: int  # the step of the first activation in the stream of rewards, −1: not needed
    stream: Array  # (10,) cursor of that stream
    locations: Array  # (B, K), or (1, K): all alike
    gaps: Array  # (B, K), or (1, K)
    turns: Array  # (B,) uniforms that draw the next agent


def open_votes(env: World, runs: int) -> VoteState:
    """Return a `VoteState` for `runs` runs; `open_rows` sets the values."""
    n, k, (vote_cost, round_cost) = env.n_agents, env.n_arms, env.costs
    rounds, messages, turns = np.zeros((3, runs), np.int64)
    sent, counted = np.empty((2, runs, n, k), bool)
    return VoteState(
        env.weights, env.inactive_agents == "drop", round_cost, regret=np.zeros(runs), active_agents=turns,
        pool=np.tile(env.weights > 0, (runs, 1)), running=np.ones(runs, bool), rounds=rounds, messages=messages,
        cumulative=np.empty((runs, 2, n)), stop=STOPS[env.termination], vote_cost=vote_cost,
        horizon=-1 if env.horizon is None else env.horizon, needed=env.votes_needed, sent=sent, counted=counted,
        active=np.empty((runs, k), bool), votes=np.empty((runs, k), np.int64), read=np.empty((runs, n), np.int64),
        holds=np.empty((runs, n), np.int64), open_seats=np.empty((runs, 2), np.int64),
    )  # fmt: skip


def clear(book: VoteState, rows: Array) -> None:
    """Delete all votes of the runs `rows`, so that 𝒦 contains every arm again."""
    seats = np.count_nonzero(book.weights)
    _clear(rows, seats, book.active, book.sent, book.counted, book.votes, book.read, book.holds, book.open_seats)


@lean
def _clear(rows, seats, active, sent, counted, votes, read, holds, open_seats):
    for r in rows:
        active[r] = True
        sent[r] = False
        counted[r] = False
        votes[r] = read[r] = 0
        holds[r] = SEVERAL
        open_seats[r] = seats


def open_rows(rows: Array, turns: Array, book: VoteState) -> None:
    """Reset the state of the runs `rows`, and draw their first active agents from the uniforms `turns`."""
    clear(book, rows)
    _open(rows, turns, *book[:10])


@lean
def _open(rows, turns, weights, leaves, cost, regret, active_agents, pool, running, rounds, messages, cumulative):
    for i, r in enumerate(rows):
        running[r] = True
        rounds[r] = messages[r] = 0
        regret[r] = 0.0
        for n in range(weights.size):
            pool[r, n] = weights[n] > 0
        accumulate(weights, pool[r], cumulative[r])
        active_agents[r] = draw_agent(cumulative[r], turns[i])


@lean
def accumulate(weights, pool, cumulative):
    """Write the cumulative weights of the agents in the pool, in index order, and the agents that u = i/N draws."""
    total, n = 0.0, 0
    for m in range(weights.size):
        if pool[m]:
            total += weights[m]
        cumulative[0, m] = total
    for i in range(weights.size):
        while n < weights.size - 1 and cumulative[0, n] * weights.size <= i * total:
            n += 1
        cumulative[1, i] = n


@lean
def draw_agent(cumulative, u):
    """Return the first agent whose cumulative weight exceeds ``u`` times the total; the agent's weight is positive."""
    sums, target, n = cumulative[0], u * cumulative[0, -1], int(u * cumulative.shape[1])
    if sums[n] <= target or (n and sums[n - 1] > target):  # the weights differ, or agents have left
        n = int(cumulative[1, n])  # the first that may be drawn
        while n and sums[n - 1] > target:  # by rounding
            n -= 1
        while sums[n] <= target:
            n += 1
    return n


@lean
def retire(weights, pool, cumulative, n):
    """Remove agent n from the pool; return whether the pool still has an agent with a positive weight."""
    pool[n] = False
    accumulate(weights, pool, cumulative)
    return cumulative[0, -1] > 0.0


@lean
def count(vote, arrived, each, ballots, votes, needed, active):
    """Add `each` to the votes against an arm for a new vote that `arrived`; remove arms with at least `needed` votes.

    Return how many arms are left, and how many votes are new.
    """
    left = new = 0
    for k in range(vote.size):
        if vote[k] and arrived and not ballots[k]:
            ballots[k] = True
            votes[k] += each
            new += 1
        active[k] &= votes[k] < needed
        left += active[k]
    return left, new


@lean
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


@lean
def finished(stop, left, undecided, several):
    """Return whether the rule `stop` regards a run with `left` arms in 𝒦 as decided or unable to change.

    `undecided` and `several` are its numbers in `VoteState.open_seats`.
    """
    if stop == COORDINATOR:
        return left <= 1
    if stop == PLAYERS:
        # Nothing changes any more once 𝒦 is empty, or no agent can vote on the arms left in it.
        return undecided == 0 or left == 0 or (left > 1 and several == 0)
    return False


@jit
def _judged(rows, stop, weights, running, active, sent, holds, right, everyone):
    n = rows.size
    correct, inconclusive, left = np.ones(n, np.bool_), np.zeros(n, np.bool_), np.zeros(n, np.int64)
    alone = stop != PLAYERS and not everyone  # the coordinator decides
    for i, r in enumerate(rows):
        held = NOTHING
        for k in range(active.shape[1]):
            if active[r, k]:
                left[i], held = left[i] + 1, k
        held = held if left[i] == 1 else NOTHING
        for agent in range(1 if alone else weights.size):
            if alone or weights[agent] > 0:
                if stop == PLAYERS:
                    held = holds[r, agent]
                elif everyone:
                    kept = ~sent[r, agent]
                    held = kept.argmax() if kept.sum() == 1 else NOTHING
                correct[i] &= held >= 0 and right[r, held]
                inconclusive[i] |= held < 0 and not running[r]
    return correct, inconclusive, left


def judged(book: VoteState, right: Array, everyone: bool, rows: Array) -> tuple[Array, Array, Array]:
    """Return whether each of the runs `rows` is correct, whether it is inconclusive, and how many arms 𝒦 has.

    With the players' stop, the arm that each player holds decides.  Otherwise it is the arm that each agent holds by
    its own votes if `everyone` counts, or the arm that the coordinator holds.
    """
    parts = book.weights, book.running, book.active, book.sent, book.holds  # one by one: the whole state takes longer
    return _judged(rows, book.stop, *parts, right, everyone)


@jit
def decided(stop, running, active, open_seats, cumulative):
    """Return ``(R,)`` bool: whether the run is decided, can no longer change, or has no agent that can act."""
    found = np.zeros(running.size, np.bool_)
    for r in range(found.size):
        if not running[r]:
            over = cumulative[r, 0, -1] == 0.0
            found[r] = over or finished(stop, active[r].sum(), open_seats[r, 0], open_seats[r, 1])
    return found


# -- the phases: all runs, each by the rules above.  The whole state as one argument takes longer than its parts. ---


@alike
def pull(
    action, drawn, coin, location, gaps, turns, reward, weights, leaves, round_cost, regret, active_agents, pool,
    running, rounds, messages, cumulative, stop,
):  # fmt: skip
    """Play phase 1 in every run that is not over, draw its next active agent, and write its rewards ``(R, 1, K)``.

    The reward of a pulled arm is that in `drawn` or, with `coin`, whether the number drawn is below the location; other
    arms have NaN.  If idle agents leave, an agent without pulls leaves, and its activation is no round.  From `weights`
    on, the arguments are ``VoteState[:11]``.
    """
    for r in range(turns.size):
        idle, deserted, lost = True, False, 0.0
        for k in range(action.shape[2]):
            reward[r, 0, k] = np.nan
            if running[r] and action[r, 0, k]:
                reward[r, 0, k] = (1.0 if drawn[r, k] < location[r, k] else 0.0) if coin else drawn[r, k]
                lost += gaps[r, k]
                idle = False
        if not running[r]:
            continue
        if stop == HORIZON:
            regret[r] += lost
        if leaves and idle:
            deserted = not retire(weights, pool[r], cumulative[r], active_agents[r])
        else:
            rounds[r] += 1
            messages[r] += round_cost
        if not deserted:
            active_agents[r] = draw_agent(cumulative[r], turns[r])


@lean
def cast_rows(vote, who, running, sent):
    """Write the votes ``(R, 1, K)`` of the active agents `who` to `sent`, in the runs that are not over."""
    for r in range(len(who)):
        for k in range(vote.shape[2]):
            sent[r, who[r, 0], k] |= running[r] and vote[r, 0, k]


@alike
def talk(
    vote, arrived, who, ballots, each, running, rounds, messages, cumulative, stop, horizon, needed, vote_cost, active,
    sent, counted, votes, read, holds, open_seats,
):  # fmt: skip
    """Play phase 2: count votes, remove arms with enough votes, and end runs.

    A vote that is not in `ballots` yet is charged as a message, and counts as `each` votes.  Runs end that are
    decided, have no agent left to act, or have reached the horizon.  From `running` on, the arguments are
    ``VoteState[6:]``.
    """
    for r in range(len(who)):
        n = who[r, 0]
        if not running[r]:
            continue
        if stop == PLAYERS:  # first store which arm the active agent still holds
            read[r, n] = active[r].sum()
            settle(sent[r, n], active[r], read[r, n] == 1, n, holds[r], open_seats[r])
        left, new = count(vote[r, 0], arrived[r, 0], each, ballots[r, n], votes[r], needed, active[r])
        messages[r] += vote_cost * new
        over = cumulative[r, 0, -1] == 0.0 or (horizon >= 0 and rounds[r] >= horizon)
        running[r] = not (over or finished(stop, left, open_seats[r, 0], open_seats[r, 1]))
