"""Randomized response, in which a random bit replaces each reward."""

import math
from dataclasses import replace
from functools import partial

import numpy as np

from hushbandits.core import Adjacency, Array, Field, Fields, Guarantee, World, Wrapper, choice, divisor
from hushbandits.core.guarantee import IDEALISED, SIMULATED
from hushbandits.privacy.divergence import coins_epsilon
from hushbandits.wrappers.local_laplace import LocalLaplace, LocalNoise, reports

#: Largest ε of a coin: its rarer side, e^−20, still is 2·10⁷ steps of a uniform's 2⁻⁵³.
_LARGEST = 20.0


class LocalBernoulli(LocalNoise):
    """Wrapper that shows agents, in place of a reward x, a bit with ``P(1 | x) = (x(e^ε − 1) + 1)/(e^ε + 1)``.

    The agents themselves see only the bit, so their actions and messages depend on bits alone.  A bit's mean is
    ``½ + (μ − ½)(e^ε − 1)/(e^ε + 1)``; regret still counts the arms' own means.  Source: Ren, Zhou, Liu & Shroff 2020,
    "Multi-Armed Bandits with Local Differential Privacy", convert-to-Bernoulli.

    Parameters
    ----------
    epsilon : float
        ε per reward, at most 20: from 37 on a double's 53 random bits cannot toss the coin's rarer side.

    Examples
    --------
    >>> import hushbandits as hb
    >>> env = hb.make_batched("CoopNetwork-v0", wrappers=[LocalBernoulli(0.5)])
    >>> [(g.epsilon, g.view) for g in env.guarantees()]
    [(0.5, 'everyone, the agent included')]
    """

    def __init__(self, epsilon: float = 1.0, *, name: str | None = None):
        super().__init__(name=name)
        self.epsilon = divisor("epsilon", epsilon, _LARGEST, closed="high")

    def message_fields(self, fields: Fields, env: World) -> Fields:
        payload = env.message_class
        if "add" not in payload.operations or not payload.identified_senders:
            raise ValueError(f"{self.name} needs agents who report rewards; messages in this env are {payload.noun}")
        return super().message_fields(fields, env)

    def own_reward_field(self, fields: Fields, env: World) -> Fields:
        return {**fields, "reward": Field(low=0.0, high=1.0)} if "reward" in fields else fields

    def chance(self, reward: Array) -> Array:
        """Return ``P(1 | x)`` for each reward x, in the shape of `reward`."""
        lean = math.exp(-self.epsilon)
        return (reward * (1.0 - lean) + lean) / (1.0 + lean)

    def alter_own_reward(self, reward: Array, env: World) -> Array:
        return np.where(self._stream.next() < self.chance(np.clip(reward, 0.0, 1.0)), 1.0, 0.0)

    def claimed_guarantees(self, env: World) -> tuple[Guarantee, ...]:
        inputs = Adjacency("one reward replaced by any other in [0, 1]; an agent's rewards add up", "reward")
        rounded = f"{IDEALISED}: the coin's chance is rounded to 53 bits"
        words = "rewards in [0, 1]", "the mechanism sits before the agent", rounded, SIMULATED
        text = f"a bit with P(1 | x) = (x(e^ε − 1) + 1)/(e^ε + 1), ε = {self.epsilon:g}, for each reward"
        view, run, exact = "everyone, the agent included", reports(env), partial(coins_epsilon, self.epsilon)
        claim = Guarantee(text, self.epsilon, 0.0, inputs, view, words, "Ren et al. 2020", run=run, exact=exact)
        return (replace(claim, vetted=self.vetted),)


def local_mechanism(epsilon: float = 1.0, mechanism: str = "laplace", *, name: str | None = None) -> Wrapper:
    """Return the local-DP wrapper that randomizes rewards before agents see them: `LocalLaplace` or `LocalBernoulli`.

    Parameters
    ----------
    epsilon : float
        ε of one report.
    mechanism : str
        ``"laplace"``: noise on the reward (`LocalLaplace`); ``"bernoulli"``: a bit (`LocalBernoulli`).
    """
    bits = choice("mechanism", mechanism, ("laplace", "bernoulli")) == "bernoulli"
    return LocalBernoulli(epsilon, name=name) if bits else LocalLaplace(epsilon, name=name)
