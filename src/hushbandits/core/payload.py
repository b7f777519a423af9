"""Messages on their way, and what can be done to them: one small algebra for votes, reports and blocks of users.

A setting's payload answers the verbs that mean something there; a wrapper names those that it uses, and an env refuses
the wrapper in a sentence where one is missing.  So no wrapper asks which setting it is in.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, ClassVar, NoReturn, Protocol, Self

import numpy as np

from hushbandits.core.env_view import World
from hushbandits.core.messages import Fields, Inbox
from hushbandits.core.random.rewards import Law
from hushbandits.core.random.streams import Streams
from hushbandits.core.utils import Array

#: A random stream: how much of it a verb reads, and so what it is, is its payload's own matter.
Luck = Any
#: What can be done to messages, and how an error message says that it cannot.
VERBS = {
    "drop": "lost one by one",
    "replace": "replaced by draws from a law",
    "relay": "changed by those who pass them on",
    "map": "mapped reward by reward",
    "add": "noised reward by reward",
    "encode": "encoded as integers",
    "modulo": "reduced by a modulus",
    "shuffle": "shuffled",
    "seal": "added up behind a seal",
}


class Noise(Protocol):
    """Noise that every sender draws alone."""

    @property
    def integer(self) -> bool:
        """Whether it is an integer (what an encoded reward needs)."""

    def draw(self, rng: np.random.Generator, size: int) -> Array:
        """Return the noise of `size` senders."""

    def total(self, rng: np.random.Generator, n: int) -> float:
        """Return a draw from the law of the sum over `n` senders."""


class PointNoise(Noise, Protocol):
    """Noise that is also a function of one uniform (what named senders read)."""

    def onto(self, x: Array, u: Array) -> Array:
        """Return `x` with the noise at the uniforms `u`."""


class Channel(Protocol):
    """What happens to messages on their way out and to inboxes on their way in, where the two belong together."""

    #: What is shuffled or added up together, in words.
    cohort: str

    def sends(self, fields: Fields, env: World) -> Fields:
        """Fields of a message behind it."""
        return fields

    def hears(self, fields: Fields, env: World) -> Fields:
        """Fields of an inbox behind it."""
        return fields

    def reset(self, env: World, rng: Streams, rows: Array | None = None) -> None:
        """Start R new runs, or the runs `rows` anew."""

    def send(self, message: Payload, env: World) -> Payload:
        """Return the message that leaves the senders' side."""
        return message

    def deliver(self, inbox: Inbox, env: World) -> Inbox:
        """Return the inbox that the receivers see."""
        return inbox


class Gathering(Protocol):
    """The wrapper that asks for messages to be put together, ideally or by a cryptographic protocol."""

    name: str
    window: int | None
    min_cohort: int
    #: By which protocol; None: ideally.
    protocol: str | None

    def add_up(self, run: int, vectors: Array, modulus: int) -> tuple[Array, Array]:
        """Return the sum mod m of the rows of `vectors` ``(n, K)``, and whose are in it ``(n,)``, by the protocol."""


class Shuffling(Gathering, Protocol):
    """The wrapper that asks for a shuffle."""

    def order(self, run: int, messages: Sequence[bytes]) -> Array:
        """Return which message stands where ``(n,)``, by the protocol."""


class Sealing(Gathering, Protocol):
    """The wrapper that asks for a seal."""

    grid: int
    bound: float

    def room(self, what: str, n: int, most: int) -> None:
        """Raise ``ValueError`` unless `most`, what n messages may add up to, fits into 64 bits with room to spare."""

    def add_up(self, run: int, vectors: Array, modulus: int, fewest: int = 2) -> tuple[Array, Array]:
        """As `Gathering.add_up`; of fewer than `fewest` rows nothing."""

    def needed(self, env: World) -> Callable[[int], int] | None:
        """Return without how many users of a block of n its sum is not opened; ``None``: nobody asks for some."""


class Payload(dict[str, Any]):
    """One phase's messages of all runs: a dict of arrays ``(R, A, …)`` by field, and ``sent (R, A)``.

    Every verb returns a new payload.  A setting's subclass names in `verbs` what it answers.

    Examples
    --------
    >>> message = Payload(reward=np.zeros((1, 2)), sent=np.ones((1, 2), bool))
    >>> message.but(reward=np.ones((1, 2)))["reward"].tolist()
    [[1.0, 1.0]]
    >>> message.drop(0.5, None)
    Traceback (most recent call last):
        ...
    ValueError: messages cannot be lost one by one
    """

    #: What they are, in errors.
    noun: ClassVar[str] = "messages"
    #: The verbs that it answers, and the fields that each needs.
    verbs: ClassVar[Mapping[str, tuple[str, ...]]] = {}
    #: Whether the senders are the agents, who come back; else strangers, each met once.
    named: ClassVar[bool] = True

    @classmethod
    def answers(cls, verb: str) -> None:
        """Raise ``ValueError`` unless it answers `verb`."""
        if verb not in cls.verbs:
            raise ValueError(f"{cls.noun} cannot be {VERBS.get(verb, verb)}")

    @classmethod
    def follows(cls, name: str, verb: str, fields: Fields, before: Collection[str]) -> None:
        """Raise ``ValueError`` where wrapper `name` asks for `verb` too late: behind wrappers with verbs `before`.

        `fields` are those that reach it.
        """

    @classmethod
    def _missing(cls, verb: str) -> NoReturn:
        cls.answers(verb)
        raise NotImplementedError(f"{cls.__name__} lists {verb} among its verbs and must define it")

    @classmethod
    def luck(cls, verb: str, env: World, rng: Streams) -> Luck:
        """Return what `verb` draws from, of a wrapper's streams `rng`."""
        cls.answers(verb)
        raise NotImplementedError(f"{cls.__name__} must say what {verb} draws from")

    def but(self, **changes: object) -> Self:
        """Return it with some fields changed."""
        changed = type(self)(self)
        changed.update(changes)
        return changed

    def drop(self, rate: Array | float, luck: Luck) -> Self:
        """Each message is lost with probability `rate`: a number, or one per sender ``(R, A)``."""
        self._missing("drop")

    def replace(self, rate: Array | float, law: Law, location: float, luck: Luck) -> Self:
        """With probability `rate` a reward becomes a draw from `law` at `location`."""
        self._missing("replace")

    def map(self, function: Callable[[Array], Array]) -> Self:
        """Every reward through `function`, elementwise."""
        self._missing("map")

    def clip(self) -> Self:
        """Every reward to [0, 1], as a mechanism of sensitivity 1 needs it."""
        return self.map(lambda x: np.clip(x, 0.0, 1.0))

    def add(self, noise: Callable[[int], Any], luck: Luck) -> Self:
        """Every reward gets noise; ``noise(n)`` is the law where n senders are planned."""
        self._missing("add")

    def encode(self, g: Array, luck: Luck) -> Self:
        """Every reward, clipped to [0, 1], becomes the integer ``⌊xg⌋ + Ber(xg − ⌊xg⌋)``."""
        self._missing("encode")

    def modulo(self, m: Array) -> Self:
        """Every integer mod `m`."""
        self._missing("modulo")

    @classmethod
    def shuffled(cls, by: Shuffling, env: World) -> Channel:
        """Return the channel of an ideal shuffle."""
        cls._missing("shuffle")

    @classmethod
    def sealed(cls, by: Sealing, env: World) -> Channel:
        """Return the channel of an ideal sum."""
        cls._missing("seal")
