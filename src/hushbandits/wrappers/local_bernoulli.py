"""Local privacy by replacement: every reward becomes a coin that leans its way."""

from __future__ import annotations

import math
from functools import partial

import numpy as np

from hushbandits.core.env_view import World
from hushbandits.core.ground.types import Array, Seeds
from hushbandits.core.ground.validate import choice, divisor
from hushbandits.core.guarantee import Adjacency, Guarantee
from hushbandits.core.messages import Field, Fields
from hushbandits.core.wrapper import Wrapper
from hushbandits.privacy.divergence import coins_epsilon
from hushbandits.wrappers.local_laplace import LocalLaplace, reports

#: Largest ε: the rarer side of its coin, e^−20, still is 2·10⁷ steps of a uniform's 2⁻⁵³.
_LARGEST = 20.0


class LocalBernoulli(Wrapper):
    """Each reward x in [0, 1] is replaced by a bit, ``P(1 | x) = (x(e^ε − 1) + 1)/(e^ε + 1)``, before anybody sees it.

    The agents themselves are told the bit alone, so whatever they do and say is made of bits.  A bit's mean is
    ``½ + (μ − ½)(e^ε − 1)/(e^ε + 1)``; regret still counts the arms' own means.  Source: Ren, Zhou, Liu & Shroff 2020,
    "Multi-Armed Bandits with Local Differential Privacy", convert-to-Bernoulli.

    Parameters
    ----------
    epsilon : float
        ε per reward, at most 20: from 37 on a double's 53 bits of luck cannot toss the coin's rarer side.

    Examples
    --------
    >>> import hushbandits as hb
    >>> env = hb.make_core("CoopNetwork-v0", wrappers=[LocalBernoulli(0.5)])
    >>> [(g.epsilon, g.view) for g in env.guarantees()]
    [(0.5, 'everyone, the agent included')]
    """

    def __init__(self, epsilon: float = 1.0, *, name: str | None = None):
        super().__init__(name=name)
        self.epsilon = divisor("epsilon", epsilon, _LARGEST, closed="high")

    def sends(self, fields: Fields, env: World) -> Fields:
        if "add" not in env.payload.verbs:
            raise ValueError(f"{self.name} needs rewards that can be noised one by one: {env.payload.noun} cannot")
        if not env.law.unit_interval:
            raise ValueError(f"{self.name} needs rewards in [0, 1], not {env.law!r}")
        if not env.payload.named:
            raise ValueError(f"{self.name} replaces what agents are told; a user of this setting is met once")
        return fields

    def tells(self, fields: Fields, env: World) -> Fields:
        return {**fields, "reward": Field(low=0.0, high=1.0)} if "reward" in fields else fields

    def reset(self, env: World, seeds: Seeds) -> None:
        self._luck = env.payload.luck("add", self.name, env, seeds)

    def chance(self, reward: Array) -> Array:
        """``P(1 | x)`` of a `reward` x, of any shape."""
        lean = math.exp(-self.epsilon)
        return (reward * (1.0 - lean) + lean) / (1.0 + lean)

    def tell(self, reward: Array, env: World) -> Array:
        return np.less(self._luck.next(), self.chance(np.clip(reward, 0.0, 1.0))).astype(float)

    def claimed_guarantees(self, env: World) -> tuple[Guarantee, ...]:
        return (
            Guarantee(
                mechanism=f"a bit with P(1 | x) = (x(e^ε − 1) + 1)/(e^ε + 1), ε = {self.epsilon:g}, for each reward",
                epsilon=self.epsilon,
                delta=0.0,
                adjacency=Adjacency(
                    "one reward replaced by any other in [0, 1]; an agent's rewards compose additively", "reward"
                ),
                view="everyone, the agent included",
                assumptions=(
                    "rewards in [0, 1]",
                    "the mechanism sits before the agent",
                    "idealised floating point: the coin's chance is rounded to 53 bits",
                    "seeded noise is a simulation",
                ),
                source="Ren et al. 2020",
                run=reports(env),
                exact=partial(coins_epsilon, self.epsilon),
            ),
        )


def local_mechanism(epsilon: float = 1.0, mechanism: str = "laplace", *, name: str | None = None) -> Wrapper:
    """Return the mechanism between arms and agents: ``"laplace"`` or ``"bernoulli"``.

    Parameters
    ----------
    epsilon : float
        ε of one report.
    mechanism : str
        ``"laplace"``: noise on the reward (`LocalLaplace`); ``"bernoulli"``: a bit (`LocalBernoulli`).
    """
    choice("mechanism", mechanism, ("laplace", "bernoulli"))
    if mechanism == "bernoulli":
        return LocalBernoulli(epsilon, name=name)
    return LocalLaplace(epsilon, own="noised", name=name)
