"""Algorithm 1 of Dubey & Pentland 2020: each agent publishes noised means, lazily refreshed."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from hushbandits.core.env import Env
from hushbandits.core.guarantee import Guarantee
from hushbandits.core.jit import jit
from hushbandits.core.messages import Field, Fields, require
from hushbandits.core.types import Array, Seeds
from hushbandits.core.validate import real
from hushbandits.core.wrapper import Wrapper
from hushbandits.privacy.laplace import laplaces

__all__ = ["PrivateMeans", "release_counts"]


@jit
def _releases(epsilon, v, horizon, out):  # type: ignore[no-untyped-def]
    found, spent = 0, 0.0
    for x in range(1, horizon + 1):
        step = x ** (-v / 2.0)
        spent += step
        if spent >= step / epsilon:
            out[found] = x
            found += 1
            spent = 0.0
    return found


def release_counts(epsilon: float, v: float, horizon: int) -> Array:
    """Pull counts W₁ < W₂ < … ≤ horizon at which a mean is released.

    ``W_{n+1} = min{x > W_n : Σ_{i=W_n+1}^{x} i^(−v/2) ≥ x^(−v/2)/ε}``: about every 1/ε pulls.

    Examples
    --------
    >>> release_counts(0.25, 1.1, 16).tolist()
    [3, 7, 11, 15]
    """
    out = np.zeros(horizon, np.int64)
    return out[: _releases(float(epsilon), float(v), int(horizon), out)]


class PrivateMeans(Wrapper):
    """Replace the standard report by ``⟨v̂, n⟩``: per arm a private mean and the pull count.

    The source keeps exact sums; when an arm's count n reaches a release count (`release_counts`) it publishes
    ``v̂ = s/n + Lap(n^(v/2−1))`` and carries that value on until the next release.  Before the first release
    an arm is absent (n = 0).

    Parameters
    ----------
    epsilon : float
        ε of the release schedule, > 0.
    v : float
        Exponent v ∈ (1, 1.5).
    name : str, optional

    Examples
    --------
    >>> import hushbandits as hb
    >>> env = hb.make_vec("CoopNetwork-v0", n_agents=4, wrappers=[PrivateMeans(epsilon=1.0)])
    >>> sorted(env.inbox_fields)
    ['count', 'mean', 'who']
    """

    settings = frozenset({"network"})

    def __init__(self, epsilon: float = 1.0, v: float = 1.1, *, name: str | None = None):
        super().__init__(name=name)
        self.epsilon = real("epsilon", epsilon, 0)
        self.v = real("v", v, 1, 1.5)

    def accept(self, fields: Fields, env: Env) -> Fields:
        """Needs arm and reward; replaces them by mean and count."""
        require(self.name, ("arm", "reward"), fields)
        kept = {k: f for k, f in fields.items() if k not in ("arm", "reward")}
        shape = (env.n_arms,)
        return {**kept, "mean": Field(shape, latest=True), "count": Field(shape, latest=True)}

    def reset(self, env: Env, seeds: Seeds) -> None:
        """Start with nothing published."""
        shape = (len(seeds), env.n_agents, env.n_arms)
        self._n, self._s = np.zeros(shape), np.zeros(shape)
        self._mean, self._released = np.zeros(shape), np.zeros(shape, bool)
        horizon = int(env.horizon)
        self._due = np.zeros(horizon + 1, bool)
        self._due[release_counts(self.epsilon, self.v, horizon)] = True
        self._luck = self.uniforms(seeds, (env.n_agents,))
        self._seat = np.ix_(np.arange(shape[0]), np.arange(shape[1]))

    def send(self, message: dict[str, Any], env: Env) -> dict[str, Any]:
        """Count the pull; release where the count is due (alg. 1, lines 3–13)."""
        arm = message.pop("arm")
        seat = (*self._seat, arm)
        self._n[seat] += 1
        self._s[seat] += message.pop("reward")
        n = self._n[seat]
        u = self._luck.next()  # one per agent and round, released or not: the tape never shifts
        r, m = np.nonzero(self._due[n.astype(np.int64)])
        k = arm[r, m]
        count = n[r, m]
        scale = np.array([math.pow(c, self.v / 2 - 1) for c in count.tolist()])
        self._mean[r, m, k] = self._s[r, m, k] / count + laplaces(u[r, m], scale)
        self._released[r, m, k] = True
        return {**message, "mean": self._mean, "count": np.where(self._released, self._n, 0.0)}

    def privacy(self, env: Env) -> tuple[Guarantee, ...]:
        """ε of one agent's releases on one arm over the horizon, composed exactly: ``Σ W_n^(−v/2)``."""
        counts = release_counts(self.epsilon, self.v, int(env.horizon)).astype(float)
        return (
            Guarantee(
                mechanism=f"Laplace(n^({self.v / 2 - 1:g})) on a mean of n rewards, released at {len(counts)} counts",
                epsilon=float((counts ** (-self.v / 2)).sum()),
                delta=0.0,
                adjacency="one reward of one agent on one arm replaced, all else (its arms too) equal",
                view="any receiver: the released means only",
                assumptions=(
                    "rewards in [0, 1]",
                    "the published counts are taken as public: they depend on the agent's exact own rewards, "
                    "so the counts themselves are not covered",
                    "idealised floating point",
                    "seeded noise is a simulation",
                ),
                source="Dubey & Pentland 2020, algorithm 1 and lemma 3.4; a release is n^(−v/2)-DP",
            ),
        )
