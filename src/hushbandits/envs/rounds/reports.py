"""One report per agent and round, and what can be done to it wherever it goes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import ClassVar, Self

import numpy as np

from hushbandits.core import Array, Law, Payload, PointNoise, Streams, Uniforms, World

#: Uniforms that a verb reads per agent and round.
_WIDTHS = {"drop": 1, "replace": 2, "add": 1}


class Reports(Payload):
    """Reports of agents who come back in every round: a lost one is lost to all who would have heard it."""

    noun = "reports"
    verbs: ClassVar[Mapping[str, tuple[str, ...]]] = {
        "drop": (), "replace": ("reward",), "map": ("reward",), "add": ("reward",),
    }  # fmt: skip

    @classmethod
    def luck(cls, verb: str, env: World, rng: Streams) -> Uniforms:
        """Uniforms, one row per round, whatever is sent."""
        cls.answers(verb)
        width = _WIDTHS[verb]
        return rng.reader((env.n_agents,) if width == 1 else (width, env.n_agents), verb)

    def drop(self, rate: Array | float, luck: Uniforms) -> Self:
        """A report that is not sent."""
        return self.but(sent=self["sent"] & (luck.next() >= rate))

    def replace(self, rate: Array | float, law: Law, location: float, luck: Uniforms) -> Self:
        """Another reward in the same report."""
        coin, u = np.moveaxis(luck.next(), 1, 0)
        hit, reward = coin < rate, np.array(self["reward"], float)
        reward[hit] = law.quantile(u[hit], np.array(location))
        return self.but(reward=reward)

    def map(self, function: Callable[[Array], Array]) -> Self:
        """The reported reward."""
        return self.but(reward=function(self["reward"]))

    def add(self, noise: Callable[[int], PointNoise], luck: Uniforms) -> Self:
        """Noise on each report alone."""
        return self.but(reward=noise(1).onto(self["reward"], luck.next()))
