"""Messages from blocks of users to a server, and the operations by which wrappers change, shuffle and sum them."""

from collections.abc import Callable, Collection, Mapping
from typing import ClassVar, Self

import numpy as np

from hushbandits.core import Array, Field, Fields, Inbox, Law, Streams, World, require, set_rows
from hushbandits.core.payload import OPERATIONS, Channel, Noise, Payload, Sealing, Shuffling
from hushbandits.core.random.streams import Draws
from hushbandits.envs.feedback.users import BlockInbox, Cohort, Individuals, Rngs, Sealed, blocks
from hushbandits.privacy.ledger import Kinds

#: The fields of an encoded reward and its modulus.
_CODE = Field(dtype="i8")


def one_by_one(name: str, protocol: str | None, env: World) -> None:
    """Raise ``ValueError`` if wrapper `name` runs a `protocol`, but `env` does not simulate individual users."""
    if protocol is not None and getattr(env, "simulate_users", "individual") != "individual":
        raise ValueError(f'{name} with protocol={protocol!r} needs individual users: set simulate_users="individual"')


class ShuffledUsers(Channel):
    """Channel that shuffles the messages of every block uniformly; messages never name their user."""

    cohort = "of a block"
    _rngs: list[np.random.Generator]

    def __init__(self, by: Shuffling):
        self._by = by

    def message_fields(self, fields: Fields, env: World) -> Fields:
        """Return `fields` unchanged; raise ``ValueError`` if a protocol needs individual users but `env` has none."""
        one_by_one(self._by.name, self._by.protocol, env)
        return fields

    def reset(self, env: World, rng: Streams, rows: Array | None = None) -> None:
        """Open the random streams for the shuffle."""
        set_rows(self, rows, _rngs=rng.generators())

    def send(self, message: Payload, env: World) -> Payload:
        """Return the message with the users of each block in random order."""
        crowd: Cohort = message["reward"]
        if self._by.protocol is not None and isinstance(crowd, Individuals):  # a sum has no order
            return message.with_fields(reward=crowd.arranged(self._by.order))
        return message.with_fields(reward=message["reward"].shuffle(self._rngs))


class SealedBlocks(Channel):
    """Channel that releases only the sum mod m of a block's messages.

    The fields of inboxes stay as they are, because the server reads a released sum as it reads a block's rewards.
    """

    cohort = "that are added up"
    _rngs: Draws

    def __init__(self, by: Sealing):
        self._by = by

    def message_fields(self, fields: Fields, env: World) -> Fields:
        """Return the fields of sealed messages: integer rewards, the field ``modulus``, and no individual users."""
        by = self._by
        require(by.name, ("reward", "n"), fields)
        one_by_one(by.name, by.protocol, env)
        self._encodes = "modulus" not in fields  # no mechanism before it: raw rewards
        if self._encodes:
            by.room(env.horizon, env.horizon * by.quantization_levels + 1)
        needed = by.needed(env)
        self._needed: Kinds | None = None if needed is None else Kinds(lambda n: (needed(n),), np.int64)
        sealed = {k: f for k, f in fields.items() if k != "users"}
        return {**sealed, "reward": _CODE, "modulus": _CODE}

    def reset(self, env: World, rng: Streams, rows: Array | None = None) -> None:
        """Open the random streams, if this channel encodes rewards."""
        if self._encodes:
            set_rows(self, rows, _rngs=Draws(rng))

    def send(self, message: Payload, env: World) -> Payload:
        """Return the message with the sum of each block; the sum is 0 if too few users of the block are left."""
        by = self._by
        if self._encodes:
            crowd: Cohort = message["reward"]
            modulus = crowd.planned * by.quantization_levels + 1
            message = message.encode(np.full(crowd.planned.shape, by.quantization_levels), self._rngs)
            bits = np.array([[(m - 1).bit_length() for m in row] for row in modulus.tolist()])
            message = message.with_fields(modulus=modulus, bits=bits)
        crowd = message["reward"]
        least: Array | int = by.min_cohort
        if self._needed is not None:
            least = np.maximum(least, self._needed.by_size(crowd.planned)[0])
        keep = message["sent"] & (crowd.n >= least)
        if by.protocol is not None:
            return self._play(message, keep, np.broadcast_to(least, keep.shape))
        return message.with_fields(reward=crowd.seal(crowd.total() % message["modulus"], keep, by.name), sent=keep)

    def _play(self, message: Payload, keep: Array, least: Array) -> Payload:
        crowd = message["reward"]
        assert isinstance(crowd, Individuals)
        total, left = np.zeros(crowd.n.shape, np.int64), np.zeros(crowd.n.shape, np.int64)
        for r, i, _ in blocks(np.where(keep, crowd.n, 0)):
            m = int(message["modulus"][r, i])
            (total[r, i],), present = self._by.add_up(r, crowd.messages(r, i)[:, None] % m, m, int(least[r, i]))
            left[r, i] = present.sum()
        return message.with_fields(reward=Sealed(left, crowd.planned, total, self._by.name), sent=left > 0)

    def deliver(self, inbox: Inbox, env: World) -> Inbox:
        """Return the inbox with decoded sums, if this channel encoded the rewards."""
        if not self._encodes:
            return inbox
        assert isinstance(inbox, BlockInbox)
        return inbox.decoded(inbox.total("reward") / self._by.quantization_levels)


class Blocks(Payload):
    """Payload of one block of users per server; each user reports once, and ``reward`` is a `Cohort`."""

    noun = "blocks of users"
    operations: ClassVar[Mapping[str, tuple[str, ...]]] = dict.fromkeys(
        ("drop", "replace", "map", "add", "encode", "modulo", "shuffle", "seal"), ("reward", "n")
    )
    identified_senders = False

    @classmethod
    def stream(cls, verb: str, env: World, rng: Streams) -> Draws:
        """Return streams with one generator per run, because the number of random samples depends on the blocks."""
        cls.answers(verb)
        return Draws(rng, verb)

    @classmethod
    def follows(cls, name: str, verb: str, fields: Fields, before: Collection[str]) -> None:
        """Raise ``ValueError`` if an earlier wrapper prevents wrapper `name` from applying `verb`."""
        if verb in ("map", "replace", "encode") and "modulus" in fields:
            raise ValueError(f"{name} needs raw rewards, but an earlier wrapper has encoded them: put {name} first")
        if verb == "replace" and "users" not in fields and (late := {"map", "add"} & {*before}):
            done = " and ".join(OPERATIONS.get(other, other) for other in sorted(late))
            ways = "put it first, or set simulate_users='individual'"
            raise ValueError(f"{name} must replace rewards before they are {done}: {ways}")

    def drop(self, rate: Array | float, stream: Rngs) -> Self:
        """Drop each user with probability `rate`."""
        return self.with_fields(reward=self["reward"].drop(rate, stream))

    def replace(self, rate: Array | float, law: Law, location: float, stream: Rngs) -> Self:
        """Replace each user's reward with probability `rate` by a sample from `law`."""
        return self.with_fields(reward=self["reward"].replace(rate, law, location, stream))

    def map(self, function: Callable[[Array], Array]) -> Self:
        """Apply `function` to every user's reward."""
        return self.with_fields(reward=self["reward"].map(function))

    def clip(self) -> Self:
        """Clip every user's reward to [0, 1], if some rewards may lie outside [0, 1]."""
        return self if self["reward"].inside() else super().clip()

    def add(self, noise: Callable[[int], Noise], stream: Rngs) -> Self:
        """Add independent noise to every user's reward."""
        return self.with_fields(reward=self["reward"].add(noise, stream))

    def encode(self, g: Array, stream: Rngs) -> Self:
        """Encode every user's reward as an integer, with precision `g`."""
        return self.with_fields(reward=self["reward"].encode(g, stream))

    def modulo(self, m: Array) -> Self:
        """Reduce every user's message mod `m`, and add the field ``modulus`` for the receiver."""
        return self.with_fields(reward=self["reward"].modulo(m), modulus=np.asarray(m))

    @classmethod
    def shuffled(cls, by: Shuffling, env: World) -> Channel:
        """Return the channel that shuffles each block; it leaves pooled users, who have no order, as they are."""
        return ShuffledUsers(by)

    @classmethod
    def sealed(cls, by: Sealing, env: World) -> Channel:
        """Return the channel that releases the sum mod m of each block's messages."""
        return SealedBlocks(by)
