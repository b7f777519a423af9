"""Generators by the batch: what NumPy's `SeedSequence` makes of each seed, for all of them in one compiled call.

The numbers are NumPy's own, to the bit: it promises never to change how a `SeedSequence` mixes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.random.bit_generator import ISpawnableSeedSequence

from hushbandits.core.ground.jit import jit
from hushbandits.core.ground.types import Array

__all__ = ["named", "numbered"]

#: Fewer seeds are left to NumPy: a game alone then needs no compiler to begin.
_MANY = 8
_POOL = 4
_WORD = (1 << 32) - 1
#: NumPy's constants.  Words are held in 64 bits, so that no product overflows, compiled or not.
_MASK, _SHIFT = np.uint64(_WORD), np.uint64(16)
_INIT_A, _MULT_A = np.uint64(0x43B0D7E5), np.uint64(0x931E8875)
_INIT_B, _MULT_B = np.uint64(0x8B51F9DD), np.uint64(0x58F38DED)
_LEFT, _RIGHT = np.uint64(0xCA01F9DD), np.uint64(0x4973F715)
_WHOLE, _HALF = np.uint64(1 << 32), np.uint64(32)


def named(seeds: Sequence[np.random.SeedSequence], name: str) -> list[np.random.Generator]:
    """Return a generator for each seed's child whose key ends with the bytes of `name`.

    Examples
    --------
    >>> seed = np.random.SeedSequence(7, spawn_key=(2,))
    >>> child = np.random.SeedSequence(7, spawn_key=(2, *b"reward"))
    >>> named([seed], "reward")[0].random() == np.random.default_rng(child).random()
    True
    """
    end = tuple(name.encode())
    children = [(seed.entropy, (*seed.spawn_key, *end)) for seed in seeds]
    if len(seeds) < _MANY or not _alike(seeds):
        return [_generator(np.random.SeedSequence(entropy, spawn_key=key)) for entropy, key in children]
    entropy = _split(seeds[0].entropy)  # type: ignore[arg-type]  # `_alike`: an int
    words = np.empty((len(seeds), len(entropy) + len(children[0][1])), np.uint64)
    words[:, : len(entropy)] = entropy
    words[:, len(entropy) :] = [key for _, key in children]
    return [_generator(_Child(*child, state)) for child, state in zip(children, _states(words), strict=True)]


def numbered(numbers: Array) -> list[np.random.Generator]:
    """Return ``np.random.Generator(np.random.PCG64(n))`` for each n ≥ 0 of an array of 64-bit integers.

    Examples
    --------
    >>> numbered(np.array([3, 1 << 40]))[1].random() == np.random.default_rng(1 << 40).random()
    True
    """
    if len(numbers) < _MANY:
        return [np.random.default_rng(n) for n in numbers.tolist()]
    whole = numbers.astype(np.uint64)
    words = np.zeros((len(whole), _POOL), np.uint64)
    words[:, 0], words[:, 1] = whole & _MASK, whole >> _HALF
    return [_generator(_Child(n, (), state)) for n, state in zip(numbers.tolist(), _states(words), strict=True)]


def _generator(seed: Any) -> np.random.Generator:
    return np.random.Generator(np.random.PCG64(seed))


def _alike(seeds: Sequence[np.random.SeedSequence]) -> bool:
    """Whether all seeds are of one number, with keys of as many words."""
    entropy, width = seeds[0].entropy, len(seeds[0].spawn_key)
    return type(entropy) is int and all(
        type(seed.entropy) is int
        and seed.entropy == entropy
        and len(seed.spawn_key) == width
        and all(type(part) is int and part <= _WORD for part in seed.spawn_key)
        for seed in seeds
    )


def _split(n: int) -> list[int]:
    """Its words, the lowest first, as many as a pool has at least."""
    return [n >> at & _WORD for at in range(0, max(n.bit_length(), 32 * _POOL), 32)]


class _Child(ISpawnableSeedSequence):
    """A `SeedSequence` of which a generator's first words are known; whoever asks for more gets the whole one."""

    def __init__(self, entropy: Any, spawn_key: tuple[int, ...], state: Array):
        self._of, self._state = (entropy, spawn_key), state

    def generate_state(self, n_words: int, dtype: Any = np.uint32) -> Array:
        if n_words == len(self._state) and dtype is np.uint64:
            return self._state
        return self._whole.generate_state(n_words, dtype)

    def spawn(self, n_children: int) -> list[Any]:
        return self._whole.spawn(n_children)

    @property
    def _whole(self) -> np.random.SeedSequence:
        if "_made" not in vars(self):
            entropy, spawn_key = self._of
            self._made = np.random.SeedSequence(entropy, spawn_key=spawn_key)
        return self._made

    def __getattr__(self, name: str) -> object:
        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(self._whole, name)


@jit
def _states(words):
    """What a PCG64 takes of the seeds with such words, ``(R, 4)``; a seed's own first, then those of its key."""
    runs, many = words.shape
    states = np.empty((runs, _POOL), np.uint64)
    pool = np.empty(_POOL, np.uint64)
    for r in range(runs):
        factor = _INIT_A
        for i in range(_POOL):
            factor, pool[i] = _hashed(words[r, i], factor, _MULT_A)
        for source in range(many):
            for i in range(_POOL):
                if source != i:
                    # the pool's own words are mixed as they are by then
                    factor, x = _hashed(pool[source] if source < _POOL else words[r, source], factor, _MULT_A)
                    pool[i] = _mixed(pool[i], x)
        factor = _INIT_B
        for i in range(_POOL):
            factor, low = _hashed(pool[2 * i % _POOL], factor, _MULT_B)
            factor, high = _hashed(pool[(2 * i + 1) % _POOL], factor, _MULT_B)
            states[r, i] = low | high << _HALF
    return states


@jit
def _hashed(word, factor, multiplier):
    """The next factor, and a word that is hashed with two of them."""
    word = word ^ factor
    factor = factor * multiplier & _MASK
    word = word * factor & _MASK
    return factor, word ^ word >> _SHIFT


@jit
def _mixed(one, other):
    found = ((_LEFT * one & _MASK) + _WHOLE - (_RIGHT * other & _MASK)) & _MASK
    return found ^ found >> _SHIFT
