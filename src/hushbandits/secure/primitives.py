"""Cryptographic primitives of the package `cryptography` (the extra `secagg`), which is imported late."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from importlib.util import find_spec
from itertools import count
from typing import TYPE_CHECKING

from hushbandits.secure.messages import Abort, Fault

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey as Signing
    from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey as Private

#: Bytes of a key (X25519, Ed25519 or symmetric), of a signature, and by which a box is longer than what it holds.
KEY, SIGNATURE, BOX = 32, 64, 16


def needed() -> None:
    """Raise ``ImportError`` if `cryptography` is not installed."""
    if find_spec("cryptography") is None:
        raise ImportError("secure sums and mixes need cryptography: pip install 'hushbandits[secagg]'")


def source(insecure_seed: int | str | None, name: int | str) -> Callable[[int], bytes]:
    """Return the source of random bytes of party `name`, which is a seeded stream in a simulation.

    With a seed nothing is secret: all keys follow from it.
    """
    if insecure_seed is None:
        return os.urandom
    key = hashlib.sha256(f"insecure simulation {insecure_seed} {name}".encode()).digest()
    nonces = count(1)
    return lambda size: keystream(key, size, next(nonces))


def private(secret: bytes) -> Private:
    """Return an X25519 key (RFC 7748) of 32 bytes."""
    from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey

    return X25519PrivateKey.from_private_bytes(secret)


def signing(secret: bytes) -> Signing:
    """Return an Ed25519 key (RFC 8032) of 32 bytes; its `sign` signs."""
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    return Ed25519PrivateKey.from_private_bytes(secret)


def public(key: Private | Signing) -> bytes:
    """Return the public half of a key."""
    return key.public_key().public_bytes_raw()


def agree(key: Private, other: bytes, fault: str) -> bytes:
    """Return the shared secret of two X25519 keys; raise `Abort` with `fault` if `other` is invalid or weak."""
    from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PublicKey

    try:
        return key.exchange(X25519PublicKey.from_public_bytes(other))
    except ValueError:
        raise Abort(Fault.KEY, fault) from None


def derive(secret: bytes, info: bytes) -> bytes:
    """Return a key from HKDF-SHA256 (RFC 5869), bound to `info`."""
    from cryptography.hazmat.primitives.hashes import SHA256
    from cryptography.hazmat.primitives.kdf.hkdf import HKDF

    return HKDF(SHA256(), KEY, None, info).derive(secret)


def keystream(key: bytes, size: int, nonce: int = 0) -> bytes:
    """Return the first `size` bytes of ChaCha20 (RFC 8439) from block 0 on."""
    from cryptography.hazmat.primitives.ciphers import Cipher
    from cryptography.hazmat.primitives.ciphers.algorithms import ChaCha20

    counter_and_nonce = bytes(4) + nonce.to_bytes(12, "little")
    return Cipher(ChaCha20(key, counter_and_nonce), None).encryptor().update(bytes(size))


def seal(key: bytes, nonce: int, text: bytes, names: bytes) -> bytes:
    """Return a ChaCha20-Poly1305 box (RFC 8439) that also authenticates `names`; use each nonce once per key."""
    from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305

    return ChaCha20Poly1305(key).encrypt(nonce.to_bytes(12, "little"), text, names)


def unseal(key: bytes, nonce: int, box: bytes, names: bytes, fault: str) -> bytes:
    """Return the content of a box; raise `Abort` with `fault` if key, nonce, names or any bit is wrong."""
    from cryptography.exceptions import InvalidTag
    from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305

    try:
        return ChaCha20Poly1305(key).decrypt(nonce.to_bytes(12, "little"), box, names)
    except InvalidTag:
        raise Abort(Fault.BOX, fault) from None


def verify(key: bytes, signature: bytes, text: bytes) -> bool:
    """Return whether the owner of an Ed25519 key signed `text`."""
    from cryptography.exceptions import InvalidSignature
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

    try:
        Ed25519PublicKey.from_public_bytes(key).verify(signature, text)
    except (InvalidSignature, ValueError):
        return False
    return True
