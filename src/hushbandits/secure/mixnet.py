"""A cascade of mixes, which hides the order of messages unless all hops collude.

`Batches` sends the batches of R runs through such cascades, and keeps what that costs.
"""

import hashlib
from collections.abc import Callable, Sequence

import numpy as np

from hushbandits.core import Array, Metric, Streams, integer, set_rows
from hushbandits.core.random.names import KEYS
from hushbandits.secure import primitives
from hushbandits.secure.messages import Abort, Fault
from hushbandits.secure.parties import Secretive

#: Hops of a way through mixes.
MOST_HOPS = 100

#: What `Batches.metrics` measures.
MIXED = {
    "mixnet_messages": Metric("messages through mixes", "count"),
    "mixnet_bytes": Metric("bytes that a sender sends per message through mixes", "amount"),
}

#: By how much a layer makes a message longer: an ephemeral key, and what a box needs.
LAYER = primitives.KEY + primitives.BOX
_LENGTH = 4


def permutation(n: int, draw: Callable[[int], bytes]) -> Array:
    """Return a uniform order of n items from random bytes, 128 bits per item.

    Parameters
    ----------
    n : int
    draw : callable
        ``draw(size)`` returns random bytes.
    """
    return np.lexsort(np.frombuffer(draw(16 * n), "<u8").reshape(n, 2).T)


def _layer(secret: bytes, session: bytes, ephemeral: bytes, hop: bytes) -> bytes:
    return primitives.derive(secret, b"hushbandits 1 mix" + session + ephemeral + hop)


def onion(message: bytes, size: int, hops: Sequence[bytes], session: bytes, draw: Callable[[int], bytes]) -> bytes:
    """Return `message` encrypted in one layer per hop; the outermost layer is for the first hop.

    Parameters
    ----------
    message : bytes
        At most `size` of them; it is padded, so that all onions of a session have one length.
    size : int
    hops : sequence of bytes
        Their public X25519 keys, in the order in which they are passed.
    session : bytes
        Never the same for two batches.
    draw : callable
        ``draw(size)`` returns random bytes.

    References
    ----------
    Chaum 1981; RFC 7748, 5869, 8439 (X25519, HKDF, ChaCha20-Poly1305).
    """
    if len(message) > size:
        raise ValueError(f"message of {len(message)} bytes must have at most {size} bytes")
    data = len(message).to_bytes(_LENGTH, "big") + message.ljust(size, b"\0")
    for hop in reversed(hops):
        key = primitives.private(draw(primitives.KEY))
        ephemeral = primitives.public(key)
        secret = primitives.agree(key, hop, "the public key of a hop is of low order")
        # The key is new for each layer of each onion, so its one nonce is 0.
        data = ephemeral + primitives.seal(_layer(secret, session, ephemeral, hop), 0, data, session)
    return data


class Hop(Secretive):
    """One mix, which removes a layer from each message of a batch and reorders the batch.

    Parameters
    ----------
    session : bytes
    name : int
        For what it says of faults.
    insecure_seed : int or str, optional
        A simulation: its key and its order follow from this and its name.
    """

    def __init__(self, session: bytes, name: int, insecure_seed: int | str | None = None):
        self.name = name
        self._session, self._draw = session, primitives.source(insecure_seed, f"hop {name}")
        self._key = primitives.private(self._draw(primitives.KEY))
        self.public = primitives.public(self._key)
        self._mixed = False

    def mix(self, batch: Sequence[bytes], expected: int) -> list[bytes]:
        """Return the messages of a batch without this hop's layer, reordered; raise `Abort` if the batch is invalid.

        Parameters
        ----------
        batch : sequence of bytes
            All of one length.  Of equal ones all but one are dropped: else a copy of a message would mark it.
        expected : int
            How many different messages it waits for.
        """
        if self._mixed:
            raise Abort(Fault.ROUND, f"hop {self.name} mixes one batch per session")
        if len({len(message) for message in batch}) > 1:
            raise Abort(Fault.FORMAT, f"hop {self.name} got messages of several lengths")
        unique = list(dict.fromkeys(batch))
        if len(unique) != expected:
            raise Abort(Fault.DROPOUT, f"hop {self.name} got {len(unique)} different messages; allowed are {expected}")
        self._mixed = True
        return [self._open(unique[i]) for i in permutation(expected, self._draw).tolist()]

    def _open(self, data: bytes) -> bytes:
        ephemeral, box = data[: primitives.KEY], data[primitives.KEY :]
        secret = primitives.agree(self._key, ephemeral, f"hop {self.name} got an invalid ephemeral key")
        key = _layer(secret, self._session, ephemeral, self.public)
        return primitives.unseal(key, 0, box, self._session, f"hop {self.name} cannot open a message")


class Mixnet:
    """A cascade of h mixes for batches of messages, with all parties in this process.

    No single hop links a message to its sender, nor do all but one of them together; all of them do.  Hops are taken to
    follow the protocol: one that puts messages of its own in place of all but one singles that one out.

    Parameters
    ----------
    hops : int
        h ≥ 1.
    insecure_seed : int, optional
        A simulation: keys and orders follow from it.  By default they are the operating system's.

    References
    ----------
    Chaum 1981, Untraceable electronic mail, return addresses, and digital pseudonyms.

    Examples
    --------
    >>> sorted(Mixnet(hops=2).shuffle([b"yes", b"no", b"no"]))
    [b'no', b'no', b'yes']
    """

    def __init__(self, hops: int = 3, insecure_seed: int | None = None):
        primitives.needed()
        self.hops = integer("hops", hops, 1, MOST_HOPS)
        self.insecure_seed = insecure_seed
        self._batches = 0

    def parties(self) -> tuple[bytes, list[Hop]]:
        """Return a new session and its hops."""
        seed = None if self.insecure_seed is None else f"{self.insecure_seed}, batch {self._batches}"
        self._batches += 1
        session = hashlib.sha256(b"mixes" + primitives.source(seed, "session")(16)).digest()
        return session, [Hop(session, i, seed) for i in range(self.hops)]

    def shuffle(self, messages: Sequence[bytes]) -> list[bytes]:
        """Return the messages in the uniform order in which they leave the mixes.

        Parameters
        ----------
        messages : sequence of bytes
            Padded to the longest on their way.
        """
        seed = None if self.insecure_seed is None else f"{self.insecure_seed}, onions {self._batches}"
        session, hops = self.parties()
        draw, size = primitives.source(seed, "users"), max(map(len, messages), default=0)
        keys = [hop.public for hop in hops]
        batch = [onion(message, size, keys, session, draw) for message in messages]
        for hop in hops:
            batch = hop.mix(batch, len(messages))
        return [data[_LENGTH : _LENGTH + int.from_bytes(data[:_LENGTH], "big")] for data in batch]

    def length(self, size: int) -> int:
        """Return the number of bytes that a sender sends for a message of `size` bytes."""
        return _LENGTH + size + self.hops * LAYER


def mixed_words(hops: int, insecure_seed: bool) -> tuple[str, ...]:
    """Return the assumptions under which mixes hide the order of messages."""
    mixes = "mix follows the protocol, and" if hops == 1 else f"{hops} mixes follow the protocol, and one at least"
    senders = "all senders of a batch but one do not collude: who knows the others' messages knows the last"
    simulated = ("keys and orders follow from the run's seed: a simulation",) if insecure_seed else ()
    return (f"the {mixes} keeps its order secret", senders, *simulated)


class Batches:
    """The sequence of mixed batches in each of R runs.

    Parameters
    ----------
    hops : int
        Mixes that each passes.
    insecure_seed : bool
        Whether keys and orders follow from a run's seed: a simulation.
    """

    _keys: list[np.random.Generator]
    _messages: Array
    _bytes: Array

    def __init__(self, hops: int, insecure_seed: bool):
        self._hops, self._insecure = hops, insecure_seed

    def reset(self, rng: Streams, rows: Array | None = None) -> None:
        """Start R new runs, or restart only the runs `rows`."""
        n, keys = len(rng), rng.generators(KEYS)
        set_rows(self, rows, _keys=keys, _messages=np.zeros(n, np.int64), _bytes=np.zeros(n))

    def shuffle(self, run: int, messages: Sequence[bytes]) -> list[bytes]:
        """Send `messages` through new mixes, and return them in the order in which they leave."""
        seed = int.from_bytes(self._keys[run].bytes(16), "big") if self._insecure else None
        net = Mixnet(self._hops, seed)
        self._messages[run] += len(messages)
        self._bytes[run] += len(messages) * net.length(max(map(len, messages), default=0))
        return net.shuffle(messages)

    def order(self, run: int, messages: Sequence[bytes]) -> Array:
        """Return the indices ``(n,)`` of `messages` in the order in which they leave; equal messages may be swapped."""
        where: dict[bytes, list[int]] = {}
        for i, message in enumerate(messages):
            where.setdefault(message, []).append(i)
        return np.array([where[message].pop() for message in self.shuffle(run, messages)], np.int64)

    def count(self, run: int, votes: Array) -> Array:
        """Count the votes per arm, ``(K,)``, after mixes have shuffled the messages, one per agent and arm."""
        sent = [bytes((*arm.to_bytes(4, "big"), bit)) for row in votes.tolist() for arm, bit in enumerate(row)]
        chosen = [int.from_bytes(message[:4], "big") for message in self.shuffle(run, sent) if message[4]]
        return np.bincount(chosen, minlength=votes.shape[1])

    def metrics(self) -> dict[str, Array]:
        """Return the metrics declared in `MIXED`, each ``(R,)``."""
        return dict(zip(MIXED, (self._messages.copy(), self._bytes / np.maximum(self._messages, 1)), strict=True))
