"""Auer, Cesa-Bianchi & Fischer 2002, "Finite-time Analysis of the Multiarmed Bandit Problem": UCB1."""

from __future__ import annotations

from typing import Any

import numpy as np

from hushbandits.baselines.dubey2020 import MultiUCB, act, learn
from hushbandits.core.jit import jit
from hushbandits.core.messages import Inbox
from hushbandits.core.types import Array
from hushbandits.envs.network.episode import Rules

__all__ = ["UCB1"]


@jit
def _ignore(own, r, mail, t):
    pass


class UCB1(MultiUCB):
    """UCB1 with each agent alone: index ``μ̂_k + √(2 ln t / n_k)`` on own pulls; it sends nothing and hears nothing.

    Source: Auer, Cesa-Bianchi & Fischer 2002.

    Examples
    --------
    >>> import hushbandits as hb
    >>> hb.evaluate("CoopNetwork-v0", "UCB1", runs=2, env={"horizon": 10}).final("regret").shape
    (2,)
    """

    hears = ()
    rules = Rules(act, learn, _ignore, sends=False)

    def speak(self, reward: Array) -> dict[str, Any]:
        """Count the own pull; tell nobody."""
        super().speak(reward)
        return {"arm": self._arm, "reward": reward, "sent": np.zeros(reward.shape, bool)}

    def hear(self, inbox: Inbox) -> None:
        """Ignore it."""
