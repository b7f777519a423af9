"""The gossip matrix, and the base of agents that average their sums with their neighbours' sums."""

from collections.abc import Callable, Mapping
from functools import lru_cache

import numpy as np

from hushbandits.core import Array, Field, Requirements, lean
from hushbandits.envs.network.episode import NetworkTeam
from hushbandits.envs.network.rules import Rules, nothing


def gossip_matrix(adjacency: Array) -> Array:
    """Return the gossip matrix ``P = I − (D − A)/(1 + max degree)`` of the graph with adjacency A and degrees D.

    P is symmetric and doubly stochastic.

    Examples
    --------
    >>> from hushbandits.envs.network.graphs import adjacency
    >>> gossip_matrix(adjacency("path", 3)[None])[0].round(3).tolist()
    [[0.667, 0.333, 0.0], [0.333, 0.333, 0.333], [0.0, 0.333, 0.667]]
    """
    edges = adjacency.astype(float)
    degree = edges.sum(2)
    share = 1.0 / (1.0 + degree.max(1))
    matrix: Array = edges * share[:, None, None]
    agents = np.arange(edges.shape[1])
    matrix[:, agents, agents] = 1.0 - degree * share[:, None]
    return matrix


def second_eigenvalue(matrix: Array) -> Array:
    """Return |λ₂|, the second largest modulus of the eigenvalues of each of G gossip matrices; 0 for one agent."""
    return np.array([_second(one.tobytes(), len(one)) for one in matrix])


@lru_cache(maxsize=64)  # all runs on one graph share it
def _second(matrix: bytes, agents: int) -> float:
    values = np.sort(np.abs(np.linalg.eigvalsh(np.frombuffer(matrix).reshape(agents, agents))))
    return float(values[-2]) if agents > 1 and values[-2] >= 1e-12 else 0.0


@lean
def _post(own, values, now, r, arms, rewards):
    # number by number: a slice of arrays assigned takes Numba a second to compile
    source, target = own.sums[r].reshape(-1), values[0][now, r].reshape(-1)
    for i in range(source.size):
        target[i] = source[i]


def gossip(choose: Callable[..., None], learn: Callable[..., None], heard: Callable[..., None] = nothing) -> Rules:
    """Return the rules of agents that average ``state.sums`` with their neighbours' sums.

    Parameters
    ----------
    choose, learn, heard : compiled
        `Rules.act`, `Rules.learn`, and what comes after the mixing, `Rules.receive`.
    """
    return Rules(choose, learn, heard, takes="mix", post=_post, fields=("sums",))


#: Env parameters with which all agents receive their neighbours' messages within the round.
_NEEDED = {"hop_delay": 0, "edge_failure_prob": 0.0, "routing": "flood"}


class Gossip(NetworkTeam):
    """Base class of agents that average two numbers per arm with their neighbours once per round, ``x ← Px``.

    A subclass gives its `rules`, by `gossip`, and `begin`, whose state has the array that travels, ``sums``
    (R, M, K, 2), and ``matrix``, P.  The array is posted as it stands after `learn`, and mixed in place.  A message
    that is lost counts as the receiver's own.
    """

    required_inbox = ("mix",)
    fields: Mapping[str, Field] = {"sums": Field(shape=(2,), per_arm=True)}

    def requirements(self, settings: dict[str, object]) -> Requirements:
        for parameter, needed in _NEEDED.items():
            if settings.get(parameter, needed) != needed:
                why = f"{self.name} averages with all neighbours within a round"
                raise ValueError(f"{parameter}={settings[parameter]!r} must be {needed!r}, because {why}")
        return Requirements(env={"max_hops": 1})
