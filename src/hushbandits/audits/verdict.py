"""What a check found."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from hushbandits.core.guarantee import Guarantee

__all__ = ["Verdict"]

_SLACK = 1e-9


@dataclass(frozen=True)
class Verdict:
    """One check of one promise.

    Parameters
    ----------
    subject, check : str
        What was audited, and how.
    claimed, measured : float
        The check passes where ``measured ≤ claimed``.
    unit : str
        What the two numbers are.
    power : str
        What the check could have caught; empty: everything that its law can show.
    level : float
        Probability that an honest mechanism fails it; 0: it is exact.
    promise : Guarantee or None
        The promise that it bears on.
    declared : bool
        A failure that the promise itself declares (idealised floating point): shown, and not counted.

    Examples
    --------
    >>> Verdict("mine", "white box", claimed=1.0, measured=1.2).passed
    False
    """

    subject: str
    check: str
    claimed: float
    measured: float
    unit: str = "ε"
    power: str = ""
    level: float = 0.0
    promise: Guarantee | None = field(default=None, compare=False)
    declared: bool = False

    @property
    def passed(self) -> bool:
        """Whether the claim stands."""
        return self.declared or self.measured <= self.claimed + _SLACK * max(1.0, min(abs(self.claimed), 1e9))

    @property
    def word(self) -> str:
        """``passes``, ``FAILS`` or ``declared``."""
        if self.measured <= self.claimed + _SLACK * max(1.0, min(abs(self.claimed), 1e9)):
            return "passes"
        return "declared" if self.declared else "FAILS"

    @property
    def vacuous(self) -> bool:
        """Whether it could not have failed."""
        return math.isinf(self.claimed)
