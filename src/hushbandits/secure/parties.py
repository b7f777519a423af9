"""What all parties of a secure sum agree on, what they have in common, and the keys that they derive."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from typing import Any, NoReturn

import numpy as np

from hushbandits.core import Array
from hushbandits.secure import primitives
from hushbandits.secure.messages import Kind, Message, packed
from hushbandits.secure.sampling import total

__all__ = ["MASK", "Parameters", "Party", "Secretive", "commitment", "pair_key", "self_key", "signed_mask"]

#: Where in a user's public keys the one for masks stands; the channels' is before it.
MASK = slice(primitives.KEY, 2 * primitives.KEY)
#: By so much a row about a neighbour may be longer than its public keys.
_WIDEST = 64


@dataclass(frozen=True)
class Parameters:
    """The public parameters of one sum.

    Parameters
    ----------
    n : int
        Users, named 0 … n − 1.
    modulus : int
        2 … 2⁶².
    length : int
        Numbers per vector.
    neighbours : int
        With whom a user shares, 1 … n − 1; an odd one counts as the next even one.
    threshold : int
        How many of them unmask, 1 … neighbours.
    session : bytes
        16, never the same for two sums.
    fewest : int
        Of how many vectors a user at least lets the sum be opened, 2 … n.
    directory : tuple of bytes, optional
        The users' Ed25519 keys, known to all before the protocol begins and not from the server.  With them keys and
        lists are signed, and the server may lie: it is the variant against malicious servers.  That needs everybody as
        a neighbour, and a threshold above n/2.

    References
    ----------
    Bonawitz et al. 2017, section 6.2 (the variant).
    """

    n: int
    modulus: int
    length: int
    neighbours: int
    threshold: int
    session: bytes
    fewest: int = 2
    directory: tuple[bytes, ...] = ()
    tag: bytes = field(init=False)

    def __post_init__(self) -> None:
        for name, value, low, high in (
            ("n", self.n, 2, 1 << 20),
            ("modulus", self.modulus, 2, 1 << 62),
            ("length", self.length, 1, 1 << 20),
            ("neighbours", self.neighbours, self.n - 1 if self.malicious else 1, self.n - 1),
            ("threshold", self.threshold, self.n // 2 + 1 if self.malicious else 1, self.neighbours),
            ("session", len(self.session), 16, 16),
            ("fewest", self.fewest, 2, self.n),
            ("directory", len(self.directory), self.n if self.malicious else 0, self.n),
        ):
            if not low <= value <= high:
                what = f"{name} of length {value}" if name in ("session", "directory") else f"{name}={value}"
                raise ValueError(f"{what}: allowed is {low} … {high}")
        numbers = (self.n, self.modulus, self.length, self.neighbours, self.threshold, self.fewest)
        public = b"".join(x.to_bytes(8, "big") for x in numbers) + b"".join(self.directory)
        object.__setattr__(self, "tag", hashlib.sha256(self.session + public).digest())

    @property
    def malicious(self) -> bool:
        """Whether keys and lists are signed."""
        return bool(self.directory)

    @property
    def key_width(self) -> int:
        """Bytes of a user's public keys, with their signature where there is one."""
        return 2 * primitives.KEY + (primitives.SIGNATURE if self.malicious else 0)

    @property
    def longest(self) -> int:
        """Bytes of the longest body that is due in any round."""
        k = min(self.neighbours + 1, self.n - 1)
        return max(packed(self.length, self.modulus), k * (self.key_width + _WIDEST)) + 2 * primitives.KEY

    def about_keys(self, name: int, keys: bytes) -> bytes:
        """What a user signs of its keys."""
        return b"hushbandits 1 keys" + self.tag + name.to_bytes(4, "big") + keys[: 2 * primitives.KEY]

    def about_lists(self, body: bytes) -> bytes:
        """What a user signs of who survived."""
        return b"hushbandits 1 lists" + self.tag + body


class Secretive:
    """Whoever holds secrets: they are in no `repr`, and no pickle is made of them."""

    name: int

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name})"

    def __reduce_ex__(self, protocol: Any) -> NoReturn:
        raise TypeError(f"{self!r} holds secrets and is not pickled")


class Party(Secretive):
    """A user, or the server.

    Parameters
    ----------
    parameters : Parameters
    name : int
    """

    def __init__(self, parameters: Parameters, name: int):
        self.parameters = parameters
        self.name = name

    def pack(self, kind: Kind, body: bytes) -> bytes:
        """A message of this party."""
        return Message(kind, self.parameters.session, self.name, body).pack()


def pair_key(parameters: Parameters, label: bytes, secret: bytes, u: int, v: int) -> bytes:
    """A key of two users, bound to purpose, session and both names."""
    return primitives.derive(
        secret, b"hushbandits 1 " + label + parameters.tag + min(u, v).to_bytes(4, "big") + max(u, v).to_bytes(4, "big")
    )


def signed_mask(rows: Array, negative: Array, modulus: int) -> Array:
    """``Σ ± rows mod modulus``."""
    m = np.uint64(modulus)
    return total(np.where(negative[:, None], (m - rows) % m, rows), modulus)


def self_key(parameters: Parameters, b: bytes, u: int) -> bytes:
    """The key of a user's own mask."""
    return primitives.derive(b, b"hushbandits 1 self" + parameters.tag + u.to_bytes(4, "big"))


def commitment(parameters: Parameters, b: bytes, u: int) -> bytes:
    """What tells the server that it has put the right b together, and nothing else about it."""
    return primitives.derive(b, b"hushbandits 1 commitment" + parameters.tag + u.to_bytes(4, "big"))
