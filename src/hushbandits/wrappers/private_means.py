"""Algorithm 1 of Dubey & Pentland 2020: each agent publishes noised means, lazily refreshed."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import ClassVar

import numpy as np

from hushbandits.core.ground.limits import affordable
from hushbandits.core.ground.types import Array, Seeds
from hushbandits.core.ground.validate import choice, divisor, real
from hushbandits.core.guarantee import Adjacency, Guarantee, void
from hushbandits.core.measure import Measure
from hushbandits.core.messages import Field, Fields, require
from hushbandits.core.payload import Payload
from hushbandits.core.world import World
from hushbandits.core.wrapper import Wrapper
from hushbandits.privacy.laplace import laplaces
from hushbandits.privacy.releases import compose_releases, lemma, release_counts

__all__ = ["PrivateMeans"]


class PrivateMeans(Wrapper):
    """Replace the standard report by ``⟨v̂, n⟩``, per arm a private mean and the pull count (Dubey & Pentland 2020).

    The source keeps exact sums; when an arm's count n reaches a release count (`release_counts`) it publishes
    ``v̂ = s/n + Lap(n^(v/2−1))`` and carries that value on until the next release.  Before the first release
    an arm is absent (n = 0).

    **What is covered.**  A release by itself is ``n^(−v/2)``-DP.  With ``own="noised"`` the agents are told of their
    own rewards only what they have published, so arms, counts and the times of releases are post-processing, and the
    whole message is covered.  With ``own="exact"``, the paper's form, arms follow exact own rewards, and one changed
    reward may change with certainty which arm is played next (two arms, ε = 1: the third is the better of the first
    two rewards), hence which count goes up and which mean moves: nothing is promised about a run.

    Rewards are clipped to [0, 1], where their law lies in it: a sender that says more gains nothing.

    Parameters
    ----------
    epsilon : float
        ε of the release schedule, > 0.
    v : float
        Exponent v ∈ (1, 1.5).
    own : str
        ``"noised"``: agents are told of their own rewards what they have published, ``mean`` and ``count``, which each
        of them finds in its inbox (``inbox.own``), and nothing else.  ``"exact"``: they see their rewards.
    delta : float
        δ′ at which `metrics` and `privacy` compose the releases.

    Notes
    -----
    Metrics, at every checkpoint, of one reward, the dearest: one of the agent and arm whose releases so far cost most.
    ``epsilon`` (R,), exactly ``Σ W_n^(−v/2)`` (δ′ = 0); ``epsilon_delta`` (R,), composed at δ′ (`compose_releases`);
    ``epsilon_lemma`` (R,), the paper's lemma for a neighbour (d = 1); ``agent_epsilon`` (R, M), as ``epsilon``.  All of
    them ∞ where nothing is promised about a run: rewards without a bound, or ``own="exact"``.

    Examples
    --------
    >>> import hushbandits as hb
    >>> env = hb.make_core("CoopNetwork-v0", n_agents=4, wrappers=[PrivateMeans(epsilon=1.0)])
    >>> sorted(env.inbox_fields)
    ['count', 'mean', 'sender']
    """

    not_rows = ("_seat",)
    spends = ("epsilon", "epsilon_delta", "epsilon_lemma", "agent_epsilon")
    curve_metrics = ("epsilon", "epsilon_delta", "epsilon_lemma")
    measures: ClassVar[Mapping[str, Measure]] = {
        "epsilon": Measure("ε spent on one reward, at most", "amount"),
        "epsilon_delta": Measure("ε spent on one reward, at most, with δ > 0", "amount"),
        "epsilon_lemma": Measure("ε spent on one reward, by the paper's lemma", "amount"),
        "agent_epsilon": Measure("ε spent on one reward of each agent, at most", "amount"),
    }

    def __init__(
        self,
        epsilon: float = 1.0,
        v: float = 1.1,
        own: str = "noised",
        delta: float = math.exp(-10),
        *,
        name: str | None = None,
    ):
        super().__init__(name=name)
        self.epsilon = divisor("epsilon", epsilon)
        self.v = real("v", v, 1, 1.5)
        self.own = choice("own", own, ("exact", "noised"))
        self.delta = real("delta", delta, 0, 1)

    def sends(self, fields: Fields, env: World) -> Fields:
        require(self.name, ("arm", "reward"), fields)
        kept = {k: f for k, f in fields.items() if k not in ("arm", "reward")}
        shape = (env.n_arms,)
        return {**kept, "mean": Field(shape, latest=True), "count": Field(shape, latest=True)}

    def tells(self, fields: Fields, env: World) -> Fields:
        if self.own == "exact":
            return fields
        shape = (env.n_arms,)
        return {**{k: f for k, f in fields.items() if k != "reward"}, "mean": Field(shape), "count": Field(shape)}

    def reset(self, env: World, seeds: Seeds) -> None:
        shape = (len(seeds), env.n_agents, env.n_arms)
        self._n, self._s = np.zeros(shape), np.zeros(shape)
        self._mean, self._released = np.zeros(shape), np.zeros(shape, bool)
        self._spent = np.zeros((*shape, 2))  # Σ ε_n and Σ ε_n² of the releases
        horizon = int(env.horizon)
        affordable(f"horizon={horizon} of {self.name}", 100.0 * horizon)
        self._due = np.zeros(horizon + 1, bool)
        self._due[release_counts(self.epsilon, self.v, horizon)] = True
        # by count, from the same scalar power that a run alone would take
        self._scale = np.array([0.0, *(math.pow(n, self.v / 2 - 1) for n in range(1, horizon + 1))])
        self._cost = np.array([0.0, *(math.pow(n, -self.v / 2) for n in range(1, horizon + 1))])
        self._luck = self.uniforms(seeds, (env.n_agents,))
        self._seat = np.ix_(np.arange(shape[0]), np.arange(shape[1]))

    def send(self, message: Payload, env: World) -> Payload:
        """Count the pull; release where the count is due (alg. 1, lines 3–13)."""
        arm = message["arm"]
        seat = (*self._seat, arm)
        self._n[seat] += 1
        reward = message["reward"]
        self._s[seat] += np.clip(reward, 0.0, 1.0) if env.law.unit_interval else reward
        n = self._n[seat]
        u = self._luck.next()  # one per agent and round, released or not: the tape never shifts
        r, m = np.nonzero(self._due[n.astype(np.int64)])
        k = arm[r, m]
        count = n[r, m].astype(np.int64)
        self._mean[r, m, k] = self._s[r, m, k] / count + laplaces(u[r, m], self._scale[count])
        self._released[r, m, k] = True
        cost = self._cost[count]
        self._spent[r, m, k] += np.stack([cost, cost**2], 1)
        kept = {name: value for name, value in message.items() if name not in ("arm", "reward")}
        return Payload(kept, mean=self._mean, count=np.where(self._released, self._n, 0.0))

    def told(self, env: World) -> dict[str, Array]:
        if self.own == "exact":
            return {}
        return {"mean": self._mean, "count": np.where(self._released, self._n, 0.0)}

    def metrics(self, env: World) -> dict[str, Array]:
        spent = self._spent.max(2)
        pure, squares = spent[..., 0].max(1), spent[..., 1].max(1)
        rounds = np.maximum(env.t - 1, 0)
        return {
            "epsilon": pure,
            "epsilon_delta": compose_releases(pure, squares, self.delta),
            "epsilon_lemma": lemma(self.epsilon, self.v, rounds, self.delta),
            "agent_epsilon": spent[..., 0],
        }

    def promises(self, env: World) -> tuple[Guarantee, ...]:
        counts = release_counts(self.epsilon, self.v, int(env.horizon)).astype(float)
        costs = counts ** (-self.v / 2)
        pure, squares = float(costs.sum()), np.array((costs**2).sum())
        whole = Guarantee(
            mechanism=f"Laplace(n^({self.v / 2 - 1:g})) on a mean of n rewards, released at {len(counts)} counts",
            epsilon=pure,
            delta=0.0,
            adjacency=Adjacency("one reward of one agent on one arm replaced", "reward"),
            view="any receiver: all messages, counts included",
            assumptions=("rewards in [0, 1]", "idealised floating point", "seeded noise is a simulation"),
            source="Dubey & Pentland 2020, algorithm 1 and lemma 3.4; a release is n^(−v/2)-DP",
        )
        if self.own == "exact":
            alone = replace(
                whole,
                mechanism=f"Laplace(n^({self.v / 2 - 1:g})) on a mean of n rewards",
                epsilon=float(costs[0]) if len(costs) else 0.0,
                view="a receiver of one released mean by itself, its arm and time taken as given",
                alone=True,
            )
            return void(whole, "arms and counts follow exact own rewards"), alone
        strong = float(compose_releases(np.array(pure), squares, self.delta))
        return (whole, replace(whole, epsilon=strong, delta=self.delta)) if strong < pure else (whole,)
