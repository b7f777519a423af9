"""Noise on blocks of users: a trusted server's, that of all users together, each user's own, or a shuffler's.

Distributed noise is algorithm 1 of Chowdhury & Zhou 2023: `send` is the local randomizer R, `deliver` the analyzer A;
the secure function S between them is a wrapper of its own.  Three protocols send it through a shuffler: split-and-mix
(Balle et al. 2020), theorem 3 of Chowdhury & Zhou 2023, and a binary sum (Tenenbaum et al. 2021).
"""

from __future__ import annotations

import math
from bisect import bisect_left
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any

import numpy as np

from hushbandits.core import Adjacency, Fields, Guarantee, Inbox, Payload, World, Wrapper
from hushbandits.core.utils import Array, choice, flag, integer, real
from hushbandits.envs.feedback.cohort import BlockInbox, blocks
from hushbandits.privacy import noise, plans, samplers
from hushbandits.privacy.ledger import Spent
from hushbandits.privacy.noise import NoiseLaw, Profile, tail_quantile
from hushbandits.privacy.plans import SMALLEST, Plan, Release, precision
from hushbandits.wrappers.mechanism import ALONE, SIZES, Mechanism
from hushbandits.wrappers.secure_functions import PROTOCOLS, ShuffledSum

# -- a trusted server's noise -----------------------------------------------------------------------------------------


class CentralLaplace(Mechanism):
    """Users send their rewards as they are, clipped to [0, 1]; the analyzer adds one Laplace draw to a block's sum.

    Continuous: ``Lap(1/ε)`` on Σx, that is ``Lap(1/(εn))`` on the mean (Sajed & Sheffet 2019).  Discrete: rewards
    are encoded at precision ``g = ⌈ε√n⌉`` and Lap_ℤ(g/ε) is added mod m (Chowdhury & Zhou 2023, theorem 5).

    Parameters
    ----------
    discrete : bool
        Integer noise on encoded rewards.
    """

    def __init__(
        self,
        epsilon: float = 1.0,
        confidence: float | str = 0.1,
        discrete: bool = False,
        *,
        noise: str = "simulated",
        name: str | None = None,
    ):
        super().__init__(epsilon, confidence, noise=noise, name=name)
        self.discrete = flag("discrete", discrete)

    hidden_by = "server"

    def added(self, n: int) -> NoiseLaw:
        """What the server adds to the sum of a block planned for `n` users."""
        if not self.discrete:
            return samplers.Laplace(1 / self.epsilon)
        return samplers.DiscreteLaplace(self.planned(n).g / self.epsilon)

    def plan(self, n: int) -> Plan:
        return plans.central_pure(n, self.epsilon, self._p)

    def sends(self, fields: Fields, env: World) -> Fields:
        return super().sends(fields, env) if self.discrete else self._raw(fields, env)

    def send(self, message: Payload, env: World) -> Payload:
        if self.discrete:
            return super().send(message, env)
        self._sizes = message["reward"].planned
        return message.clip()

    def release(self, n: int, survivors: int) -> Release:
        plan = self.planned(n)
        return Release(self.added(n), 1, 1, *((plan.g, plan.modulus) if self.discrete else (1, 0)))

    def _details(self, n: int) -> dict[str, object]:
        return {"g": self.planned(n).g if self.discrete else 1, "noise": repr(self.added(n))}

    def deliver(self, inbox: Inbox, env: World) -> Inbox:
        assert isinstance(inbox, BlockInbox)
        y, n = inbox.total("reward"), inbox.total("n")
        noised = np.zeros_like(y)
        laws = {size: self._law(self.added(size)) for size in np.unique(self._sizes[n > 0]).tolist()}
        for r, m, _ in blocks(n):
            noised[r, m] = y[r, m] + laws[self._sizes[r, m]].draw(self._rngs[r], 1)[0]
        if not self.discrete:
            self.ledger.use_all(self._sizes, n.copy())
        inbox = inbox.decoded(noised)
        return super().deliver(inbox, env) if self.discrete else inbox

    def claimed_guarantees(self, env: World) -> tuple[Guarantee, ...]:
        noise, source = "Lap(1/ε) on the sum", "Sajed & Sheffet 2019"
        if self.discrete:
            noise, source = "Lap_ℤ(g/ε) on the encoded sum", "Chowdhury & Zhou 2023, theorem 5"
        view = "whoever sees the decoded sums; the server itself is trusted with the rewards"
        text = f"{noise} of a block, ε = {self.epsilon:g}, added by the server"
        return self._promise(text, view, source, ("a trusted server",))


# -- noise of all users together --------------------------------------------------------------------------------------


class _Distributed(Mechanism):
    """What the distributed mechanisms share: a guarantee that stands on the secure function behind them."""

    source = ""

    def _guarantee(self, mechanism: str, **changes: Any) -> tuple[Guarantee, ...]:
        present = "all planned users" if self.t_min == 1.0 else f"at least t_min={self.t_min:g} of a block's users"
        sure = (
            f"{present} take part and add their noise",
            "the secure function reveals the modular sum only",
            f"no user tells the server its own noise {ALONE}",
        )
        return self._promise(mechanism, "the server alone: modular sums of blocks", self.source, sure, **changes)


def polya_price(plan: Plan, epsilon: float, survivors: int) -> Spent:
    """ε where at least as many survive as the noise was calibrated to, else what the noise left over gives."""
    law = plan.noise
    assert isinstance(law, samplers.PolyaDifference)
    left = survivors * law.r
    cost = epsilon if left >= 1 - 1e-9 else max(epsilon, samplers.polya_epsilon(left, law.b, plan.g))
    return Spent(cost, 0.0, noise.pure_curve(cost), partial(noise.law_profile, law, survivors, plan.g))


class DiscreteLaplace(_Distributed):
    """Distributed pure DP: every user adds a difference of Pólya draws, and the sum is discrete Laplace.

    For n users: ``g = ⌈ε√n⌉``, ``η = γ⁺ − γ⁻`` with γ ~ Pólya(1/n, e^(−ε/g)), ``τ = ⌈(g/ε) ln(2/p)⌉``,
    ``m = ng + 2τ + 1``.  Source: Chowdhury & Zhou 2023, theorem 1.

    Examples
    --------
    >>> import hushbandits as hb
    >>> env = hb.make_core("DistDP-v0", epsilon=0.5)
    >>> [wrapper.name for wrapper in env.wrappers]
    ['DiscreteLaplace', 'SecAgg']
    >>> env.guarantees()[0].epsilon
    0.5
    """

    source = "Chowdhury & Zhou 2023, theorem 1"

    def plan(self, n: int) -> Plan:
        return plans.distributed_pure(n, self.epsilon, self._p, self.sure(n))

    def price(self, n: int, survivors: int) -> Spent:
        """ε; more where fewer than t_min survive, for their noise is all there is."""
        return polya_price(self.planned(n), self.epsilon, survivors)

    def claimed_guarantees(self, env: World) -> tuple[Guarantee, ...]:
        return self._guarantee(f"Lap_ℤ(g/ε) on a block's sum, g = ⌈ε√n⌉, ε = {self.epsilon:g}, as n Pólya shares")


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
    >>> round(hb.make_core("DistRDP-v0", epsilon=0.5).guarantees()[0].epsilon, 2)
    2.43
    """

    source = "Chowdhury & Zhou 2023, theorem 2; Agarwal, Kairouz & Liu 2021, theorem 3.5"

    def __init__(
        self,
        epsilon: float = 1.0,
        confidence: float | str = 0.1,
        scale: float = 10.0,
        delta: float = 1e-6,
        t_min: float = 1.0,
        *,
        honest: float = 1.0,
        noise: str = "simulated",
        name: str | None = None,
    ):
        super().__init__(epsilon, confidence, t_min, honest=honest, noise=noise, name=name)
        self.scale = real("scale", scale, 1, closed="low")
        self.delta = real("delta", delta, 0, 1)

    def plan(self, n: int) -> Plan:
        return plans.distributed_renyi(n, self.epsilon, self._p, self.scale, self.sure(n))

    def price(self, n: int, survivors: int) -> Spent:
        plan = self.planned(n)
        curve = plan.noise.curve(survivors, plan.g) if plan.noise is not None else None
        assert curve is not None
        return Spent(noise.to_epsilon(curve, self.delta), self.delta, curve, partial(self.seen, n, survivors))

    def _together(self, horizon: int, times: int, delta: float) -> float:
        """ε at δ of so many blocks: of each size that is looked at, and of the Gaussian law to which they tend."""
        sizes = sorted({*range(2, 9), *SIZES, horizon})
        laws = [self.seen(n, self.sure(n)) for n in sizes if 2 <= n <= max(horizon, 2)]
        known = [law for law in laws if law is not None]
        if len(known) < len(laws):
            return math.inf
        worst = noise.worst_profile([*known, noise.gaussian_profile(self.epsilon)])
        return noise.composed_epsilon(worst, times, delta)

    def claimed_guarantees(self, env: World) -> tuple[Guarantee, ...]:
        g = precision(2, self.epsilon, self.scale)
        converted = noise.to_epsilon(noise.skellam_curve((g / self.epsilon) ** 2, g), self.delta)
        text = (
            f"Skellam(0, g²/ε²) on a block's sum, g = ⌈sε√n⌉, ε = {self.epsilon:g}, s = {self.scale:g}: "
            "Rényi DP, ε(α) = αε²/2 + min{((2α−1)g² + 6g)ε⁴/4g⁴, 3ε²/2g}"
        )
        return self._guarantee(text, epsilon=converted, exact=partial(self._together, int(env.horizon)))


class DiscreteGaussian(Skellam):
    """Distributed concentrated DP: every user adds a discrete Gaussian of σ² = g²/(nε²), ``g = ⌈sε√n⌉``.

    Their sum is not a discrete Gaussian, but close to one: ½ε̄²-zCDP with ε̄ a little above ε
    (`privacy.noise.concentrated_sum`).  Source: Chowdhury & Zhou 2023, theorem 4; Kairouz, Liu & Steinke 2021.

    Examples
    --------
    >>> import hushbandits as hb
    >>> round(hb.make_core("DistCDP-v0", epsilon=0.5).guarantees()[0].epsilon, 2)
    2.42
    """

    source = "Chowdhury & Zhou 2023, theorem 4; Kairouz, Liu & Steinke 2021, proposition 13"

    def plan(self, n: int) -> Plan:
        return plans.distributed_concentrated(n, self.epsilon, self._p, self.scale, self.sure(n))

    def claimed_guarantees(self, env: World) -> tuple[Guarantee, ...]:
        """(ε, δ) at the given δ, from a ρ that no block exceeds.

        ξ grows with n and falls with σ²: it is taken at the horizon and at σ² = s², below which rounding g up never
        leaves it.
        """
        n = max(2, env.horizon)
        rho = noise.concentrated_sum(n, self.scale**2, self.scale * self.epsilon * math.sqrt(n))
        text = (
            f"n discrete Gaussians of σ² = g²/(nε²) on a block's sum, g = ⌈sε√n⌉, ε = {self.epsilon:g}, "
            f"s = {self.scale:g}: ρ-zCDP with ρ = {rho:.6g}"
        )
        converted = noise.to_epsilon(noise.zcdp_curve(rho), self.delta)
        return self._guarantee(text, epsilon=converted, exact=partial(self._together, int(env.horizon)))


# -- each user's own noise ---------------------------------------------------------------------------------------------


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
        return self._promise(text, "everyone but the user", "Chowdhury & Zhou 2023, theorem 6")


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
        return noise.shift_profile(self.pmf(np.arange(-self.bound, self.bound + 1)), shift) if n == 1 else None

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
    >>> env = hb.make_core("hushbandits.envs.feedback:Feedback", wrappers=[LocalTruncated(0.5)])
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
        return self._promise(text, "everyone but the user", "Geng, Ding, Guo & Kumar 2020 (truncated Laplace)")


# -- noise for a shuffler ----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Bits(Plan):
    """A block of the binary-sum protocol."""

    noise: plans.ExtraBits
    wraps = False

    @cached_property
    def modulus(self) -> int:
        return self.n * (1 + self.noise.k) + 1

    @cached_property
    def bits(self) -> int:
        return 1 + self.noise.k

    def decode(self, y: int, survivors: int) -> float:
        return y - survivors * self.noise.mean


class ShuffledNoise(Mechanism):
    """Every user adds noise for a shuffler behind the mechanism, by one of three protocols.

    ``split-and-mix``: Pólya noise as in `DiscreteLaplace`, with the full ε; (ε, δ) with ``δ = (1 + e^ε) 2^(−σ)``.
    ``pure``: the same with ``ε′ = ε/2`` (the printed theorem keeps e^(−ε/g) and would spend 1.5 ε), ε/4 twice in the
    relaxed secure aggregation, ``p = q̂ = 1/(2T)``.  ``binary-sum``: the (randomly rounded) reward as a bit, and noise
    bits; the shuffler hides which is which.  Source: Balle et al. 2020 (split-and-mix); Chowdhury & Zhou 2023, theorem
    3 (pure); Tenenbaum, Kaplan, Mansour & Stemmer 2021, and Cheu, Smith, Ullman, Zeber & Zhilyaev 2019 (binary-sum).

    Parameters
    ----------
    epsilon, delta : float
        (ε, δ) of a block; δ is that of ``binary-sum``, the other protocols have their own.
    confidence : float or "1/T"
        p: a block's noise stays below its bound with probability 1 − p; it enters the agent's confidence radius.
    shuffle : str
        One of `PROTOCOLS`.
    calibrate : str
        Of ``binary-sum``: ``"paper"``, ``τ = 96 ln(2/δ)/ε²`` fair bits' worth of noise, or more where that falls short
        of (ε, δ) (from ε ≈ 7 on); ``"exact"``, as little as (ε, δ) needs.
    security : int
        σ of ``split-and-mix``, bits of statistical security; its `ShuffledSum` has the same.
    t_min : float
        The least share of a block's users that reach the sum; the noise is that of so many.
    honest : float
        Share of a block's users outside the coalition that the table's second line is about.
    noise : str
        As of `Mechanism`: ``"simulated"`` or ``"exact"``.

    Raises
    ------
    ValueError
        A number out of its range; `t_min` or `noise` with ``binary-sum``, which knows neither.
    """

    def __init__(
        self,
        epsilon: float = 1.0,
        confidence: float | str = 0.1,
        shuffle: str = "split-and-mix",
        delta: float = 1e-6,
        calibrate: str = "paper",
        security: int = 40,
        t_min: float = 1.0,
        honest: float = 1.0,
        noise: str = "simulated",
        name: str | None = None,
    ):
        bits = choice("shuffle", shuffle, PROTOCOLS) == "binary-sum"
        if bits and (t_min, noise) != (1.0, "simulated"):
            raise ValueError(f"{t_min=}, {noise=}: the binary-sum protocol knows t_min=1.0 and noise='simulated' only")
        #: What agents whose radius is made for one noise call it.
        self.noise_as = "BinarySum" if bits else "ShuffledLaplace"
        super().__init__(epsilon, confidence, t_min, honest=honest, noise=noise, name=name or self.noise_as)
        self.shuffle, self.calibrate = shuffle, choice("calibrate", calibrate, ("paper", "exact"))
        self.security = integer("security", security, 1, 128)
        self.smallest = SMALLEST if shuffle == "split-and-mix" else 2  # smaller blocks have too few shares to hide
        self._share = self.epsilon / 2 if shuffle == "pure" else self.epsilon
        split = 0.0 if shuffle == "pure" else _split_delta(self.epsilon, self.security)
        self.delta = real("delta", delta, 0, 1) if bits else split

    def sends(self, fields: Fields, env: World) -> Fields:
        fields = super().sends(fields, env)
        if self.shuffle == "pure":
            self._p = 1 / (2 * env.horizon)
        return fields

    def plan(self, n: int) -> Plan:
        if self.shuffle == "binary-sum":
            return _Bits(n, 1, 0, plans.extra_bits(n, self.epsilon, self.delta, self.calibrate))
        return plans.distributed_pure(n, self._share, self._p, self.sure(n))

    def price(self, n: int, survivors: int) -> Spent:
        """As `DiscreteLaplace`, plus what the shuffled sum gives away; of bits ε, and the δ of those that are left."""
        bits = self.planned(n).noise
        if isinstance(bits, plans.ExtraBits):
            cost, delta = self.epsilon, self.delta
            if survivors < n:
                delta = plans.binomial_delta(survivors * bits.k, bits.q, cost)
        else:
            cost = polya_price(self.planned(n), self._share, survivors).epsilon
            if self.shuffle == "pure":
                cost += 2 * (self.epsilon / 4)
                return Spent(cost, 0.0, noise.pure_curve(cost))
            delta = _split_delta(cost, self._secure(n, survivors))
        return Spent(cost, delta, profile=partial(self.seen, n, survivors))

    def _secure(self, n: int, survivors: int) -> float:
        modulus = self.planned(n).modulus
        shares = plans.shares_needed(max(SMALLEST, self.sure(n)), modulus, self.security)
        return min(self.security, plans.shares_security(shares, survivors, modulus))

    def seals(self, wrapper: Wrapper) -> bool:
        return isinstance(wrapper, ShuffledSum) and wrapper.shuffle == self.shuffle

    def release(self, n: int, survivors: int) -> Release | None:
        noise = super().release(n, survivors)
        if noise is None or self.shuffle == "binary-sum":
            return noise
        if self.shuffle == "pure":  # theorem 3 takes q̂ for p as well
            return replace(noise, epsilon=self.epsilon / 2, wrong=self._p)
        return replace(noise, far=2.0 ** -self._secure(n, survivors))

    def claimed_guarantees(self, env: World) -> tuple[Guarantee, ...]:
        shuffler = next((w.shuffler for w in env.wrappers if isinstance(w, ShuffledSum)), ("an honest shuffler",))
        if self.shuffle == "binary-sum":
            source = "exact divergence of the binomial" if self.calibrate == "exact" else "Tenenbaum et al. 2021"
            text = f"binomial noise bits on a block's binary sum, {self.calibrate} calibration"
            sure = *shuffler, "all planned users take part", f"no user tells the server its bits {ALONE}"
            inputs = Adjacency("one user's bit replaced; a user takes part once", "reward")
            return self._promise(text, "the server alone: shuffled bits of blocks", source, sure, adjacency=inputs)
        total, secure = "ε in the noise", f"split-and-mix: security {self.security} bits, statistical, never pure"
        source = "Balle et al. 2020"
        if self.shuffle == "pure":
            total = "ε/2 in the noise and 2·ε/4 in a relaxed secure aggregation"
            source = "Chowdhury & Zhou 2023, theorem 3 (corrected)"
            secure = "an ideal (ε/4, 1/(2T))-relaxed secure aggregation"
        present = "all planned users" if self.t_min == 1.0 else f"at least t_min={self.t_min:g}"
        text = f"Lap_ℤ on a block's sum as n Pólya shares: {total}, ε = {self.epsilon:g}"
        sure = secure, *shuffler, f"{present} take part", f"no user tells the server its own messages {ALONE}"
        return self._promise(text, "the server alone: shuffled messages of blocks", source, sure)


def _split_delta(epsilon: float, security: float) -> float:
    return min(1.0, (1 + math.exp(min(epsilon, 700))) * math.pow(2.0, -security))
