"""Chowdhury & Zhou 2023, "Distributed Differential Privacy in Multi-Armed Bandits" (ICLR).

Algorithm 1: successive elimination on blocks of users, whose sums arrive through a privacy protocol.  There is one
agent per protocol; they differ in the radius for the protocol's noise.
"""

import math
from functools import lru_cache
from typing import ClassVar

from hushbandits.agents.feedback import BatchedSE
from hushbandits.best_arm.private_elimination import batch_radius
from hushbandits.core import Params, Wrapper, choice, real
from hushbandits.privacy.noise import tail_quantile
from hushbandits.privacy.plans import precision
from hushbandits.privacy.samplers import PolyaDifference


@lru_cache(maxsize=4096)
def _surplus_tail(n: int, sure: int, epsilon: float, p: float) -> float:
    """Return a bound on n users' noise, calibrated to `sure` users, that holds with probability at least 1 − p."""
    g = precision(n, epsilon)
    return tail_quantile(PolyaDifference(1 / sure, g / epsilon), n, p) / g


class DistDPSE(BatchedSE):
    """Dist-DP-SE: pure DP in the distributed model (theorem 1).

    The radius β(b) of `batch_radius` has ``σ = √2/ε`` and ``h = 1/ε``.

    The mechanism's noise may be calibrated to some of a block's users (its `min_participants`), so that all n of them
    add more. Then σ covers the rounding alone, and ``+ q/n`` replaces the term of h, as in `LDPSE`; qg is the ``1 −
    p/(mb²)`` quantile of n users' noise.  Means and n count the remaining users.

    Examples
    --------
    >>> import hushbandits as hb
    >>> results = hb.evaluate("DistDP-v0", "Dist-DP-SE", runs=2, env={"horizon": 10_000, "epsilon": 0.5})
    >>> results.final("users").tolist()
    [10000, 10000]
    """

    name = "Dist-DP-SE"
    mechanisms = ("DiscreteLaplace",)
    counts_survivors = True

    def noise(self) -> tuple[float, float]:
        """Return (σ, h), as in `BatchedSE.noise`, for rounding and discrete Laplace noise of scale 1/ε."""
        return math.sqrt(2) / self._epsilon, 1 / self._epsilon

    def width(self, m: int, b: int, n: int) -> float:
        planned, sure = self._counted(m, b)
        sigma, h = self.noise()
        if sure == planned:
            return batch_radius(m, b, self._p, n, sigma, h)
        tail = _surplus_tail(planned, sure, 1 / h, self._p / (m * b * b))
        return batch_radius(m, b, self._p, n, sigma, 0.0) + tail / n


class DistRDPSE(BatchedSE):
    """Dist-RDP-SE: Rényi DP in the distributed model (theorem 2).

    The radius β(b) of `batch_radius` has ``σ = 2/ε + √2/(sε)`` and ``h = 1/(sε)``.

    If the mechanism's noise is calibrated to t of a block's n users (its `min_participants`), it has n/t times the
    variance, and the 2/ε in σ becomes ``2√(n/t)/ε``.

    Parameters
    ----------
    scale : float, optional
        s ≥ 1 of the mechanism; left out, the mechanism's.
    """

    name = "Dist-RDP-SE"
    mechanisms = ("Skellam",)
    counts_survivors = True
    #: εσ of the noise, without the rounding.
    spread: ClassVar[float] = 2.0
    shared = ("epsilon", "confidence", "scale")
    _scale: float
    wrappers = ("Skellam", "SecAgg")

    def __init__(
        self,
        epsilon: float | None = None,
        confidence: float | str | None = None,
        batch_growth: float = 2.0,
        scale: float | None = None,
        *,
        require_calibrated: bool = True,
    ):
        super().__init__(epsilon, confidence, batch_growth, require_calibrated=require_calibrated)
        self.scale = scale if scale is None else real("scale", scale, 1, closed="low")

    def noise(self) -> tuple[float, float]:
        """Return (σ, h), as in `BatchedSE.noise`, for Skellam noise and the rounding error at precision ⌈sε√n⌉.

        Source: proposition 1.
        """
        s, epsilon = self._scale, self._epsilon
        return 2 / epsilon + math.sqrt(2) / (s * epsilon), 1 / (s * epsilon)

    def width(self, m: int, b: int, n: int) -> float:
        planned, sure = self._counted(m, b)
        sigma, h = self.noise()
        more = self.spread * (math.sqrt(planned / sure) - 1) / self._epsilon
        return batch_radius(m, b, self._p, n, sigma + more, h)


class DistCDPSE(DistRDPSE):
    """Dist-CDP-SE: concentrated DP in the distributed model (theorem 4).

    The radius β(b) of `batch_radius` has ``σ = (√2 + √2/s)/ε`` and ``h = 0``, where s is `scale`.
    """

    name = "Dist-CDP-SE"
    spread = math.sqrt(2)
    mechanisms = ("DiscreteGaussian",)
    wrappers = ("DiscreteGaussian", "SecAgg")

    def noise(self) -> tuple[float, float]:
        """Return (σ, h), as in `BatchedSE.noise`, for sub-Gaussian noise and the rounding error."""
        s, epsilon = self._scale, self._epsilon
        return (math.sqrt(2) + math.sqrt(2) / s) / epsilon, 0.0


class CDPSE(DistDPSE):
    """CDP-SE: pure DP with a trusted server that adds discrete noise (theorem 5); the radius is that of `DistDPSE`."""

    name = "CDP-SE"
    mechanisms = wrappers = ("CentralLaplace",)
    fixed: ClassVar[Params] = {"discrete": True}


class LDPSE(BatchedSE):
    """LDP-SE: pure DP in the local model (theorem 6).

    ``β(b) = √(ln(4mb²/p)/(2n)) + (√2/ε)√ln(2mb²/p)/n + q/n`` for m active arms.  The terms are Hoeffding's inequality,
    the rounding at precision ``g = ⌈ε√n⌉``, and the noise.  Here qg is the ``1 − p/(mb²)`` quantile of n summed
    Lap_ℤ(g/ε), computed from its characteristic function (`privacy.noise.tail_quantile`); the paper leaves a constant
    of this term open.
    """

    name = "LDP-SE"
    mechanisms = wrappers = ("LocalDiscreteLaplace",)

    def noise(self) -> tuple[float, float]:
        """Return (σ, h), as in `BatchedSE.noise`, for the rounding error alone; `width` adds the noise term."""
        return math.sqrt(2) / self._epsilon, 0.0

    def width(self, m: int, b: int, n: int) -> float:
        return super().width(m, b, n) + _surplus_tail(n, 1, self._epsilon, self._p / (m * b * b)) / n


class ShuffleDPSE(BatchedSE):
    """Shuffle-DP-SE: the counterpart of `DistDPSE` with a shuffler.

    The first batch of an arm has 32 users, as split-and-mix needs at least 19.

    Parameters
    ----------
    shuffle : str, optional
        ``"split-and-mix"`` or ``"pure"`` (theorem 3, whose noise takes ε/2); left out, the env's.
    """

    name = "Shuffle-DP-SE"
    mechanisms = ("ShuffledLaplace",)
    counts_survivors = True
    shared = ("epsilon", "confidence", "shuffle")
    _shuffle: str
    wrappers = ("ShuffledNoise", "ShuffledSum")
    first = 32.0

    def __init__(
        self,
        epsilon: float | None = None,
        confidence: float | str | None = None,
        batch_growth: float = 2.0,
        shuffle: str | None = None,
        *,
        require_calibrated: bool = True,
    ):
        super().__init__(epsilon, confidence, batch_growth, require_calibrated=require_calibrated)
        self.shuffle = shuffle if shuffle is None else choice("shuffle", shuffle, ("split-and-mix", "pure"))

    def _validate_env(self, mechanism: Wrapper) -> bool:
        self.noise()  # its error on binary sums is more specific
        return super()._validate_env(mechanism)

    def noise(self) -> tuple[float, float]:
        share = {"split-and-mix": 1.0, "pure": 0.5}.get(self._shuffle)
        if share is None:
            raise ValueError(f"{self.name} needs shuffle='split-and-mix' or 'pure'; 'binary-sum' is for VB-SDP-AE")
        epsilon = share * self._epsilon
        return math.sqrt(2) / epsilon, 1 / epsilon

    width = DistDPSE.width
