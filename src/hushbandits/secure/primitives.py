"""Cryptographic primitives from the package `cryptography` (extra `secagg`), which is imported on first use."""

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
        raise ImportError("secure sums and mixes need the package cryptography: pip install 'hushbandits[secagg]'")


def source(insecure_seed: int | str | None, name: int | str) -> Callable[[int], bytes]:
    """Return a function that draws random bytes from the operating system, or from a seeded stream named `name`.

    With a seed nothing is secret: all keys follow from it.
    """
    if insecure_seed is None:
        return os.urandom
    key = hashlib.sha256(f"insecure simulation {insecure_seed} {name}".encode()).digest()
    nonces = count(1)
    return lambda size: keystream(key, size, next(nonces))


def private(secret: bytes) -> "Private":
    """Return the X25519 private key (RFC 7748) with the 32 bytes `secret`."""
    from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey

    return X25519PrivateKey.from_private_bytes(secret)


def signing(secret: bytes) -> "Signing":
    """Return the Ed25519 private key (RFC 8032) with the 32 bytes `secret`."""
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    return Ed25519PrivateKey.from_private_bytes(secret)


def public(key: "Private | Signing") -> bytes:
    """Return the public key of the private key `key`, 32 bytes."""
    return key.public_key().public_bytes_raw()


def agree(key: "Private", other: bytes, fault: str) -> bytes:
    """Return the shared secret of two X25519 keys, or raise `Abort` with text `fault` if `other` is invalid or weak."""
    from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PublicKey

    try:
        return key.exchange(X25519PublicKey.from_public_bytes(other))
    except ValueError:
        raise Abort(Fault.KEY, fault) from None


def derive(secret: bytes, info: bytes) -> bytes:
    """Return a 32-byte key derived from `secret` by HKDF-SHA256 (RFC 5869), bound to `info`."""
    from cryptography.hazmat.primitives.hashes import SHA256
    from cryptography.hazmat.primitives.kdf.hkdf import HKDF

    return HKDF(SHA256(), KEY, None, info).derive(secret)


def keystream(key: bytes, size: int, nonce: int = 0) -> bytes:
    """Return the first `size` bytes of the ChaCha20 keystream (RFC 8439) for `key` and `nonce`."""
    from cryptography.hazmat.primitives.ciphers import Cipher
    from cryptography.hazmat.primitives.ciphers.algorithms import ChaCha20

    counter_and_nonce = bytes(4) + nonce.to_bytes(12, "little")
    return Cipher(ChaCha20(key, counter_and_nonce), None).encryptor().update(bytes(size))


def seal(key: bytes, nonce: int, text: bytes, names: bytes) -> bytes:
    """Return `text` encrypted by ChaCha20-Poly1305, which also authenticates `names`; use each nonce once per key."""
    from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305

    return ChaCha20Poly1305(key).encrypt(nonce.to_bytes(12, "little"), text, names)


def unseal(key: bytes, nonce: int, box: bytes, names: bytes, fault: str) -> bytes:
    """Return the content of `box`; raise `Abort` with the text `fault` if the key, nonce, names or any bit is wrong."""
    from cryptography.exceptions import InvalidTag
    from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305

    try:
        return ChaCha20Poly1305(key).decrypt(nonce.to_bytes(12, "little"), box, names)
    except InvalidTag:
        raise Abort(Fault.BOX, fault) from None


def verify(key: bytes, signature: bytes, text: bytes) -> bool:
    """Return whether `signature` is a valid signature of `text` under the Ed25519 public key `key`."""
    from cryptography.exceptions import InvalidSignature
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

    try:
        Ed25519PublicKey.from_public_bytes(key).verify(signature, text)
    except (InvalidSignature, ValueError):
        return False
    return True
