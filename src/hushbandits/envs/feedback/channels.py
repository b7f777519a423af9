"""Shuffles and sums of a block of users."""

from __future__ import annotations

import numpy as np

from hushbandits.core import Array, Field, Fields, Inbox, Seeds, World, require, streams
from hushbandits.core.luck.batch import Generators
from hushbandits.core.payload import Gathering, Payload, Sealing, Shuffling
from hushbandits.envs.feedback.cohort import BlockInbox, Cohort, Individuals, Sealed, blocks
from hushbandits.privacy.kinds import Kinds


def _one_by_one(by: Gathering, env: World) -> None:
    if by.protocol is not None and getattr(env, "users", "each") != "each":
        raise ValueError(f'{by.name} with protocol={by.protocol!r} needs users one by one: give the env users="each"')


class ShuffledUsers:
    """Every block in a uniform order; users have no names to begin with."""

    cohort = "of a block"

    def __init__(self, by: Shuffling):
        self._by, self._name = by, by.name

    def sends(self, fields: Fields, env: World) -> Fields:
        """As they are."""
        _one_by_one(self._by, env)
        return fields

    def hears(self, fields: Fields, env: World) -> Fields:
        """As they are."""
        return fields

    def reset(self, env: World, seeds: Seeds) -> None:
        """Open the tape."""
        self._rngs = streams(seeds, f"wrapper/{self._name}")

    def send(self, message: Payload, env: World) -> Payload:
        """Shuffle the users of each block."""
        crowd: Cohort = message["reward"]
        if self._by.protocol is not None and isinstance(crowd, Individuals):  # a sum has no order
            return message.but(reward=crowd.arranged(self._by.order))
        return message.but(reward=message["reward"].shuffle(self._rngs))

    def deliver(self, inbox: Inbox, env: World) -> Inbox:
        """As it is."""
        return inbox


class SealedBlocks:
    """A block of users: the sum mod m of their messages."""

    cohort = "that are added up"

    def __init__(self, by: Sealing):
        self._by = by

    def sends(self, fields: Fields, env: World) -> Fields:
        """Integers, and no individuals; raw rewards are encoded here."""
        by = self._by
        require(by.name, ("reward", "n"), fields)
        _one_by_one(by, env)
        self._encodes = "modulus" not in fields  # no mechanism before it: raw rewards
        if self._encodes:
            by.room("a block of n users up to horizon", env.horizon, env.horizon * by.grid + 1)
        needed = by.needed(env)
        self._needed = None if needed is None else Kinds(lambda n: (needed(n),), np.int64)
        sealed = {k: f for k, f in fields.items() if k != "users"}
        return {**sealed, "reward": Field(dtype="i8"), "modulus": Field(dtype="i8")}

    def hears(self, fields: Fields, env: World) -> Fields:
        """As they are."""
        return fields

    def reset(self, env: World, seeds: Seeds) -> None:
        """Open the tape, where rewards are encoded here."""
        self._rngs = Generators(seeds, f"wrapper/{self._by.name}") if self._encodes else None

    def _begin(self, env: World, seeds: Seeds, rows: Array) -> None:
        if self._rngs is not None:
            self._rngs.begin(seeds, rows)

    def send(self, message: Payload, env: World) -> Payload:
        """Add up, unless too few are left."""
        by = self._by
        if self._rngs is not None:
            crowd: Cohort = message["reward"]
            modulus = crowd.planned * by.grid + 1
            message = message.encode(np.full(crowd.planned.shape, by.grid), self._rngs)
            message = message.but(modulus=modulus, bits=_bits(modulus))
        crowd = message["reward"]
        least = np.full(crowd.planned.shape, by.min_cohort)
        if self._needed is not None:
            least = np.maximum(least, self._needed.by_size(crowd.planned)[..., 0])
        keep = message["sent"] & (crowd.n >= least)
        if by.protocol is not None:
            return self._play(message, keep, least)
        return message.but(reward=crowd.seal(crowd.total() % message["modulus"], keep, by.name), sent=keep)

    def _play(self, message: Payload, keep: Array, least: Array) -> Payload:
        crowd = message["reward"]
        assert isinstance(crowd, Individuals)
        total, left = np.zeros(crowd.n.shape, np.int64), np.zeros(crowd.n.shape, np.int64)
        for r, i, _ in blocks(np.where(keep, crowd.n, 0)):
            m = int(message["modulus"][r, i])
            (total[r, i],), present = self._by.add_up(r, crowd.messages(r, i)[:, None] % m, m, int(least[r, i]))
            left[r, i] = present.sum()
        return message.but(reward=Sealed(left, crowd.planned, total, self._by.name), sent=left > 0)

    def deliver(self, inbox: Inbox, env: World) -> Inbox:
        """Decode what was encoded here."""
        if not self._encodes:
            return inbox
        assert isinstance(inbox, BlockInbox)
        return inbox.decoded(inbox.total("reward") / self._by.grid)


def _bits(modulus: Array) -> Array:
    return np.array([[(m - 1).bit_length() for m in row] for row in modulus.tolist()])
