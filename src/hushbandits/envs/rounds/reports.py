"""Payload of one report per agent and round, and the operations of wrappers on reports."""

from collections.abc import Callable, Mapping
from typing import ClassVar, Self

import numpy as np

from hushbandits.core import Array, Law, Payload, PointNoise, Streams, Uniforms, World, shown


class Reports(Payload):
    """Payload of one report per agent and round; a lost report reaches no receiver."""

    noun = "reports"
    operations: ClassVar[Mapping[str, tuple[str, ...]]] = {
        "drop": (), "replace": ("reward",), "map": ("reward",), "add": ("reward",),
    }  # fmt: skip

    @classmethod
    def stream(cls, verb: str, env: World, rng: Streams) -> Uniforms:
        """Return a reader of the uniform samples for an operation, `verb`.

        It reads one row per round, even if no report is sent.
        """
        cls.answers(verb)
        acting = env.active_agents.shape[1]
        return rng.reader((2, acting) if verb == "replace" else (acting,), verb)

    def _next(self, stream: Uniforms) -> Array:
        """Return the uniforms of this round; if arrays have a first axis of rounds, those of all rounds."""
        return stream.next() if self["sent"].ndim == 2 else stream.rows(len(self["sent"]))

    def drop(self, rate: Array | float, stream: Uniforms) -> Self:
        """Drop each report with probability `rate`."""
        return self.with_fields(sent=self["sent"] & (self._next(stream) >= rate))

    def with_fields(self, **changes: object) -> Self:
        """Return a copy in which the fields named in `changes` are replaced by arrays of their shape, or added."""
        for name, value in changes.items():
            if name in self and np.asarray(value).shape != (shape := np.shape(self[name])):
                raise ValueError(f"field {name!r} of a message must have the shape {shape}, not {shown(value)}")
        return super().with_fields(**changes)

    def replace(self, rate: Array | float, law: Law, location: float, stream: Uniforms) -> Self:
        """Replace the reward of each report with probability `rate` by a sample from `law`."""
        coin, u = np.moveaxis(self._next(stream), -2, 0)
        hit, reward = coin < rate, np.array(self["reward"], float)
        reward[hit] = law.quantile(u[hit], np.array(location))
        return self.with_fields(reward=reward)

    def map(self, function: Callable[[Array], Array]) -> Self:
        """Apply `function` to every reported reward."""
        if not callable(function):
            raise TypeError(f"map takes a function of rewards, such as np.abs, not {shown(function)}")
        return self.with_fields(reward=function(self["reward"]))

    def add(self, noise: Callable[[int], PointNoise], stream: Uniforms) -> Self:
        """Add independent noise to every reported reward."""
        return self.with_fields(reward=noise(1).onto(self["reward"], stream.next()))
