"""Federated bandits, in which clients have different means and regret is measured by a global model."""

from collections.abc import Sequence
from typing import Any

import networkx as nx
import numpy as np

from hushbandits.core import Arms, Array, Law, Standing, Streams, UniformMeans, choice, draw_locations, set_rows
from hushbandits.core.random.arms import pick_rounds
from hushbandits.core.random.gauss import normal
from hushbandits.core.random.names import CLIENTS
from hushbandits.core.random.rewards import WIDEST
from hushbandits.core.utils import real, reals, shown
from hushbandits.envs.network.env import CoopNetwork


def specialists(agents: int, arms: int) -> Array:
    """Return the factors of Shi & Shen 2021 for global means, ``(M, K)``; each arm's factor is large for one agent.

    The factor is ``M − (M − 1)/M`` for this agent and 1/M for all others, so that they average 1.  Agents get arms in
    turn, forth and back: of 5 agents and 10 arms, agent 0 has the first and the last.

    Examples
    --------
    >>> specialists(2, 3).tolist()
    [[1.5, 0.5, 0.5], [0.5, 1.5, 1.5]]
    """
    turn = np.arange(arms) % (2 * agents)
    whose = np.minimum(turn, 2 * agents - 1 - turn)
    return np.where(whose == np.arange(agents)[:, None], agents - (agents - 1) / agents, 1 / agents)


class ClientArms(Arms):
    """Arms with a location per agent for rewards, and a global location for regret.

    Parameters
    ----------
    means, rewards, **rest
        As in `Arms`: the global model.
    agents : int
        M.
    factors : (M, K) sequence or str, optional
        Factor of agent m on the global mean of arm k, in the order of `means`; or ``"specialists"``.
    spread : float
        Standard deviation of agents' means around the global one.
    margin : float
        The gap to the best arm that costs no regret.

    Attributes
    ----------
    own : (R, M, K) float
        Each agent's locations, which are its means.
    """

    own: Array

    def __init__(
        self,
        means: Sequence[float] | UniformMeans,
        rewards: str | Law,
        *,
        agents: int,
        factors: Sequence[Sequence[float]] | str | None = None,
        spread: float = 0.0,
        margin: float = 0.0,
        **rest: Any,
    ):
        super().__init__(means, rewards, **rest)
        self.margin = real("margin", margin, 0, closed="low")
        self.spread = real("spread", spread, 0, WIDEST, closed="low")
        self._shape = agents, self.n_arms
        if type(self.law).mean is not Law.mean:
            raise ValueError(f"rewards={shown(rewards)} must be a law with its mean as location: agents' means differ")
        low, high = self.law.locations
        if self.spread and high < WIDEST:
            raise ValueError(
                f"spread={shown(spread)} may take means out of the range [{low:g}, {high:g}] of {self.law!r}; "
                f"use rewards='gaussian'"
            )
        #: (M, K)
        self.factors = np.ones(self._shape) if factors is None else self._weighed(factors)

    def _weighed(self, factors: object) -> Array:
        named = isinstance(factors, str) and choice("factors", factors, ("specialists",))
        values = specialists(*self._shape) if named else reals("factors", factors)
        if values.shape != self._shape:
            raise ValueError(f"factors must be of shape (n_agents, n_arms) = {self._shape}, not {values.shape}")
        for k, average in enumerate(values.mean(0)):
            if not abs(average - 1) <= 1e-9:
                raise ValueError(f"factors of arm {k} must average 1 over the agents, not {average:g}")
        low, high = self.law.locations
        ends = (self._source.low, self._source.high) if isinstance(self._source, UniformMeans) else (self._source,)
        for end in ends:
            own = values * end
            if outside := np.argwhere((own < low) | (own > high)).tolist():
                m, k = outside[0]
                raise ValueError(
                    f"factors[{m}][{k}]={values[m, k]:g} makes a mean {own[m, k]:g}, outside [{low:g}, {high:g}] of "
                    f"{self.law!r}"
                )
        return values

    def reset(self, rng: Streams, rows: Array | None = None) -> None:
        """Draw the global model, and every agent's means around the global means."""
        super().reset(rng, rows)
        locations = self.locations if rows is None else self.locations[rows]
        listed = np.arange(self.n_arms, dtype=float)  # each run's arms by their index in `means`
        order = draw_locations(listed, self.n_arms, self.permute and self.given is not None, rng).astype(np.int64)
        own: Array = locations[:, None] * np.swapaxes(self.factors[:, order], 0, 1)
        if self.spread:
            own += self.spread * normal(rng.uniforms(0, own.shape[1:], CLIENTS))
        set_rows(self, rows, own=own)

    def _stand(self, location: Array) -> Standing:
        location, mean, gap = super()._stand(location)
        return Standing(location, mean, np.maximum(gap - self.margin, 0.0))

    def pick(self, arm: Array, t: Array | int) -> tuple[Array, Array]:
        """Return each agent's own mean of its pulled arm, and this arm's gap in the global model, both ``(R, M)``."""
        location, gap = np.empty(arm.shape), np.empty(arm.shape)
        rounds = (x.reshape(-1, *arm.shape[-2:]) for x in (arm, location, gap))
        pick_rounds(next(rounds), self.own, self._still.gap, *rounds)
        return location, gap


class FederatedNetwork(CoopNetwork):
    """Env of agents with different means: rewards follow an agent's own means, and regret follows the global means.

    Agent m's mean of arm k is the global mean μ_k times a factor, plus N(0, σ_c²), drawn for every run, agent and arm.
    With factors alone, the global model is the average over the agents (the exact model of Shi & Shen 2021).  With a
    spread alone, agents are drawn from a population around the global model (their approximate model).  Everything else
    is as in `CoopNetwork`.

    Parameters
    ----------
    n_agents, n_arms, graph
        As in `CoopNetwork`.
    means : sequence of K floats or UniformMeans
        Global means μ_k; the ten of the default are for K = 10 only.
    rewards : str or Law
        A law whose mean is its location, such as ``gaussian`` or ``bernoulli``.
    factors : (M, K) sequence or str, optional
        Factor of agent m on the mean of arm k, in the order of `means`; factors average 1 over the agents.
        ``"specialists"``: the factors of Shi & Shen (`specialists`).
    spread : float
        σ_c ≥ 0; above 0 the law's means may lie anywhere.
    margin : float
        β ≥ 0: a pull costs ``(μ* − μ_k − β)₊``, so arms within β of the best cost nothing.
    **rest
        As in `CoopNetwork`, without `drift` and `n_change_points`: arms do not move.

    Raises
    ------
    ValueError
        A parameter out of its range, or factors of another shape, with another average, or out of the law's range.
    TypeError
        `drift` or `n_change_points`.

    Notes
    -----
    ``regret``, ``agent_regret`` and the gaps are those of the global model: ``Σ_t Σ_m (μ* − μ_{A_m,t} − β)₊``, whatever
    the agent's own means are.

    Examples
    --------
    >>> env = FederatedNetwork(n_agents=2, means=(0.5, 0.4), factors=[[0.2, 1.8], [1.8, 0.2]], spread=0,
    ...                        permute_arms=False, horizon=2)
    >>> obs = env.reset(0)
    >>> env.arms.own[0].round(2).tolist(), env.gaps[0].round(2).tolist()
    ([[0.1, 0.72], [0.9, 0.08]], [0.0, 0.1])
    """

    def __init__(
        self,
        *,
        n_agents: int = 10,
        n_arms: int | None = None,
        means: Sequence[float] | UniformMeans = (0.7, 0.71, 0.72, 0.73, 0.74, 0.75, 0.76, 0.765, 0.77, 0.79),
        rewards: str | Law = "gaussian",
        graph: str | nx.Graph = "complete",
        permute_arms: bool = True,
        factors: Sequence[Sequence[float]] | str | None = None,
        spread: float = 0.02,
        margin: float = 0.0,
        **rest: Any,
    ):
        for name in ("drift", "n_change_points"):
            if name in rest:
                raise TypeError(f"{name}={shown(rest[name])} is no parameter of a federated network: no arm moves")
        super().__init__(
            n_agents=n_agents, n_arms=n_arms, means=means, rewards=rewards, graph=graph, permute_arms=permute_arms,
            **rest,
        )  # fmt: skip
        #: The arms' locations, global and per agent.
        self.arms = ClientArms(
            means, rewards, n_arms=n_arms, permute=permute_arms, horizon=self.horizon,
            agents=self.n_agents, factors=factors, spread=spread, margin=margin,
        )  # fmt: skip
