"""Dueling bandits on a graph: an action is a pair of arms, and its reward is 1 if the first arm wins."""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np

from hushbandits.core import Arms, Array, Standing, Streams, draw_locations, real, reals, shown
from hushbandits.envs.network.env import CoopNetwork

#: P(first wins against second) by their distance in rank.
_RANKED = tuple(tuple(0.5 + 0.1 * (j - i) for j in range(5)) for i in range(5))


def condorcet_winner(preferences: Array) -> int:
    """Return the Condorcet winner, the arm that wins against every other arm with probability above ½.

    Raises
    ------
    ValueError
        There is no Condorcet winner.
    """
    winners = np.flatnonzero(((preferences > 0.5) | np.eye(len(preferences), dtype=bool)).all(1))
    if not winners.size:
        raise ValueError("preferences have no Condorcet winner: no arm is above ½ against every other arm")
    return int(winners[0])


class DuelingArms(Arms):
    """Pairs of A arms as K = A² arms: pair ``i·A + j`` has reward 1 if arm i wins against arm j.

    A pair costs ``(P_wi + P_wj)/2 − ½``: P_wi is the probability that the Condorcet winner w wins against arm i.
    """

    words = ("pair", "P(first wins)")

    @property
    def duellists(self) -> int:
        """A, the number of arms that are compared in duels."""
        return round(self.n_arms**0.5)

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the pairs, ``i-j`` for arm i against arm j."""
        return tuple(f"{i}-{j}" for i in range(self.duellists) for j in range(self.duellists))

    def _placed(self, rng: Streams) -> Array:
        """Return the locations of the pairs in each run, ``(n, K)``; the A arms are shuffled if `permute` is true."""
        matrix = np.asarray(self.given).reshape(self.duellists, self.duellists)
        listed = np.arange(self.duellists, dtype=float)
        orders = draw_locations(listed, self.duellists, self.permute, rng).astype(np.int64)
        return np.stack([matrix[np.ix_(order, order)].reshape(-1) for order in orders])

    def _stand(self, location: Array) -> Standing:
        matrices = location.reshape(-1, self.duellists, self.duellists)
        wins = np.stack([matrix[condorcet_winner(matrix)] - 0.5 for matrix in matrices])
        gap = 0.5 * (wins[:, :, None] + wins[:, None, :])
        return Standing(location, location, gap.reshape(location.shape))


class DuelingNetwork(CoopNetwork):
    """M agents on a graph, each of which chooses a pair from A arms for a duel in every round.

    Source: Howson et al. 2024, section 4.3.

    An action is the pair ``first·A + second``; its reward is 1 if the first arm wins.  Everything else, including the
    report, is as in `CoopNetwork` with A² arms.

    Parameters
    ----------
    preferences : (A, A) sequence
        P(i wins against j), with ``P_ij + P_ji = 1``, ½ on the diagonal and a Condorcet winner.
    **rest
        As in `CoopNetwork`, without the parameters of its arms (`means`, `n_arms`, `rewards`, `drift`,
        `n_change_points`).

    Raises
    ------
    ValueError
        Invalid preferences, or preferences without a Condorcet winner.
    TypeError
        A parameter of `CoopNetwork` that a duel does not take.

    Notes
    -----
    ``regret``: ``Σ (Δ_i + Δ_j)/2`` with ``Δ_i = P_wi − ½`` for the Condorcet winner w (Zoghi et al. 2014).

    Examples
    --------
    >>> env = DuelingNetwork(n_agents=4, horizon=2, permute_arms=False)
    >>> obs = env.reset(0)
    >>> env.n_arms, env.gaps[0].round(2).tolist()[:3]
    (25, [0.0, 0.05, 0.1])
    """

    arms_class = DuelingArms
    seed_fields: ClassVar[Mapping[str, str]] = {**CoopNetwork.seed_fields, "preferences": "preferences"}

    def __init__(self, *, preferences: Sequence[Sequence[float]] = _RANKED, **rest: Any):
        for name in ("means", "n_arms", "rewards", "drift", "n_change_points"):
            if name in rest:
                raise TypeError(f"{name}={shown(rest[name])} is not a parameter of this env; give preferences=")
        matrix = reals("preferences", preferences)
        if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1] or len(matrix) < 2:
            raise ValueError(f"preferences must be a square matrix of at least two arms, not of shape {matrix.shape}")
        for i, j in np.ndindex(matrix.shape):
            real(f"preferences[{i}][{j}]", float(matrix[i, j]), 0, 1, closed="both")
            if abs(matrix[i, j] + matrix[j, i] - 1) > 1e-9:
                total = f"{matrix[i, j]:g} + {matrix[j, i]:g}"
                raise ValueError(f"preferences[{i}][{j}] + preferences[{j}][{i}] = {total} must be 1")
        condorcet_winner(matrix)
        self.preferences = matrix
        super().__init__(means=matrix.reshape(-1).tolist(), rewards="bernoulli", **rest)
