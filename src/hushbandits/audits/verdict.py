"""What a check found."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from hushbandits.core.guarantee import Guarantee

__all__ = ["TOO_LARGE", "Verdict"]

#: Why nothing could have been found, where nobody says more.
TOO_LARGE = "too few runs for so large an ε"
#: Why what passes says nothing of a promise whose neighbours nobody can play.
WORDS = "its adjacency is in words alone, and only one reward was changed: say what is `replaced`"
_SLACK = 1e-9


@dataclass(frozen=True)
class Verdict:
    """One check of one promise.

    Parameters
    ----------
    subject, check : str
        What was audited, and how.
    claimed, measured : float
        The claim stands where ``measured ≤ claimed``.
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
    least : float
        The smallest true ε that it refutes, with 90 % power where it is statistical; ``inf``: none; NaN: it is not
        about an ε.
    untested : str
        Why nothing could have been found; ``""``: something could.
    other : bool
        What it finds is no ε or δ, only that something is not as planned: that refutes no promise.

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
    least: float = math.nan
    untested: str = ""
    other: bool = False

    def __post_init__(self) -> None:
        words = self.promise is not None and self.promise.adjacency.replaced == "unknown"
        if not self.untested and (words or math.isinf(self.least)):
            object.__setattr__(self, "untested", WORDS if words else TOO_LARGE)
        if self.untested:
            object.__setattr__(self, "least", math.inf)

    @property
    def _stands(self) -> bool:
        slack = self.claimed if self.unit.startswith("δ") else max(1.0, self.claimed)  # a δ may be tiny
        return self.measured <= self.claimed + _SLACK * slack

    @property
    def passed(self) -> bool:
        """Whether nothing refutes the claim, or the promise itself declares that it does not hold."""
        return self.declared or self.other or self._stands

    @property
    def word(self) -> str:
        """``FAILS``, ``declared``, ``other law``, ``not tested`` (nothing could have been found), or ``passes``."""
        if not self._stands:
            return "declared" if self.declared else "other law" if self.other else "FAILS"
        return "not tested" if self.untested else "passes"
