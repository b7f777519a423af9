"""Uniform residues out of keys: ChaCha20's words, by rejection."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from hushbandits.core import Array
from hushbandits.secure.primitives import KEY, keystream, source

__all__ = ["expand", "secret_shares", "total"]


def expand(keys: Sequence[bytes], count: int, modulus: int) -> Array:
    """A row of `count` uniform residues of each 256-bit key.

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
    largest = (1 << 64) - (1 << 64) % modulus - 1
    words = count if modulus & (modulus - 1) == 0 else count + count // 2 + 8
    drawn = np.frombuffer(b"".join(keystream(key, 8 * words) for key in keys), "<u8").reshape(len(keys), words)
    fine = drawn <= largest
    order = np.argsort(~fine, axis=1, kind="stable")[:, :count]
    rows = np.take_along_axis(drawn, order, axis=1) % np.uint64(modulus)
    for i in np.flatnonzero(fine.sum(axis=1) < count).tolist():
        rows[i] = _slowly(keys[i], count, modulus, largest, 2 * words)
    return rows


def _slowly(key: bytes, count: int, modulus: int, largest: int, words: int) -> Array:
    while True:
        drawn = np.frombuffer(keystream(key, 8 * words), "<u8")
        drawn = drawn[drawn <= largest]
        if len(drawn) >= count:
            return drawn[:count] % np.uint64(modulus)
        words *= 2


def total(rows: Array, modulus: int) -> Array:
    """``Σ rows mod modulus`` along the first axis, of uint64 residues, without overflow.

    Examples
    --------
    >>> total(np.full((5, 1), 2**62 - 1, dtype=np.uint64), 2**62)
    array([4611686018427387899], dtype=uint64)
    """
    m, low = np.uint64(modulus), np.uint64(0xFFFFFFFF)
    high = (rows >> np.uint64(32)).sum(axis=0, dtype=np.uint64) % m
    rest = (rows & low).sum(axis=0, dtype=np.uint64) % m
    for _ in range(32):
        high = (high << np.uint64(1)) % m
    return (high + rest) % m


def secret_shares(x: Array, k: int, modulus: int) -> Array:
    """Cut each number into k uniform residues that sum to it, one after the other; the operating system draws them.

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
    key = source(None, "shares")(KEY)
    drawn = expand([key], len(x) * (k - 1), modulus)[0].reshape(k - 1, len(x))
    last = (x.astype(np.int64) - total(drawn, modulus).astype(np.int64)) % modulus
    return np.vstack([drawn.astype(np.int64), last]).T.ravel()
