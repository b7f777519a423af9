"""Tossou & Dimitrakakis 2016, "Algorithms for Differentially Private Multi-Armed Bandits" (AAAI)."""

from __future__ import annotations

import numpy as np

from hushbandits.agents.dubey2020 import PrivateUCB
from hushbandits.core.ground.types import Array, Message
from hushbandits.core.messages import Inbox

__all__ = ["DPUCBInt"]


class DPUCBInt(PrivateUCB):
    """DP-UCB-INT (Tossou & Dimitrakakis 2016), each agent alone.

    ⌈1/ε⌉ pulls of each arm, then ``argmax_k v̂_k + √(2 ln t / n_k)`` on the agent's *own* noised mean, refreshed at the
    release counts only (`PrivateMeans` with ``own="noised"``): what an observer of its actions sees is private.  It
    sends nothing and hears nothing.
    """

    def __init__(self, epsilon: float = 1.0, v: float = 1.1):
        super().__init__(epsilon, v, own="noised")

    def speak(self, reward: Array) -> Message:
        """Nothing: means are released to the agent itself, and to nobody else."""
        return {"arm": self._arm, "sent": np.zeros(self._arm.shape, bool)}

    def hear(self, inbox: Inbox) -> None:
        """Go by its own releases; deaf to all others."""
        self._n, self._s = self._mine(inbox)
