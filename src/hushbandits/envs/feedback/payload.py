"""Blocks of users on their way to a server, and what can be done to them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import ClassVar, Self

import numpy as np

from hushbandits.core import Array, Channel, Fields, Law, Noise, Payload, Sealing, Seeds, Shuffling, World
from hushbandits.core.luck.batch import Generators
from hushbandits.core.payload import VERBS
from hushbandits.envs.feedback.channels import SealedBlocks, ShuffledUsers
from hushbandits.envs.feedback.cohort import Rngs


class Blocks(Payload):
    """One block of users per server, every one of them met once; ``reward`` is a `Cohort`, and does what is asked."""

    noun = "blocks of users"
    verbs: ClassVar[Mapping[str, tuple[str, ...]]] = dict.fromkeys(
        ("drop", "replace", "map", "add", "encode", "modulo", "shuffle", "seal"), ("reward", "n")
    )
    named = False

    @classmethod
    def luck(cls, verb: str, name: str, env: World, seeds: Seeds) -> Rngs:
        """One generator per run: how much is drawn depends on the blocks."""
        cls.answers(verb)
        return Generators(seeds, f"wrapper/{name}")

    @classmethod
    def follows(cls, name: str, verb: str, fields: Fields, before: Collection[str]) -> None:
        """Rewards are changed before they are encoded, and replaced before all else where like users are one pool."""
        if verb in ("map", "replace", "encode") and "modulus" in fields:
            raise ValueError(f"{name} needs raw rewards, but a wrapper before it has encoded them already")
        if verb == "replace" and "users" not in fields and (late := {"map", "add"} & {*before}):
            done = " and ".join(VERBS.get(other, other) for other in sorted(late))
            raise ValueError(
                f"{name} replaces rewards, and they have been {done} by a wrapper before it: put {name} first, or give "
                f'the env users="each"'
            )

    def drop(self, rate: Array | float, luck: Rngs) -> Self:
        """Users whose message is lost."""
        return self.but(reward=self["reward"].drop(rate, luck))

    def replace(self, rate: Array | float, law: Law, location: float, luck: Rngs) -> Self:
        """Users who send something else."""
        return self.but(reward=self["reward"].replace(rate, law, location, luck))

    def map(self, function: Callable[[Array], Array]) -> Self:
        """Every user's reward."""
        return self.but(reward=self["reward"].map(function))

    def clip(self) -> Self:
        """Every user's reward; nothing to do where all lie there."""
        return self if self["reward"].inside() else super().clip()

    def add(self, noise: Callable[[int], Noise], luck: Rngs) -> Self:
        """Every user's own noise."""
        return self.but(reward=self["reward"].add(noise, luck))

    def encode(self, g: Array, luck: Rngs) -> Self:
        """Every user's reward in fixed point."""
        return self.but(reward=self["reward"].encode(g, luck))

    def modulo(self, m: Array) -> Self:
        """Every user's message; what receives them must know m."""
        return self.but(reward=self["reward"].modulo(m), modulus=np.asarray(m))

    @classmethod
    def shuffled(cls, by: Shuffling, env: World) -> Channel:
        """The messages of a block in a uniform order; a pool of like users is its own shuffle."""
        return ShuffledUsers(by)

    @classmethod
    def sealed(cls, by: Sealing, env: World) -> Channel:
        """The sum mod m of a block's messages."""
        return SealedBlocks(by)
