"""Each user's own noise, which needs no trust in anybody."""

from __future__ import annotations

import math
from bisect import bisect_left
from dataclasses import dataclass
from functools import partial

import numpy as np

from hushbandits.core import Array, Guarantee, World, real
from hushbandits.privacy import divergence, plans, samplers
from hushbandits.privacy.noise import Profile, tail_quantile
from hushbandits.privacy.plans import Plan, precision
from hushbandits.wrappers.mechanism import Mechanism


class LocalDiscreteLaplace(Mechanism):
    """Every user adds Lap_ℤ(g/ε) to its encoded reward: nobody needs to be trusted, and the noise adds up.

    ``g = ⌈ε√n⌉``; τ is the 1 − p quantile of the sum of n draws, computed (the paper leaves a constant unnamed).
    Source: Chowdhury & Zhou 2023, theorem 6.
    """

    hidden_by = "noise"

    def __init__(
        self, epsilon: float = 1.0, confidence: float | str = 0.1, *, noise: str = "simulated", name: str | None = None
    ):
        super().__init__(epsilon, confidence, noise=noise, name=name)

    def plan(self, n: int) -> Plan:
        return plans.local_pure(n, self.epsilon, self._p)

    def claimed_guarantees(self, env: World) -> tuple[Guarantee, ...]:
        text = f"Lap_ℤ(g/ε) on every encoded reward, g = ⌈ε√n⌉, ε = {self.epsilon:g}"
        return (self._promise(text, "everyone but the user", "Chowdhury & Zhou 2023, theorem 6"),)


@dataclass(frozen=True)
class TruncatedGeometric(samplers.Positive):
    """``P(x) ∝ e^(−|x|/b)`` on the integers from −B to B."""

    b: float
    bound: int

    def pmf(self, x: Array) -> Array:
        norm = 1 - 2 * math.expm1(-self.bound / self.b) / math.expm1(1 / self.b)
        return np.where(np.abs(x) <= self.bound, np.exp(-np.abs(x) / self.b), 0.0) / norm

    def far(self, tilt: float = 0.0) -> int:
        return self.bound

    def exactly(self) -> int:
        while abs(x := samplers.discrete_laplace(*self.b.as_integer_ratio())) > self.bound:
            pass
        return x

    def profile(self, n: int, shift: int) -> Profile | None:
        return divergence.shift_profile(self.pmf(np.arange(-self.bound, self.bound + 1)), shift) if n == 1 else None

    def outside(self, shift: int) -> float:
        """Mass that the law moved by `shift` ≤ B cannot have: its δ at ``ε = shift/b``, and no ε makes it less."""
        return float(self.pmf(np.arange(self.bound - shift + 1, self.bound + 1)).sum())


class LocalTruncated(LocalDiscreteLaplace):
    """Every user adds noise that never exceeds B: `LocalDiscreteLaplace` without its tails, (ε, δ) by itself.

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

    def __init__(
        self,
        epsilon: float = 1.0,
        delta: float = 1e-6,
        confidence: float | str = 0.1,
        *,
        noise: str = "simulated",
        name: str | None = None,
    ):
        super().__init__(epsilon, confidence, noise=noise, name=name)
        self.delta = real("delta", delta, 0, 1)

    def plan(self, n: int) -> Plan:
        g = precision(n, self.epsilon)
        high = 2 * g
        while not self._hides(g, high):
            high *= 2
        bound = bisect_left(range(high), True, g, key=partial(self._hides, g))
        noise = TruncatedGeometric(g / self.epsilon, bound)
        return Plan(n, g, tail_quantile(noise, n, self._p), noise)

    def _hides(self, g: int, bound: int) -> bool:
        return TruncatedGeometric(g / self.epsilon, bound).outside(g) <= self.delta

    def claimed_guarantees(self, env: World) -> tuple[Guarantee, ...]:
        text = f"Lap_ℤ(g/ε) cut off at ±B on every encoded reward, g = ⌈ε√n⌉, ε = {self.epsilon:g}, δ = {self.delta:g}"
        return (self._promise(text, "everyone but the user", "Geng, Ding, Guo & Kumar 2020 (truncated Laplace)"),)
