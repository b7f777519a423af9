"""Wang, Hu, Chen & Wang 2020, on distributed linear bandits: DisLinUCB, and synchronisation at fixed times.

"Distributed Bandit Learning: Near-Optimal Regret with Efficient Communication", ICLR.
"""

import math

from hushbandits.agents.linear_team import LinearTeam
from hushbandits.core import Requirements, World, integer, jit, real


@jit
def scheduled(t, since, grown, threshold):  # type: ignore[no-untyped-def]
    """Return whether `threshold` rounds are over, or a multiple of them."""
    return t % threshold == 0


@jit
def _learned(t, since, grown, threshold):  # type: ignore[no-untyped-def]
    return (t - since) * grown >= threshold


class Synchronized(LinearTeam):
    """Base class of agents that all act in every round, and upload and download at once."""

    def requirements(self, settings: dict[str, object]) -> Requirements:
        """Require that all agents act in every round, and the server's rule."""
        return Requirements(env={"server": self.server, "activity": "all"})


class BatchLinUCB(Synchronized):
    """LinUCB with a synchronisation of all agents every B rounds.

    Parameters
    ----------
    batch : int
        B.
    beta, ridge, sigma, delta
        As in `LinearTeam`.

    Notes
    -----
    Source: the baseline without privacy of Zhou & Chowdhury 2024, who set λ = √M.
    """

    trigger = scheduled

    def __init__(
        self, batch: int = 25, beta: float | None = 0.5, ridge: float = 1.0, sigma: float = 0.5, delta: float = 0.05
    ):
        super().__init__(beta, ridge, sigma, delta)
        self.batch = integer("batch", batch, 1)

    def threshold(self, env: World) -> float:
        return self.batch


class DisLinUCB(Synchronized):
    """Distributed LinUCB, which synchronises all agents when one of them has learned enough (Wang et al. 2020).

    All synchronise if ``(t − t_last) ln(det V_i/det V_last) ≥ D`` for an agent i.

    Parameters
    ----------
    threshold : float, optional
        D; by default ``T ln(MT)/(dM)``.
    beta, ridge, sigma, delta
        As in `LinearTeam`.

    Examples
    --------
    >>> import hushbandits as hb
    >>> result = hb.evaluate("FedLinear-All-v0", "DisLinUCB", runs=4, env={"horizon": 300})
    >>> bool((result.final("messages") == 30 * result.final("syncs")).all())
    True
    """

    together = True
    trigger = _learned

    def __init__(
        self,
        threshold: float | None = None,
        beta: float | None = 0.5,
        ridge: float = 1.0,
        sigma: float = 0.5,
        delta: float = 0.05,
    ):
        super().__init__(beta, ridge, sigma, delta)
        self._threshold = None if threshold is None else real("threshold", threshold, 0)

    def threshold(self, env: World) -> float:
        m, horizon = env.n_agents, env.horizon
        return horizon * math.log(m * horizon) / (env.n_features * m) if self._threshold is None else self._threshold
