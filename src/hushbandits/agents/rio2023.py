"""Rio, Barlier, Colin & Soare 2023, "Multi-Agent Best Arm Identification with Private Communications" (ICML).

`DP-MASE` (algorithm 2): every agent runs differentially private successive elimination (Sajed & Sheffet 2019)
on its own samples, and votes out what it eliminates.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from hushbandits.core.env import Env
from hushbandits.core.jit import jit
from hushbandits.core.messages import Inbox
from hushbandits.core.obs import Obs
from hushbandits.core.tapes import streams
from hushbandits.core.team import Protocol, Team
from hushbandits.core.types import Array, Seeds
from hushbandits.core.validate import real
from hushbandits.privacy.laplace import laplace

__all__ = ["DPMASE", "epoch_length", "radii"]


@jit
def epoch_length(m: int, e: int, epsilon: float, beta: float) -> float:
    """``R(e) = ⌊max{32 ln(8me²/β)/Δ_e², 8 ln(4me²/β)/(εΔ_e)}⌋ + 1`` with ``Δ_e = 2^(−e)``.

    A float: beyond 2⁵³ it is no exact count, and `DPMASE` refuses.

    Examples
    --------
    >>> epoch_length(10, 1, 0.1, 0.5)
    702.0
    """
    gap = 2.0**-e
    samples = 32.0 * math.log(8.0 * m * e * e / beta) / (gap * gap)
    private = 8.0 * math.log(4.0 * m * e * e / beta) / (epsilon * gap)
    return math.floor(max(samples, private)) + 1.0


@jit
def radii(m: int, e: int, epsilon: float, beta: float, r: float) -> tuple[float, float]:
    """``h = √(ln(8me²/β)/(2R))`` and ``c = ln(4me²/β)/(εR)``.

    Examples
    --------
    >>> h, c = radii(10, 1, 0.1, 0.5, 702.0)
    >>> round(h, 4), round(c, 4)
    (0.0601, 0.0624)
    """
    h = math.sqrt(math.log(8.0 * m * e * e / beta) / (2.0 * r))
    c = math.log(4.0 * m * e * e / beta) / (epsilon * r)
    return h, c


@jit
def vote_out(local, sums, m, e, epsilon, beta, r, u, vote):  # type: ignore[no-untyped-def]
    """End of an epoch: noise one draw per arm, vote out what is 2(h + c) below the best."""
    h, c = radii(m, e, epsilon, beta, r)
    best = -math.inf
    noisy = np.empty(local.size)
    for k in range(local.size):
        if local[k]:
            noisy[k] = sums[k] / r + laplace(u[k], 1.0 / (epsilon * r))
            best = max(best, noisy[k])
    for k in range(local.size):
        vote[k] = local[k] and best - noisy[k] > 2.0 * (h + c)


class DPMASE(Team):
    """DP-MASE (algorithms 2 and 4).

    In epoch e an agent pulls every arm of its local set 𝒦_n for R(e) activations; at the end it adds
    ``Lap(1/(εR))`` to each mean, votes out every arm more than 2(h + c) below the largest, and only then looks
    at 𝒦.  An agent leaves when ``|𝒦_n| ≤ 1`` after that.  Epochs start at 1.

    Parameters
    ----------
    epsilon : float
        ε: an agent's votes are ε-differentially private in its rewards (each epoch's noise for rewards in [0, 1]).
    delta : float
        δ: failure probability of the whole.
    beta : float
        β: failure probability of one agent; the vote threshold is ``M = ⌊ln δ/ln β⌋``, exceeded.

    Raises
    ------
    ValueError
        ε ≤ 0; δ or β outside (0, 1); an epoch longer than 2⁵³ activations.

    Examples
    --------
    >>> import hushbandits as hb
    >>> results = hb.evaluate("DPMASE-v0", "DP-MASE", runs=1, env={"n_agents": 8}, agent_kwargs={"epsilon": 0.5})
    >>> results.final("rounds").shape
    (1,)
    """

    setting = "exploration"
    hears = ("active",)

    def __init__(self, epsilon: float = 0.1, delta: float = 0.05, beta: float = 0.5):
        self.epsilon = real("epsilon", epsilon, 0)
        self.delta = real("delta", delta, 0, 1)
        self.beta = real("beta", beta, 0, 1)

    @property
    def name(self) -> str:
        """As registered."""
        return "DP-MASE"

    def protocol(self, settings: dict[str, Any]) -> Protocol:
        """Votes exceed ⌊ln δ/ln β⌋; finished agents leave."""
        return Protocol(env={"delta": self.delta, "beta": self.beta, "comparison": ">", "idle": "leaves"})

    def _length(self, m: int, e: int) -> int:
        r = epoch_length(m, e, self.epsilon, self.beta)
        if r > 2**53:
            raise ValueError(f"epsilon={self.epsilon:g} makes epoch {e} last {r:.3g} activations; the most is 2^53")
        return int(r)

    def reset(self, env: Env, seeds: Seeds) -> None:
        """Every agent begins epoch 1 with all arms."""
        runs, n, k = len(seeds), env.n_agents, env.n_arms
        self._env = env
        self._noise = streams(seeds, f"agent/{self.name}")
        self._runs = np.arange(runs)
        self._local = np.ones((runs, n, k), bool)
        self._sums = np.zeros((runs, n, k))
        self._pulls = np.zeros((runs, n), np.int64)
        self._epoch = np.ones((runs, n), np.int64)
        self._due = np.full((runs, n), self._length(k, 1), np.int64)

    def act(self, obs: Obs) -> Array:
        """Pull all of 𝒦_n; nothing once |𝒦_n| ≤ 1."""
        self._n = obs.who[:, 0]
        local = self._local[self._runs, self._n]
        self._set = local & (local.sum(1) > 1)[:, None] & obs.live[:, None]
        return self._set[:, None]

    def speak(self, reward: Array) -> dict[str, Any] | None:
        """Vote at the end of an epoch."""
        seat = self._runs, self._n
        self._sums[seat] += np.where(self._set, reward[:, 0], 0.0)
        self._pulls[seat] += self._set.any(1)
        self._ended = np.flatnonzero(self._set.any(1) & (self._pulls[seat] == self._due[seat]))
        if not len(self._ended):
            return None
        vote = np.zeros(reward.shape, bool)
        for r in self._ended:
            n = self._n[r]
            local = self._local[r, n]
            args = int(local.sum()), int(self._epoch[r, n]), self.epsilon, self.beta, float(self._due[r, n])
            vote_out(local, self._sums[r, n], *args, self._noise[r].random(len(local)), vote[r, 0])
            local &= ~vote[r, 0]
        return {"vote": vote}

    def hear(self, inbox: Inbox) -> None:
        """After an epoch: ``𝒦_n ← 𝒦_n ∩ 𝒦``, reset the means, begin the next."""
        if not len(self._ended):
            return
        active = inbox["active"][:, 0, 0]
        for r in self._ended:
            n = self._n[r]
            local = self._local[r, n]
            local &= active[r]
            self._sums[r, n] = 0.0
            self._pulls[r, n] = 0
            self._epoch[r, n] += 1
            m = int(local.sum())
            if m > 1:
                self._due[r, n] = self._length(m, int(self._epoch[r, n]))
