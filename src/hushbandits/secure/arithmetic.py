"""Arithmetic of a secure sum, with uniform residues from keys, modular sums, and Shamir's secret sharing."""

import math
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache

import numpy as np

from hushbandits.core import Array
from hushbandits.secure.primitives import KEY, keystream, source

#: Of Shamir's field: the smallest prime above 2²⁵⁶, and the bytes of a share.
PRIME, SHARE = (1 << 256) + 297, 33


def expand(keys: Sequence[bytes], count: int, modulus: int) -> Array:
    """Return `count` uniform residues for each 256-bit key, by rejection sampling of ChaCha20's words.

    A word of 64 bits counts only below the largest multiple of the modulus, so that its rest is exactly uniform;
    a row depends on its key alone, however many words it takes.

    Parameters
    ----------
    keys : sequence of bytes
    count : int
    modulus : int
        2 … 2⁶²: at most a quarter of the words is rejected.

    Returns
    -------
    Array
        uint64, (keys, count).
    """
    largest = np.uint64((1 << 64) - (1 << 64) % modulus - 1)
    first = count if modulus & (modulus - 1) == 0 else count + count // 2 + 8
    rows = np.empty((len(keys), count), np.uint64)
    for row, key in zip(rows, keys, strict=True):
        words, drawn = first, row[:0]
        while len(drawn) < count:
            drawn = np.frombuffer(keystream(key, 8 * words), "<u8")
            drawn = drawn[drawn <= largest]
            words *= 2
        row[:] = drawn[:count]
    return rows % np.uint64(modulus)


def total(rows: Array, modulus: int) -> Array:
    """Return the sum of uint64 residues along the first axis mod `modulus`, without overflow.

    Examples
    --------
    >>> total(np.full((5, 1), 2**62 - 1, dtype=np.uint64), 2**62)
    array([4611686018427387899], dtype=uint64)
    """
    high = (rows >> np.uint64(32)).sum(axis=0).astype(object)
    low = (rows & np.uint64(0xFFFFFFFF)).sum(axis=0).astype(object)
    return (((high << 32) + low) % modulus).astype(np.uint64)


def masked(rows: Array, keys: Sequence[bytes], negative: Sequence[bool], modulus: int) -> Array:
    """Return, mod `modulus`, the sum of `rows` and of one mask per key; masks marked in `negative` are subtracted."""
    m, masks = np.uint64(modulus), expand(keys, rows.shape[1], modulus)
    signed = np.where(np.array(negative)[:, None], (m - masks) % m, masks)
    return total(np.concatenate([rows, signed]), modulus)


def secret_shares(x: Array, k: int, modulus: int) -> Array:
    """Split each number into k uniform residues whose sum mod `modulus` is the number.

    Parameters
    ----------
    x : Array
        (n,) integers.
    k : int
    modulus : int
        2 … 2⁶².

    Returns
    -------
    Array
        int64, (n·k,).
    """
    drawn = expand([source(None, "shares")(KEY)], len(x) * (k - 1), modulus)[0].reshape(k - 1, len(x))
    last = (x.astype(np.int64) - total(drawn, modulus).astype(np.int64)) % modulus
    return np.vstack([drawn.astype(np.int64), last]).T.ravel()


def split(secret: bytes, threshold: int, count: int, draw: Callable[[int], bytes], prime: int = PRIME) -> list[int]:
    """Return shares 1 … `count` of a 32-byte secret; `threshold` shares recover the secret, and fewer reveal nothing.

    Parameters
    ----------
    secret : bytes
    threshold : int
        1 … count.
    count : int
    draw : callable
        ``draw(size)`` returns random bytes.  A coefficient takes 48: its rest modulo the prime is uniform up to 2⁻¹²⁷.
    prime : int

    References
    ----------
    Shamir 1979, How to share a secret.
    """
    if not 1 <= threshold <= count:
        raise ValueError(f"threshold={threshold} must lie in 1 … count={count}")
    noise = draw(48 * (threshold - 1))
    coefficients = [int.from_bytes(noise[i : i + 48], "big") % prime for i in range(0, len(noise), 48)]
    points = np.arange(1, count + 1).astype(object)
    values = np.zeros(count, dtype=object)
    for c in coefficients:
        values = (values + c) * points  # exact integers; points are small, so one reduction at the end will do
    return [int(v) % prime for v in values + int.from_bytes(secret, "big")]


@lru_cache(maxsize=4096)
def _weights(points: tuple[int, ...], prime: int) -> tuple[int, ...]:
    # Lagrange's, at 0
    up = math.prod(points)
    return tuple(up * pow(x * math.prod(y - x for y in points if y != x), -1, prime) % prime for x in points)


def recover(shares: Mapping[int, int], prime: int = PRIME) -> bytes | None:
    """Return the 32-byte secret by interpolation of `shares`, a dict by index; ``None`` if the result exceeds 32 bytes.

    Examples
    --------
    >>> int.from_bytes(recover({1: 1494, 2: 329, 3: 965}, 1613), "big")
    1234
    """
    points = tuple(sorted(shares))
    value = sum(w * shares[x] for w, x in zip(_weights(points, prime), points, strict=True)) % prime
    return value.to_bytes(32, "big") if value < 1 << 256 else None
