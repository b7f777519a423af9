"""Shamir's secret sharing over the field of the smallest prime above 2²⁵⁶."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from functools import lru_cache

import numpy as np

__all__ = ["PRIME", "SHARE", "recover", "split"]

PRIME = (1 << 256) + 297
#: Bytes of a share.
SHARE = 33


def split(secret: bytes, threshold: int, count: int, draw: Callable[[int], bytes], prime: int = PRIME) -> list[int]:
    """Shares 1 … `count` of a secret of 32 bytes; any `threshold` of them give it back, fewer say nothing about it.

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
        raise ValueError(f"threshold={threshold}: allowed is 1 … count={count}")
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
    """The secret whose shares these are, by their index; None where it is no 32 bytes: then a share is false.

    Examples
    --------
    >>> int.from_bytes(recover({1: 1494, 2: 329, 3: 965}, 1613), "big")
    1234
    """
    points = tuple(sorted(shares))
    value = sum(w * shares[x] for w, x in zip(_weights(points, prime), points, strict=True)) % prime
    return value.to_bytes(32, "big") if value < 1 << 256 else None
