"""Messages of a linear bandit: sums of feature products and of rewards."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, Self

from hushbandits.core import Array, Payload, Streams, Uniforms, World


class Increments(Payload):
    """Payload of one upload per agent and round: ``gram`` Σ x xᵀ, ``moment`` Σ r x, and ``pulls``, their number."""

    noun = "sums of features and rewards"
    operations: ClassVar[Mapping[str, tuple[str, ...]]] = {"drop": ()}

    @classmethod
    def stream(cls, verb: str, env: World, rng: Streams) -> Uniforms:
        """Return a reader of the uniform samples for the operation `verb`, one row per round."""
        cls.answers(verb)
        return rng.reader((env.active_agents.shape[1],), verb)

    def drop(self, rate: Array | float, stream: Uniforms) -> Self:
        """Drop each upload with probability `rate`."""
        return self.with_fields(sent=self["sent"] & (stream.next() >= rate))
