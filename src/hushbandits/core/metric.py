"""Declarations of the metrics of envs, wrappers and teams: a label, and the nature of the values."""

import math
from collections.abc import Mapping
from dataclasses import dataclass

from hushbandits.core.utils import choice, shown

#: Natures of metrics with their bounds, narrowest first; no value and no mean lies outside its bounds.
NATURES: Mapping[str, tuple[float, float]] = {
    "rate": (0.0, 1.0),
    "share": (0.0, 1.0),
    "count": (0.0, math.inf),
    "amount": (0.0, math.inf),
    "measure": (-math.inf, math.inf),
}


@dataclass(frozen=True)
class Metric:
    """A metric's label, and the nature of its values (such as a rate, a count or a measure).

    Parameters
    ----------
    label : str
        Text for axes and tables.
    nature : str
        ``"rate"``: 0 or 1 per run, so that its mean is a rate, with Clopper–Pearson's interval; ``"share"``: a number
        in [0, 1]; ``"count"``: a whole number, never negative; ``"amount"``: never negative; ``"measure"``: any number.

    Raises
    ------
    ValueError
        Another nature, or a label that is no text.

    Examples
    --------
    >>> Metric("share of runs that are correct", "rate").rate, Metric("height").rate
    (True, False)
    """

    label: str
    nature: str = "measure"

    def __post_init__(self) -> None:
        if not (isinstance(self.label, str) and self.label):
            raise ValueError(f"label={shown(self.label)} of a Metric must be a non-empty string")
        choice(f"measure {self.label!r}: nature", self.nature, tuple(NATURES))

    @classmethod
    def of(cls, name: str) -> "Metric":
        """Return the default for an undeclared metric: nature ``"measure"``, and a label made from its `name`."""
        return cls(name.replace("_", " ") or "?")

    @property
    def rate(self) -> bool:
        """Return whether the metric is 0 or 1 in each run, so that its mean is a rate."""
        return self.nature == "rate"

    @property
    def bounds(self) -> tuple[float, float]:
        """Least and largest possible value of the metric."""
        return NATURES[self.nature]

    def per_time(self) -> "Metric":
        """Return this metric per unit of time: an ``"amount"`` if no value is negative, else a ``"measure"``."""
        return Metric(self.label, "measure" if math.isinf(self.bounds[0]) else "amount")
