"""Teams that vote: one routine per agent, a stepwise team and a compiled episode from the same scalar rules.

A `Routine` is what one agent does with its own samples.  `VotingTeam` plays it by the beats; where nothing but
known wrappers stands between the agents and the coordinator it can also play whole runs in one compiled loop,
which reads the same tapes in the same order and so ends with the same bits.
"""

from __future__ import annotations

import math
from typing import ClassVar

import numpy as np

from hushbandits.core import LONGEST, Array, Inbox, Obs, Seeds, Team, Uniforms, World
from hushbandits.core.fields import check_unit_rewards
from hushbandits.envs.exploration.episode import Loss, Player, compiled
from hushbandits.envs.exploration.votes import clear
from hushbandits.routines.routine import RESETS, Routine

_FIRST, _BLOCK = 1 << 9, 1 << 13  # activations whose luck an episode draws at once, at first and at most
_AHEAD = 1 << 18  # most of their rewards, K per activation


class VotingTeam(Team):
    """Base of the agents of private exploration.

    A subclass sets `routine` (which may depend on K) and its `protocol`.
    """

    setting = "exploration"
    hears = ("active",)
    ends = True
    #: Whether all agents work on one agent's state: a central learner.
    shared: ClassVar[bool] = False
    #: Whether an agent that is done holds an arm within ε of the best and plays it on; else it pulls nothing more.
    plays_on: ClassVar[bool] = False

    def routine(self, n_arms: int) -> Routine:
        """Return the rules of one agent among `n_arms` arms."""
        raise NotImplementedError(f"{type(self).__name__} must define routine(n_arms)")

    def meets(self, env: World) -> None:
        """Raise ``ValueError`` where the routine needs what this env has not: resets, pulls, rewards in [0, 1]."""
        routine = self.routine(env.n_arms)
        if routine.resets and "reset" not in env.fields:
            raise ValueError(f"{self.name} resets the vote, and this env knows no resets: build it with resets=True")
        if routine.several and env.single:
            raise ValueError(f"{self.name} pulls several arms in an activation, and this env takes one: single=True")
        if routine.unit_interval:
            check_unit_rewards(self.name, env)

    def reset(self, env: World, seeds: Seeds) -> None:
        runs, n, k = len(seeds), 1 if self.shared else env.n_agents, env.n_arms
        self._make_rules(k)
        self._p = np.array(self._routine.params)
        self._state = self._routine.state(runs, n, k)
        self._fresh = self._routine.state(1, 1, k)
        self._luck = Uniforms(seeds, f"agent/{self.name}")
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
        self._rules.plan(
            self._state, self._live, self._n, self._p, self._active, self._luck.block, self._luck.at, width, self._arms
        )
        return self._arms[:, None]

    def speak(self, reward: Array) -> dict[str, Array] | None:
        """Vote where a phase ends."""
        width = self._routine.luck
        self._luck.ensure(width)
        self._rules.learn(
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
            self._rules.sync(self._state, self._ended, self._n, self._p, self._active)
        if self._resets:
            for r in np.flatnonzero(inbox["reset"]):
                self._restart(int(r))

    def __getstate__(self) -> dict[str, object]:
        # Rules are code: whoever has the team's parameters has them.
        return {name: value for name, value in self.__dict__.items() if name not in ("_routine", "_rules")}

    def __setstate__(self, state: dict[str, object]) -> None:
        self.__dict__.update(state)
        if "_active" in state:
            self._make_rules(self._active.shape[1])

    def _make_rules(self, n_arms: int) -> None:
        self._routine = self.routine(n_arms)
        self._rules = compiled(self._routine.plan, self._routine.learn, self._routine.sync)

    def _restart(self, r: int) -> None:
        for array, fresh in zip(self._state, self._fresh, strict=True):
            array[r] = fresh[0, 0]

    def episode(self, env: World, until: float = math.inf) -> bool:
        """Play every run in compiled code, if the beats are ours and a vote meets nothing but a loss on its way."""
        loss = env.vote_loss()
        if loss is None or not all(map(self.ships, ("act", "speak", "hear"))):
            return False
        goal = math.ceil(min(until, env.horizon or LONGEST, LONGEST))
        with env.played():
            for r in map(int, np.flatnonzero(env.live)):
                self._play(env, r, goal, *loss)
        self._active[:] = env.book.active
        return True

    def _play(self, env: World, r: int, goal: int, rate: float, lost: Uniforms | None) -> None:
        """Play run r to the goal."""
        routine, luck, rounds, k = self._routine, self._luck, env.book.rounds, env.n_arms
        at, outcomes = 0, None
        loss = Loss(rate, np.empty((env.runs, k)), np.zeros(env.runs, np.int64))
        while env.book.live[r] and rounds[r] < goal:
            if outcomes is None or at == len(outcomes.turns):
                # No activation is more than one round: nothing that is read is left over at the goal.
                ahead = min(_BLOCK, _AHEAD // k, max(_FIRST, 3 * int(rounds[r])), goal - int(rounds[r]))
                at, outcomes = 0, env.outcomes(r, max(1, ahead))
            luck.ensure(routine.luck + routine.draws * (len(outcomes.turns) - at), r)
            if lost is not None:
                lost.ensure(k, r)
                loss = Loss(rate, lost.block, lost.at)
            player = Player(
                self._state, self._p, self.shared, self._resets, env.single, routine.draws, routine.luck,
                luck.block, luck.at,
            )  # fmt: skip
            at, reset = self._rules.episode(r, goal, player, outcomes, at, loss, env.book)
            if reset:
                clear(env.book, r)
                self._restart(r)
