"""A cascade of mixes: messages come out in an order that nobody knows, unless all hops put together what they know."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence

import numpy as np

from hushbandits.core import Array, integer
from hushbandits.secure import primitives
from hushbandits.secure.messages import Abort, Fault
from hushbandits.secure.parties import Secretive

__all__ = ["MOST_HOPS", "Hop", "Mixnet", "onion", "permutation"]

#: Hops of a way through mixes.
MOST_HOPS = 100

#: By how much a layer makes a message longer: an ephemeral key, and what a box needs.
LAYER = primitives.KEY + primitives.BOX
_LENGTH = 4


def permutation(n: int, draw: Callable[[int], bytes]) -> Array:
    """A uniform order of n things, out of random bytes: each takes 128 bits, and who draws the less comes first.

    Parameters
    ----------
    n : int
    draw : callable
        ``draw(size)`` returns random bytes.
    """
    words = np.frombuffer(draw(16 * n), "<u8").reshape(n, 2)
    return np.lexsort(words.T)


def _layer(secret: bytes, session: bytes, ephemeral: bytes, hop: bytes) -> bytes:
    return primitives.derive(secret, b"hushbandits 1 mix" + session + ephemeral + hop)


def onion(message: bytes, size: int, hops: Sequence[bytes], session: bytes, draw: Callable[[int], bytes]) -> bytes:
    """A message in one layer per hop, the first hop's outside.

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
        raise ValueError(f"a message of {len(message)} bytes: allowed are {size}")
    data = len(message).to_bytes(_LENGTH, "big") + message.ljust(size, b"\0")
    for hop in reversed(hops):
        key = primitives.private(draw(primitives.KEY))
        ephemeral, secret = primitives.public(key), primitives.agree(key, hop)
        if secret is None:
            raise Abort(Fault.KEY, "the public key of a hop is of low order")
        # The key is new for each layer of each onion, so its one nonce is 0.
        data = ephemeral + primitives.seal(_layer(secret, session, ephemeral, hop), 0, data, session)
    return data


class Hop(Secretive):
    """One mix: it waits for its batch, takes a layer off each message, and passes them on in an order of its own.

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
        """The messages of a batch without this hop's layer, in another order; an `Abort` where one of them is wrong.

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
        opened = [self._open(message) for message in unique]
        return [opened[i] for i in permutation(expected, self._draw).tolist()]

    def _open(self, data: bytes) -> bytes:
        ephemeral, box = data[: primitives.KEY], data[primitives.KEY :]
        secret = primitives.agree(self._key, ephemeral) if len(ephemeral) == primitives.KEY else None
        if secret is None:
            raise Abort(Fault.KEY, f"hop {self.name} got an ephemeral key that is none")
        text = primitives.unseal(_layer(secret, self._session, ephemeral, self.public), 0, box, self._session)
        if text is None:
            raise Abort(Fault.BOX, f"hop {self.name} cannot open a message")
        return text


class Mixnet:
    """Batches of messages through h mixes, with all parties in this process.

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
        """A new session, and its hops."""
        seed = None if self.insecure_seed is None else f"{self.insecure_seed}, batch {self._batches}"
        self._batches += 1
        session = hashlib.sha256(b"mixes" + primitives.source(seed, "session")(16)).digest()
        return session, [Hop(session, i, seed) for i in range(self.hops)]

    def shuffle(self, messages: Sequence[bytes]) -> list[bytes]:
        """The messages, in an order that depends on none of them.

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
        """Bytes that a sender sends of a message of `size`."""
        return _LENGTH + size + self.hops * LAYER
