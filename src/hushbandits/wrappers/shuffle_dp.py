"""Shuffle-model noise, which all users of a block add jointly.

Three protocols send it: split-and-mix (Balle et al. 2020), theorem 3 of Chowdhury & Zhou 2023, and a binary sum
(Tenenbaum et al. 2021).
"""

from dataclasses import dataclass, replace
from functools import cached_property, partial

from hushbandits.core import Adjacency, Fields, Guarantee, World, Wrapper, choice, integer, real
from hushbandits.privacy import divergence, plans
from hushbandits.privacy.ledger import Spent, polya_price
from hushbandits.privacy.plans import Plan, Release
from hushbandits.secure.split_and_mix import SMALLEST, shares_needed, shares_security, split_delta
from hushbandits.wrappers.mechanism import ALONE, Mechanism
from hushbandits.wrappers.shuffled_sum import PROTOCOLS, ShuffledSum


@dataclass(frozen=True)
class _Bits(Plan):
    """Parameters of a block of the binary-sum protocol."""

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
    """Mechanism in which every user adds noise by one of three protocols, and a shuffler mixes the messages.

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
    min_participants : float
        The least share of a block's users that reach the sum; the noise is that of so many.
    honest : float
        Share of a block's users outside the coalition that the table's second line is about.
    noise : str
        As of `Mechanism`: ``"simulated"`` or ``"exact"``.

    Raises
    ------
    ValueError
        A number out of its range; `min_participants` or `noise` with ``binary-sum``, which knows neither.
    """

    def __init__(
        self,
        epsilon: float = 1.0,
        confidence: float | str = 0.1,
        shuffle: str = "split-and-mix",
        delta: float = 1e-6,
        calibrate: str = "paper",
        security: int = 40,
        min_participants: float = 1.0,
        honest: float = 1.0,
        noise: str = "simulated",
        name: str | None = None,
    ):
        bits = choice("shuffle", shuffle, PROTOCOLS) == "binary-sum"
        if bits and (min_participants, noise) != (1.0, "simulated"):
            required = "min_participants=1.0 and noise='simulated'"
            raise ValueError(f"shuffle='binary-sum' requires {required}, not {min_participants=} and {noise=}")
        #: What agents whose radius is made for one noise call it.
        self.noise_as = "BinarySum" if bits else "ShuffledLaplace"
        super().__init__(epsilon, confidence, min_participants, honest=honest, noise=noise, name=name or self.noise_as)
        self.shuffle, self.calibrate = shuffle, choice("calibrate", calibrate, ("paper", "exact"))
        self.security = integer("security", security, 1, 128)
        self.smallest = SMALLEST if shuffle == "split-and-mix" else 2  # smaller blocks have too few shares to hide
        self._share = self.epsilon / 2 if shuffle == "pure" else self.epsilon
        split = 0.0 if shuffle == "pure" else split_delta(self.epsilon, self.security)
        self.delta = real("delta", delta, 0, 1) if bits else split

    def message_fields(self, fields: Fields, env: World) -> Fields:
        fields = super().message_fields(fields, env)
        if self.shuffle == "pure":
            self._p = 1 / (2 * env.horizon)
        return fields

    def plan(self, n: int) -> Plan:
        if self.shuffle == "binary-sum":
            return _Bits(n, 1, 0, plans.extra_bits(n, self.epsilon, self.delta, self.calibrate))
        return plans.distributed_pure(n, self._share, self._p, self.sure(n))

    def price(self, n: int, survivors: int) -> Spent:
        """Return a block's cost: the cost of the remaining noise plus the cost of the shuffled sum."""
        bits = self.planned(n).noise
        if isinstance(bits, plans.ExtraBits):
            lost = survivors < n
            delta = plans.binomial_delta(survivors * bits.k, bits.q, self.epsilon) if lost else self.delta
            return Spent(self.epsilon, delta, profile=partial(self.seen, n, survivors))
        cost = polya_price(self.planned(n), self._share, survivors).epsilon
        if self.shuffle == "pure":
            cost += 2 * (self.epsilon / 4)
            return Spent(cost, 0.0, divergence.pure_curve(cost))
        delta = split_delta(cost, self._secure(n, survivors))
        return Spent(cost, delta, profile=partial(self.seen, n, survivors))

    def _secure(self, n: int, survivors: int) -> float:
        modulus = self.planned(n).modulus
        shares = shares_needed(max(SMALLEST, self.sure(n)), modulus, self.security)
        return min(self.security, shares_security(shares, survivors, modulus))

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
            sure = *shuffler, "all planned users take part", f"no user reveals its bits to the server {ALONE}"
            inputs = Adjacency("one user's bit replaced; a user takes part once", "reward")
            claim = self._promise(text, "the server alone: shuffled bits of blocks", source, sure)
            return (replace(claim, adjacency=inputs),)
        total, secure = "ε in the noise", f"split-and-mix: security {self.security} bits, statistical, never pure"
        source = "Balle et al. 2020"
        if self.shuffle == "pure":
            total = "ε/2 in the noise and 2·ε/4 in a relaxed secure aggregation"
            source = "Chowdhury & Zhou 2023, theorem 3 (corrected)"
            secure = "an ideal (ε/4, 1/(2T))-relaxed secure aggregation"
        some = f"at least min_participants={self.min_participants:g}"
        present = "all planned users" if self.counts_on_all else some
        text = f"Lap_ℤ on a block's sum as n Pólya shares: {total}, ε = {self.epsilon:g}"
        sure = secure, *shuffler, f"{present} take part", f"no user reveals its own messages to the server {ALONE}"
        return (self._promise(text, "the server alone: shuffled messages of blocks", source, sure),)
