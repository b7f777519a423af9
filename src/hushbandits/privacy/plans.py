"""How a block of n users is privatized: precision g, tail bound τ, modulus m, and each user's noise.

One function per row of the table of Chowdhury & Zhou 2023 (algorithm 1; theorems 1, 2, 4, 5, 6).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from hushbandits.core.validate import real
from hushbandits.privacy.samplers import NoiseLaw, PolyaDifference

__all__ = ["Plan", "central_pure", "confidence_level", "distributed_pure", "precision"]

_SLACK = 1e-12  # a quotient within rounding of a whole number is that number: ⌈0.1·√900⌉ is 3
_MAX_MODULUS = 1 << 62


@dataclass(frozen=True)
class Plan:
    """Parameters of one block.

    Parameters
    ----------
    n : int
        Users planned.
    g : int
        Precision: a reward x becomes an integer near xg; the sensitivity of the sum.
    tau : int
        τ: the block's noise exceeds it with probability at most p.
    noise : NoiseLaw or None
        Each user's own noise; ``None``: none.
    """

    n: int
    g: int
    tau: int
    noise: NoiseLaw | None

    @property
    def modulus(self) -> int:
        """``m = ng + 2τ + 1``."""
        return self.n * self.g + 2 * self.tau + 1

    @property
    def bits(self) -> int:
        """``⌈log₂ m⌉``, a message's length."""
        return (self.modulus - 1).bit_length()

    def decode(self, y: int, survivors: int) -> float:
        """The analyzer A: ``z = (ŷ − m)/g`` if ``ŷ > sg + τ`` (an underflow of the modular sum), else ``ŷ/g``.

        Examples
        --------
        >>> plan = Plan(n=2, g=2, tau=5, noise=None)
        >>> plan.modulus, plan.decode(3, 2), plan.decode(14, 2)
        (15, 1.5, -0.5)
        """
        return ((y - self.modulus) if y > survivors * self.g + self.tau else y) / self.g


def checked(plan: Plan) -> Plan:
    """Return `plan`, or raise ``ValueError`` where its modulus does not fit 62 bits."""
    if plan.modulus >= _MAX_MODULUS:
        raise ValueError(f"a block of n={plan.n} users at precision g={plan.g} needs a modulus beyond 2^62")
    return plan


def ceiling(x: float) -> int:
    """``⌈x⌉``, forgiving what rounding adds to a whole number."""
    return math.ceil(x * (1 - _SLACK))


def precision(n: int, epsilon: float, scale: float = 1.0) -> int:
    """``g = ⌈sε√n⌉``.

    Examples
    --------
    >>> precision(1024, 1.0), precision(1024, 0.1), precision(900, 0.1), precision(1024, 0.5, 10)
    (32, 4, 3, 160)
    """
    return ceiling(scale * epsilon * math.sqrt(n))


def distributed_pure(n: int, epsilon: float, p: float) -> Plan:
    """Theorem 1: ``γ⁺ − γ⁻``, each Pólya(1/n, e^(−ε/g)); ``g = ⌈ε√n⌉``, ``τ = ⌈(g/ε) ln(2/p)⌉``.

    The users' noise sums to Lap_ℤ(g/ε).

    Examples
    --------
    >>> plan = distributed_pure(1024, 1.0, 0.1)
    >>> plan.g, plan.tau, plan.modulus, plan.bits
    (32, 96, 32961, 16)
    """
    g = precision(n, epsilon)
    return checked(Plan(n, g, ceiling(g / epsilon * math.log(2 / p)), PolyaDifference(1 / n, g / epsilon)))


def central_pure(n: int, epsilon: float, p: float) -> Plan:
    """Theorem 5: users add nothing, the analyzer adds Lap_ℤ(g/ε); g and τ as `distributed_pure`.

    Examples
    --------
    >>> central_pure(1024, 1.0, 0.1)
    Plan(n=1024, g=32, tau=96, noise=None)
    """
    g = precision(n, epsilon)
    return checked(Plan(n, g, ceiling(g / epsilon * math.log(2 / p)), None))


def confidence_level(confidence: Any, horizon: int) -> float:
    """The probability p: a number in (0, 1), or ``"1/T"`` as in the paper's theorems.

    Examples
    --------
    >>> confidence_level("1/T", 1000)
    0.001
    """
    if confidence == "1/T":
        return 1.0 / max(horizon, 2)
    if isinstance(confidence, str):
        raise ValueError(f'confidence={confidence!r} must lie in (0, 1) or be "1/T"')
    return real("confidence", confidence, 0, 1)
