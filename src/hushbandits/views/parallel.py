"""The PettingZoo view: one run of an array core as a `ParallelEnv`, the only code with dicts of agents."""

from __future__ import annotations

import copy
from collections.abc import Mapping

from pettingzoo import ParallelEnv

from hushbandits.core.ground.types import Array, Params
from hushbandits.core.ground.validate import shown
from hushbandits.views.run import OneRun

__all__ = ["ParallelView"]


class ParallelView(OneRun, ParallelEnv[str, Array, object]):
    """One run of an array core, agents as ``agent_0``, ``agent_1``, … (built by `make`).

    A *merged* step (``beats=1``) is a round of the core with one action: its arms are pulled, then its message is sent,
    which was chosen before the reward was seen.  ``beats=2`` makes pull and talk steps of their own, so that a message
    may tell of the pull just made.  Where a learner has no words of its own (network without `speech`, feedback) both
    are the same game; the last infos say which it was (``beats``, ``metrics``).

    Parameters and attributes are those of `OneRun`.
    """

    def reset(
        self, seed: int | None = None, options: Params | None = None
    ) -> tuple[dict[str, Array], dict[str, dict[str, object]]]:
        """Start an episode; `seed` and `options` as for `OneRun.begin`."""
        self.begin(seed, options)
        observations = self._observe()
        if self.render_mode == "human":
            self.render()
        return observations, self._infos()

    def step(
        self, actions: Mapping[str, object]
    ) -> tuple[dict[str, Array], dict[str, float], dict[str, bool], dict[str, bool], dict[str, dict[str, object]]]:
        """Play one step with an action of every agent.

        Raises
        ------
        ValueError
            An action is missing, outside its space, or of nobody in play; nothing has happened then.
        RuntimeError
            The episode has not begun, or is over.
        """
        if not self.agents:
            when = "before the start" if not self.begun else "after the end"
            raise RuntimeError(f"step {when} of an episode: call reset() first")
        action, agents = self._read(actions), self.agents
        reward, over, solved = self.play(action)
        observations, infos = self._observe(), self._infos()
        if over:
            self.agents = []
        if self.render_mode == "human":
            self.render()
        return (
            observations,
            dict(zip(agents, reward.tolist(), strict=True)),
            dict.fromkeys(agents, solved),
            dict.fromkeys(agents, over and not solved),
            infos,
        )

    def _infos(self) -> dict[str, dict[str, object]]:
        """Which choices of an action count next, labels, and metrics."""
        told, over = self.told(), self.over
        masks: list[object] = [None] * len(self.possible_agents) if over else self.task.sample_masks()
        infos: dict[str, dict[str, object]] = {
            agent: {} if over else {"action_mask": mask}
            for agent, mask in zip(self.possible_agents, masks, strict=True)
        }
        if told:
            for info in infos.values():
                info.update(copy.deepcopy(told))
        return infos

    def _observe(self) -> dict[str, Array]:
        # A copy each: a row would lead to everybody's.
        return {agent: row.copy() for agent, row in zip(self.possible_agents, self.seen(), strict=True)}

    def _read(self, actions: Mapping[str, object]) -> object:
        if type(actions) is not dict and not isinstance(actions, Mapping):
            raise TypeError(f"actions={shown(actions)} must be a dict with an action of every agent")
        try:
            values = list(map(actions.__getitem__, self.agents))
        except KeyError as missing:
            raise ValueError(f"actions lack {missing.args[0]!r}: every agent acts in every step") from None
        if len(actions) != len(values):
            stranger = next(name for name in actions if name not in self.possible_agents)
            raise ValueError(f"actions name {stranger!r}, who is not in play")
        return self.task.read(values, self.agents)
