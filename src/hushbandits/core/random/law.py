"""What a family of reward laws is: a quantile function of one uniform."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import fields, is_dataclass

import numpy as np

from hushbandits.core.utils import LARGEST_NUMBER, Array, real

WIDEST = LARGEST_NUMBER / 100  # of locations and widths: rewards stay below LARGEST_NUMBER


class Law(ABC):
    """A family of reward laws, indexed by a location in the arm's own units."""

    #: Whether rewards lie in [0, 1] (what the privacy statements need).
    unit_interval = True
    #: What `quantile` may be given as a location: closed interval.
    locations: tuple[float, float] = (0.0, 1.0)

    def __post_init__(self) -> None:
        assert is_dataclass(self)  # a stand-in for a law has no parameters to check: it overrides this
        for field in fields(self):
            real(field.name, getattr(self, field.name), 0, WIDEST)

    @property
    def drifts(self) -> bool:
        """Whether a location is a level in [0, 1] that can fall, and no name of an arm."""
        return self.unit_interval and self.locations == (0.0, 1.0)

    @abstractmethod
    def quantile(self, u: Array, location: Array) -> Array:
        """Rewards at the uniforms `u` ∈ [0, 1), broadcast against `location`."""

    def mean(self, location: Array) -> Array:
        """Exact mean at each location."""
        return np.asarray(location, float)

    def shortfall(self, x: Array, location: float) -> Array | None:
        """``E (x − X)₊`` for x ∈ [0, 1], where there is a formula and rewards lie in [0, 1]."""
        return None

    def rounding(self, location: float, g: int) -> Array | None:
        """``(g + 1,)`` law of ``⌊Xg⌋ + Ber(Xg − ⌊Xg⌋)``: ``P(j) = E (1 − |Xg − j|)₊``; ``None`` without a formula."""
        under = self.shortfall(np.arange(g + 1) / g, location)
        if under is None:
            return None
        # (1 − |t|)₊ is a second difference of ramps; the top cell's outer ramp ends at X ≤ 1.
        beyond = (g + 1) / g - float(self.mean(np.array(location)))
        pmf: Array = np.maximum(g * np.diff(np.concatenate([[0.0], under, [beyond]]), 2), 0.0)
        pmf /= pmf.sum()
        return pmf
