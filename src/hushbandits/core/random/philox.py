"""Philox 4×64-10 in compiled code: random bits as a pure function of a key and a counter.

The counter's words are (i, step, run, name), i lowest, so that
``numpy.random.Generator(numpy.random.Philox(key=key, counter=[0, step, run, name]))`` runs along i and yields the same
uniforms.  NumPy moves the counter on before it reads, hence block b of a stream has i = b + 1.

A cursor is a row of ten words: key (2), run, name, step, the place of the next uniform, the present block (4).

Source: Salmon, Moraes, Dror, Shaw 2011, "Parallel random numbers: as easy as 1, 2, 3", section 4.3.
"""

from __future__ import annotations

import functools

import numpy as np

from hushbandits.core.utils.jit import jit

#: Words of a cursor, and where it keeps its name, its step and its place.
CURSOR, NAME, STEP, PLACE = 10, 3, 4, 5
_M0, _M1 = np.uint64(0xD2E7470EE14C6C93), np.uint64(0xCA5A826395121157)
_W0, _W1 = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xBB67AE8584CAA73B)
_ROUNDS = 10
_SPARE, _ONE, _THREE, _TWO = np.uint64(11), np.uint64(1), np.uint64(3), np.uint64(2)
_ULP = 2.0**-53


class _High:
    """Returns the upper 64 bits of a product of two words; compiled code gets one instruction."""

    def __call__(self, a: np.uint64, b: np.uint64) -> np.uint64:
        return np.uint64(int(a) * int(b) >> 64)

    @functools.cached_property
    def _numba_type_(self) -> object:
        from llvmlite import ir
        from numba.core.registry import cpu_target
        from numba.core.types import uint64
        from numba.extending import intrinsic

        @intrinsic
        def high(typing_context, a, b):
            def lower(context, builder, signature, args):
                wide = ir.IntType(128)
                product = builder.mul(*(builder.zext(x, wide) for x in args))
                return builder.trunc(builder.lshr(product, wide(64)), ir.IntType(64))

            return uint64(uint64, uint64), lower

        self._intrinsic = high  # Numba does not hold it
        cpu_target.typing_context.refresh()
        return cpu_target.typing_context.resolve_value_type(high)


_high = _High()


@jit
def philox(k0, k1, i, step, run, name):
    """Return the four words at counter (i, step, run, name) under key (k0, k1)."""
    a, b, c, d = i, step, run, name
    for _ in range(_ROUNDS):
        a, b, c, d = _high(_M1, c) ^ b ^ k0, _M1 * c, _high(_M0, a) ^ d ^ k1, _M0 * a
        k0, k1 = k0 + _W0, k1 + _W1
    return a, b, c, d


@jit
def uniform(cursors, r):
    """Return the next uniform on [0, 1) of cursor r: NumPy's ``random``."""
    here = cursors[r]
    lane = here[5] & _THREE
    if lane == 0:
        here[6], here[7], here[8], here[9] = philox(
            here[0], here[1], (here[5] >> _TWO) + _ONE, here[4], here[2], here[3]
        )
    here[5] += _ONE
    return (here[np.int64(lane) + 6] >> _SPARE) * _ULP


@jit
def fill(cursors, r, out):
    """Write the next uniforms of cursor r to `out`, ``(n,)``."""
    for i in range(out.size):
        out[i] = uniform(cursors, r)


@jit
def fill_in_turn(cursors, sizes, out):
    """Write the next uniforms of each cursor to `out`, as many as `sizes` says, one cursor after the other."""
    at = 0
    for r in range(len(sizes)):
        fill(cursors, r, out[at : at + sizes[r]])
        at += sizes[r]


@jit
def fill_ahead(seeds, name, steps, out):
    """Write the first uniforms of each run's next steps to `out`, ``(count, R, n)``; `seeds`: ``(R, 3)``."""
    count, runs, n = out.shape
    for ahead in range(count):
        for r in range(runs):
            k0, k1, run = seeds[r, 0], seeds[r, 1], seeds[r, 2]
            step = np.uint64(steps[r] + ahead)
            row = out[ahead, r]
            for at in range(0, n, 4):
                a, b, c, d = philox(k0, k1, np.uint64(at // 4 + 1), step, run, name)
                row[at] = (a >> _SPARE) * _ULP
                if at + 1 < n:
                    row[at + 1] = (b >> _SPARE) * _ULP
                if at + 2 < n:
                    row[at + 2] = (c >> _SPARE) * _ULP
                if at + 3 < n:
                    row[at + 3] = (d >> _SPARE) * _ULP


@jit
def philox_rows(seeds, name, out):
    """Write keys that follow from those of `seeds` and a name to the first two columns of `out`, ``(R, 3)``."""
    for r in range(len(seeds)):
        k0, k1, run = seeds[r, 0], seeds[r, 1], seeds[r, 2]
        out[r, 0], out[r, 1], _, _ = philox(k0, k1, _ONE, np.uint64(0), run, name)
