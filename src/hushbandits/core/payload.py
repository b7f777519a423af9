"""Messages in transit and the operations on them, with one interface for votes, reports and blocks of users.

A setting's payload answers the verbs that mean something there; a wrapper names those that it uses, and an env refuses
the wrapper in a sentence where one is missing.  So no wrapper asks which setting it is in.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, ClassVar, NoReturn, Protocol, Self

import numpy as np

from hushbandits.core.messages import Fields, Inbox
from hushbandits.core.random.rewards import Law
from hushbandits.core.random.streams import Streams
from hushbandits.core.utils import Array
from hushbandits.core.world import World

#: A random stream; its type depends on the payload and the verb.
Stream = Any
#: Operations on messages, and their names in errors.
OPERATIONS = {
    "drop": "lost one by one",
    "replace": "replaced by draws from a law",
    "relay": "changed by agents that relay them",
    "map": "mapped reward by reward",
    "add": "noised reward by reward",
    "encode": "encoded as integers",
    "modulo": "reduced by a modulus",
    "shuffle": "shuffled",
    "seal": "summed securely",
}


class Noise(Protocol):
    """Noise distribution from which every sender draws independently."""

    @property
    def integer(self) -> bool:
        """Return whether the noise takes integer values only, as encoded rewards require."""

    def draw(self, rng: np.random.Generator, size: int) -> Array:
        """Return one independent noise sample for each of `size` senders, ``(size,)``."""

    def total(self, rng: np.random.Generator, n: int) -> float:
        """Return a sample of the total noise of `n` senders."""


class PointNoise(Noise, Protocol):
    """Noise computed from a uniform sample, so that the noise of each identified sender is reproducible."""

    def onto(self, x: Array, u: Array) -> Array:
        """Return `x` plus the noise computed from the uniform samples `u`."""


class Channel:
    """Operation on outgoing messages and the matching operation on inboxes; by default, it changes nothing."""

    #: Describes the set of messages that are shuffled or summed together.
    cohort: str

    def message_fields(self, fields: Fields, env: World) -> Fields:
        """Return the fields of a message after `send`, given the `fields` before it, or raise ``ValueError``."""
        return fields

    def inbox_fields(self, fields: Fields, env: World) -> Fields:
        """Return the fields of an inbox after `deliver`, given the `fields` before it."""
        return fields

    def reset(self, env: World, rng: Streams, rows: Array | None = None) -> None:
        """Start all runs, or restart only the runs `rows`, with the random streams `rng`."""

    def send(self, message: "Payload", env: World) -> "Payload":
        """Return the outgoing `message`, which a subclass may change."""
        return message

    def deliver(self, inbox: Inbox, env: World) -> Inbox:
        """Return the `inbox`, which a subclass may change."""
        return inbox


class Gathering(Protocol):
    """Wrapper that combines messages by an ideal function or a cryptographic protocol."""

    name: str
    batch_window: int | None
    min_cohort: int
    #: Name of the protocol; None: the ideal functionality.
    protocol: str | None

    def add_up(self, run: int, vectors: Array, modulus: int) -> tuple[Array, Array]:
        """Return the sum of rows of `vectors` mod `modulus`, and the mask ``(n,)`` of the rows in this sum."""


class Shuffling(Gathering, Protocol):
    """Wrapper that shuffles messages, by an ideal function or a protocol."""

    def order(self, run: int, messages: Sequence[bytes]) -> Array:
        """Return the permutation ``(n,)`` that the protocol applies to the `messages`."""


class Sealing(Gathering, Protocol):
    """Wrapper that releases sums of messages and hides individual messages."""

    quantization_levels: int
    bound: float

    def room(self, n: int, most: int) -> None:
        """Raise ``ValueError`` if `most`, the largest possible sum of up to `n` rewards, is 2⁶² or more."""

    def add_up(self, run: int, vectors: Array, modulus: int, fewest: int = 2) -> tuple[Array, Array]:
        """Sum `vectors` as `Gathering.add_up` does, but release nothing if fewer than `fewest` rows are left."""

    def needed(self, env: World) -> Callable[[int], int] | None:
        """Return a function that maps a block's size to the least number of users in a released sum.

        ``None``: no such number beyond `min_cohort`.
        """


class Payload(dict[str, Any]):
    """One phase's messages of all runs: a dict of arrays ``(R, A, …)`` by field, and ``sent (R, A)``.

    Every verb returns a new payload.  A setting's subclass names in `operations` what it answers.

    Examples
    --------
    >>> message = Payload(reward=np.zeros((1, 2)), sent=np.ones((1, 2), bool))
    >>> message.with_fields(reward=np.ones((1, 2)))["reward"].tolist()
    [[1.0, 1.0]]
    >>> message.drop(0.5, None)
    Traceback (most recent call last):
        ...
    ValueError: messages cannot be lost one by one
    """

    #: Name of the messages in errors.
    noun: ClassVar[str] = "messages"
    #: Supported verbs, and the fields that each needs.
    operations: ClassVar[Mapping[str, tuple[str, ...]]] = {}
    #: Whether the senders are the agents, who send repeatedly; else users, who each take part once.
    identified_senders: ClassVar[bool] = True

    @classmethod
    def answers(cls, verb: str) -> None:
        """Raise ``ValueError`` unless the payload supports the operation `verb`, such as ``"drop"``."""
        if verb not in cls.operations:
            raise ValueError(f"{cls.noun} cannot be {OPERATIONS.get(verb, verb)}")

    @classmethod
    def follows(cls, name: str, verb: str, fields: Fields, before: Collection[str]) -> None:
        """Raise ``ValueError`` if wrapper `name` must not apply `verb` after wrappers with the operations in `before`.

        `fields` are those that reach it.
        """

    @classmethod
    def _missing(cls, verb: str) -> NoReturn:
        cls.answers(verb)
        raise NotImplementedError(f"{cls.__name__} lists {verb!r} in operations, so it must define the method {verb}")

    @classmethod
    def stream(cls, verb: str, env: World, rng: Streams) -> Stream:
        """Return the random stream of the operation `verb`, from a wrapper's streams `rng`."""
        cls.answers(verb)
        raise NotImplementedError(f"{cls.__name__} must define stream(verb, env, rng) for the operation {verb!r}")

    def with_fields(self, **changes: object) -> Self:
        """Return a copy of the payload in which the fields named in `changes` are replaced or added."""
        return type(self)(self, **changes)

    def drop(self, rate: Array | float, stream: Stream) -> Self:
        """Drop each message with probability `rate`, a number or an array per sender ``(R, A)``."""
        self._missing("drop")

    def replace(self, rate: Array | float, law: Law, location: float, stream: Stream) -> Self:
        """Replace each reward with probability `rate` by a sample from `law` at `location`."""
        self._missing("replace")

    def map(self, function: Callable[[Array], Array]) -> Self:
        """Apply `function` to every reward, elementwise."""
        self._missing("map")

    def clip(self) -> Self:
        """Clip every reward to [0, 1], as a mechanism of sensitivity 1 requires."""
        return self.map(lambda x: np.clip(x, 0.0, 1.0))

    def add(self, noise: Callable[[int], Any], stream: Stream) -> Self:
        """Add noise to every reward; ``noise(n)`` is the noise distribution in a cohort of n planned senders."""
        self._missing("add")

    def encode(self, g: Array, stream: Stream) -> Self:
        """Clip every reward to [0, 1] and encode it as the integer ``⌊xg⌋ + Ber(xg − ⌊xg⌋)``."""
        self._missing("encode")

    def modulo(self, m: Array) -> Self:
        """Reduce every integer mod `m`."""
        self._missing("modulo")

    @classmethod
    def shuffled(cls, by: Shuffling, env: World) -> Channel:
        """Return the channel by which the wrapper `by` shuffles messages."""
        cls._missing("shuffle")

    @classmethod
    def sealed(cls, by: Sealing, env: World) -> Channel:
        """Return the channel by which the wrapper `by` releases sums of messages."""
        cls._missing("seal")
