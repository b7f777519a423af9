"""Distributed DP, in which all users of a block add noise jointly, without a trusted server.

Algorithm 1 of Chowdhury & Zhou 2023: `send` is the local randomizer R, `deliver` the analyzer A; the secure function S
between them is a separate wrapper.
"""

import math
from dataclasses import replace
from functools import partial
from typing import Any

from hushbandits.core import Guarantee, World, real
from hushbandits.privacy import divergence, plans
from hushbandits.privacy.ledger import Spent, polya_price
from hushbandits.privacy.noise import Curve
from hushbandits.privacy.plans import Plan, precision
from hushbandits.wrappers.mechanism import ALONE, SIZES, Mechanism


class _Distributed(Mechanism):
    """Base class of the distributed mechanisms, whose guarantee needs a secure function as a later wrapper."""

    source = ""

    def _guarantee(self, mechanism: str) -> Guarantee:
        some = f"at least min_participants={self.min_participants:g} of a block's users"
        present = "all planned users" if self.counts_on_all else some
        sure = (
            f"{present} take part and add their noise",
            "the secure function reveals the modular sum only",
            f"no user reveals its own noise to the server {ALONE}",
        )
        return self._promise(mechanism, "the server alone: modular sums of blocks", self.source, sure)


class DiscreteLaplace(_Distributed):
    """Distributed pure DP: every user adds a difference of Pólya samples, and all differences sum to discrete Laplace.

    For n users: ``g = ⌈ε√n⌉``, ``η = γ⁺ − γ⁻`` with γ ~ Pólya(1/n, e^(−ε/g)), ``τ = ⌈(g/ε) ln(2/p)⌉``,
    ``m = ng + 2τ + 1``.  Source: Chowdhury & Zhou 2023, theorem 1.

    Examples
    --------
    >>> import hushbandits as hb
    >>> env = hb.make_batched("DistDP-v0", epsilon=0.5)
    >>> [wrapper.name for wrapper in env.wrappers]
    ['DiscreteLaplace', 'SecAgg']
    >>> env.guarantees()[0].epsilon
    0.5
    """

    source, vetted = "Chowdhury & Zhou 2023, theorem 1", ("proof", "exact law", "audit", "dp-accounting", "OpenDP")

    def plan(self, n: int) -> Plan:
        return plans.distributed_pure(n, self.epsilon, self._p, self.sure(n))

    def price(self, n: int, survivors: int) -> Spent:
        """Return a block's cost: ε, or more if the survivors' noise is less than the planned noise."""
        return polya_price(self.planned(n), self.epsilon, survivors)

    def claimed_guarantees(self, env: World) -> tuple[Guarantee, ...]:
        return (self._guarantee(f"Lap_ℤ(g/ε) on a block's sum, g = ⌈ε√n⌉, ε = {self.epsilon:g}, as n Pólya shares"),)


class Skellam(_Distributed):
    """Distributed Rényi DP: every user adds Skellam noise of variance g²/(nε²), ``g = ⌈sε√n⌉``.

    Source: Chowdhury & Zhou 2023, theorem 2; accounted from the Skellam bound with the actual g and σ² of the smallest
    block of two users, for the theorem's branch 3ε²/(2s) should read 3ε/(2s√n).

    Parameters
    ----------
    epsilon : float
        ε > 0: about αε²/2-Rényi DP of every order α.
    scale : float
        s ≥ 1: a finer grid costs bits and buys privacy and accuracy.
    delta : float
        δ at which `privacy` states the converted ε.

    Examples
    --------
    >>> import hushbandits as hb
    >>> round(hb.make_batched("DistRDP-v0", epsilon=0.5).guarantees()[0].epsilon, 2)
    2.43
    """

    source = "Chowdhury & Zhou 2023, theorem 2; Agarwal, Kairouz & Liu 2021, theorem 3.5"

    def __init__(self, epsilon: float = 1.0, *, scale: float = 10.0, delta: float = 1e-6, **rest: Any):
        super().__init__(epsilon, **rest)
        self.scale = real("scale", scale, 1, closed="low")
        self.delta = real("delta", delta, 0, 1)

    def plan(self, n: int) -> Plan:
        return plans.distributed_renyi(n, self.epsilon, self._p, self.scale, self.sure(n))

    def price(self, n: int, survivors: int) -> Spent:
        plan = self.planned(n)
        curve = plan.noise.curve(survivors, plan.g) if plan.noise is not None else None
        assert curve is not None
        return Spent(divergence.to_epsilon(curve, self.delta), self.delta, curve, partial(self.seen, n, survivors))

    def _together(self, horizon: int, times: int, delta: float) -> float:
        """Return the composed ε of `times` blocks at δ.

        It comes from the pointwise largest profile of the checked block sizes and their Gaussian limit.
        """
        sizes = sorted({*range(2, 9), *SIZES, horizon})
        laws = [self.seen(n, self.sure(n)) for n in sizes if 2 <= n <= max(horizon, 2)]
        known = [law for law in laws if law is not None]
        if len(known) < len(laws):
            return math.inf
        worst = divergence.worst_profile([*known, divergence.gaussian_profile(self.epsilon)])
        return divergence.composed_epsilon(worst, times, delta)

    def claimed_guarantees(self, env: World) -> tuple[Guarantee, ...]:
        g = precision(2, self.epsilon, self.scale)
        text = (
            f"Skellam(0, g²/ε²) on a block's sum, g = ⌈sε√n⌉, ε = {self.epsilon:g}, s = {self.scale:g}: "
            "Rényi DP, ε(α) = αε²/2 + min{((2α−1)g² + 6g)ε⁴/4g⁴, 3ε²/2g}"
        )
        return self._converted(text, divergence.skellam_curve((g / self.epsilon) ** 2, g), env)

    def _converted(self, text: str, curve: Curve, env: World) -> tuple[Guarantee, ...]:
        """Return the claim at the mechanism's δ; `curve` is an upper bound on the Rényi curves of all blocks."""
        epsilon = divergence.to_epsilon(curve, self.delta)
        return (replace(self._guarantee(text), epsilon=epsilon, exact=partial(self._together, int(env.horizon))),)


class DiscreteGaussian(Skellam):
    """Distributed concentrated DP: every user adds a discrete Gaussian with σ² = g²/(nε²), ``g = ⌈sε√n⌉``.

    Their sum is not a discrete Gaussian, but close to one: ½ε̄²-zCDP with ε̄ a little above ε
    (`privacy.divergence.concentrated_sum`).  Source: Chowdhury & Zhou 2023, theorem 4; Kairouz, Liu & Steinke 2021.

    Examples
    --------
    >>> import hushbandits as hb
    >>> round(hb.make_batched("DistCDP-v0", epsilon=0.5).guarantees()[0].epsilon, 2)
    2.42
    """

    source = "Chowdhury & Zhou 2023, theorem 4; Kairouz, Liu & Steinke 2021, proposition 13"

    def plan(self, n: int) -> Plan:
        return plans.distributed_concentrated(n, self.epsilon, self._p, self.scale, self.sure(n))

    def claimed_guarantees(self, env: World) -> tuple[Guarantee, ...]:
        """Return the claim at the mechanism's δ, from an upper bound on ρ of all blocks.

        ξ grows with n and falls with σ²: it is taken at the horizon and at σ² = s², below which rounding g up never
        leaves it.
        """
        n = max(2, env.horizon)
        rho = divergence.concentrated_sum(n, self.scale**2, self.scale * self.epsilon * math.sqrt(n))
        text = (
            f"n discrete Gaussians of σ² = g²/(nε²) on a block's sum, g = ⌈sε√n⌉, ε = {self.epsilon:g}, "
            f"s = {self.scale:g}: ρ-zCDP with ρ = {rho:.6g}"
        )
        return self._converted(text, divergence.zcdp_curve(rho), env)
