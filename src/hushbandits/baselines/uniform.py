"""Uniform play, which belongs to no paper."""

from __future__ import annotations

from typing import Any

import numpy as np

from hushbandits.core.world import World
from hushbandits.core.messages import Inbox
from hushbandits.core.obs import Obs
from hushbandits.core.tapes import streams
from hushbandits.core.team import Team
from hushbandits.core.types import Array, Seeds
from hushbandits.core.validate import integer, probability

__all__ = ["Random"]


class Random(Team):
    """Uniform arms, in every setting.

    Exploration: pulls every arm still in 𝒦 and votes each out with probability `rate`.  Network: a uniform arm
    each.  Feedback: a uniform arm for a block of `block` users.

    Parameters
    ----------
    rate : float
        Vote probability per arm and activation (exploration).
    block : int
        Users per block (feedback).

    Examples
    --------
    >>> import hushbandits as hb
    >>> hb.evaluate("CoopNetwork-v0", "Random", runs=2, env={"horizon": 10}).final("regret").shape
    (2,)
    """

    def __init__(self, rate: float = 0.01, block: int = 32):
        self.rate = probability("rate", rate)
        self.block = integer("block", block, 1)

    def reset(self, env: World, seeds: Seeds) -> None:
        """Open one tape per run."""
        self._env = env
        self._rngs = streams(seeds, f"agent/{self.name}")
        self._active = np.ones((len(seeds), 1, env.n_arms), bool)

    def act(self, obs: Obs) -> Any:
        """Draw arms."""
        if self._env.setting == "exploration":
            return self._active & obs.live[:, None, None]
        arms = np.stack([rng.integers(self._env.n_arms, size=obs.who.shape[1]) for rng in self._rngs])
        if self._env.setting == "feedback":
            return arms, np.full_like(arms, self.block)
        return arms

    def speak(self, reward: Array) -> dict[str, Any] | None:
        """Vote at random (exploration); else the standard report."""
        if self._env.setting != "exploration":
            return None
        return {"vote": np.stack([rng.random((1, self._env.n_arms)) < self.rate for rng in self._rngs])}

    def hear(self, inbox: Inbox) -> None:
        """Keep the global set (exploration)."""
        if self._env.setting == "exploration":
            self._active = inbox["active"][:, 0]
