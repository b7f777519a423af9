"""Audits of the privacy mechanisms: measured against claimed, with an error probability."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from hushbandits.core.crowd import Individuals
from hushbandits.core.env import Env
from hushbandits.core.types import Array
from hushbandits.core.wrapper import Wrapper
from hushbandits.envs.feedback import Feedback
from hushbandits.privacy.accounting import Curve, concentrated_sum, skellam_curve, zcdp_curve
from hushbandits.privacy.audit import (
    epsilon_lower_bound,
    log_wrapped_discrete_laplace,
    one_run_p_value,
    polya_epsilon,
    renyi_divergence,
    worst_log_ratio,
)
from hushbandits.privacy.pmf import wrapped_sum
from hushbandits.privacy.samplers import DiscreteGaussian, DiscreteLaplace, Laplace, NoiseLaw, PolyaDifference, Skellam
from hushbandits.privacy.shuffling import ExtraBits, binomial_delta
from hushbandits.registry import list_envs, make_vec
from hushbandits.wrappers.central_dp import CentralLaplace
from hushbandits.wrappers.local_dp import LocalDiscreteLaplace
from hushbandits.wrappers.mechanism import Mechanism
from hushbandits.wrappers.shuffle_dp import BinarySum, ShuffledLaplace

__all__ = ["Verdict", "audit", "black_box", "one_run", "white_box"]

_SLACK = 1e-9


@dataclass(frozen=True)
class Verdict:
    """One check of one mechanism.

    Parameters
    ----------
    subject, check : str
        What was audited, and how.
    claimed, measured : float
        The check passes where ``measured ≤ claimed``.
    unit : str
        What the two numbers are.
    """

    subject: str
    check: str
    claimed: float
    measured: float
    unit: str = "ε"

    @property
    def passed(self) -> bool:
        """Whether the claim stands."""
        return self.measured <= self.claimed + _SLACK


# -- white box ------------------------------------------------------------------------------------------------------


def _noise_epsilon(mechanism: Mechanism, n: int, survivors: int) -> float:
    """ε of what the server sees of a block, from the law of the noise that the plan really adds."""
    plan = mechanism.planned(n)
    noise = plan.noise
    if isinstance(noise, PolyaDifference) and not isinstance(noise, DiscreteLaplace):
        shape = survivors * noise.r
        if shape < 1 - 1e-9:
            return polya_epsilon(shape, noise.b, plan.g)
        # More than shape 1 is the law of shape 1 plus more noise, which can only hide more.
        return worst_log_ratio(log_wrapped_discrete_laplace(noise.b, plan.modulus), plan.g)
    if isinstance(noise, DiscreteLaplace):
        return worst_log_ratio(log_wrapped_discrete_laplace(noise.b, plan.modulus), plan.g)
    assert noise is not None
    with np.errstate(divide="ignore"):
        return worst_log_ratio(np.log(noise.wrapped_pmf(survivors, plan.modulus)), plan.g)


def _curve(noise: NoiseLaw, survivors: int, g: int) -> tuple[Curve, Array, Sequence[int]]:
    """Claimed Rényi curve of a block, logarithm of its sum's law, and orders that the law resolves."""
    if isinstance(noise, Skellam):
        total = Skellam(survivors * noise.sigma2)
        k = np.arange(-math.ceil(30 * math.sqrt(total.sigma2)), math.ceil(30 * math.sqrt(total.sigma2)) + 1)
        with np.errstate(divide="ignore"):
            return skellam_curve(total.sigma2, g), np.log(total.pmf(k)), (2, 3, 4, 6, 8, 12)
    assert isinstance(noise, DiscreteGaussian)
    rho = concentrated_sum(survivors, noise.sigma2, g)
    deviation = math.sqrt(survivors * noise.sigma2)
    m, reach = 2 * math.ceil(12 * deviation) + 1, math.ceil(7 * deviation)  # further out the transform has no digits
    pmf = np.roll(wrapped_sum(noise.cf, survivors, m), m // 2)[m // 2 - reach : m // 2 + reach + 1]
    return zcdp_curve(rho), np.log(pmf), (2, 3)


def white_box(mechanism: Mechanism, n: int, survivors: int | None = None, subject: str = "") -> Iterator[Verdict]:
    """Audit the law of a block's noise: for n users planned, of whom `survivors` (default: all) take part.

    Pure mechanisms: the largest log-ratio over shifts up to the sensitivity g.  Rényi and concentrated ones: the
    divergence at g at several orders, relative to the claimed curve.  Binary sums: the exact δ.
    """
    s, subject = survivors or n, subject or mechanism.name
    where = f"white box, n = {n}" + (f", {s} survive" if s < n else "")
    if isinstance(mechanism, BinarySum):
        bits: ExtraBits = mechanism.planned(n).noise  # type: ignore[assignment]
        delta = binomial_delta(s * bits.k, bits.q, mechanism.epsilon)
        yield Verdict(subject, where, mechanism.delta, delta, "δ")
    elif isinstance(mechanism, CentralLaplace):
        noise = mechanism.added(n)
        if isinstance(noise, DiscreteLaplace):
            plan = mechanism.planned(n)
            law = log_wrapped_discrete_laplace(noise.b, plan.modulus)
            yield Verdict(subject, where, mechanism.epsilon, worst_log_ratio(law, plan.g))
        else:  # on a sum of sensitivity 1
            assert isinstance(noise, Laplace)
            yield Verdict(subject, where, mechanism.epsilon, 1 / noise.b)
    elif isinstance(mechanism.planned(n).noise, (Skellam, DiscreteGaussian)):
        plan = mechanism.planned(n)
        assert plan.noise is not None
        claimed, _, _ = _curve(_calibrated(mechanism, n), mechanism.sure(n), plan.g)
        _, log_pmf, orders = _curve(plan.noise, s, plan.g)
        for alpha in orders:
            measured = renyi_divergence(log_pmf, plan.g, alpha)
            yield Verdict(subject, f"{where}, Rényi order {alpha}", claimed(alpha), measured, f"ε({alpha})")
    else:
        spent = _noise_epsilon(mechanism, n, s)
        if isinstance(mechanism, ShuffledLaplace) and mechanism.shuffle == "pure":
            spent += 2 * mechanism.epsilon / 4  # the relaxed secure aggregation, on either neighbour
        yield Verdict(subject, where, mechanism.epsilon, spent)


def _calibrated(mechanism: Mechanism, n: int) -> NoiseLaw:
    # The law that the table asks of one of t_min users: σ² = g²/(t_min ε²).
    g, t = mechanism.planned(n).g, mechanism.sure(n)
    noise = mechanism.planned(n).noise
    return type(noise)((g / mechanism.epsilon) ** 2 / t)  # type: ignore[misc, call-arg]


# -- black box ------------------------------------------------------------------------------------------------------


class _Plant(Wrapper):
    """Nobody earns anything, but for the first user of every other block on one side."""

    def __init__(self, guilty: bool):
        super().__init__(name="Plant")
        self.guilty = guilty

    def reset(self, env: Env, seeds: Any) -> None:
        self._round = 0

    def send(self, message: dict[str, Any], env: Env) -> dict[str, Any]:
        planned = message["n"]
        x = np.zeros((*planned.shape, int(planned.max())))
        x[:, :, 0] = self.guilty and self._round % 2 == 0
        self._round += 1
        return {**message, "reward": Individuals(x, planned)}


def _outputs(wrappers: Sequence[Wrapper], guilty: bool, n: int, samples: int, seed: int) -> Array:
    """Decoded sums of `samples` pairs of blocks, ``(samples, 2)``; the guilty user is in the first."""
    runs = min(samples, 200)
    rounds = -(-samples // runs)
    env = Feedback(
        users="each",
        means=(0.0, 1.0),
        rewards="bernoulli",
        horizon=2 * n * rounds,
        runs=runs,
        wrappers=[_Plant(guilty), *wrappers],
    )
    env.reset(seed)
    action = np.zeros((runs, 1), int), np.full((runs, 1), n)
    found = np.empty((rounds, 2, runs))
    for i in range(rounds):
        for j in range(2):
            env.pull(action)
            inbox = env.talk().inbox
            assert inbox is not None
            found[i, j] = np.where(inbox.arrived[:, 0, 0], inbox.total("reward")[:, 0], np.nan)
    return found.transpose(0, 2, 1).reshape(-1, 2)[:samples]


#: Events on a pair of blocks, fixed before any run: below the lighter input, above the heavier one, both alike.
_EVENTS: dict[str, Callable[[Array], Array]] = {
    "z ≤ 0": lambda z: z[:, 0] <= 0,
    "z ≥ 1": lambda z: z[:, 0] >= 1,
    "z = z′": lambda z: z[:, 0] == z[:, 1],
}


def black_box(
    wrappers: Sequence[Wrapper],
    epsilon: float,
    delta: float = 0.0,
    n: int = 64,
    samples: int = 24_000,
    level: float = 1e-6,
    seed: int = 0,
    subject: str = "",
) -> Verdict:
    """Run a protocol on neighbouring blocks and bound its ε from below, whatever it claims.

    Parameters
    ----------
    wrappers : sequence of Wrapper
        The protocol, as an env would carry it.
    epsilon, delta : float
        The claim.
    n : int
        Users per block.
    samples : int
        Runs a side: 880 catch a mechanism that is two times off at ε = 1, 24,000 at ε = .1.
    level : float
        Probability of rejecting an honest mechanism, shared by all events and both directions.

    Notes
    -----
    The largest bound over the events, whose errors are accounted for by the union bound; δ enters each.
    """
    innocent, guilty = (_outputs(wrappers, side, n, samples, seed + side) for side in (False, True))
    worst = 0.0
    for event in _EVENTS.values():
        a, b = int(event(innocent).sum()), int(event(guilty).sum())
        for hits, others in ((a, b), (b, a)):
            bound = epsilon_lower_bound(hits, others, samples, delta, level / (2 * len(_EVENTS)))
            worst = max(worst, bound)
    return Verdict(subject or wrappers[0].name, f"black box, {samples:,} runs a side, n = {n}", epsilon, worst)


def one_run(mechanism: LocalDiscreteLaplace, users: int = 20_000, level: float = 1e-6, seed: int = 0) -> Verdict:
    """One-run audit of a local mechanism: every user holds a random bit, and an observer guesses them all.

    Measured is the smallest ε that `level` does not refute.
    """
    env = Feedback(users="each", means=(0.0, 1.0), rewards="bernoulli", wrappers=[mechanism], horizon=users)
    env.reset(seed)
    (own,) = env.wrappers
    assert isinstance(own, LocalDiscreteLaplace)
    bits = np.random.default_rng(seed).integers(2, size=users)
    # Blocks of one: a message stands for itself.
    crowd = Individuals(bits.astype(float)[:, None, None], np.ones((users, 1), int))
    own._rngs = own._rngs * users
    message = own.send({"reward": crowd, "n": crowd.planned}, env)["reward"]
    plan = own.planned(1)
    y = np.array([message.messages(u, 0)[0] for u in range(users)])
    z = np.where(y > plan.g + plan.tau, y - plan.modulus, y)
    correct = int(((2 * z > plan.g) == (bits == 1)).sum())
    low, high = 0.0, 50.0
    while high - low > 1e-6:
        middle = (low + high) / 2
        low, high = (middle, high) if one_run_p_value(correct, users, middle) < level else (low, middle)
    return Verdict(own.name, f"one run, {users:,} users", own.epsilon, low)


# -- everything that is registered ----------------------------------------------------------------------------------


#: Parameters to audit, by env.
_VARIANTS: dict[str, list[dict[str, Any]]] = {
    "CentralDP-v0": [{}, {"discrete": True}],
    "DistDP-v0": [{}, {"t_min": 0.9}, {"sampler": "exact"}],
    "DistRDP-v0": [{}, {"t_min": 0.9}],
    "DistCDP-v0": [{}, {"t_min": 0.9}],
    "LocalDP-v0": [{}],
    "ShuffleDP-v0": [
        {},
        {"shuffle": "pure"},
        {"shuffle": "binary-sum"},
        {"shuffle": "binary-sum", "calibrate": "exact"},
    ],
}


def audit(ids: Sequence[str] = (), level: float = 1e-6, seed: int = 0, samples: int = 24_000) -> Iterator[Verdict]:
    """Audit the mechanisms of registered envs (default: of all that have one), at ε = 1.

    Parameters
    ----------
    ids : sequence of str
        Env ids.
    level : float
        Probability that an honest mechanism fails a statistical check.
    seed : int
    samples : int
        Runs a side of a black box.

    Raises
    ------
    ValueError
        An env without a mechanism.
    """
    from hushbandits.bench.audit_network import NETWORK, promises

    known = [id for id in list_envs() if id in _VARIANTS or id == NETWORK]
    for id in ids or known:
        if id not in known:
            make_vec(id)  # an unknown id says so itself
            raise ValueError(f"{id} has no privacy mechanism that the audit knows; those that do: {', '.join(known)}")
        for variant in _VARIANTS.get(id, []):
            env = make_vec(id, users="each", epsilon=1.0, **variant)
            mechanism: Any = env.mechanism  # type: ignore[attr-defined]
            env.reset(0)
            subject = " ".join([id, *(f"{k}={v}" for k, v in variant.items())])
            for n in (64, 1024):
                yield from white_box(mechanism, n, mechanism.sure(n), subject)
            local = isinstance(mechanism, LocalDiscreteLaplace)
            promise = mechanism.privacy(env)[0]
            runs = samples // 20 if variant.get("sampler") == "exact" else samples
            args = promise.epsilon, promise.delta, 1 if local else 64, runs, level, seed
            yield black_box(env.wrappers, *args, subject=subject)
            if local:
                yield one_run(mechanism, level=level, seed=seed)
        if id == NETWORK:
            yield from promises(samples // 16, level, seed)
