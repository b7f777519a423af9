"""The turn-based PettingZoo view: one run as an `AECEnv`, in which only those act whose actions count."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any

import numpy as np
from gymnasium.vector.utils import create_empty_array
from pettingzoo import AECEnv

from hushbandits.core.actions import Stacked, read, sample_mask
from hushbandits.core.entries import AnyEnv
from hushbandits.core.ground.types import Array, Params
from hushbandits.views.make import make
from hushbandits.views.run import OneRun

__all__ = ["AECView", "make_aec"]


class AECView(OneRun, AECEnv[str, Array, object]):
    """One run of an array core, agents one after the other (built by `make_aec`).

    A step is one agent's action.  Turns within a step of the run go to the agents whose actions count in it, as their
    ``acts`` and ``speaks`` say, in order of name: to everybody in a network, to the one who is drawn in exploration,
    and in feedback to the servers that still have users.  Once the last of them has acted, the step is played, all
    agents earn what it pays, and the next turns begin; until then nobody sees what the others have chosen.  With
    ``beats=2`` an agent acts and then speaks; a beat in which nobody has anything to say is played at once.

    Who acts is told in its ``infos`` which choices count (``action_mask``); the last infos are those of `ParallelView`.
    An episode is that of a `ParallelView` with the same seed and the same actions.

    Parameters and attributes are those of `OneRun`; `max_cycles` counts steps of the run, not turns.
    """

    rewards: dict[str, float]
    _cumulative_rewards: dict[str, float]
    terminations: dict[str, bool]
    truncations: dict[str, bool]
    infos: dict[str, Params]

    # -- the episode --------------------------------------------------------------------------------------------

    def reset(self, seed: int | None = None, options: Params | None = None) -> None:
        """Start an episode; `seed` and `options` as for `OneRun.begin`."""
        self.begin(seed, options)
        self._number = {agent: m for m, agent in enumerate(self.possible_agents)}
        self._seen = self.seen()
        self._skip_agent_selection = None
        self.rewards, self._cumulative_rewards = dict.fromkeys(self.agents, 0.0), dict.fromkeys(self.agents, 0.0)
        self.terminations, self.truncations = dict.fromkeys(self.agents, False), dict.fromkeys(self.agents, False)
        self._begin_turns()
        if self.render_mode == "human":
            self.render()

    def _begin_turns(self) -> bool:
        """The next step of the run: whether anybody has a turn in it, who, and what they are told."""
        flags = self._seen[:, [self.layout["acts"].start, self.layout["speaks"].start]]
        self._due = [self.possible_agents[m] for m in np.flatnonzero(flags.any(1))]
        self._action = self._void()
        self.infos = {agent: {} for agent in self.agents}
        if not self._due:
            return False
        mask, told = self.task.mask()[0], self.told()
        for agent in self._due:
            own = sample_mask(self.task.action_space, mask[self._number[agent]])
            self.infos[agent] = {"action_mask": own, **copy.deepcopy(told)}
        self.agent_selection = self._due.pop(0)
        return True

    def _void(self) -> Stacked:
        """Actions of everybody that say nothing yet, ``(1, M, …)``."""
        empty: Stacked = create_empty_array(self.task.action_space, len(self.possible_agents), np.zeros)
        return {name: part[None] for name, part in empty.items()} if isinstance(empty, Mapping) else empty[None]

    def step(self, action: object) -> None:
        """Take the action of `agent_selection`; ``None`` from one whose episode is over.

        Raises
        ------
        ValueError
            An action outside its space; nothing has happened then.
        RuntimeError
            The episode has not begun, or everybody has left it.
        """
        if not self.agents:
            raise RuntimeError("step before the start or after the end of an episode: call reset() first")
        agent = self.agent_selection
        if self.terminations[agent] or self.truncations[agent]:
            self._was_dead_step(action)
            return
        own, m = read(self.task.action_space, [action], [agent], (1, 1)), self._number[agent]
        if isinstance(self._action, dict):
            for name, part in self._action.items():
                part[:, m] = own[name][:, 0]
        else:
            self._action[:, m] = own[:, 0]
        self._cumulative_rewards[agent] = 0.0
        self._clear_rewards()
        if self._due:
            self.agent_selection = self._due.pop(0)
            return
        self._play()
        self._accumulate_rewards()

    def _play(self) -> None:
        """Everyone has acted: play the step, and those after it in which nobody has a turn."""
        total = np.zeros(len(self.agents))
        turns = over = False
        while not (over or turns):
            reward, over, solved = self.play(self._action)
            total += reward
            self._seen = self.seen()
            if over:
                self.terminations = dict.fromkeys(self.agents, solved)
                self.truncations = dict.fromkeys(self.agents, not solved)
                told = self.told()
                self.infos = {agent: copy.deepcopy(told) for agent in self.agents}
                self.agent_selection = self.agents[0]
            else:
                turns = self._begin_turns()
            if self.render_mode == "human":
                self.render()
        self.rewards = dict(zip(self.agents, total.tolist(), strict=True))

    def last(self, observe: bool = True) -> tuple[Array | None, float, bool, bool, Params]:
        """Return what `agent_selection` sees, has earned, and is told."""
        if not self.begun:
            raise RuntimeError("last before the start of an episode: call reset() first")
        return super().last(observe)

    def observe(self, agent: str) -> Array:
        """Return what an agent has seen up to this step of the run, a copy."""
        if not self.begun:
            raise RuntimeError("observe before the start of an episode: call reset() first")
        return self._seen[self._number[agent]].copy()


def make_aec(id: AnyEnv, **kwargs: Any) -> AECView:
    """Build a PettingZoo env whose agents act one after the other; whose turn it is when, `AECView` says.

    Parameters
    ----------
    id, **kwargs
        As for `make`.

    Returns
    -------
    AECView
        A ``pettingzoo.AECEnv``.

    Examples
    --------
    >>> env = make_aec("DPMASE-v0", n_agents=8, threshold=1, horizon=100)
    >>> env.reset(seed=0)
    >>> for agent in env.agent_iter():
    ...     observation, reward, terminated, truncated, info = env.last()
    ...     over = terminated or truncated
    ...     env.step(None if over else env.action_space(agent).sample(info["action_mask"]))
    >>> env.agents, terminated or truncated
    ([], True)
    """
    run = make(id, **kwargs)
    return AECView(run.core, **run.settings)
