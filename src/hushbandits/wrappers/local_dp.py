"""Local DP in the feedback setting, in which a user's noise protects the reward without other users' noise."""

import math
from typing import Any

from hushbandits.core import Guarantee, World, real
from hushbandits.privacy import plans, samplers
from hushbandits.privacy.noise import tail_quantile
from hushbandits.privacy.plans import Plan, precision
from hushbandits.wrappers.mechanism import Standalone


class LocalDiscreteLaplace(Standalone):
    """Local DP: every user adds Lap_ℤ(g/ε) to the encoded reward, and the sum has the noise of all users.

    ``g = ⌈ε√n⌉``; τ is the 1 − p quantile of the sum of n draws, computed (the paper leaves a constant unnamed).
    Source: Chowdhury & Zhou 2023, theorem 6.
    """

    hidden_by = "noise"

    def plan(self, n: int) -> Plan:
        return plans.local_pure(n, self.epsilon, self._p)

    def claimed_guarantees(self, env: World) -> tuple[Guarantee, ...]:
        text = f"Lap_ℤ(g/ε) on every encoded reward, g = ⌈ε√n⌉, ε = {self.epsilon:g}"
        return (self._promise(text, "everyone but the user", "Chowdhury & Zhou 2023, theorem 6"),)


class LocalTruncated(LocalDiscreteLaplace):
    """Local (ε, δ)-DP: every user adds discrete Laplace noise that is truncated at a bound B.

    ``g = ⌈ε√n⌉``, scale g/ε, and B the smallest whose last g values have probability at most δ.  Source: Geng, Ding,
    Guo & Kumar 2020 cut off the Laplace law; on the integers, with B computed from δ, it is our own.

    Parameters
    ----------
    delta : float
        δ in (0, 1).

    Examples
    --------
    >>> import hushbandits as hb
    >>> env = hb.make_batched("hushbandits.envs.feedback:Feedback", wrappers=[LocalTruncated(0.5)])
    >>> env.guarantees()[0].epsilon, env.guarantees()[0].delta
    (0.5, 1e-06)
    """

    noise_as = "LocalDiscreteLaplace"  # a sum of symmetric unimodal draws has lighter tails once they are cut off

    def __init__(self, epsilon: float = 1.0, delta: float = 1e-6, **rest: Any):
        super().__init__(epsilon, **rest)
        self.delta = real("delta", delta, 0, 1)

    def plan(self, n: int) -> Plan:
        g = precision(n, self.epsilon)
        b = g / self.epsilon
        # The least B with P(B − g < X ≤ B) = (e^ε − 1)/((1 + β)e^((B + 1)/b) − 2) ≤ δ, where β = e^(−1/b).
        log_odds = math.log(2 * self.delta * math.exp(-self.epsilon) - math.expm1(-self.epsilon))
        log_odds += self.epsilon - math.log(self.delta) - math.log1p(math.exp(-1 / b))
        noise = samplers.TruncatedGeometric(b, max(g, math.ceil(b * log_odds) - 1))
        return Plan(n, g, tail_quantile(noise, n, self._p), noise)

    def claimed_guarantees(self, env: World) -> tuple[Guarantee, ...]:
        text = f"Lap_ℤ(g/ε) cut off at ±B on every encoded reward, g = ⌈ε√n⌉, ε = {self.epsilon:g}, δ = {self.delta:g}"
        return (self._promise(text, "everyone but the user", "Geng, Ding, Guo & Kumar 2020 (truncated Laplace)"),)
