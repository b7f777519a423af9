"""Learners whose actions come from outside: a round of theirs is played in one compiled call."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from hushbandits.core import Arms, Array, lean
from hushbandits.core.utils.jit import machine_code
from hushbandits.envs.network.inbox import Mail
from hushbandits.envs.network.rules import Books, Fates, Payment, Rules, compiled, nothing
from hushbandits.envs.rounds.env import compiles, shifted
from hushbandits.envs.rounds.task import ArmTask, add_pulls, add_tallies

_PARTS = "own_mean", "own_width", "heard_mean", "heard_width", "time"


class _Statistics(NamedTuple):
    """The statistics and observations of a task."""

    pulls: Array
    sums: Array
    heard_pulls: Array
    heard_sums: Array
    observations: Array
    horizon: int
    at: tuple[int, ...]  # where an observation has `_PARTS`


@lean
def _learn(own, r, arms, rewards):
    add_pulls(arms[r], rewards[r], own.pulls[r], own.sums[r], own.observations[r], own.at[0], own.at[1])


@lean
def _hear(own, r, heard, t):
    pulls, sums, seen = own.heard_pulls[r], own.heard_sums[r], own.observations[r]
    add_tallies(heard[:, :, 0], heard[:, :, 1], pulls, sums, seen, own.at[2], own.at[3])
    seen[:, own.at[4]] = min(t / own.horizon, 1.0)


_RULES = Rules(nothing, _learn, _hear, "tally")  # actions choose the arms


class Learners:
    """All agents of a task in the env `core`, whose rounds are compiled.

    `code` is the `play_round` of the task's last episode, which had arrays of the same types.
    """

    def __init__(self, task: ArmTask, core: Any, code: Callable[..., None] | None):
        self._core = core
        shape = core.runs, core.n_agents
        self._arms, self._rewards = np.zeros(shape, np.int64), np.empty(shape)
        self._fates = Fates(np.empty((0, *shape), bool), np.empty((0, *shape)))
        seen = task.pulls, task.sums, task._heard_n, task._heard_s, task.observations
        at = tuple([task.layout[part].start for part in _PARTS])
        self._all = (
            _Statistics(*seen, core.horizon, at),
            Mail.of(core._ring, core.slots, _RULES.fields),
            np.empty((1, core.n_agents, core.n_arms, 2)),
            Books(self._arms, self._rewards, core._regret, core._messages, core._edges, 0),
            Payment.of(core, 0, 1),
        )
        each = *self._all, self._rewards[None], self._fates, 0, 0
        self.play_round = code or machine_code(compiled(_RULES).rounds, *each)

    @classmethod
    def of(cls, task: ArmTask, code: Callable[..., None] | None) -> "Learners | None":
        """Return the learners of `task`, or ``None`` if their rounds need phases."""
        core = task.core
        if not task._events or task._slotted or "reward" not in core.own_reward_fields or core.wrappers:
            return None
        paid = compiles(core.law) and type(core.arms) is Arms and not core.arms.moving
        return cls(task, core, code) if paid and core.has_compiled_rounds(_RULES.fields) else None

    def play(self, arms: Array) -> Array:
        """Play a round of `arms`, ``(R, M)``, and return the rewards."""
        core = self._core
        core._phase = "broken"  # until the round is over
        self._arms[:] = arms
        uniforms = shifted(core.law, core._uniforms.next())[None]
        self.play_round(*self._all, uniforms, self._fates, int(core._t[0]), core._ring.t)
        core._played(1, arms, self._rewards)
        return self._rewards.copy()
