"""Teams that vote: one routine per agent, a stepwise team and a compiled episode from the same scalar rules.

A `Routine` is what one agent does with its own samples.  `VotingTeam` plays it by the beats; where nothing but
known wrappers stands between the agents and the coordinator it can also play whole runs in one compiled loop,
which reads the same tapes in the same order and so ends with the same bits.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any, ClassVar, NamedTuple

import numpy as np

from hushbandits.envs.exploration.votes import (
    PLAYERS,
    cast,
    charge,
    clear,
    count,
    draw_agent,
    finished,
    news,
    retire,
    settle,
)
from hushbandits.core.jit import jit
from hushbandits.core.messages import Inbox
from hushbandits.core.obs import Obs
from hushbandits.core.tapes import Ragged, stream
from hushbandits.core.team import Team
from hushbandits.core.types import Array, Seeds
from hushbandits.core.world import World
from hushbandits.policies.routine import RESETS, Routine

__all__ = ["VotingTeam"]

_BLOCK = 1 << 13  # activations whose luck is drawn at once by an episode


class VotingTeam(Team):
    """Base of the agents of private exploration.

    A subclass sets `routine` (which may depend on K) and its `protocol`.
    """

    setting = "exploration"
    hears = ("active",)
    #: Whether all agents work on one agent's state: a central learner.
    shared: ClassVar[bool] = False

    def routine(self, n_arms: int) -> Routine:
        """Return the rules of one agent."""
        raise NotImplementedError(f"{type(self).__name__} must define routine(n_arms)")

    def reset(self, env: World, seeds: Seeds) -> None:
        """Every agent begins afresh."""
        runs, n, k = len(seeds), 1 if self.shared else env.n_agents, env.n_arms
        self._make_rules(k)
        self._p = np.array(self._routine.params)
        self._state = self._routine.state(runs, n, k)
        self._fresh = self._routine.state(1, 1, k)
        self._luck = Ragged(seeds, f"agent/{self.name}")
        self._active = np.ones((runs, k), bool)
        self._arms = np.zeros((runs, k), bool)
        self._vote = np.zeros((runs, k), bool)
        self._ended = np.zeros(runs, np.int64)
        self._resets = "reset" in env.fields

    def act(self, obs: Obs) -> Array:
        """Ask each active agent's routine for its arms."""
        self._live, self._n = obs.live.copy(), obs.who[:, 0].copy()
        if self.shared:
            self._n[:] = 0
        width = self._routine.draws
        self._luck.ensure(width)
        self._beats.plan(
            self._state, self._live, self._n, self._p, self._active, self._luck.block, self._luck.at, width, self._arms
        )
        return self._arms[:, None]

    def speak(self, reward: Array) -> dict[str, Any] | None:
        """Vote where a phase ends."""
        width = self._routine.luck
        self._luck.ensure(width)
        self._beats.learn(
            self._state, self._live, self._n, self._p, self._arms, np.array(reward[:, 0]), self._luck.block,
            self._luck.at, width, self._vote, self._ended,
        )  # fmt: skip
        if not self._ended.any():
            return None
        message = {"vote": self._vote[:, None]}
        return {**message, "reset": (self._ended == RESETS)[:, None]} if self._resets else message

    def hear(self, inbox: Inbox) -> None:
        """Keep the global set; where a phase ended, the routine looks at it; where a reset came, begin afresh."""
        self._active[:] = inbox["active"][:, 0, 0]
        if self._ended.any():
            self._beats.sync(self._state, self._ended, self._n, self._p, self._active)
        if self._resets:
            for r in np.flatnonzero(inbox["reset"]):
                self._restart(int(r))

    def __getstate__(self) -> dict[str, Any]:
        # Rules are code: whoever has the team's parameters has them.
        return {name: value for name, value in self.__dict__.items() if name not in ("_routine", "_beats")}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        if "_active" in state:
            self._make_rules(self._active.shape[1])

    def _make_rules(self, n_arms: int) -> None:
        self._routine = self.routine(n_arms)
        self._beats = _beats(self._routine.plan, self._routine.learn, self._routine.sync)

    def _restart(self, r: int) -> None:
        for array, fresh in zip(self._state, self._fresh, strict=True):
            array[r] = fresh[0, 0]

    def episode(self, env: World, seeds: Seeds) -> bool:
        """Play every run in compiled code, if the env's wrappers are ones that the episode knows."""
        world: Any = env
        loss = world.vote_loss()
        if loss is None:
            return False
        rate, tape = loss
        routine, n_arms = self._routine, env.n_arms
        kernel = _episode(routine.plan, routine.learn, routine.sync)
        arms, vote = np.zeros(n_arms, bool), np.zeros(n_arms, bool)
        for r, seed in enumerate(seeds):
            rewards, turns = stream(seed, "reward"), stream(seed, "activation")
            lost = Ragged([seed], tape)
            turn = np.array([turns.random()])
            reset = np.zeros(1, bool)
            start, at = 0, 0
            block_turns = block_rewards = gaps = np.empty(0)
            while env.live[r]:
                if at == len(block_turns):
                    start, at = start + at, 0
                    block_rewards, gaps = world.outcomes(r, rewards.random((_BLOCK, n_arms)), start)
                    block_turns = turns.random(_BLOCK)
                self._luck.ensure(routine.draws + routine.luck, r)
                lost.ensure(n_arms)
                at = kernel(
                    self._state, r, self._p, self.shared, routine.draws, routine.luck, self._luck.block, self._luck.at,
                    block_rewards, gaps, block_turns, at, turn, rate, lost.block[0], lost.at, arms, vote, reset,
                    world.book,
                )  # fmt: skip
                if reset[0]:
                    reset[0] = False
                    clear(world.book, r)
                    self._restart(r)
        world.close()
        return True


class _Beats(NamedTuple):
    plan: Any
    learn: Any
    sync: Any


@lru_cache
def _beats(plan: Any, learn: Any, sync: Any) -> _Beats:
    @jit
    def plan_rows(state, live, who, p, active, luck, at, width, arms):  # type: ignore[no-untyped-def]
        arms[:] = False
        for r in range(who.size):
            if live[r]:
                plan(state, r, who[r], p, active[r], arms[r], luck[r, at[r] : at[r] + width])
                at[r] += width

    @jit
    def learn_rows(state, live, who, p, arms, reward, luck, at, width, vote, ended):  # type: ignore[no-untyped-def]
        vote[:] = False
        for r in range(who.size):
            ended[r] = 0
            if live[r] and arms[r].any():
                ended[r] = learn(state, r, who[r], p, arms[r], reward[r], luck[r, at[r] : at[r] + width], vote[r])
                if ended[r]:
                    at[r] += width

    @jit
    def sync_rows(state, ended, who, p, active):  # type: ignore[no-untyped-def]
        for r in range(who.size):
            if ended[r]:
                sync(state, r, who[r], p, active[r])

    return _Beats(plan_rows, learn_rows, sync_rows)


@lru_cache
def _episode(plan: Any, learn: Any, sync: Any) -> Any:
    @jit
    def episode(  # type: ignore[no-untyped-def]
        state, r, p, shared, draws, width, luck, luck_at, rewards, gaps, turns, at, turn, rate, lost, lost_at, arms,
        vote, reset, book,
    ):  # fmt: skip
        # One pass of the loop is one activation: turn, plan, pull, learn, vote, loss, count, settle, sync; as
        # Exploration's beats, in their order.  Returns where it stopped: at the end of the block or of some luck, at
        # a reset, or at the end of the run.
        # Rows are taken out of the book here: within the loop each would cost a reference count.
        weights, pool, cumulative = book.weights, book.pool[r], book.cumulative[r]
        sent, counted, votes, standing = book.sent[r], book.counted[r], book.votes[r], book.active[r]
        holds, open_seats = book.holds[r], book.open_seats[r]
        rounds, messages, regret = book.rounds[r], book.messages[r], book.regret[r]
        stop, horizon, vote_cost, round_cost = book.stop, book.horizon, book.vote_cost, book.round_cost
        leaves, needed = book.leaves, book.needed
        n_arms, left, metered = vote.size, standing.sum(), gaps.shape[0] > 0
        spent, thrown = luck_at[r], lost_at[0]
        live = True
        while (
            live
            and not reset[0]
            and at < turns.size
            and spent + draws + width <= luck.shape[1]
            and thrown + n_arms <= lost.size
        ):
            n = draw_agent(cumulative, turn[0])
            seat = 0 if shared else n
            turn[0] = turns[at]
            deserted, ended, alone = False, 0, left == 1
            arms[:] = False
            pulled = plan(state, r, seat, p, standing, arms, luck[r, spent : spent + draws])
            spent += draws
            if pulled == 0 and leaves:
                deserted = not retire(weights, pool, cumulative, n)
            else:
                rounds += 1
                messages += round_cost
            if pulled > 0:
                if metered:
                    regret += charge(arms, gaps[at])
                ended = int(learn(state, r, seat, p, arms, rewards[at], luck[r, spent : spent + width], vote))
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
            if ended == RESETS:
                messages += vote_cost
                reset[0] = True
            live = not (deserted or (horizon >= 0 and rounds >= horizon) or finished(stop, left, open_seats))
        luck_at[r], lost_at[0] = spent, thrown
        book.rounds[r], book.messages[r], book.regret[r], book.live[r] = rounds, messages, regret, live
        return at

    return episode
