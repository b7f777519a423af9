"""Teams that vote: one routine per agent, a stepwise team and a compiled episode from the same scalar rules.

A `Routine` is what one agent does with its own samples.  `VotingTeam` plays it by the beats; where nothing but
known wrappers stands between the agents and the coordinator it can also play whole runs in one compiled loop,
which reads the same tapes in the same order and so ends with the same bits.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from hushbandits.core.ballot import cast, count, draw_agent, retire
from hushbandits.core.jit import jit
from hushbandits.core.messages import Inbox
from hushbandits.core.obs import Obs
from hushbandits.core.tapes import Ragged, stream
from hushbandits.core.team import Team
from hushbandits.core.types import Array, Seeds

if TYPE_CHECKING:
    from hushbandits.core.env import Env

__all__ = ["Routine", "VotingTeam"]

_BLOCK = 1 << 13  # activations whose luck is drawn at once by an episode


class Routine(NamedTuple):
    """What one agent does, as compiled scalar rules on the arrays of a named tuple of state.

    Parameters
    ----------
    state : callable
        ``state(R, N, K)`` → a named tuple of arrays with leading axes (R, N).
    params : tuple of float
        Handed to every rule as `p`.
    plan : compiled ``(state, r, n, p, active, arms) → int``
        Write the arms to pull in this activation; return how many, 0: idle.
    learn : compiled ``(state, r, n, p, arms, reward, luck, vote) → bool``
        Take the rewards in, add votes to the empty `vote`; whether this activation ends a phase (then the votes
        are sent, `luck` is spent, and `sync` follows).
    sync : compiled ``(state, r, n, p, active)``
        Take in the global set after the votes were counted.
    luck : int
        Uniforms spent at the end of a phase.
    """

    state: Callable[[int, int, int], Any]
    params: tuple[float, ...]
    plan: Any
    learn: Any
    sync: Any
    luck: int


class VotingTeam(Team):
    """Base of the agents of private exploration.

    A subclass sets `routine` (which may depend on K) and its `protocol`.
    """

    setting = "exploration"
    hears = ("active",)

    def routine(self, n_arms: int) -> Routine:
        """Return the rules of one agent."""
        raise NotImplementedError(f"{type(self).__name__} must define routine(n_arms)")

    def reset(self, env: Env, seeds: Seeds) -> None:
        """Every agent begins afresh."""
        runs, n, k = len(seeds), env.n_agents, env.n_arms
        self._routine = self.routine(k)
        self._p = np.array(self._routine.params)
        self._state = self._routine.state(runs, n, k)
        self._beats = _beats(self._routine.plan, self._routine.learn, self._routine.sync)
        self._luck = Ragged(seeds, f"agent/{self.name}")
        self._active = np.ones((runs, k), bool)
        self._arms = np.zeros((runs, k), bool)
        self._vote = np.zeros((runs, k), bool)
        self._ended = np.zeros(runs, bool)

    def act(self, obs: Obs) -> Array:
        """Ask each active agent's routine for its arms."""
        self._live, self._n = obs.live.copy(), obs.who[:, 0].copy()
        self._beats.plan(self._state, self._live, self._n, self._p, self._active, self._arms)
        return self._arms[:, None]

    def speak(self, reward: Array) -> dict[str, Any] | None:
        """Vote where a phase ends."""
        self._luck.ensure(self._routine.luck)
        self._beats.learn(
            self._state,
            self._live,
            self._n,
            self._p,
            self._arms,
            reward[:, 0],
            self._luck.block,
            self._luck.at,
            self._routine.luck,
            self._vote,
            self._ended,
        )
        return {"vote": self._vote[:, None]} if self._ended.any() else None

    def hear(self, inbox: Inbox) -> None:
        """Keep the global set; where a phase ended, the routine looks at it."""
        self._active = inbox["active"][:, 0, 0]
        if self._ended.any():
            self._beats.sync(self._state, self._ended, self._n, self._p, self._active)

    def episode(self, env: Env, seeds: Seeds) -> bool:
        """Play every run in compiled code, if the env's wrappers are ones that the episode knows."""
        loss = env.vote_loss()  # type: ignore[attr-defined]
        if loss is None:
            return False
        rate, tape = loss
        kernel = _episode(self._routine.plan, self._routine.learn, self._routine.sync)
        width, n_arms = self._routine.luck, env.n_arms
        arms, vote = np.zeros(n_arms, bool), np.zeros(n_arms, bool)
        for r, seed in enumerate(seeds):
            rewards, turns = stream(seed, "reward"), stream(seed, "activation")
            lost = Ragged([seed], tape)
            turn = np.array([turns.random()])
            clock = np.zeros(1, np.int64)
            at = 0
            block_rewards, block_turns = np.empty((0, n_arms)), np.empty(0)
            while env.live[r]:
                if at == len(block_turns):
                    block_rewards = env.law.quantile(rewards.random((_BLOCK, n_arms)), env.locations[r])  # type: ignore[attr-defined]
                    block_turns, at = turns.random(_BLOCK), 0
                self._luck.ensure(width, r)
                lost.ensure(n_arms)
                at = kernel(
                    self._state, r, self._p, width, self._luck.block, self._luck.at, block_rewards, block_turns, at,
                    turn, clock, rate, lost.block[0], lost.at, arms, vote, *env.book(),  # type: ignore[attr-defined]
                )  # fmt: skip
        env.close()  # type: ignore[attr-defined]
        return True


class _Beats(NamedTuple):
    plan: Any
    learn: Any
    sync: Any


@lru_cache
def _beats(plan: Any, learn: Any, sync: Any) -> _Beats:
    @jit
    def plan_rows(state, live, who, p, active, arms):  # type: ignore[no-untyped-def]
        arms[:] = False
        for r in range(who.size):
            if live[r]:
                plan(state, r, who[r], p, active[r], arms[r])

    @jit
    def learn_rows(state, live, who, p, arms, reward, luck, at, width, vote, ended):  # type: ignore[no-untyped-def]
        vote[:] = False
        for r in range(who.size):
            ended[r] = False
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
        state, r, p, width, luck, luck_at, rewards, turns, at, turn, clock, rate, lost, lost_at, arms, vote,
        weights, leaves, needed, horizon, live, rounds, messages, active, sent, counted, votes, pool, cumulative,
        vote_cost, round_cost,
    ):  # fmt: skip
        # One pass of the loop is one activation: turn, plan, pull, learn, vote, loss, count, sync; as Exploration's
        # beats, in their order.  Returns where it stopped: at the end of the block, of some luck, or of the run.
        n_arms, standing = vote.size, active[r]
        while at < turns.size and luck_at[r] + width <= luck.shape[1] and lost_at[0] + n_arms <= lost.size:
            n = draw_agent(cumulative[r], turn[0])
            turn[0] = turns[at]
            reward = rewards[at]
            at += 1
            left = 2
            deserted, ended = False, False
            if plan(state, r, n, p, standing, arms) > 0:
                rounds[r] += 1
                messages[r] += round_cost
                ended = learn(state, r, n, p, arms, reward, luck[r, luck_at[r] : luck_at[r] + width], vote)
            elif leaves:
                deserted = not retire(weights, pool[r], cumulative[r], n)
            else:
                rounds[r] += 1
                messages[r] += round_cost
            if ended:
                luck_at[r] += width
                if vote.any():
                    messages[r] += vote_cost * cast(vote, sent[r, n])
                    if rate >= 0.0:
                        for k in range(n_arms):
                            vote[k] = vote[k] and lost[lost_at[0] + k] >= rate
                        lost_at[0] += n_arms
                    left = count(vote, counted[r, n], votes[r], needed, standing)
                    vote[:] = False
                sync(state, r, n, p, standing)
            if left <= 1 or deserted or (horizon >= 0 and rounds[r] >= horizon):
                live[r] = False
                break
        return at

    return episode
