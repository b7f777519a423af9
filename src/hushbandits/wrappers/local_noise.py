"""Local noise on every reward: Laplace noise on what is reported, or a coin before anybody sees it."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from hushbandits.core import Array, Seeds, choice, divisor, integer
from hushbandits.core.env_view import World
from hushbandits.core.guarantee import ONCE, ONE_USER, Adjacency, Guarantee, Run, invalid
from hushbandits.core.messages import Field, Fields
from hushbandits.core.payload import Luck, Payload, PointNoise
from hushbandits.core.rows import set_rows
from hushbandits.core.wrapper import Wrapper
from hushbandits.privacy.divergence import coins_epsilon, composed_epsilon, discrete_laplace_profile
from hushbandits.privacy.laplace import composed_laplaces, discrete_laplaces, laplaces
from hushbandits.privacy.samplers import DiscreteLaplace, Laplace

#: Widest noise in steps of the grid: beyond it, values are missing where an observer may well look.
_WIDEST = 1 << 24


def reports(env: World) -> Run | None:
    """How promises about a reward add up where an agent reports one in every round."""
    if env.horizon is None:
        return None
    return Run(int(env.horizon), f"all rewards of an agent: its {int(env.horizon):,} reports add up")


def _together(epsilon: float, grid: int | None, times: int, delta: float) -> float:
    """ε at δ of so many reports."""
    if grid is None:
        return composed_laplaces(np.array([epsilon]), delta, times)
    return composed_epsilon(discrete_laplace_profile(grid / epsilon, grid), times, delta)


@dataclass(frozen=True)
class _Noise:
    """Laplace noise: in doubles, or discrete in units of 1/grid."""

    law: Laplace | DiscreteLaplace
    grid: int = 1
    integer = False

    def draw(self, rng: np.random.Generator, size: int) -> Array:
        return self.law.draw(rng, size) / self.grid

    def total(self, rng: np.random.Generator, n: int) -> float:
        return self.law.total(rng, n) / self.grid

    def onto(self, x: Array, u: Array) -> Array:
        if isinstance(self.law, Laplace):
            noisy: Array = x + laplaces(u, self.law.b)
            return noisy
        # One division: a sum of two quotients might miss the grid by its last bit.
        steps: Array = np.rint(x * self.grid) + discrete_laplaces(u, self.law.b)
        return steps / self.grid


class LocalLaplace(Wrapper):
    """Each report's reward gets its own ``Lap(1/ε)``: ε-local differential privacy per report.

    **What is covered.**  A noised reward by itself is ε-private.  On a graph an agent also shows which arms it plays.
    With ``own="noised"`` the agents themselves are told of their rewards only what they report, so arms are
    post-processing, and all messages are covered.  With ``own="exact"`` arms follow exact own rewards: one changed
    reward may change with certainty which arm is played next, and so which law the next reports have.  Then a report is
    covered by itself, and nothing is promised about a run.

    Rewards are clipped to [0, 1] before the noise: a sender that says more gains nothing.  Source: Dwork, McSherry,
    Nissim & Smith 2006 (Laplace mechanism); Ghosh, Roughgarden & Sundararajan 2012 (discrete); Mironov 2012 (the last
    bits).

    Parameters
    ----------
    epsilon : float
        ε per report, for rewards in [0, 1] (sensitivity 1).
    own : str
        Where agents come back: ``"noised"``, they are told what they report; ``"exact"``, they go by their exact own
        rewards.  A user who is met once goes by nothing.
    grid : int, optional
        G ≤ 2²⁴ε (else ``ValueError``: 53 bits of luck leave gaps in its support): rewards are rounded to multiples of
        1/G and get ``Lap_ℤ(G/ε)/G``, the discrete mechanism.  By default noise is a double, whose last bits tell on it.

    Examples
    --------
    >>> import hushbandits as hb
    >>> for own in ("exact", "noised"):
    ...     env = hb.make_core("CoopNetwork-v0", wrappers=[LocalLaplace(0.5, own=own)])
    ...     print([(g.epsilon, g.alone, g.invalid_reason) for g in env.guarantees()])
    [(inf, False, 'the arms that an agent shows follow its exact own rewards'), (0.5, True, '')]
    [(0.5, False, '')]
    """

    verbs = ("map", "add")
    _luck: Luck

    def __init__(self, epsilon: float = 1.0, own: str = "noised", grid: int | None = None, *, name: str | None = None):
        super().__init__(name=name)
        self.epsilon = divisor("epsilon", epsilon)
        self.own = choice("own", own, ("exact", "noised"))
        self.grid = None if grid is None else integer("grid", grid, 1, 1 << 30)
        if self.grid is not None and self.grid / self.epsilon > _WIDEST:
            raise ValueError(
                f"grid={grid} at epsilon={self.epsilon:g}: 53 bits of luck leave gaps in noise as wide as "
                f"grid/epsilon; grid must be at most {int(_WIDEST * self.epsilon)} here"
            )

    def sends(self, fields: Fields, env: World) -> Fields:
        if "modulus" in fields:
            raise ValueError(f"{self.name} needs raw rewards, but a wrapper before it has encoded them already")
        if not env.law.unit_interval:
            raise ValueError(f"{self.name} needs rewards in [0, 1], not {env.law!r}")
        return fields

    def tells(self, fields: Fields, env: World) -> Fields:
        if not self._first(env) or "reward" not in fields:
            return fields
        return {**fields, "reward": Field(low=-self.reach, high=1.0 + self.reach)}

    def _first(self, env: World) -> bool:
        """Whether noise comes before the agent, so that whatever is said is made of it."""
        return self.own == "noised" and env.payload.named

    @property
    def reach(self) -> float:
        """How far noise can take a reward: what the ends of a tape's uniforms give."""
        ends = self._noise.onto(np.zeros(2), np.array([0.0, 1.0 - 2.0**-53]))
        return float(np.abs(ends).max())

    def reset(self, env: World, seeds: Seeds, rows: Array | None = None) -> None:
        set_rows(self, rows, _luck=env.payload.luck("add", self.name, env, seeds))

    @property
    def _noise(self) -> PointNoise:
        if self.grid is None:
            return _Noise(Laplace(1.0 / self.epsilon))
        return _Noise(DiscreteLaplace(self.grid / self.epsilon), self.grid)

    def tell(self, reward: Array, env: World) -> Array:
        return self._noise.onto(np.clip(reward, 0.0, 1.0), self._luck.next()) if self._first(env) else reward

    def send(self, message: Payload, env: World) -> Payload:
        if self._first(env):
            return message
        noise, grid = self._noise, self.grid
        message = message.clip()
        if grid is not None:
            message = message.map(lambda x: np.rint(x * grid) / grid)
        return message.add(lambda n: noise, self._luck)

    def claimed_guarantees(self, env: World) -> tuple[Guarantee, ...]:
        if self.grid is None:
            noise = f"Laplace(1/{self.epsilon:g})"
            arithmetic = (
                "idealised floating point: in truth one double rules one of two rewards out in about 4 cases of 5"
            )
        else:
            noise = f"Lap_ℤ({self.grid}/{self.epsilon:g})/{self.grid}"
            gaps = 2.0 * self.grid / self.epsilon * 2.0**-53
            arithmetic = (
                f"idealised floating point: noise is made of 53 random bits, and in the outermost {gaps:.0e} of "
                f"its law some values are missing"
            )
        alone = Guarantee(
            mechanism=f"{noise} on each reported reward",
            epsilon=self.epsilon,
            delta=0.0,
            adjacency=ONE_USER,
            view="everyone but the sender",
            assumptions=("rewards in [0, 1]", arithmetic, "seeded noise is a simulation"),
            source="Dwork et al. 2006",
            run=ONCE,
            exact=partial(_together, self.epsilon, self.grid),
        )
        if not env.payload.named:  # a user who is met once shows nothing else
            return (alone,)
        words = "one report's reward replaced by any other in [0, 1]; a sender's reports compose additively"
        whole = replace(
            alone,
            adjacency=Adjacency(words, "reward"),
            view="everyone else: all messages, arms included",
            run=reports(env),
        )
        if self.own == "noised":
            return (whole,)
        released = replace(
            whole, view="everyone else: one report by itself, its arm and time taken as given", alone=True, run=None
        )
        return invalid(whole, "the arms that an agent shows follow its exact own rewards"), released


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

    _luck: Luck

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

    def reset(self, env: World, seeds: Seeds, rows: Array | None = None) -> None:
        set_rows(self, rows, _luck=env.payload.luck("add", self.name, env, seeds))

    def chance(self, reward: Array) -> Array:
        """``P(1 | x)`` of a `reward` x, of any shape."""
        lean = math.exp(-self.epsilon)
        return (reward * (1.0 - lean) + lean) / (1.0 + lean)

    def tell(self, reward: Array, env: World) -> Array:
        coins: Array = np.less(self._luck.next(), self.chance(np.clip(reward, 0.0, 1.0))).astype(float)
        return coins

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
