"""Parameters and key derivation of a secure sum, and the base class of parties with secrets."""

import hashlib
from dataclasses import dataclass
from functools import cached_property
from typing import NoReturn, SupportsIndex

from hushbandits.core import integer
from hushbandits.secure import primitives
from hushbandits.secure.messages import packed

#: Where in a user's public keys the one for masks stands; the channels' is before it.
MASK = slice(primitives.KEY, 2 * primitives.KEY)
#: By so much a row about a neighbour may be longer than its public keys.
_WIDEST = 64


@dataclass(frozen=True)
class Parameters:
    """The public parameters of one secure sum.

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

    def __post_init__(self) -> None:
        n, others = self.n, self.n - 1
        integer("n", n, 2, 1 << 20)
        integer("modulus", self.modulus, 2, 1 << 62)
        integer("length", self.length, 1, 1 << 20)
        integer("neighbours", self.neighbours, others if self.malicious else 1, others)
        integer("threshold", self.threshold, n // 2 + 1 if self.malicious else 1, self.neighbours)
        integer("length of session", len(self.session), 16, 16)
        integer("fewest", self.fewest, 2, n)
        integer("length of directory", len(self.directory), n if self.malicious else 0, n)

    @cached_property
    def tag(self) -> bytes:
        """The digest of all parameters, in 32 bytes."""
        numbers = (self.n, self.modulus, self.length, self.neighbours, self.threshold, self.fewest)
        public = b"".join(x.to_bytes(8, "big") for x in numbers) + b"".join(self.directory)
        return hashlib.sha256(self.session + public).digest()

    @property
    def malicious(self) -> bool:
        """Whether keys and lists are signed."""
        return bool(self.directory)

    @property
    def key_width(self) -> int:
        """Byte length of a user's public keys, with their signature if there is one."""
        return 2 * primitives.KEY + primitives.SIGNATURE * self.malicious

    @property
    def longest(self) -> int:
        """Upper bound on the byte length of a body in any round."""
        k = min(self.neighbours + 1, self.n - 1)
        return max(packed(self.length, self.modulus), k * (self.key_width + _WIDEST)) + 2 * primitives.KEY

    def bound(self, purpose: bytes, *names: int) -> bytes:
        """Return the context of a key or signature: its purpose, the digest of all parameters and sorted user names."""
        return b"hushbandits 1 " + purpose + self.tag + b"".join(name.to_bytes(4, "big") for name in sorted(names))

    def key(self, purpose: bytes, secret: bytes, *names: int) -> bytes:
        """Return a key derived from a secret that one user has or that two users share."""
        return primitives.derive(secret, self.bound(purpose, *names))


class Secretive:
    """Base of objects with secrets, which cannot be pickled and whose `repr` shows no secret."""

    name: int

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name})"

    def __reduce_ex__(self, protocol: SupportsIndex) -> NoReturn:
        raise TypeError(f"{self!r} contains secrets and cannot be pickled")
