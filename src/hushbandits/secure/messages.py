"""Messages as bytes (format version 2), and `Abort`, the error that ends a protocol.

A message is a header of 28 bytes, a body and the first 16 bytes of the SHA-256 of both.  The header: ``HS``, the
version, the kind, the session (16 bytes), the sender (u32), the length of the body (u32); all numbers
are big-endian.  A body is a vector of residues of ⌈log₂ m⌉ bits each, with zeros up to the next byte, or rows of one
width, each after a name (u32, ascending); a user's begins with the digest of the message that it answers.  Lengths are
checked before anything is parsed.  Digests find accidents; against forgers a link needs TLS.
"""

import hashlib
import struct
from collections.abc import Iterable
from enum import IntEnum, StrEnum

import numpy as np

from hushbandits.core import Array

#: The server's name.
SERVER = 0xFFFFFFFF
#: Longest body, bytes: what a party holds of a message that it has not checked.
LARGEST = 1 << 24
_VERSION = 2
_FORM = struct.Struct(">2sBB16sII")
HEADER, DIGEST = _FORM.size, 16


class Kind(IntEnum):
    """The kinds of messages, in the order of the rounds; the server sends the kinds with even numbers."""

    KEYS = 1
    ROSTER = 2
    SHARES = 3
    INBOX = 4
    MASKED = 5
    LISTS = 6
    SIGNED = 7
    SIGNATURES = 8
    UNMASK = 9


class Fault(StrEnum):
    """The reasons why a protocol can end without a result."""

    FORMAT = "malformed message"
    SESSION = "message of another session"
    ROUND = "message of another round"
    NAME = "unknown or repeated name"
    SHARE = "share of wrong length or index"
    BOX = "box that does not open"
    VALUE = "vector of the wrong length or out of range"
    LISTS = "lists of survivors that contradict"
    SIGNATURE = "too few valid signatures"
    KEY = "key that is none or does not fit"
    DROPOUT = "too few users left"
    LINK = "connection lost"


class Abort(Exception):
    """Error of a protocol that ends without a result; its text names the fault and the parties, but no secret.

    Parameters
    ----------
    fault : Fault
    text : str
    """

    def __init__(self, fault: Fault, text: str):
        super().__init__(f"{fault}: {text}")
        self.fault = fault


def pack(kind: Kind, session: bytes, sender: int, body: bytes) -> bytes:
    """Return a message with header, `body` and digest, as bytes."""
    head = _FORM.pack(b"HS", _VERSION, kind, session, sender, len(body))
    return head + body + hashlib.sha256(head + body).digest()[:DIGEST]


def parse(data: bytes, session: bytes) -> tuple[Kind, int, bytes]:
    """Return kind, sender and body of the message `data`; raise `Abort` if `data` is invalid or of another session."""
    if len(data) < HEADER or len(data) != length_of(data[:HEADER]):
        raise Abort(Fault.FORMAT, f"its {len(data)} bytes are not what the header announces")
    if hashlib.sha256(data[:-DIGEST]).digest()[:DIGEST] != data[-DIGEST:]:
        raise Abort(Fault.FORMAT, "the digest does not fit")
    _, _, kind, its, sender, _ = _FORM.unpack(data[:HEADER])
    if kind not in list(Kind):
        raise Abort(Fault.FORMAT, f"kind {kind} is none of 1 … {max(Kind)}")
    if its != session:
        raise Abort(Fault.SESSION, f"party {sender} sent it")
    return Kind(kind), sender, data[HEADER:-DIGEST]


def length_of(header: bytes, longest: int = LARGEST) -> int:
    """Return a message's byte length from its header; raise `Abort` for a wrong header or a body over `longest`."""
    magic, version, _, _, _, size = _FORM.unpack(header)
    if magic != b"HS" or version != _VERSION:
        raise Abort(Fault.FORMAT, f"not a message of format version {_VERSION}")
    if size > longest:
        raise Abort(Fault.FORMAT, f"a body of {size} bytes; at most {longest} are allowed")
    return HEADER + size + DIGEST


def rows(items: Iterable[tuple[int, bytes]]) -> bytes:
    """Return a body that contains named rows of equal width."""
    return b"".join(name.to_bytes(4, "big") + row for name, row in sorted(items))


def parse_rows(body: bytes, width: int, fault: Fault = Fault.FORMAT) -> dict[int, bytes]:
    """Return the rows of `body` by name; raise `Abort` if the length of `body` is wrong or the names do not ascend."""
    step = 4 + width
    if len(body) % step:
        raise Abort(fault, f"the rows have {len(body)} bytes, not a multiple of {step}")
    found = {int.from_bytes(body[i : i + 4], "big"): body[i + 4 : i + step] for i in range(0, len(body), step)}
    if len(found) * step != len(body) or list(found) != sorted(found):
        raise Abort(Fault.NAME, "the names of users in a message must ascend")
    return found


def lists(count: int, survivors: Iterable[int], dropped: Iterable[int]) -> bytes:
    """Return a body with the number of all survivors and two lists of names: listed survivors and dropped users."""
    first, second = sorted(survivors), sorted(dropped)
    return np.array([count, len(first), *first, *second], ">u4").tobytes()


def parse_lists(body: bytes) -> tuple[int, list[int], list[int]]:
    """Return three values: the number of all survivors, the listed survivors, and the listed dropped users."""
    numbers = np.frombuffer(body, ">u4").tolist() if len(body) % 4 == 0 else []
    if len(numbers) < 2 or numbers[1] > len(numbers) - 2:
        raise Abort(Fault.FORMAT, f"the body of {len(body)} bytes does not hold two lists")
    count, size, *names = numbers
    return count, names[:size], names[size:]


def packed(length: int, modulus: int) -> int:
    """Return the byte length of `length` residues of ⌈log₂ m⌉ bits each.

    Examples
    --------
    >>> packed(10, 1 << 26), packed(10, 9)
    (33, 5)
    """
    return -(-length * _bits(modulus) // 8)


def _bits(modulus: int) -> int:
    return (modulus - 1).bit_length()


def vector(x: Array, modulus: int) -> bytes:
    """Return a body of residues: their lowest ⌈log₂ m⌉ bits in sequence, the highest bit first.

    Examples
    --------
    >>> vector(np.array([1, 2, 3]), 5).hex()
    '2980'
    """
    bits = np.unpackbits(x.astype(">u8").view(np.uint8).reshape(-1, 8), axis=1)
    return np.packbits(bits[:, 64 - _bits(modulus) :].ravel()).tobytes()


def parse_vector(body: bytes, length: int, modulus: int) -> Array:
    """Return the `length` residues in `body`; raise `Abort` if `body` is not a valid vector of residues."""
    if len(body) != packed(length, modulus):
        raise Abort(Fault.VALUE, f"the vector has {len(body)} bytes, not {packed(length, modulus)}")
    width = _bits(modulus)
    found = np.unpackbits(np.frombuffer(body, np.uint8))
    if found[width * length :].any():
        raise Abort(Fault.VALUE, "the bits after the last number must be 0")
    bits = np.zeros((length, 64), np.uint8)
    bits[:, 64 - width :] = found[: width * length].reshape(length, width)
    x = np.packbits(bits, axis=1).view(">u8").ravel().astype(np.uint64)
    if (x >= modulus).any():
        raise Abort(Fault.VALUE, f"a number outside 0 … {modulus - 1}")
    return x
