"""Differential privacy through a shuffler: noise at the users, sums of shuffled messages.

Three protocols.  ``split-and-mix``: distributed Laplace noise, every message cut into uniform shares (Balle et al.
2020); statistical security, so (ε, δ).  ``pure``: theorem 3 of Chowdhury & Zhou 2023 on a relaxed secure aggregation.
``binary-sum``: a bit and noise bits per user (Tenenbaum et al. 2021).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property, partial

import numpy as np

from hushbandits.core import Array, Seeds, choice, integer, real
from hushbandits.core.env_view import World
from hushbandits.core.guarantee import Adjacency, Guarantee
from hushbandits.core.messages import Fields, require
from hushbandits.core.payload import Payload
from hushbandits.core.rows import set_rows
from hushbandits.core.wrapper import Privatizer, SecureFunction, Wrapper
from hushbandits.envs.feedback.cohort import Cohort, Individuals, blocks
from hushbandits.privacy.divergence import pure_curve
from hushbandits.privacy.ledger import Spent
from hushbandits.privacy.plans import (
    SMALLEST,
    ExtraBits,
    Plan,
    Release,
    binomial_delta,
    distributed_pure,
    extra_bits,
    modular_sum,
    shares_needed,
    shares_security,
    split_and_mix,
)
from hushbandits.secure.arithmetic import secret_shares
from hushbandits.wrappers.coalitions import ALONE
from hushbandits.wrappers.distributed_dp import polya_price
from hushbandits.wrappers.mechanism import Mechanism
from hushbandits.wrappers.passage import Mixed

PROTOCOLS = ("split-and-mix", "pure", "binary-sum")


class ShuffledLaplace(Mechanism):
    """Pólya noise as in `DiscreteLaplace`, for a shuffler behind it.

    ``split-and-mix``: the full ε in the noise; (ε, δ) with ``δ = (1 + e^ε) 2^(−σ)``.  ``pure``: ``ε′ = ε/2`` in the
    noise (the printed theorem keeps e^(−ε/g) and would spend 1.5 ε), ε/4 twice in the relaxed secure aggregation,
    ``p = q̂ = 1/(2T)``.  Source: Balle et al. 2020 (split-and-mix); Chowdhury & Zhou 2023, theorem 3 (pure).

    Parameters
    ----------
    shuffle : str
        ``"split-and-mix"`` or ``"pure"``.
    security : int
        σ, bits of statistical security; its `ShuffledSum` has the same.
    """

    def __init__(
        self,
        epsilon: float = 1.0,
        confidence: float | str = 0.1,
        shuffle: str = "split-and-mix",
        security: int = 40,
        t_min: float = 1.0,
        *,
        honest: float = 1.0,
        noise: str = "simulated",
        name: str | None = None,
    ):
        super().__init__(epsilon, confidence, t_min, honest=honest, noise=noise, name=name)
        self.shuffle = choice("shuffle", shuffle, PROTOCOLS[:2])
        self.security = integer("security", security, 1, 128)
        self.delta = 0.0 if shuffle == "pure" else _split_delta(self.epsilon, self.security)

    def sends(self, fields: Fields, env: World) -> Fields:
        fields = super().sends(fields, env)
        if self.shuffle == "pure":
            self._p = 1 / (2 * env.horizon)
        return fields

    def plan(self, n: int) -> Plan:
        share = self.epsilon / 2 if self.shuffle == "pure" else self.epsilon
        return distributed_pure(n, share, self._p, self.sure(n))

    def price(self, n: int, survivors: int) -> Spent:
        """As `DiscreteLaplace`, plus what the shuffled sum gives away."""
        if self.shuffle == "pure":
            noise = polya_price(self.planned(n), self.epsilon / 2, survivors)
            cost = noise.epsilon + 2 * (self.epsilon / 4)
            return Spent(cost, 0.0, pure_curve(cost))
        noise = polya_price(self.planned(n), self.epsilon, survivors)
        delta = _split_delta(noise.epsilon, self._secure(n, survivors))
        return Spent(noise.epsilon, delta, profile=partial(self.seen, n, survivors))

    def _secure(self, n: int, survivors: int) -> float:
        modulus = self.planned(n).modulus
        return min(self.security, shares_security(_shares(self, n, modulus, self.security), survivors, modulus))

    def seals(self, wrapper: Wrapper) -> bool:
        return isinstance(wrapper, ShuffledSum) and wrapper.shuffle == self.shuffle

    @property
    def smallest(self) -> int:  # type: ignore[override]
        """Smaller blocks have too few shares to hide anything, and are refused."""
        return SMALLEST if self.shuffle == "split-and-mix" else 2

    def release(self, n: int, survivors: int) -> Release | None:
        noise = super().release(n, survivors)
        if noise is None:
            return None
        if self.shuffle == "pure":  # theorem 3 takes q̂ for p as well
            return replace(noise, epsilon=self.epsilon / 2, wrong=self._p)
        return replace(noise, far=2.0 ** -self._secure(n, survivors))

    def claimed_guarantees(self, env: World) -> tuple[Guarantee, ...]:
        pure = self.shuffle == "pure"
        total = "ε/2 in the noise and 2·ε/4 in a relaxed secure aggregation" if pure else "ε in the noise"
        secure = (
            "an ideal (ε/4, 1/(2T))-relaxed secure aggregation"
            if pure
            else f"split-and-mix: security {self.security} bits, statistical, never pure"
        )
        present = "all planned users" if self.t_min == 1.0 else f"at least t_min={self.t_min:g}"
        return self._promise(
            f"Lap_ℤ on a block's sum as n Pólya shares: {total}, ε = {self.epsilon:g}",
            "the server alone: shuffled messages of blocks",
            "Chowdhury & Zhou 2023, theorem 3 (corrected)" if pure else "Balle et al. 2020",
            (secure, *_shuffler(env), f"{present} take part", f"no user tells the server its own messages {ALONE}"),
        )


def _split_delta(epsilon: float, security: float) -> float:
    return min(1.0, (1 + math.exp(min(epsilon, 700))) * math.pow(2.0, -security))


def _shares(mechanism: Mechanism, n: int, m: int, security: int) -> int:
    # Users cut their messages before it is known who drops out: enough for the fewest that may be opened.
    return shares_needed(max(SMALLEST, mechanism.sure(n)), m, security)


@dataclass(frozen=True)
class _Bits(Plan):
    """A block of the binary-sum protocol."""

    noise: ExtraBits
    wraps = False

    @cached_property
    def modulus(self) -> int:
        return self.n * (1 + self.noise.k) + 1

    @cached_property
    def bits(self) -> int:
        return 1 + self.noise.k

    def decode(self, y: int, survivors: int) -> float:
        return y - survivors * self.noise.mean


class BinarySum(Mechanism):
    """Every user sends its (randomly rounded) reward as a bit, and noise bits; the shuffler hides which is which.

    Source: Tenenbaum, Kaplan, Mansour & Stemmer 2021; Cheu, Smith, Ullman, Zeber & Zhilyaev 2019.

    Parameters
    ----------
    epsilon, delta : float
        (ε, δ) of a block.
    confidence : float or "1/T"
        Unused by the protocol; the agent's p.
    calibrate : str
        ``"paper"``: ``τ = 96 ln(2/δ)/ε²`` fair bits' worth of noise, or more where that falls short of (ε, δ) (from
        ε ≈ 7 on); ``"exact"``: as little as (ε, δ) needs.
    """

    shuffle = "binary-sum"

    def __init__(
        self,
        epsilon: float = 1.0,
        delta: float = 1e-6,
        confidence: float | str = 0.1,
        calibrate: str = "paper",
        *,
        honest: float = 1.0,
        name: str | None = None,
    ):
        super().__init__(epsilon, confidence, honest=honest, name=name)
        self.delta = real("delta", delta, 0, 1)
        self.calibrate = choice("calibrate", calibrate, ("paper", "exact"))

    def plan(self, n: int) -> Plan:
        return _Bits(n, 1, 0, extra_bits(n, self.epsilon, self.delta, self.calibrate))

    def price(self, n: int, survivors: int) -> Spent:
        """ε, with the δ that the survivors' bits give if fewer than planned are left."""
        bits = self.planned(n).noise
        assert isinstance(bits, ExtraBits)
        delta = binomial_delta(survivors * bits.k, bits.q, self.epsilon) if survivors < n else self.delta
        return Spent(self.epsilon, delta, profile=partial(self.seen, n, survivors))

    def seals(self, wrapper: Wrapper) -> bool:
        return isinstance(wrapper, ShuffledSum) and wrapper.shuffle == self.shuffle

    def claimed_guarantees(self, env: World) -> tuple[Guarantee, ...]:
        return self._promise(
            f"binomial noise bits on a block's binary sum, {self.calibrate} calibration",
            "the server alone: shuffled bits of blocks",
            "exact divergence of the binomial" if self.calibrate == "exact" else "Tenenbaum et al. 2021",
            (*_shuffler(env), "all planned users take part", f"no user tells the server its bits {ALONE}"),
            adjacency=Adjacency("one user's bit replaced; a user takes part once", "reward"),
        )


def _shuffler(env: World) -> tuple[str, ...]:
    return next((w.shuffler for w in env.wrappers if isinstance(w, ShuffledSum)), ("an honest shuffler",))


class ShuffledSum(Mixed, SecureFunction):
    """The sum that a server computes from shuffled messages, which hide who sent what and more.

    ``split-and-mix``: k uniform shares per message, ``k = ⌈2 + (2σ + log₂ m)/(log₂ n − log₂ e)⌉`` for the n users that
    the mechanism is sure of (`t_min`), each counted in ``bits``; where fewer than 19 are left the block is refused:
    nothing of it arrives.  So it is, of every protocol, where the mechanism is sure of a part of the users alone, and
    fewer are left.  ``pure``: an ideal (ε̂, q̂)-relaxed secure aggregation; with probability ``q̂ = 1/(2T)`` a
    block's sum is a uniform number.  ``binary-sum``: the bits' sum.  Source: Balle et al. 2020; Chowdhury & Zhou 2023,
    theorem 3; Tenenbaum et al. 2021, in the order of `PROTOCOLS`.

    The shuffler is ideal, and adds up messages that nobody cuts; or with ``protocol="mixnet"`` it is a cascade of mixes
    through which every share of ``split-and-mix`` goes, with ``users="each"``; the sums are the same to the bit.

    Parameters
    ----------
    shuffle : str
        One of `PROTOCOLS`.
    security : int
        σ of ``split-and-mix``, the mechanism's.
    min_cohort : int
        Fewest users whose sum is opened.
    protocol : str, optional
        ``"mixnet"``; by default the shuffler is ideal.
    hops : int
        Mixes that every share passes.
    insecure_seed : bool
        Whether shares, keys and orders follow from the run's seed: a simulation.  Otherwise they are the operating
        system's; sums are the same, and the noise in them is the mechanism's own.

    Raises
    ------
    ValueError
        A number out of its range, a parameter of the protocol without it, or the protocol with another `shuffle`.
    """

    verbs = ("seal",)
    _rngs: list[np.random.Generator]

    def __init__(
        self,
        shuffle: str = "split-and-mix",
        security: int = 40,
        min_cohort: int = 2,
        protocol: str | None = None,
        hops: int = 3,
        insecure_seed: bool = True,
        *,
        name: str | None = None,
    ):
        super().__init__(protocol, hops, insecure_seed, name=name)
        self.shuffle = choice("shuffle", shuffle, PROTOCOLS)
        self.security = integer("security", security, 1, 128)
        self.min_cohort = integer("min_cohort", min_cohort, 2)
        if protocol is not None and shuffle != "split-and-mix":
            raise ValueError(f"shuffle={shuffle!r}: with protocol={protocol!r} allowed is 'split-and-mix'")

    @property
    def shuffler(self) -> tuple[str, ...]:
        """What its users trust in."""
        return super().shuffler or ("an honest shuffler",)

    def sends(self, fields: Fields, env: World) -> Fields:
        require(self.name, ("reward", "n", "modulus"), fields)
        if self.protocol is not None and getattr(env, "users", "") != "each":
            raise ValueError(f'{self.name} with protocol="mixnet" needs users one by one: give the env users="each"')
        before = next((w for w in env.wrappers if isinstance(w, Privatizer)), None)
        if not isinstance(before, Mechanism) or getattr(before, "shuffle", None) != self.shuffle:
            raise ValueError(f"shuffle={self.shuffle!r} of {self.name} does not fit the noise of {before!r}")
        if self.shuffle == "split-and-mix" and getattr(before, "security", None) != self.security:
            raise ValueError(f"security={self.security} of {self.name} differs from that of {before!r}")
        self._mechanism = before
        self._wrong = 1 / (2 * env.horizon) if self.shuffle == "pure" else 0.0
        return {k: f for k, f in fields.items() if k != "users"}

    def reset(self, env: World, seeds: Seeds, rows: Array | None = None) -> None:
        super().reset(env, seeds, rows)
        set_rows(self, rows, _rngs=self.generators(seeds))

    def send(self, message: Payload, env: World) -> Payload:
        crowd: Cohort = message["reward"]
        modulus, bits = message["modulus"], message["bits"].copy()
        keep = message["sent"] & (crowd.n >= self.min_cohort)
        sums, total = crowd.total(), np.zeros(crowd.n.shape, np.int64)
        for r, i, n in blocks(crowd.planned):
            m, rng, sure = int(modulus[r, i]), self._rngs[r], self._mechanism.sure(n)
            keep[r, i] &= sure == n or crowd.n[r, i] >= sure  # its noise is that of so many
            k = 1
            if self.shuffle == "split-and-mix":
                keep[r, i] &= crowd.n[r, i] >= SMALLEST
                k = _shares(self._mechanism, n, m, self.security) if n >= SMALLEST else 1
                bits[r, i] *= k
            total[r, i] = sums[r, i] % m
            if self.protocol is not None and keep[r, i]:
                assert isinstance(crowd, Individuals)
                total[r, i] = modular_sum(self._mixed(r, crowd.messages(r, i), k, m), m)
            if self._wrong and rng.random() < self._wrong:
                total[r, i] = rng.integers(m)
        return message.but(reward=crowd.seal(total, keep, self.name), sent=keep, bits=bits)

    def _mixed(self, run: int, messages: Array, k: int, m: int) -> Array:
        """Return k shares of each message as they leave the mixes."""
        shares = split_and_mix(messages, k, m, self._rngs[run]) if self.insecure_seed else secret_shares(messages, k, m)
        return np.frombuffer(b"".join(self._batches.shuffle(run, [share.tobytes() for share in shares])), np.int64)


def shuffled_noise(
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
) -> Mechanism:
    """Return the mechanism of a shuffle protocol: `BinarySum` for ``binary-sum``, else `ShuffledLaplace`.

    Parameters
    ----------
    epsilon, delta : float
        (ε, δ) of a block; δ is that of ``binary-sum``, the other protocols have their own.
    confidence : float or "1/T"
        p: a block's noise stays below its bound with probability 1 − p; it enters the agent's confidence radius.
    shuffle : str
        One of `PROTOCOLS`.
    calibrate : str
        Of ``binary-sum``: ``"paper"``, the noise of its theorem, or ``"exact"``, as little as (ε, δ) needs.
    security : int
        σ of ``split-and-mix``, bits of statistical security.
    t_min : float
        The least share of a block's users that reach the sum; the noise is that of so many.
    honest : float
        Share of a block's users outside the coalition that the table's second line is about.
    noise : str
        As of `Mechanism`: ``"simulated"`` or ``"exact"``.

    Raises
    ------
    ValueError
        `t_min` or `noise` with ``binary-sum``, which knows neither.
    """
    if choice("shuffle", shuffle, PROTOCOLS) == "binary-sum":
        for key, value, only in (("t_min", t_min, 1.0), ("noise", noise, "simulated")):
            if value != only:
                raise ValueError(f"{key}={value!r}: the binary-sum protocol knows {key}={only!r} only")
        return BinarySum(epsilon, delta, confidence, calibrate, honest=honest, name=name)
    return ShuffledLaplace(epsilon, confidence, shuffle, security, t_min, honest=honest, noise=noise, name=name)
