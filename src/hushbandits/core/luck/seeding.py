"""Generators by the batch: what NumPy's `SeedSequence` makes of each seed, for all of them in one compiled call.

The numbers are NumPy's own, to the bit: it promises never to change how a `SeedSequence` mixes, nor what a `PCG64`
yields.  A generator is four words here (`sown`), and becomes an object where it is asked for more than a few uniforms.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.random.bit_generator import ISpawnableSeedSequence

from hushbandits.core.utils import Array, jit

__all__ = [
    "Seeded",
    "begin_rows",
    "draw",
    "grown",
    "many",
    "named",
    "numbered",
    "order",
    "placed",
    "planted",
    "read_rows",
    "sown",
    "spread",
]

#: Fewer seeds are left to NumPy: a game alone then needs no compiler to begin.
_MANY = 8
#: Uniforms of a generator that compiled code draws as fast as NumPy does, which is set to it first.
_SHORT = 1 << 8
_POOL = 4
_WORD = (1 << 32) - 1
#: NumPy's constants.  Words are held in 64 bits, so that no product overflows, compiled or not.
_MASK, _SHIFT = np.uint64(_WORD), np.uint64(16)
_INIT_A, _MULT_A = np.uint64(0x43B0D7E5), np.uint64(0x931E8875)
_INIT_B, _MULT_B = np.uint64(0x8B51F9DD), np.uint64(0x58F38DED)
_LEFT, _RIGHT = np.uint64(0xCA01F9DD), np.uint64(0x4973F715)
_WHOLE, _HALF, _ONE = np.uint64(1 << 32), np.uint64(32), np.uint64(1)
#: The multiplier of a PCG64, its lowest word first; what turns its output, and how a double is made of it.
_M0, _M1, _M2, _M3 = np.uint64(0x9FCCF645), np.uint64(0x4385DF64), np.uint64(0x1FC65DA4), np.uint64(0x2360ED05)
_TURN, _TURNS, _SPARE = np.uint64(58), np.uint64(63), np.uint64(11)
_ULP = 2.0**-53


#: Entropy and key of a seed.
_Parts = tuple[Any, tuple[int, ...]]


class Seeded(Sequence[np.random.SeedSequence]):
    """Seeds of runs that are made when they are asked for: a run that starts afresh needs its numbers, not the object.

    Parameters
    ----------
    each : sequence
        Of each run its SeedSequence, or ``(entropy, spawn_key)``.

    Examples
    --------
    >>> seeds = Seeded([(7, (2,)), np.random.SeedSequence(5)])
    >>> seeds[0].spawn_key, seeds[1].entropy, len(seeds)
    ((2,), 5, 2)
    """

    def __init__(self, each: Sequence[Any]):
        self._each: list[Any] = list(each._each if isinstance(each, Seeded) else each)
        self._row: Array | None = None

    def __len__(self) -> int:
        return len(self._each)

    def __getitem__(self, at: Any) -> Any:
        if isinstance(at, slice):
            return [self[i] for i in range(*at.indices(len(self)))]
        if isinstance(seed := self._each[at], tuple):
            self._each[at] = seed = np.random.SeedSequence(seed[0], spawn_key=seed[1])
        return seed

    def __iter__(self) -> Iterator[np.random.SeedSequence]:
        return (self[i] for i in range(len(self)))

    def replaced(self, rows: Sequence[int] | Array, fresh: Sequence[np.random.SeedSequence]) -> Seeded:
        """Return them with other seeds for the runs `rows`."""
        seeds = Seeded(self)
        for row, seed in zip(rows, Seeded(fresh)._each, strict=True):
            seeds._each[row] = seed
        return seeds

    def words(self) -> Array | None:
        """Return `_words` of them, worked out once for all tapes."""
        if self._row is None:
            self._row = _words(_parts(self))
        return self._row

    def __repr__(self) -> str:
        return repr(list(self))


def many(runs: int) -> bool:
    """Whether so many runs are worth a compiler."""
    return runs >= _MANY


def _parts(seeds: Sequence[np.random.SeedSequence]) -> list[_Parts]:
    """Entropy and key of each seed."""
    each = seeds._each if isinstance(seeds, Seeded) else seeds
    return [seed if isinstance(seed, tuple) else (seed.entropy, seed.spawn_key) for seed in each]


def sown(seeds: Sequence[np.random.SeedSequence], name: str) -> Array:
    """Return `named`'s generators as data, ``(R, 4)`` words each: of the state its high and its low, of the increment.

    Examples
    --------
    >>> out, seed = np.empty((1, 3)), np.random.SeedSequence(7)
    >>> draw(sown([seed], "reward"), out)
    >>> bool((out[0] == named([seed], "reward")[0].random(3)).all())
    True
    """
    end = tuple(name.encode())
    if (words := seeds.words() if isinstance(seeds, Seeded) else _words(_parts(seeds))) is not None:
        known: Array = _started(_states(words, np.array(end, np.uint64)))
        return known
    children = (np.random.SeedSequence(entropy, spawn_key=(*key, *end)) for entropy, key in _parts(seeds))
    each = [child.generate_state(_POOL, np.uint64) for child in children]
    found: Array = _started(np.array(each, np.uint64).reshape(len(each), _POOL))
    return found


def grown(words: Array) -> np.random.Generator:
    """Return the generator that four words of `sown` stand for, as far as they are drawn from."""
    rng = _generator(_Child(0, (), np.zeros(_POOL, np.uint64)))
    placed(rng, words.tolist())
    return rng


def named(seeds: Sequence[np.random.SeedSequence], name: str) -> list[np.random.Generator]:
    """Return a generator for each seed's child whose key ends with the bytes of `name`.

    Examples
    --------
    >>> seed = np.random.SeedSequence(7, spawn_key=(2,))
    >>> child = np.random.SeedSequence(7, spawn_key=(2, *b"reward"))
    >>> named([seed], "reward")[0].random() == np.random.default_rng(child).random()
    True
    """
    end, parts = tuple(name.encode()), _parts(seeds)
    children = [(entropy, (*key, *end)) for entropy, key in parts]
    if not many(len(seeds)) or (words := _words(parts)) is None:
        return [_generator(np.random.SeedSequence(entropy, spawn_key=key)) for entropy, key in children]
    states = _states(words, np.array(end, np.uint64))
    return [_generator(_Child(*child, state)) for child, state in zip(children, states, strict=True)]


def numbered(numbers: Array) -> Iterator[np.random.Generator]:
    """Yield ``np.random.Generator(np.random.PCG64(n))`` for each n ≥ 0 of an array of 64-bit integers.

    Each is valid until the next one: where they are many, one generator is set to all these states.

    Examples
    --------
    >>> for n, rng in zip([3, 1 << 40], numbered(np.array([3, 1 << 40]))):
    ...     print(rng.random() == np.random.default_rng(n).random())
    True
    True
    """
    if len(numbers) < _MANY:
        yield from map(np.random.default_rng, numbers.tolist())
        return
    rng = np.random.default_rng(0)
    for words in planted(numbers).tolist():
        placed(rng, words)
        yield rng


def planted(numbers: Array) -> Array:
    """Return the generators of `numbered` as data, ``(n, 4)``."""
    whole = numbers.astype(np.uint64)
    words = np.zeros((len(whole), _POOL), np.uint64)
    words[:, 0], words[:, 1] = whole & _MASK, whole >> _HALF
    found: Array = _started(_states(words, np.zeros(0, np.uint64)))
    return found


def spread(numbers: Array, sizes: Array) -> Array:
    """Return the first uniforms of each generator of `numbered`, as many as `sizes` says, one after the other.

    Examples
    --------
    >>> found = spread(np.array([3, 5]), np.array([2, 4]))
    >>> bool((found[2:] == np.random.default_rng(5).random(4)).all()), found.shape
    (True, (6,))
    """
    out = np.empty(int(sizes.sum()))
    if many(len(numbers)) and sizes.max() <= _SHORT:
        draw_in_turn(planted(numbers), sizes, out)
        return out
    start = 0
    for n, rng in zip(sizes.tolist(), numbered(numbers), strict=True):
        rng.random(out=out[start : start + n])
        start += n
    return out


def placed(rng: np.random.Generator, words: Sequence[int]) -> None:
    """Set a generator to where four words of `sown` stand."""
    high, low, up, down = words
    now = {"state": high << 64 | low, "inc": up << 64 | down}
    rng.bit_generator.state = {"bit_generator": "PCG64", "state": now, "has_uint32": 0, "uinteger": 0}


def _generator(seed: Any) -> np.random.Generator:
    return np.random.Generator(np.random.PCG64(seed))


def _words(seeds: Sequence[_Parts]) -> Array | None:
    """Entropy and key of each seed in a row; ``None``: they are not of one number, with keys of equal widths."""
    first = seeds[0][0] if seeds else None
    if type(first) is not int or not all(type(own) is int and own == first for own, _ in seeds):
        return None
    try:
        keys = np.array([key for _, key in seeds])
    except ValueError:
        return None
    if keys.ndim != 2 or (keys.size and (keys.dtype.kind not in "iu" or keys.max() > _WORD)):
        return None
    entropy = _split(first)
    words = np.empty((len(seeds), len(entropy) + keys.shape[1]), np.uint64)
    words[:, : len(entropy)] = entropy
    words[:, len(entropy) :] = keys
    return words


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
def _states(words, end):
    """What a PCG64 takes of seeds, ``(R, 4)``: words of their own, those of their keys, and `end` for all."""
    runs, width = words.shape
    many = width + end.size
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
                    word = (
                        pool[source] if source < _POOL else words[r, source] if source < width else end[source - width]
                    )
                    factor, x = _hashed(word, factor, _MULT_A)
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


# -- a PCG64 as four words: its 128 bits are worked on in 32, so that no product overflows, compiled or not ------------


@jit
def _started(states):
    """The generators of such states of their seeds, ``(R, 4)``."""
    words = np.empty_like(states)
    for r in range(len(states)):
        up, down = states[r, 2], states[r, 3]
        words[r, 2], words[r, 3] = up << _ONE | down >> _TURNS, down << _ONE | _ONE
        # the first step is one from 0
        low = (words[r, 3] & _MASK) + (states[r, 1] & _MASK)
        middle = (words[r, 3] >> _HALF) + (states[r, 1] >> _HALF) + (low >> _HALF)
        words[r, 1] = (middle & _MASK) << _HALF | low & _MASK
        low = (words[r, 2] & _MASK) + (states[r, 0] & _MASK) + (middle >> _HALF)
        middle = (words[r, 2] >> _HALF) + (states[r, 0] >> _HALF) + (low >> _HALF)
        words[r, 0] = (middle & _MASK) << _HALF | low & _MASK
        _next(words[r])
    return words


@jit
def _next(words):
    """Move a generator on, and return its 64 bits."""
    high, low, up, down = words[0], words[1], words[2], words[3]
    a, b, c, d = low & _MASK, low >> _HALF, high & _MASK, high >> _HALF
    t = a * _M0 + (down & _MASK)
    w = t & _MASK
    t = a * _M1 + (down >> _HALF) + (t >> _HALF)
    x = t & _MASK
    t = a * _M2 + (up & _MASK) + (t >> _HALF)
    y = t & _MASK
    z = a * _M3 + (up >> _HALF) + (t >> _HALF) & _MASK
    t = b * _M0 + x
    x = t & _MASK
    t = b * _M1 + y + (t >> _HALF)
    y = t & _MASK
    z = b * _M2 + z + (t >> _HALF) & _MASK
    t = c * _M0 + y
    y = t & _MASK
    z = c * _M1 + z + (t >> _HALF) & _MASK
    z = d * _M0 + z & _MASK
    high, low = z << _HALF | y, x << _HALF | w
    words[0], words[1] = high, low
    turn, mixed = high >> _TURN, high ^ low
    return mixed >> turn | mixed << (_TURNS + _ONE - turn & _TURNS)


@jit
def uniform(words):
    """The next uniform of a generator: NumPy's ``random``."""
    return (_next(words) >> _SPARE) * _ULP


@jit
def draw(words, out):
    """Fill each row of `out`, ``(R, n)``, with the next uniforms of its generator."""
    for r in range(len(out)):
        for i in range(out.shape[1]):
            out[r, i] = uniform(words[r])


@jit
def draw_in_turn(words, sizes, out):
    """Fill `out` with the next uniforms of each generator, as many as `sizes` says, one generator after the other."""
    at = 0
    for r in range(len(sizes)):
        for _ in range(sizes[r]):
            out[at] = uniform(words[r])
            at += 1


@jit
def order(words, out):
    """Fill each row of `out`, ``(R, K)``, with the next order of 0..K − 1: NumPy's ``permutation``."""
    for r in range(len(out)):
        for k in range(out.shape[1]):
            out[r, k] = k
        spare, held, mask = np.uint64(0), False, np.uint64(0)
        for k in range(out.shape[1] - 1, 0, -1):
            mask = np.uint64(k)
            for half in (1, 2, 4, 8, 16):
                mask |= mask >> np.uint64(half)
            j = np.int64(k + 1)
            while j > k:
                held = not held
                if held:
                    spare = _next(words[r])
                j = np.int64((spare if held else spare >> _HALF) & mask)
            out[r, k], out[r, j] = out[r, j], out[r, k]


@jit
def read_rows(block, at, words, out):
    """The next rows of every run, ``(rows, R, width)``: what is in store, and then what generators draw."""
    for r in range(out.shape[1]):
        for t in range(out.shape[0]):
            for i in range(out.shape[2]):
                if at[r] < block.shape[1]:
                    out[t, r, i] = block[r, at[r]]
                    at[r] += 1
                else:
                    out[t, r, i] = uniform(words[r])


@jit
def begin_rows(fresh, rows, words, first, ready):
    """Put generators into the runs `rows`; what they draw first comes into `first` ``(n, …)``, then `ready`."""
    for i, r in enumerate(rows):
        words[r] = fresh[i]
        for j in range(first.shape[1]):
            first[i, j] = uniform(words[r])
        for t in range(ready.shape[0]):
            for j in range(ready.shape[2]):
                ready[t, r, j] = uniform(words[r])
