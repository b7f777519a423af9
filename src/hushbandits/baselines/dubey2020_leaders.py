"""CMP-UCB with a number of leaders in place of γ, as Howson et al. 2024 tune it."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import networkx as nx

from hushbandits.baselines.dubey2020_heavy import CMPUCB, partition
from hushbandits.core.team import Protocol
from hushbandits.core.validate import integer
from hushbandits.envs.network.graphs import adjacency, hop_distances

__all__ = ["CMPUCBLeaders", "life_of"]


@lru_cache(maxsize=256)
def life_of(graph: str | nx.Graph, n_agents: int, leaders: int) -> int:
    """γ whose partition has that many leaders, or the nearest number: the fewer on ties, and of those the largest γ.

    The larger γ, the more a leader hears.

    Examples
    --------
    >>> [life_of("cycle", 16, leaders) for leaders in (1, 2, 4)]  # of γ = 3 … 8: 4, 3, 2, 2, 2, 1
    [8, 7, 3]
    """
    distance = hop_distances(adjacency(graph, n_agents))
    lives = range(1, int(distance.max()) + 1)
    counts = {life: len(partition(distance, life)[0]) for life in lives}
    return max(lives, key=lambda life: (-abs(counts[life] - leaders), -counts[life], life), default=1)


class CMPUCBLeaders(CMPUCB):
    """CMP-UCB with γ chosen for a number of leaders; the graph must be a fixed one.

    Parameters
    ----------
    leaders : int
        How many; where no γ gives as many, the nearest number (`life_of`).
    moment, excess : float
        As in `CMPUCB`.

    Examples
    --------
    >>> import hushbandits as hb
    >>> env = {"n_agents": 16, "graph": "grid", "horizon": 50}
    >>> hb.evaluate("CoopNetwork-v0", "CMP-UCB-leaders", runs=2, env=env).final("regret").shape
    (2,)
    """

    def __init__(self, leaders: int = 1, moment: float = 1.0, excess: float = 1.0):
        super().__init__(moment, excess)
        self.leaders = integer("leaders", leaders, 1)

    @property
    def name(self) -> str:
        """As registered."""
        return "CMP-UCB-leaders"

    def protocol(self, settings: dict[str, Any]) -> Protocol:
        """Messages live as long as that number of leaders needs."""
        graph, agents = settings.get("graph", "cycle"), settings.get("n_agents", 16)
        if isinstance(graph, str) and graph == "erdos-renyi":
            raise ValueError(
                f"leaders={self.leaders} needs a fixed graph; with graph='erdos-renyi' give CMP-UCB a life="
            )
        return Protocol(env={"life": life_of(graph, agents, self.leaders)})
