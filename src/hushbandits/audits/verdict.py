"""What a check found."""

from __future__ import annotations

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
    def _stands(self) -> bool:
        slack = self.claimed if self.unit.startswith("δ") else max(1.0, self.claimed)  # a δ may be tiny
        return self.measured <= self.claimed + _SLACK * slack

    @property
    def passed(self) -> bool:
        """Whether the claim stands, or the promise itself declares that it does not."""
        return self.declared or self._stands

    @property
    def word(self) -> str:
        """``passes``, ``FAILS`` or ``declared``."""
        return "passes" if self._stands else "declared" if self.declared else "FAILS"
