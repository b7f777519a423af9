"""Base classes of the feedback setting's privacy mechanisms, which encode, add noise, reduce and decode.

What holds where some noise is missing, of users who dropped out or who collude, is decided here as well.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from itertools import dropwhile
from typing import ClassVar

import numpy as np

from hushbandits.core import Field, Fields, Inbox, Metric, Noise, Payload, Privatizer, SecureFunction, World
from hushbandits.core.guarantee import IDEALISED, ONCE, ONE_USER, SIMULATED, Guarantee, invalid
from hushbandits.core.random.streams import Draws, Streams
from hushbandits.core.utils import Array, choice, real
from hushbandits.core.wrapper import Wrapper
from hushbandits.envs.feedback.users import BlockInbox, blocks
from hushbandits.privacy import divergence, plans
from hushbandits.privacy.ledger import Kinds, Ledger, Noises, Spent
from hushbandits.privacy.noise import NoiseLaw, Profile
from hushbandits.privacy.plans import Plan, Release, confidence_level, share_or_count
from hushbandits.privacy.samplers import Exact

#: Ends what a promise against the server alone assumes of the users.
ALONE = "(honest= counts on fewer)"
#: Block sizes at which a promise is held against the law of its noise, and what rounding may add to δ.
SIZES = (2, 3, 19, 64, 1000, 1024, 10_000, 100_000, 1_000_000, 10_000_000)
_RESOLUTION = 1e-12
#: What an encoded reward is, and what it is reduced by.
_CODE = Field(dtype="i8")
#: Sizes of blocks that are all looked at where noise is missing, and as many below each of the larger ones.
_SMALL, _NEAR = 32, 64


class Mechanism(Privatizer):
    """Base class of mechanisms: each user sends ``y = (x̂ + η) mod m``, and the server decodes ``z ≈ Σ x``.

    A subclass plans a block (`plan`), states its guarantee where all is well (`claimed_guarantees`), and what a block
    really cost (`price`); the `ledger` of a run keeps count.  What holds is decided here, for all of them: a claim is
    invalid without the secure function that it stands on (`hidden_by`), where the env is known to lose users whose
    noise it counts on, and where the law of the block's noise (`seen`) refutes it.

    Parameters
    ----------
    epsilon : float
        ε of differential privacy, in [0.001, 1e9].
    confidence : float or "1/T"
        p: an upper bound of the probability that a block's noise exceeds τ and its sum is decoded wrongly.
    min_participants : float or int
        Users of a block that are sure to take part, to whom the noise is calibrated: a share (float in (0, 1]) or a
        count (int ≥ 1).  By default all of them; where users then drop out, privacy is lost with their noise.
    honest : float
        Share in (0, 1] of a block's users who do not collude with the server, where a secure function hides single
        messages.  Below 1, `privacy` also says what is promised against the server and all others, who know their own
        noise; the noise itself is as before.
    noise : str
        ``"simulated"``: seeded and in floating point, so that runs repeat; ``"exact"``: integers alone, from the
        operating system's entropy (`privacy.samplers`), so that no run repeats; user by user, so for small blocks.

    Raises
    ------
    ValueError
        A number out of its range, or `honest` below 1 where a user's noise hides it by itself or a server is trusted.

    Examples
    --------
    >>> import hushbandits as hb
    >>> env = hb.make_batched("DistDP-v0", epsilon=0.5, horizon=1000)
    >>> env.mechanism.name, env.mechanism.epsilon
    ('DiscreteLaplace', 0.5)
    >>> plan = env.mechanism.plan(16)  # of a block of 16 users
    >>> plan.g, plan.noise
    (2, PolyaDifference(r=0.0625, b=4.0))
    """

    operations = ("encode", "add", "modulo")
    free_hooks = ("plan",)  # what it plans is held against the law of its noise
    vetted: ClassVar[tuple[str, ...]] = ("proof", "exact law", "audit")
    ledger: Ledger  # what the users of these runs spent
    rngs: Draws
    metrics_spec: ClassVar[Mapping[str, Metric]] = {
        "epsilon": Metric("ε spent on a user's one reward, at most", "amount"),
        "delta": Metric("δ spent on a user's one reward, at most", "share"),
    }
    #: What keeps a user's own message from the observer: ``"sum"``, a secure function behind the mechanism;
    #: ``"noise"``, its own alone; ``"server"``, one that is trusted.
    hidden_by: ClassVar[str] = "sum"
    #: δ of its promise, and of a block's cost.
    delta: float = 0.0
    #: Fewest users of a block that is ever opened.
    smallest: int = 2

    def __init__(
        self,
        epsilon: float = 1.0,
        confidence: float | str = 0.1,
        min_participants: float = 1.0,
        *,
        honest: float = 1.0,
        noise: str = "simulated",
        name: str | None = None,
    ):
        super().__init__(name=name)
        self.honest = real("honest", honest, 0, 1, closed="high")
        if self.honest < 1 and self.hidden_by != "sum":
            raise ValueError(f"honest={honest!r} of {self.name} must be 1, as no user relies on other users' noise")
        # Below, blocks of thousands drown in noise; above, nothing is private; between, every number is finite.
        self.epsilon = real("epsilon", epsilon, 1e-3, 1e9, closed="both")
        self.confidence = confidence
        self._p = confidence_level(confidence, 2)
        self.min_participants = share_or_count("min_participants", min_participants)
        #: Whether the noise counts on all planned users; a count of 1 user is not a share of 1.
        self.counts_on_all = isinstance(self.min_participants, float) and self.min_participants == 1.0
        self.noise = choice("noise", noise, ("simulated", "exact"))

    def plan(self, n: int) -> Plan:
        """Return the parameters of a block planned for `n` users."""
        raise NotImplementedError(f"{type(self).__name__} must define plan(n)")

    def message_fields(self, fields: Fields, env: World) -> Fields:
        return {**self._raw(fields, env), "reward": _CODE, "modulus": _CODE}

    def _raw(self, fields: Fields, env: World) -> Fields:
        if isinstance(self.confidence, str):  # "1/T"
            self._p = confidence_level(self.confidence, env.horizon)
        self._plans: dict[int, Plan] = {}
        self.odd = False  # whether some plan decodes in a way of its own
        return {k: f for k, f in fields.items() if k != "users"}

    def reset(self, env: World, rng: Streams, rows: Array | None = None) -> None:
        if rows is not None:
            self.rngs[rows] = Draws(rng)
            self.ledger.reset(rows)
            return
        self.rngs = Draws(rng)
        self._numbers, self._noises = Kinds(self.numbered, np.int64), Noises(self.noise_of)
        protected = math.isfinite(self._calibrated(env)[0].epsilon)
        self.ledger = Ledger(self.price if protected else _unprotected, self._details, len(rng))

    @property
    def in_one_pass(self) -> bool:
        """Return whether its effect on a block of pooled users depends on the block's size alone."""
        return self.keeps(Mechanism, "_noised")

    def infinite_cost(self, env: World) -> bool:
        """Return whether the guarantee fails in `env` even if every planned user takes part."""
        return bool(self.invalid_reason(env)) or not math.isfinite(self._calibrated(env)[0].epsilon)

    def price(self, n: int, survivors: int) -> Spent:
        """Return the privacy cost to each of the `survivors` of a block planned for `n` users.

        By default (ε, δ), for mechanisms that do not rely on other users' noise (`hidden_by`).
        """
        if self.hidden_by == "sum":
            raise NotImplementedError(f"{type(self).__name__} must define price(n, survivors)")
        curve = None if self.delta else divergence.pure_curve(self.epsilon)
        return Spent(self.epsilon, self.delta, curve, partial(self.seen, n, survivors))

    def metrics(self, env: World) -> dict[str, Array]:
        return {"epsilon": self.ledger.worst.copy(), "delta": self.ledger.worst_delta.copy()}

    def _details(self, n: int) -> dict[str, object]:
        plan = self.planned(n)
        return {"g": plan.g, "noise": repr(plan.noise)}

    def sure(self, n: int) -> int:
        """Return the number of users to which the noise of a block planned for `n` users is calibrated."""
        few = self.min_participants
        return min(n, few if isinstance(few, int) else max(1, math.floor(few * n)))

    def colluders(self, n: int) -> int:
        """Return the largest number of users of a block of `n` who may collude with the server."""
        return n - plans.ceiling(self.honest * n)

    def planned(self, n: int) -> Plan:
        """Return the result of `plan` for block size `n`, which is computed only once."""
        if (known := self._plans.get(n)) is None:
            known = self._plans[n] = self.plan(n)
        return known

    def numbered(self, n: int) -> tuple[int, int, int, int]:
        if not n:
            return 1, 0, 1, 1
        plan = self.planned(n)
        self.odd |= type(plan).decode is not Plan.decode
        return plan.g, plan.tau, plan.modulus, plan.bits

    def _law(self, law: NoiseLaw) -> Noise:
        return Exact(law) if self.noise == "exact" else law

    def send(self, message: Payload, env: World) -> Payload:
        """Apply the local randomizer R (algorithm 1, lines 18–22): encode rewards, add noise, reduce mod m."""
        self._sizes = message["reward"].planned
        self._blocks = self._numbers.by_size(self._sizes)
        g, _, modulus, bits = self._blocks
        reduced = self._noised(message.encode(g, self.rngs)).modulo(modulus)
        reduced["bits"] = bits
        return reduced

    def _noised(self, message: Payload) -> Payload:
        return message if self.hidden_by == "server" else message.add(self._noises, self.rngs)

    def noise_of(self, n: int) -> Noise:
        law = self.planned(n).noise
        assert law is not None
        return self._law(law)

    def deliver(self, inbox: Inbox, env: World) -> Inbox:
        """Apply the analyzer A (algorithm 1, lines 26–31), which knows the number of survivors."""
        assert isinstance(inbox, BlockInbox)
        y, n = inbox.total("reward").astype(np.int64, copy=False), inbox.total("n")
        z = np.zeros(y.shape)
        if not self.odd:
            plans.decode(y, n, *self._blocks[:3], z)
        else:
            for r, m, left in blocks(n):
                plan = self.planned(int(self._sizes[r, m]))
                z[r, m] = plan.decode(int(y[r, m]) % plan.modulus, left)
        self.ledger.use(self._sizes, n)
        return inbox.decoded(z)

    def seals(self, wrapper: Wrapper) -> bool:
        """Return whether `wrapper`, placed after this mechanism, is a secure function as the guarantee requires."""
        return isinstance(wrapper, SecureFunction)

    def release(self, n: int, survivors: int) -> Release | None:
        """Return what a block with `survivors` of `n` planned users reveals to an observer; ``None`` without noise.

        By default the survivors' noise on a sum of sensitivity g, or a user's own where that alone hides it.
        """
        plan = self.planned(n)
        if plan.noise is None:
            return None
        return Release(plan.noise, 1 if self.hidden_by == "noise" else survivors, survivors, plan.g, plan.modulus)

    def seen(self, n: int, survivors: int) -> Profile | None:
        """Return the exact privacy profile of a block with `survivors` of `n` planned users; ``None`` if unknown."""
        release = self.release(n, survivors)
        try:
            return divergence.pure_profile(np.inf) if release is None else plans.profile_of(release)
        except NotImplementedError:
            return None

    def _promise(self, text: str, view: str, source: str, assumptions: tuple[str, ...] = ()) -> Guarantee:
        """Return the claimed guarantee: (ε, δ) for one user's reward."""
        words = assumptions if self.noise == "exact" else (*assumptions, IDEALISED, SIMULATED)
        return Guarantee(text, self.epsilon, self.delta, ONE_USER, view, words, source, run=ONCE, vetted=self.vetted)

    def _borne_out(self, env: World) -> tuple[Guarantee, ...]:
        """Return the claims, checked against the noise, the secure function and users who may drop out."""
        claims = self._calibrated(env)
        if self.hidden_by != "sum":
            return claims
        secure = next((w for w in env.wrappers if isinstance(w, SecureFunction)), None)
        if reason := self._lost(env, secure):
            return tuple(invalid(g, reason) if math.isfinite(g.epsilon) else g for g in claims)
        return claims if secure is None else self._weighed(env, claims, secure)

    def _calibrated(self, env: World) -> tuple[Guarantee, ...]:
        """Return the claims, checked for blocks in which every planned user takes part."""
        behind = [*dropwhile(lambda w: w.name != self.name, env.wrappers)][1:]
        claims = self.claimed_guarantees(env)
        for g in claims:
            if g.delta > self.delta and math.isfinite(g.epsilon):
                raise ValueError(
                    f"delta={self.delta:g} of {self.name} must be at least the δ of its claim, {g.delta:g}"
                )
        if self.hidden_by == "sum" and not any(map(self.seals, behind)):
            why = "a secure function behind the mechanism is missing here: one user's share of the noise hides nothing"
            return tuple(replace(invalid(g, why), view="the server: every user's message") for g in claims)
        claims = tuple([self._by_law(g, int(env.horizon)) for g in claims])
        other = next((w.name for w in behind if isinstance(w, Privatizer)), "")
        if self.hidden_by == "server" and other:  # the sum's sensitivity is not 1 then
            why = f"its noise is added to what {other} makes of the sum, noised and reduced, which moves by more than 1"
            return tuple(invalid(g, why) for g in claims)
        return claims

    def _by_law(self, claim: Guarantee, horizon: int) -> Guarantee:
        """Return the claim, checked against the exact noise distribution at block sizes in `SIZES`."""
        for n in [n for n in SIZES if self.smallest <= n <= max(horizon, self.smallest)]:
            profile = self.seen(n, max(self.sure(n), self.smallest))
            if profile is None:
                if self.ships("claimed_guarantees") and not self.ships("plan"):
                    return invalid(claim, f"{type(self).__name__} plans user-defined noise, which has no law to check")
                return replace(claim, assumptions=("as claimed: its noise has no law to check", *claim.assumptions))
            attained = divergence.delta_at(profile, claim.epsilon * (1 + 1e-9))
            if attained > claim.delta * (1 + 1e-9) + _RESOLUTION:
                least = max(claim.delta, _RESOLUTION)
                found = f"ε = {divergence.epsilon_at(profile, least):.4g} at δ = {least:.2g} in blocks of {n}"
                return invalid(claim, f"the law of its noise gives {found}, not ε = {claim.epsilon:.4g}")
        return claim

    def _lost(self, env: World, secure: SecureFunction | None) -> str:
        """Return why a block may keep fewer users than its noise is calibrated to; ``""`` without a reason."""
        before = env.wrappers if secure is None else env.wrappers[: env.wrappers.index(secure)]
        losing = {w.name: lost for w in before if w.name != self.name and (lost := w.max_drop_fraction) > 0}
        if secure is not None:
            if secure.needed(env) is not None and secure.ships("send"):  # what is opened is opened of enough
                losing = {}
            elif secure.max_drop_fraction > 0 and (losing or not secure.fewest(self.smallest, env)):
                losing[secure.name] = secure.max_drop_fraction
        if getattr(env, "loses", False):
            losing["the env"] = 1.0
        left = math.prod(1.0 - lost for lost in losing.values())
        share = self.min_participants if isinstance(self.min_participants, float) else 1.0
        if left >= share * (1 - 1e-12):
            return ""
        return (
            f"{' and '.join(losing)} may leave {left:.3g} of a block's users, and their noise alone, where it counts "
            f"on min_participants={self.min_participants:g}; see what the ledger says was spent"
        )

    def _weighed(self, env: World, claims: tuple[Guarantee, ...], secure: SecureFunction) -> tuple[Guarantee, ...]:
        """Return the claims, adjusted for colluders and for users who drop out inside the secure function."""
        drops = secure.max_drop_fraction > 0
        if not (drops or self.honest < 1):
            return claims

        def opened(n: int) -> int:
            return min(self.sure(n), secure.fewest(n, env)) if drops else self.sure(n)

        top = max(int(env.horizon), self.smallest)
        sizes = [n for n in sorted({*range(self.smallest, _SMALL + 1), *SIZES, top}) if self.smallest <= n <= top]
        short = drops and any(opened(n) < self.sure(n) for n in sizes)
        out = []
        for claim in claims:
            finite = math.isfinite(claim.epsilon)
            out.append(self._dropped(claim, sizes, opened, secure.name) if finite and short else claim)
            if finite and self.honest < 1:
                out.append(self._against_colluders(out[-1], sizes, opened, secure))
        return tuple(out)

    def _dropped(self, claim: Guarantee, sizes: list[int], opened: Callable[[int], int], secure: str) -> Guarantee:
        epsilon, delta, n = self._worst(sizes, opened)
        if math.isinf(epsilon):
            return invalid(claim, f"{secure} opens blocks of {n} with {opened(n)} left, whose noise hides nothing")
        whose = f"{secure} opens no block of fewer than {opened(n)} of {n} users, whose noise is what counts"
        return replace(claim, epsilon=epsilon, delta=delta, exact=None, assumptions=(whose, *claim.assumptions[1:]))

    def _against_colluders(
        self, claim: Guarantee, sizes: list[int], opened: Callable[[int], int], secure: SecureFunction
    ) -> Guarantee:
        others = tuple(words for words in claim.assumptions if not words.endswith(ALONE))
        share = f"{1 - self.honest:.3g} of a block's users, who subtract their noise"
        view = f"the server and, colluding with it, up to {share}"
        against = replace(claim, view=view, exact=None, assumptions=others)
        if math.isinf(claim.epsilon):
            return against
        if n := next((n for n in sizes if not secure.tolerates(n, self.colluders(n))), 0):
            return invalid(against, f"{secure.name} does not bear {self.colluders(n)} colluders among {n} users")
        epsilon, delta, n = self._worst(sizes, lambda n: opened(n) - self.colluders(n))
        if math.isinf(epsilon):
            left = max(opened(n) - self.colluders(n), 0)
            return invalid(against, f"of {n} users {left} are left whose noise nobody knows")
        if claim.exact is None:  # a claim may be above what the law gives
            epsilon = max(epsilon, claim.epsilon)
        return replace(against, epsilon=epsilon, delta=delta)

    def _worst(self, sizes: list[int], left: Callable[[int], int]) -> tuple[float, float, int]:
        """Return the largest ε and δ of blocks with the noise of ``left(n)`` users, and the size with the largest ε."""
        worst, most, where = 0.0, 0.0, sizes[0]
        for size in sizes:
            # Shares of whole users vary from size to size: the smallest nearby.
            near = range(max(size - _NEAR, _SMALL) + 1, size + 1) if size > _SMALL else (size,)
            n = min(near, key=lambda k: left(k) / self.sure(k))
            epsilon, delta = self._cost(n, left(n))
            if epsilon > worst:
                worst, where = epsilon, n
            most = max(most, delta)
        return worst, most, where

    def _cost(self, n: int, left: int) -> tuple[float, float]:
        if left < 1:
            return math.inf, self.delta
        spent = self.price(n, left)
        if self.delta and (profile := self.seen(n, left)) is not None:
            exact = divergence.epsilon_at(profile, self.delta)
            if exact < math.inf:
                return (min(exact, spent.epsilon) if spent.delta <= self.delta else exact), self.delta
        return spent.epsilon, spent.delta


class Standalone(Mechanism):
    """Base class of mechanisms whose guarantee relies on one user's noise, or on a trusted server's noise."""

    def __init__(
        self, epsilon: float = 1.0, confidence: float | str = 0.1, *, noise: str = "simulated", name: str | None = None
    ):
        super().__init__(epsilon, confidence, noise=noise, name=name)


def _unprotected(n: int, survivors: int) -> Spent:
    return Spent(np.inf)
