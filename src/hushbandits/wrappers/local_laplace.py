"""Local Laplace noise on every reported reward."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from hushbandits.core.guarantee import Guarantee, void
from hushbandits.core.messages import Fields
from hushbandits.core.payload import Payload, PointNoise
from hushbandits.core.types import Array, Seeds
from hushbandits.core.validate import choice, integer, real
from hushbandits.core.world import World
from hushbandits.core.wrapper import Wrapper
from hushbandits.privacy.laplace import discrete_laplaces, laplaces
from hushbandits.privacy.samplers import DiscreteLaplace, Laplace

__all__ = ["LocalLaplace"]


@dataclass(frozen=True)
class _Continuous:
    """Laplace noise in doubles."""

    scale: float
    integer = False

    def draw(self, rng: np.random.Generator, size: int) -> Array:
        return Laplace(self.scale).draw(rng, size)

    def total(self, rng: np.random.Generator, n: int) -> float:
        return Laplace(self.scale).total(rng, n)

    def onto(self, x: Array, u: Array) -> Array:
        return x + laplaces(u, self.scale)


@dataclass(frozen=True)
class _OnGrid:
    """Discrete Laplace noise in units of 1/grid."""

    law: DiscreteLaplace
    grid: int
    integer = False

    def draw(self, rng: np.random.Generator, size: int) -> Array:
        return self.law.draw(rng, size) / self.grid

    def total(self, rng: np.random.Generator, n: int) -> float:
        return self.law.total(rng, n) / self.grid

    def onto(self, x: Array, u: Array) -> Array:
        # One division: a sum of two quotients might miss the grid by its last bit.
        return (np.rint(x * self.grid) + discrete_laplaces(u, self.law.b)) / self.grid


class LocalLaplace(Wrapper):
    """Each report's reward gets its own ``Lap(1/ε)``: ε-local differential privacy per report.

    **What is covered.**  A noised reward is ε-private by itself.  But on a graph an agent also shows which arms it
    plays, and where these follow its exact own rewards, one changed reward may change them with certainty: then only
    the noised rewards are covered, and the whole message is not.  With ``own="noised"`` the agents themselves learn of
    their rewards only what they report, arms are post-processing, and the whole message is covered.

    Parameters
    ----------
    epsilon : float
        ε per report, for rewards in [0, 1] (sensitivity 1).
    own : str
        Network: ``"exact"``, agents go by their exact own rewards; ``"noised"``: they are told what they report.
    grid : int, optional
        G: rewards are rounded to multiples of 1/G and get ``Lap_ℤ(G/ε)/G``, the discrete mechanism.  By default noise
        is a double, whose last bits tell on it.
    name : str, optional

    Raises
    ------
    ValueError
        ε ≤ 0; a reward law outside [0, 1]; a message without ``reward``, or with one that is encoded already.

    References
    ----------
    Dwork, McSherry, Nissim & Smith 2006 (Laplace mechanism); Ghosh, Roughgarden & Sundararajan 2012 (discrete);
    Mironov 2012 (the last bits).

    Examples
    --------
    >>> import hushbandits as hb
    >>> for own in ("exact", "noised"):
    ...     env = hb.make_core("CoopNetwork-v0", wrappers=[LocalLaplace(0.5, own=own)])
    ...     print([(g.epsilon, g.view) for g in env.privacy()])
    [(inf, 'everyone else: all messages, arms included'), (0.5, 'everyone else: the noised rewards only')]
    [(0.5, 'everyone else: all messages, arms included')]
    """

    verbs = ("map", "add")

    def __init__(self, epsilon: float = 1.0, own: str = "exact", grid: int | None = None, *, name: str | None = None):
        super().__init__(name=name)
        self.epsilon = real("epsilon", epsilon, 0)
        self.own = choice("own", own, ("exact", "noised"))
        self.grid = None if grid is None else integer("grid", grid, 1, 1 << 30)

    def sends(self, fields: Fields, env: World) -> Fields:
        """Needs ``reward``, raw and in [0, 1]."""
        if "modulus" in fields:
            raise ValueError(f"{self.name} needs raw rewards, but a wrapper before it has encoded them already")
        if not env.law.unit_interval:
            raise ValueError(f"{self.name} needs rewards in [0, 1], not {env.law!r}")
        if self.own == "noised" and not env.payload.named:
            raise ValueError('own="noised": a user of the feedback setting plays once, and never goes by its reward')
        return fields

    @property
    def reach(self) -> float:
        """How far noise can take a reward: what the ends of a tape's uniforms give."""
        ends = self._noise.onto(np.zeros(2), np.array([0.0, 1.0 - 2.0**-53]))
        return float(np.abs(ends).max())

    def reset(self, env: World, seeds: Seeds) -> None:
        """Open the tape."""
        self._luck = env.payload.luck("add", self.name, env, seeds)

    @property
    def _noise(self) -> PointNoise:
        if self.grid is None:
            return _Continuous(1.0 / self.epsilon)
        return _OnGrid(DiscreteLaplace(self.grid / self.epsilon), self.grid)

    def tell(self, reward: Array, env: World) -> Array:
        """Tell agents the noised reward, where they go by it."""
        return self._noise.onto(reward, self._luck.next()) if self.own == "noised" else reward

    def send(self, message: Payload, env: World) -> Payload:
        """Add noise at the source."""
        if self.own == "noised":  # nobody knows more than the noised reward, so whatever is said is made of it
            return message
        noise, grid = self._noise, self.grid
        if grid is not None:
            message = message.map(lambda x: np.rint(x * grid) / grid)
        return message.add(lambda n: noise, self._luck)

    def promises(self, env: World) -> tuple[Guarantee, ...]:
        """ε per report; on a graph with exact own rewards for the noised rewards alone."""
        if self.grid is None:
            noise = f"Laplace(1/{self.epsilon:g})"
            arithmetic = (
                "idealised floating point: in truth one double rules one of two rewards out in about 4 cases of 5"
            )
        else:
            noise = f"Lap_ℤ({self.grid}/{self.epsilon:g})/{self.grid}"
            arithmetic = "idealised floating point: its law, but not its support, is rounded to 53 bits"
        alone = Guarantee(
            mechanism=f"{noise} on each reported reward",
            epsilon=self.epsilon,
            delta=0.0,
            adjacency="one report's reward replaced by any other in [0, 1]; a sender's reports compose additively",
            view="everyone but the sender",
            assumptions=("rewards in [0, 1]", arithmetic, "seeded noise is a simulation"),
            source="Dwork et al. 2006",
        )
        if not env.payload.named:  # a user who is met once shows nothing else
            return (alone,)
        whole = replace(alone, view="everyone else: all messages, arms included")
        if self.own == "noised":
            return (whole,)
        released = replace(
            alone,
            view="everyone else: the noised rewards only",
            assumptions=(
                "arms are taken as public: they follow exact own rewards and are not covered",
                *alone.assumptions,
            ),
        )
        return void(whole, "the arms that an agent shows follow its exact own rewards"), released
