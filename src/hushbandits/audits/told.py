"""Rewards that an audit prescribes."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from hushbandits.core.ground.types import Array
from hushbandits.core.luck.rewards import Law

__all__ = ["Told"]


class Told(Law):
    """A reward law that returns what it is told, whatever the luck.

    Examples
    --------
    >>> law = Told()
    >>> law.now = [0.0, 1.0]
    >>> law.quantile(np.zeros((2, 2)), np.zeros((2, 2))).tolist()
    [[0.0, 1.0], [0.0, 1.0]]
    """

    now: ArrayLike = 0.0

    def __post_init__(self) -> None: ...

    def quantile(self, u: Array, location: Array) -> Array:
        """`now`, at the shape of u."""
        return np.broadcast_to(np.asarray(self.now, float), np.shape(u)).copy()
