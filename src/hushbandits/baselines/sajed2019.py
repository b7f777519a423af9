"""Sajed & Sheffet 2019, "An Optimal Private Stochastic-MAB Algorithm": DP-SE, with a trusted server."""

from __future__ import annotations

from typing import ClassVar

from hushbandits.agents.chowdhury2023_elimination import SuccessiveElimination
from hushbandits.core.ground.types import Params
from hushbandits.routines.successive import epoch_length, radii

__all__ = ["DPSE"]


class DPSE(SuccessiveElimination):
    """DP-SE (Sajed & Sheffet 2019): epochs of R(e) users per arm, one Laplace draw per arm, on `CentralDP-v0`.

    ``μ̃ = μ̂ + Lap(1/(εR))``; drop a where ``max μ̃ − μ̃_a > 2(h + c)``.  The confidence p stands for their β.
    """

    name = "DP-SE"
    mechanisms = ("CentralLaplace",)
    fixed: ClassVar[Params] = {"discrete": False}
    wrappers = ("CentralLaplace",)

    def length(self, m: int, b: int) -> float:
        return epoch_length(m, b, self._epsilon, self._p)

    def width(self, m: int, b: int, n: int) -> float:
        h, c = radii(m, b, self._epsilon, self._p, float(n))
        return h + c
