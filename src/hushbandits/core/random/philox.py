"""Philox 4×64-10 in compiled code: random bits as a pure function of a key and a counter.

The counter's words are (i, step, run, name), i lowest, so that
``numpy.random.Generator(numpy.random.Philox(key=key, counter=[0, step, run, name]))`` runs along i and yields the same
uniforms.  NumPy moves the counter on before it reads, hence block b of a stream has i = b + 1.

A cursor is a row of ten words: key (2), run, name, step, the place of the next uniform, the present block (4).

Source: Salmon, Moraes, Dror, Shaw 2011, "Parallel random numbers: as easy as 1, 2, 3", section 4.3.
"""

import functools
from typing import SupportsInt

import numpy as np

from hushbandits.core.utils.jit import inlined, jit, lean

#: Words of a cursor, and where it keeps its name, its step and its place.
CURSOR, NAME, STEP, PLACE = 10, 3, 4, 5
_M0, _M1 = 0xD2E7470EE14C6C93, 0xCA5A826395121157
_W0, _W1 = 0x9E3779B97F4A7C15, 0xBB67AE8584CAA73B
_ROUNDS, _WORD = 10, 1 << 64
_SPARE, _ONE, _THREE, _TWO = np.uint64(11), np.uint64(1), np.uint64(3), np.uint64(2)
_ULP = 2.0**-53


class _Philox:
    """The Philox function, which returns the four words at counter (i, step, run, name) under key (k0, k1)."""

    def __call__(self, *words: SupportsInt) -> tuple[np.uint64, ...]:
        k0, k1, a, b, c, d = map(int, words)
        for _ in range(_ROUNDS):
            (high_a, low_a), (high_c, low_c) = divmod(_M0 * a, _WORD), divmod(_M1 * c, _WORD)
            a, b, c, d = high_c ^ b ^ k0, low_c, high_a ^ d ^ k1, low_a
            k0, k1 = (k0 + _W0) % _WORD, (k1 + _W1) % _WORD
        return np.uint64(a), np.uint64(b), np.uint64(c), np.uint64(d)

    @functools.cached_property
    def _numba_type_(self) -> object:
        from llvmlite import ir
        from numba.core.registry import cpu_target
        from numba.core.types import uint64
        from numba.core.types.containers import UniTuple
        from numba.extending import intrinsic

        word, wide = ir.IntType(64), ir.IntType(128)

        def multiply(builder, m, x):
            product = builder.mul(builder.zext(x, wide), wide(m))
            return builder.trunc(builder.lshr(product, wide(64)), word), builder.trunc(product, word)

        def lower(context, builder, signature, args):
            k0, k1, a, b, c, d = args
            for _ in range(_ROUNDS):
                (high_a, low_a), (high_c, low_c) = multiply(builder, _M0, a), multiply(builder, _M1, c)
                a, c = builder.xor(builder.xor(high_c, b), k0), builder.xor(builder.xor(high_a, d), k1)
                b, d = low_c, low_a
                k0, k1 = builder.add(k0, word(_W0)), builder.add(k1, word(_W1))
            return context.make_tuple(builder, signature.return_type, (a, b, c, d))

        @intrinsic
        def philox(typing_context, k0, k1, i, step, run, name):
            return UniTuple(uint64, 4)(*6 * [uint64]), lower

        self._intrinsic = philox  # Numba does not hold it
        cpu_target.typing_context.refresh()
        return cpu_target.typing_context.resolve_value_type(philox)


philox = _Philox()


@inlined
def refill(here):
    """Read the block at the place of a cursor."""
    here[6], here[7], here[8], here[9] = philox(here[0], here[1], (here[5] >> _TWO) + _ONE, here[4], here[2], here[3])


@inlined
def next_bits(cursors, r):
    """Return the next 64 bits of cursor r."""
    lane = np.int64(cursors[r, 5] & _THREE)
    if lane == 0:
        refill(cursors[r])
    cursors[r, 5] += _ONE
    return cursors[r, lane + 6]


@inlined
def as_uniform(bits):
    """Return 64 random bits as a uniform sample on [0, 1), as NumPy's ``random`` does."""
    return (bits >> _SPARE) * _ULP


@inlined
def uniform(cursors, r):
    """Return the next uniform sample on [0, 1) of cursor r."""
    return as_uniform(next_bits(cursors, r))


@jit
def open_cursors(seeds, name, each, out):
    """Write the cursors of the stream `name` at steps 0 … `each` − 1 of every run to `out`, which holds zeros."""
    for i in range(len(out)):
        k0, k1, run = seeds[i // each]
        out[i, 0], out[i, 1], out[i, 2], out[i, NAME], out[i, STEP] = k0, k1, run, name, i % each


@lean
def fill(cursors, r, out):
    """Write the next uniform samples of cursor r to `out`, ``(n,)``."""
    for i in range(out.size):
        out[i] = uniform(cursors, r)


@lean
def fill_in_turn(cursors, at, sizes, out):
    """Write the next ``sizes[i]`` uniform samples of each cursor at[i] to `out`, cursor after cursor."""
    start = 0
    for i in range(len(at)):
        fill(cursors, at[i], out[start : start + sizes[i]])
        start += sizes[i]


@lean
def fill_ahead(seeds, name, steps, places, out):
    """Fill `out`, ``(count, R, n)``, with each run r's uniform samples at step ``steps[r]`` from ``places[r]`` on."""
    count, runs, n = out.shape
    for r in range(runs):
        k0, k1, run, step = seeds[r, 0], seeds[r, 1], seeds[r, 2], steps[r]
        i, lane = (places[r] >> _TWO) + _ONE, np.int64(places[r] & _THREE)
        a, b, c, d = philox(k0, k1, i, step, run, name)
        for _ in range(lane):
            a, b, c = b, c, d
        for ahead in range(count):
            row = out[ahead, r]
            for at in range(n):
                if lane == 4:
                    i, lane = i + _ONE, lane - 4
                    a, b, c, d = philox(k0, k1, i, step, run, name)
                row[at] = as_uniform(a)
                a, b, c = b, c, d
                lane += 1


@lean
def philox_rows(seeds, name, out):
    """Derive a key for each run from `seeds` and a stream name, and write it to the first two columns of `out`."""
    for r in range(len(seeds)):
        k0, k1, run = seeds[r, 0], seeds[r, 1], seeds[r, 2]
        out[r, 0], out[r, 1], _, _ = philox(k0, k1, _ONE, np.uint64(0), run, name)
