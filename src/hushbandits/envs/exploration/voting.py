"""Base of teams that vote; the rules of one agent are scalar functions, played by phases or in compiled episodes.

A `Routine` states what one agent does with its own samples.  `VotingTeam` plays it phase by phase.  If compiled code
knows all wrappers, it can also play whole runs in one compiled loop.  The loop reads the same random streams in the
same order, so the results are identical to the bit.
"""

import math
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import ClassVar, NamedTuple

import numpy as np

from hushbandits.best_arm.routine import RESETS, Routine, State
from hushbandits.core import LONGEST, Array, Inbox, Observation, Streams, Team, World, lean
from hushbandits.core.random.names import DRAWS, NOISE
from hushbandits.core.random.philox import PLACE, as_uniform, fill, refill, uniform
from hushbandits.core.utils.jit import alike, inlined, within
from hushbandits.envs.exploration import ballot
from hushbandits.policies.policy import check_unit_rewards

_Rule = Callable[..., int]


class Player(NamedTuple):
    """The state and random streams of a routine, for all runs."""

    state: State
    params: Array
    shared: bool  # one state for all agents
    resets: bool  # whether the env allows resets
    single: bool  # whether an activation pulls one arm
    noises: Array  # (R, 10) cursors of the noise at a phase's end, and its next values (R, W)
    noise: Array
    arms: Array  # (K,) bool of an activation
    vote: Array  # (K,) bool, False between activations


class Rules(NamedTuple):
    """Compiled loops of a routine's rules: over all runs phase by phase, or over one run for many activations.

    Parameters
    ----------
    plan, learn, sync : compiled
        Rules of the active agents in a phase, for all runs.
    episode : compiled ``(r, until, player, outcomes, draws, at, rate, lost, book) → (at, reset)``
        Play run r until `until` rounds; stop at the end of the outcomes, at a reset, or at the end of the run.  A vote
        is lost if its uniform, by the cursors `lost`, is below `rate`; −1: none is lost.
    """

    plan: Callable[..., None]
    learn: Callable[..., bool]
    sync: Callable[..., None]
    episode: Callable[..., tuple[int, bool]]


@lru_cache
def compiled(
    plan: _Rule, learn: _Rule, sync: Callable[..., None], kind: Callable[..., State], dtypes: tuple[str, ...]
) -> Rules:
    """Return compiled loops over the scalar rules of a routine, whose state is a named tuple `kind` of given `dtypes`.

    Each phase takes the state as a plain tuple: Numba needs longer to recognise the arrays of a named one.
    """

    @alike
    def plan_rows(parts, live, who, p, active, draws, arms):
        state = kind(*parts)
        arms[:] = False
        for r in range(who.size):
            if live[r]:
                plan(state, r, who[r, 0], p, active[r, 0, 0], arms[r, 0], draws[r])

    @alike
    def learn_rows(parts, live, who, p, arms, reward, noises, noise, vote, ended):
        state, some = kind(*parts), False
        vote[:] = False
        for r in range(who.size):
            ended[r] = 0
            if live[r] and arms[r, 0].any():
                ended[r] = learn(state, r, who[r, 0], p, arms[r, 0], reward[r, 0], noise[r], vote[r, 0])
                if ended[r]:
                    fill(noises, r, noise[r])
                    some = True
        return some

    @lean
    def sync_rows(parts, ended, who, p, active):
        for r in range(who.size):
            if ended[r]:
                sync(kind(*parts), r, who[r, 0], p, active[r, 0, 0])

    return Rules(plan_rows, learn_rows, sync_rows, _episode(within(plan), within(learn), sync))


@inlined
def _uniform_at(stream, place):
    """Return the uniform sample at a place of a stream, given as a cursor that keeps the block last read."""
    if place >> 2 != np.int64(stream[PLACE]) >> 2:
        stream[PLACE] = np.uint64(place)
        refill(stream)
    return as_uniform(stream[6 + (place & 3)])


def _episode(plan: _Rule, learn: _Rule, sync: Callable[..., None]) -> Callable[..., tuple[int, bool]]:
    @alike
    def episode(r, until, player, outcomes, draws, at, rate, lost, book):
        # One pass of the loop is one activation, in the order of Exploration's phases: plan, pull, turn, learn, vote,
        # loss, count, settle, sync.
        state, p, shared, noises, noise = player.state, player.params, player.shared, player.noises, player.noise[r]
        rewards, first, stream, locations, gaps, turns = outcomes
        weights, pool, cumulative = book.weights, book.pool[r], book.cumulative[r]
        sent, counted, votes, standing = book.sent[r], book.counted[r], book.votes[r], book.active[r]
        read, holds, open_seats = book.read[r], book.holds[r], book.open_seats[r]
        rounds, messages, regret = book.rounds[r], book.messages[r], book.regret[r]
        stop, horizon, vote_cost, round_cost = book.stop, book.horizon, book.vote_cost, book.round_cost
        leaves, needed = book.leaves, book.needed
        n_arms, left, n = standing.size, standing.sum(), book.active_agents[r]
        arms, vote = player.arms, player.vote
        live, reset = True, False
        while live and not reset and rounds < until and at < turns.size:
            seat = 0 if shared else n
            then, deserted, ended, before = n, False, 0, left
            arms[:] = False
            pulled = plan(state, r, seat, p, standing, arms, draws[at])
            if player.single and pulled > 1:
                raise ValueError("action must pull at most one arm per activation, because one_arm_per_step=True")
            if pulled == 0 and leaves:
                deserted = not ballot.retire(weights, pool, cumulative, n)
            else:
                rounds += 1
                messages += round_cost
            if not deserted:
                then = ballot.draw_agent(cumulative, turns[at])
            if pulled > 0:
                if stop == ballot.HORIZON:
                    lost_now, gap = 0.0, gaps[at % gaps.shape[0]]
                    for k in range(n_arms):
                        if arms[k]:
                            lost_now += gap[k]
                    regret += lost_now
                reward = rewards[at if first < 0 else 0]
                if first >= 0:
                    location = locations[at if locations.shape[0] > 1 else 0]
                    for k in range(n_arms):
                        if arms[k]:
                            reward[k] = _uniform_at(stream, (first + at) * n_arms + k) < location[k]
                ended = int(learn(state, r, seat, p, arms, reward, noise, vote))
            at += 1
            if ended > 0:
                fill(noises, r, noise)
                if vote.any():
                    for k in range(n_arms):
                        sent[n, k] |= vote[k]
                        if rate >= 0.0:
                            arrives = uniform(lost, r) >= rate
                            vote[k] = vote[k] and arrives
                    left, new = ballot.count(vote, True, 1, counted[n], votes, needed, standing)
                    messages += vote_cost * new
                    vote[:] = False
            if stop == ballot.PLAYERS and (ended > 0 or read[n] != before):
                read[n] = before
                ballot.settle(sent[n], standing, before == 1, n, holds, open_seats)
            if ended > 0:
                sync(state, r, seat, p, standing)
            if ended == RESETS and player.resets:
                messages += vote_cost
                reset = True
            over = deserted or (horizon >= 0 and rounds >= horizon)
            live = not (over or ballot.finished(stop, left, open_seats[0], open_seats[1]))
            n = then
        book.active_agents[r] = n
        book.rounds[r], book.messages[r], book.regret[r], book.running[r] = rounds, messages, regret, live
        return at, reset

    return episode


_FIRST, _BLOCK = 1 << 9, 1 << 13  # activations whose random numbers an episode draws at once, at first and at most
_AHEAD = 1 << 18  # most rewards drawn at once, K per activation


class VotingTeam(Team):
    """Base class of the agents of private exploration.

    A subclass defines `routine`, which may depend on K.
    """

    setting = "exploration"
    required_inbox = ("active",)
    decides_runs = True
    #: Whether all agents share one state, as a central learner.
    shared: ClassVar[bool] = False
    #: Whether a finished agent goes on to pull its arm, within ε of the best; otherwise it pulls no more.
    plays_on: ClassVar[bool] = False

    def routine(self, n_arms: int) -> Routine:
        """Return the routine that each agent follows in an env of `n_arms` arms."""
        raise NotImplementedError(f"{type(self).__name__} must define routine(n_arms)")

    def validate_env(self, env: World) -> None:
        """Raise ``ValueError`` if `env` lacks what the routine needs: resets, several arms, or rewards in [0, 1]."""
        routine = self.routine(env.n_arms)
        if routine.resets and "reset" not in env.fields:
            raise ValueError(f"{self.name} resets the vote: it needs allow_vote_resets=True, not False")
        if routine.several and env.one_arm_per_step:
            raise ValueError(f"{self.name} pulls several arms per activation, but this env has one_arm_per_step=True")
        if routine.unit_interval:
            check_unit_rewards(self.name, env)

    def reset(self, env: World, rng: Streams) -> None:
        runs, n, k = len(rng), 1 if self.shared else env.n_agents, env.n_arms
        self._make_rules(k)
        self._p = np.array(self._routine.params, float)
        state = self._routine.state(runs, n, k)
        self._state = type(state)(*map(np.ascontiguousarray, state))
        self._parts = tuple(self._state)  # Numba reads it sooner
        self._draws, self._noises = rng.reader((self._routine.draws,), DRAWS), rng.cursors(part=NOISE)
        self._noise = np.empty((runs, self._routine.uniforms))
        for r in range(runs):
            fill(self._noises, r, self._noise[r])
        self._active = np.ones((runs, 1, 1, k), bool)
        self._arms, self._vote = np.zeros((2, runs, 1, k), bool)
        self._ended = np.zeros(runs, np.int64)
        self._resets = "reset" in env.fields

    def act(self, obs: Observation) -> Array:
        """Return the arms that each active agent's routine pulls."""
        # Rules are `alike`: what the env and wrappers return is made an array of a fixed type.
        who = np.zeros_like(obs.active_agents) if self.shared else obs.active_agents
        self._live, self._n = np.ascontiguousarray(obs.running, bool), np.ascontiguousarray(who, np.int64)
        self._rules.plan(self._parts, self._live, self._n, self._p, self._active, self._draws.next(), self._arms)
        return self._arms

    def compose(self, reward: Array) -> dict[str, Array] | None:
        """Return the votes of the active agents whose routine has just completed one of its own phases."""
        self._some = self._rules.learn(
            self._parts, self._live, self._n, self._p, self._arms, np.ascontiguousarray(reward, float), self._noises,
            self._noise, self._vote, self._ended,
        )  # fmt: skip
        if not self._some:
            return None
        message = {"vote": self._vote}
        return {**message, "reset": (self._ended == RESETS)[:, None]} if self._resets else message

    def receive(self, inbox: Inbox) -> None:
        """Store the global set, pass it to routines that completed a phase, and restart routines after a reset."""
        self._active[:] = inbox["active"]
        if self._some:
            self._rules.sync(self._parts, self._ended, self._n, self._p, self._active)
        if self._resets:
            for r in np.flatnonzero(inbox["reset"]):
                self._restart(int(r))

    def __getstate__(self) -> dict[str, object]:
        # Rules are code: the team's parameters determine them.
        return {name: value for name, value in self.__dict__.items() if name not in ("_routine", "_rules")}

    def __setstate__(self, state: dict[str, object]) -> None:
        self.__dict__.update(state)
        if "_active" in state:
            self._make_rules(self._active.shape[-1])

    def _make_rules(self, n_arms: int) -> None:
        self._routine = self.routine(n_arms)
        self._fresh = self._routine.state(1, 1, n_arms)
        rules = self._routine.plan, self._routine.learn, self._routine.sync
        self._rules = compiled(*rules, type(self._fresh), tuple(part.dtype.str for part in self._fresh))

    def _restart(self, r: int) -> None:
        for array, fresh in zip(self._state, self._fresh, strict=True):
            array[r] = fresh[0, 0]

    def episode(
        self, env: World, until: float = math.inf, stops: Sequence[float] = (), look: Callable[[], None] | None = None
    ) -> bool:
        """Play every run in compiled code; return False if a phase is user-defined or a wrapper cannot be compiled."""
        loss = env.vote_loss()
        if loss is None or not all(map(self.ships, ("act", "compose", "receive"))):
            return False
        for stop in (*stops, until):
            goal = math.ceil(min(stop, until, env.horizon or LONGEST, LONGEST))
            for r in map(int, np.flatnonzero(env.running)):
                self._play(env, r, goal, *loss)
            env.played()
            self._active[:, 0, 0] = env.book.active
            if look is not None:
                look()
        return True

    def _play(self, env: World, r: int, goal: int, rate: float, lost: Array) -> None:
        """Play run r in compiled code up to round `goal`."""
        rounds, k = env.book.rounds, env.n_arms
        at, outcomes, draws = 0, None, np.empty((0, 0))
        marks, single = np.zeros((2, k), bool), env.one_arm_per_step
        player = Player(self._state, self._p, self.shared, self._resets, single, self._noises, self._noise, *marks)
        while env.book.running[r] and rounds[r] < goal:
            if outcomes is None or at == len(outcomes.turns):
                # An activation is at most one round, so no outcome is left over at the goal.
                ahead = max(1, min(_BLOCK, _AHEAD // k, max(_FIRST, 3 * int(rounds[r])), goal - int(rounds[r])))
                at, outcomes, draws = 0, env.outcomes(r, ahead), self._draws.take(r, ahead)
            at, reset = self._rules.episode(r, goal, player, outcomes, draws, at, float(rate), lost, env.book)
            if reset:
                ballot.clear(env.book, np.array([r]))
                self._restart(r)
