"""Sajed & Sheffet 2019, "An Optimal Private Stochastic-MAB Algorithm": DP-SE on blocks and single pulls."""

from typing import ClassVar

from hushbandits.agents.azize2023 import Identifier
from hushbandits.agents.feedback import SuccessiveElimination
from hushbandits.best_arm.private_elimination import epoch_length, private_elimination, radii
from hushbandits.best_arm.routine import Routine
from hushbandits.core import Params


class DPSE(SuccessiveElimination):
    """DP-SE (Sajed & Sheffet 2019) on `CentralDP-v0`: epoch e gives each active arm R(e) users and one Laplace draw.

    R(e) is `epoch_length`.

    ``μ̃ = μ̂ + Lap(1/(εR))``; drop a where ``max μ̃ − μ̃_a > 2(h + c)``.  The confidence p stands for their β.
    """

    name = "DP-SE"
    mechanisms = wrappers = ("CentralLaplace",)
    fixed: ClassVar[Params] = {"discrete": False}

    def length(self, m: int, b: int) -> float:
        return epoch_length(m, b, self._epsilon, self._p)

    def width(self, m: int, b: int, n: int) -> float:
        h, c = radii(m, b, self._epsilon, self._p, float(n))
        return h + c


class DPSEAlone(Identifier):
    """DP-SE for best-arm identification with one pull per round, a baseline of Azize et al. 2023.

    In epoch e every arm that is left is pulled R(e) times, ``R = ⌊max(32 ln(8|S|e²/δ)/Δ², 8 ln(4|S|e²/δ)/(Δε))⌋ + 1``
    with Δ = 2^(−e); then ``μ̃ = μ̂ + Lap(1/(εR))``, and an arm goes if it is more than 2(h + c) below the best of them.

    Parameters
    ----------
    epsilon : float
        ε > 0: actions, stopping and recommendation are ε-differentially private in its rewards.
    delta : float
        δ, the failure probability; it stands for their β.

    Raises
    ------
    ValueError
        A parameter out of its range.
    """

    name = "DP-SE-alone"
    source, vetted = "Sajed & Sheffet 2019", ("proof",)  # an audit sees nothing of it that varies

    def routine(self, n_arms: int) -> Routine:
        return private_elimination(n_arms, self.epsilon, self.delta, single=True)
