"""Local differential privacy: every user's message is private by itself."""

from __future__ import annotations

from hushbandits.core.guarantee import Guarantee
from hushbandits.core.world import World
from hushbandits.privacy.plans import Plan, local_pure
from hushbandits.wrappers.mechanism import Mechanism

__all__ = ["LocalDiscreteLaplace"]


class LocalDiscreteLaplace(Mechanism):
    """Every user adds Lap_ℤ(g/ε) to its encoded reward: nobody needs to be trusted, and the noise adds up.

    ``g = ⌈ε√n⌉``; τ is the 1 − p quantile of the sum of n draws, computed (the paper leaves a constant unnamed).
    Source: Chowdhury & Zhou 2023, theorem 6.
    """

    hidden_by = "noise"

    def __init__(
        self,
        epsilon: float = 1.0,
        confidence: float | str = 0.1,
        sampler: str = "fast",
        *,
        name: str | None = None,
    ):
        super().__init__(epsilon, confidence, 1.0, sampler, name=name)

    def plan(self, n: int) -> Plan:
        return local_pure(n, self.epsilon, self._p)

    def claimed_guarantees(self, env: World) -> tuple[Guarantee, ...]:
        text = f"Lap_ℤ(g/ε) on every encoded reward, g = ⌈ε√n⌉, ε = {self.epsilon:g}"
        return self._promise(text, "everyone but the user", "Chowdhury & Zhou 2023, theorem 6")
