"""A routine in compiled code: its scalar rules over all runs, beat by beat, and in one loop over a run."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from hushbandits.core import Array, jit
from hushbandits.envs.exploration.votes import (
    HORIZON,
    PLAYERS,
    cast,
    charge,
    count,
    draw_agent,
    finished,
    news,
    retire,
    settle,
)
from hushbandits.routines.routine import RESETS, State


class Player(NamedTuple):
    """What plays: a routine's state and its own luck, of all runs."""

    state: State
    params: Array
    shared: bool  # one state for all agents
    resets: bool  # whether the env passes resets on
    single: bool  # whether it takes one arm per activation
    draws: int  # luck of an activation, and of a phase's end
    width: int
    luck: Array  # (R, L)
    at: Array  # (R,)


class Loss(NamedTuple):
    """How votes get lost: below `rate` by luck; −1: they do not."""

    rate: float
    luck: Array  # (R, L)
    at: Array  # (R,)


class Rules(NamedTuple):
    """A routine's rules over runs: beat by beat, or one run for as long as its luck lasts.

    Parameters
    ----------
    plan, learn, sync : compiled
        What the active agents do in a beat, in all runs.
    episode : compiled ``(r, until, player, outcomes, at, loss, book) → (at, reset)``
        Play run r until `until` rounds; stop where it is at the end of the outcomes or of some luck, at a reset, or at
        the end of the run.
    """

    plan: Callable[..., None]
    learn: Callable[..., None]
    sync: Callable[..., None]
    episode: Callable[..., tuple[int, bool]]


@lru_cache
def compiled(plan: Callable[..., int], learn: Callable[..., int], sync: Callable[..., None]) -> Rules:
    """Close the scalar rules of a routine into loops."""

    @jit
    def plan_rows(state, live, who, p, active, luck, at, width, arms):
        arms[:] = False
        for r in range(who.size):
            if live[r]:
                plan(state, r, who[r], p, active[r], arms[r], luck[r, at[r] : at[r] + width])
                at[r] += width

    @jit
    def learn_rows(state, live, who, p, arms, reward, luck, at, width, vote, ended):
        vote[:] = False
        for r in range(who.size):
            ended[r] = 0
            if live[r] and arms[r].any():
                ended[r] = learn(state, r, who[r], p, arms[r], reward[r], luck[r, at[r] : at[r] + width], vote[r])
                if ended[r]:
                    at[r] += width

    @jit
    def sync_rows(state, ended, who, p, active):
        for r in range(who.size):
            if ended[r]:
                sync(state, r, who[r], p, active[r])

    @jit
    def episode(r, until, player, outcomes, at, loss, book):
        # One pass of the loop is one activation: plan, pull, turn, learn, vote, loss, count, settle, sync; as
        # Exploration's beats, in their order.
        # Rows are taken out of the tuples here: within the loop each would cost a reference count.
        state, p, shared, draws, width = player.state, player.params, player.shared, player.draws, player.width
        luck, spent = player.luck[r], player.at[r]
        rewards, gaps, turns = outcomes.rewards, outcomes.gaps, outcomes.turns
        rate, lost, thrown = loss.rate, loss.luck[r], loss.at[r]
        weights, pool, cumulative = book.weights, book.pool[r], book.cumulative[r]
        sent, counted, votes, standing = book.sent[r], book.counted[r], book.votes[r], book.active[r]
        holds, open_seats = book.holds[r], book.open_seats[r]
        rounds, messages, regret = book.rounds[r], book.messages[r], book.regret[r]
        stop, horizon, vote_cost, round_cost = book.stop, book.horizon, book.vote_cost, book.round_cost
        leaves, needed = book.leaves, book.needed
        n_arms, left, n = standing.size, standing.sum(), book.who[r]
        arms, vote = np.zeros(n_arms, np.bool_), np.zeros(n_arms, np.bool_)
        live, reset = True, False
        while (
            live
            and not reset
            and rounds < until
            and at < turns.size
            and spent + draws + width <= luck.size
            and thrown + n_arms <= lost.size
        ):
            seat = 0 if shared else n
            then, deserted, ended, alone = n, False, 0, left == 1
            arms[:] = False
            pulled = plan(state, r, seat, p, standing, arms, luck[spent : spent + draws])
            spent += draws
            if player.single and pulled > 1:
                raise ValueError("action must be one arm per activation, or none: single=True")
            if pulled == 0 and leaves:
                deserted = not retire(weights, pool, cumulative, n)
            else:
                rounds += 1
                messages += round_cost
            if not deserted:
                then = draw_agent(cumulative, turns[at])
            if pulled > 0:
                if stop == HORIZON:
                    regret += charge(arms, gaps[at % gaps.shape[0]])
                ended = int(learn(state, r, seat, p, arms, rewards[at], luck[spent : spent + width], vote))
            at += 1
            if ended > 0:
                spent += width
                if vote.any():
                    cast(vote, sent[n])
                    if rate >= 0.0:
                        for k in range(n_arms):
                            vote[k] = vote[k] and lost[thrown + k] >= rate
                        thrown += n_arms
                    messages += vote_cost * news(vote, counted[n])
                    left = count(vote, counted[n], votes, needed, standing)
                    vote[:] = False
            if stop == PLAYERS:
                settle(sent[n], standing, alone, n, holds, open_seats)
            if ended > 0:
                sync(state, r, seat, p, standing)
            if ended == RESETS and player.resets:
                messages += vote_cost
                reset = True
            live = not (deserted or (horizon >= 0 and rounds >= horizon) or finished(stop, left, open_seats))
            n = then
        player.at[r], loss.at[r], book.who[r] = spent, thrown, n
        book.rounds[r], book.messages[r], book.regret[r], book.live[r] = rounds, messages, regret, live
        return at, reset

    return Rules(plan_rows, learn_rows, sync_rows, episode)
