"""Laplace noise on each reward that an agent reports."""

from dataclasses import replace
from functools import lru_cache, partial

import numpy as np

from hushbandits.core import Field, Fields, Payload, PointNoise, Streams, World, Wrapper, set_rows
from hushbandits.core.guarantee import IDEALISED, ONCE, ONE_USER, SIMULATED, Adjacency, Guarantee, Run, invalid
from hushbandits.core.payload import Stream
from hushbandits.core.utils import Array, choice, divisor, integer
from hushbandits.privacy import divergence, samplers
from hushbandits.privacy.laplace import RewardNoise, composed_laplaces

#: Widest noise in steps of the grid: beyond it, values are missing where an observer may well look.
_WIDEST = 1 << 24


def reports(env: World) -> Run | None:
    """Return, as a `Run`, how a guarantee for one reward composes over all reports of an agent.

    It is ``None`` without a horizon.
    """
    times = int(env.horizon or 0)
    return Run(times, f"all rewards of an agent: its {times:,} reports add up") if times else None


@lru_cache(maxsize=256)
def _together(epsilon: float, quantization_levels: int | None, times: int, delta: float) -> float:
    """Return the composed ε at δ of `times` reports, each with Laplace noise."""
    if quantization_levels is None:
        return composed_laplaces(np.array([epsilon]), delta, times)
    profile = divergence.discrete_laplace_profile(quantization_levels / epsilon, quantization_levels)
    return divergence.composed_epsilon(profile, times, delta)


class LocalNoise(Wrapper):
    """Base class of wrappers that randomize each single reward in [0, 1]."""

    _stream: Stream
    vetted = ("proof", "exact law", "audit", "dp-accounting")

    def message_fields(self, fields: Fields, env: World) -> Fields:
        if not env.law.unit_interval:
            raise ValueError(f"{self.name} needs rewards in [0, 1], not {env.law!r}")
        return fields

    def reset(self, env: World, rng: Streams, rows: Array | None = None) -> None:
        set_rows(self, rows, _stream=env.message_class.stream("add", env, rng))


class LocalLaplace(LocalNoise):
    """Wrapper that adds independent ``Lap(1/ε)`` noise to each reported reward: ε-local DP per report.

    **What is covered.**  A noised reward by itself is ε-private.  On a graph an agent also shows which arms it plays.
    With ``own_feedback="private"`` the agents themselves see only the noised rewards that they report, so arms are
    post-processing, and all messages are covered.  With ``own_feedback="true"`` arms follow exact own rewards: one
    changed reward may change with certainty which arm is played next, and so which law the next reports have.  Then a
    report is covered by itself, and nothing is promised about a run.

    Rewards are clipped to [0, 1] before the noise: a sender that says more gains nothing.  Source: Dwork, McSherry,
    Nissim & Smith 2006 (Laplace mechanism); Ghosh, Roughgarden & Sundararajan 2012 (discrete); Mironov 2012 (the last
    bits).

    Parameters
    ----------
    epsilon : float
        ε per report, for rewards in [0, 1] (sensitivity 1).
    own_feedback : str
        For agents (not users): ``"private"``, they see what they report; ``"true"``, they learn from their exact own
        rewards.  A user who comes once learns from nothing.
    quantization_levels : int, optional
        G ≤ 2²⁴ε (else ``ValueError``: 53 random bits leave gaps in its support): rewards are rounded to multiples of
        1/G and get ``Lap_ℤ(G/ε)/G``, the discrete mechanism.  By default, noise is a double, whose last bits may
        reveal the reward.

    Examples
    --------
    >>> import hushbandits as hb
    >>> for own in ("true", "private"):
    ...     env = hb.make_batched("CoopNetwork-v0", wrappers=[LocalLaplace(0.5, own_feedback=own)])
    ...     print([(g.epsilon, g.single_release, g.invalid_reason) for g in env.guarantees()])
    [(inf, False, 'the arms that an agent shows follow its exact own rewards'), (0.5, True, '')]
    [(0.5, False, '')]
    """

    operations = ("map", "add")

    def __init__(
        self,
        epsilon: float = 1.0,
        own_feedback: str = "private",
        quantization_levels: int | None = None,
        *,
        name: str | None = None,
    ):
        super().__init__(name=name)
        self.epsilon = divisor("epsilon", epsilon)
        self.own_feedback = choice("own_feedback", own_feedback, ("true", "private"))
        if quantization_levels is not None:  # 53 bits leave gaps in wider noise
            most = min(1 << 30, int(_WIDEST * self.epsilon))
            quantization_levels = integer(f"epsilon={epsilon!r}: quantization_levels", quantization_levels, 1, most)
        self.quantization_levels = quantization_levels

    def own_reward_field(self, fields: Fields, env: World) -> Fields:
        if not self._first(env) or "reward" not in fields:
            return fields
        return {**fields, "reward": Field(low=-self.noise_range, high=1.0 + self.noise_range)}

    def _first(self, env: World) -> bool:
        """Return whether agents see only noisy rewards, so that all messages depend on noisy rewards alone."""
        return self.own_feedback == "private" and env.message_class.identified_senders

    @property
    def noise_range(self) -> float:
        """Return the largest absolute noise on a reward, at the smallest or the largest uniform sample."""
        ends = self._noise.onto(np.zeros(2), np.array([0.0, 1.0 - 2.0**-53]))
        return float(np.abs(ends).max())

    @property
    def _noise(self) -> PointNoise:
        if self.quantization_levels is None:
            return RewardNoise(samplers.Laplace(1.0 / self.epsilon))
        return RewardNoise(samplers.DiscreteLaplace(self.quantization_levels / self.epsilon), self.quantization_levels)

    def alter_own_reward(self, reward: Array, env: World) -> Array:
        return self._noise.onto(np.clip(reward, 0.0, 1.0), self._stream.next()) if self._first(env) else reward

    def send(self, message: Payload, env: World) -> Payload:
        if self._first(env):
            return message
        noise, levels = self._noise, self.quantization_levels
        message = message.clip()
        if levels is not None:
            message = message.map(lambda x: np.rint(x * levels) / levels)
        return message.add(lambda n: noise, self._stream)

    def claimed_guarantees(self, env: World) -> tuple[Guarantee, ...]:
        noise = f"Laplace(1/{self.epsilon:g})"
        gaps = "in truth one double rules one of two rewards out in about 4 cases of 5"
        if self.quantization_levels is not None:
            noise = f"Lap_ℤ({self.quantization_levels}/{self.epsilon:g})/{self.quantization_levels}"
            far = 2.0 * self.quantization_levels / self.epsilon * 2.0**-53
            gaps = f"noise is made of 53 random bits, and in the outermost {far:.0e} of its law some values are missing"
        words = "rewards in [0, 1]", f"{IDEALISED}: {gaps}", SIMULATED
        text, view = f"{noise} on each reported reward", "everyone but the sender"
        alone = Guarantee(text, self.epsilon, 0.0, ONE_USER, view, words, "Dwork et al. 2006", run=ONCE)
        alone = replace(alone, exact=partial(_together, self.epsilon, self.quantization_levels), vetted=self.vetted)
        if not env.message_class.identified_senders:  # a user who is met once shows nothing else
            return (alone,)
        inputs = "one report's reward replaced by any other in [0, 1]; a sender's reports compose additively"
        view = "everyone else: all messages, arms included"
        whole = replace(alone, adjacency=Adjacency(inputs, "reward"), view=view, run=reports(env))
        if self.own_feedback == "private":
            return (whole,)
        view = "everyone else: one report by itself, its arm and time taken as given"
        released = replace(whole, view=view, single_release=True, run=None)
        return invalid(whole, "the arms that an agent shows follow its exact own rewards"), released
