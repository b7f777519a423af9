"""Problems of private exploration: arms, who acts how often, and how many votes decide."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from hushbandits.core.types import Array
from hushbandits.core.validate import nearest, real

__all__ = ["PROBLEMS", "Problem", "agent_weights", "vote_threshold"]


@dataclass(frozen=True)
class Problem:
    """Arm means and reward law."""

    means: tuple[float, ...]
    rewards: str


#: Problems of the papers by name.
PROBLEMS = {
    "P1": Problem((0.7, 0.5, 0.3, *[0.1] * 7), "bernoulli"),
    "P2": Problem((11.0, 10.8, *[10.4] * 8), "gaussian"),
}


def vote_threshold(delta: float, beta: float) -> int:
    """``M = ⌊ln δ / ln β⌋`` (Rio et al. 2023, algorithm 2; Féraud et al. 2019, algorithm 2).

    A quotient within 1e-12 of a whole number is that number: rounding must not cost a vote.

    Examples
    --------
    >>> vote_threshold(0.05, 0.5), vote_threshold(0.05, 0.9), vote_threshold(0.25, 0.5)
    (4, 28, 2)
    """
    quotient = math.log(delta) / math.log(beta)
    return math.floor(quotient * (1 + 1e-12))


def agent_weights(distribution: str | Sequence[float], n_agents: int) -> Array:
    """``(N,)`` probabilities of being the active agent.

    Parameters
    ----------
    distribution : str or sequence of N floats
        ``"uniform"``; ``"power"``, ``P(n) ∝ n^(−0.8)`` (Rio et al. 2023, fig. 6), ``"power:γ"`` for another γ;
        or N non-negative weights.
    n_agents : int
        N.

    Examples
    --------
    >>> agent_weights("uniform", 4).tolist()
    [0.25, 0.25, 0.25, 0.25]
    """
    if isinstance(distribution, str):
        kind, _, exponent = distribution.partition(":")
        if kind == "uniform" and not exponent:
            weights: Array = np.ones(n_agents)
        elif kind == "power":
            try:
                gamma = real("agent_distribution's exponent", float(exponent) if exponent else 0.8, 0, closed="low")
            except ValueError:
                raise ValueError(f"agent_distribution={distribution!r}: the exponent must be a number ≥ 0") from None
            weights = np.arange(1, n_agents + 1) ** -gamma
        else:
            raise ValueError(f"agent_distribution={distribution!r} is unknown{nearest(kind, ['uniform', 'power'])}")
    else:
        weights = np.asarray(distribution, float)
        if weights.shape != (n_agents,):
            raise ValueError(f"agent_distribution must list n_agents={n_agents} weights, not shape {weights.shape}")
        if not np.isfinite(weights).all() or (weights < 0).any() or weights.sum() <= 0:
            raise ValueError("agent_distribution must be finite weights ≥ 0 that are not all 0")
    return weights / weights.sum()
