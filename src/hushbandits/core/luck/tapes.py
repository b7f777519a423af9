"""Random streams: one tape per name per run.

A tape is named (``"reward"``, ``"activation"``, ``"graph"``, ``"agent/DP-MASE"``, ``"wrapper/Huber"``) and
belongs to one run.  What a run draws depends on that run alone, so a run by itself equals its row in a
batch bit for bit, and adding a reader changes no other tape.  NumPy's global state is never touched.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Sequence
from functools import cached_property

import numpy as np

from hushbandits.core.luck.seeding import begin_rows, draw, grown, many, named, read_rows, sown
from hushbandits.core.utils import Array

__all__ = ["LONGEST", "TAPES", "Uniforms", "own_stream", "run_seeds", "stream", "streams", "taped"]

_FIRST, _BLOCK = 1 << 6, 1 << 14  # doubles that a run reads ahead, at first and at most (128 KiB)
_SHORT = 1 << 7  # doubles in one reading for which a generator is four words; for more it is NumPy's own
#: Bytes that a run's tape takes at most.
TAPES = 8 * _BLOCK + 4096
#: Bytes of its generator, with the seed that it came from.
_GENERATOR = 1536

#: Longest horizon: a double counts every round.
LONGEST = 1 << 53


def taped(draws: float) -> float:
    """Bytes that a run's tape takes at most, if it reads no more uniforms than so many."""
    return min(TAPES, 16.0 * draws + 8 * _FIRST + _GENERATOR)  # it reads ahead as far as it has come


def run_seeds(seed: int, runs: int, first: int = 0) -> list[np.random.SeedSequence]:
    """Return the seeds of independent runs: run r has ``SeedSequence(seed, spawn_key=(r,))``.

    Parameters
    ----------
    seed : int
        s ≥ 0, of all of them.
    runs : int
        How many.
    first : int
        Number of the first.

    Examples
    --------
    >>> [s.spawn_key for s in run_seeds(7, 2)]
    [(0,), (1,)]
    """
    return [np.random.SeedSequence(seed, spawn_key=(r,)) for r in range(first, first + runs)]


def stream(seed: np.random.SeedSequence, name: str) -> np.random.Generator:
    """Return a fresh generator at the start of the tape `name` of one run."""
    child = np.random.SeedSequence(seed.entropy, spawn_key=(*seed.spawn_key, *name.encode()))
    return np.random.Generator(np.random.PCG64(child))


def streams(seeds: Sequence[np.random.SeedSequence], name: str) -> list[np.random.Generator]:
    """Return the tape `name` of every run, as generators (for draws that are rare or not uniform)."""
    return named(seeds, name)


def own_stream(seed: np.random.SeedSequence, name: str) -> np.random.Generator:
    """Return `stream`'s numbers from a generator whose ancestry says nothing about the run's other tapes.

    It is for strangers: its seed sequence is a hash of the tape's own name, so that what it spawns is its own, and
    no other tape can be drawn again from it.
    """
    original = stream(seed, name)
    key = repr((seed.entropy, seed.spawn_key, name)).encode()
    bits = np.random.PCG64(np.random.SeedSequence(int.from_bytes(hashlib.sha256(key).digest(), "big")))
    source = original.bit_generator
    assert isinstance(source, np.random.PCG64)
    bits.state = source.state
    return np.random.Generator(bits)


class Uniforms:
    """The tape `name` of every run as uniforms on [0, 1), read row by row, in blocks, or by each run at its own pace.

    The ways may take turns: whatever is read, a run goes on where it stood, and no number depends on the others of its
    batch or on how far ahead it has read (as far as it has come).  A compiled reader takes
    ``block[r, at[r] : at[r] + width]`` and moves ``at[r]``; `ensure` keeps that many in store.

    Parameters
    ----------
    seeds : sequence of R SeedSequences
        The runs.
    name : str
        The tape's name.
    shape : tuple of int
        A row: what one run reads per step.

    Attributes
    ----------
    block : (R, L) float
        What is unread stands at the end of a run's row.  `ensure` may replace the array.
    at : (R,) int

    Examples
    --------
    >>> tape, again = (Uniforms(run_seeds(0, 3), "reward", (2,)) for _ in range(2))
    >>> tape.next().shape
    (3, 2)
    >>> rows = again.some(2)
    >>> bool((tape.next() == rows[1]).all()), bool((tape.take(2, 4) == again.take(2, 4)).all())
    (True, True)
    """

    def __init__(self, seeds: Sequence[np.random.SeedSequence], name: str, shape: tuple[int, ...] = ()):
        self._name, self._seeds = name, seeds
        self._data = many(len(seeds))  # whether all generators are data
        self._shape, self._width = shape, math.prod(shape)
        self.block = np.empty((len(seeds), 0))
        self.at = np.zeros(len(seeds), np.int64)
        self._ahead = np.full(len(seeds), _FIRST)  # doubles that a run reads when it next runs short
        self._rows = np.empty((0, len(seeds), *shape))  # rows of all runs
        self._left = 0  # how many of them are left
        self._read_rows: int | None = 0  # how many were ever read; None: runs have read at their own pace

    @cached_property
    def _words(self) -> Array | None:
        """The generators as data, where runs are many."""
        return sown(self._seeds, self._name) if many(len(self._seeds)) else None

    @cached_property
    def _rngs(self) -> list[np.random.Generator | None]:
        """The generators that have read much, or are few, as NumPy has them."""
        return [None] * len(self._seeds) if self._words is not None else [*streams(self._seeds, self._name)]

    def next(self) -> Array:
        """Return the next row of every run, ``(R, *shape)``; valid until the next call."""
        if not self._left:
            self._read(1)
        row: Array = self._rows[-self._left]
        self._left -= 1
        return row

    def some(self, most: int) -> Array:
        """Read the next 1 to `most` rows of every run, ``(rows, R, *shape)``; valid until the next call."""
        if not self._left:
            self._read(most)
        rows: Array = self._rows[-self._left :][:most]
        self._left -= len(rows)
        return rows

    def rows(self, count: int) -> Array:
        """Read the next `count` rows of every run, ``(count, R, *shape)``."""
        read: list[Array] = []
        while (left := count - sum(map(len, read))) > 0:
            read.append(self.some(left).copy())
        return np.concatenate(read)

    def _read(self, rows: int) -> None:
        """Have so many rows of all runs ready, if a block holds them, and as many more as the shortest run has come."""
        read = self._read_rows
        ahead = max(rows * self._width, int(self._ahead.min()))  # where runs start afresh, little is read in vain
        rows = max(1, min(ahead, _BLOCK) // self._width)
        if len(self._rows) != rows:
            self._rows = np.empty((rows, *self._rows.shape[1:]))
        if self._data and rows * self._width <= _SHORT:
            read_rows(self.block, self.at, self._words, self._rows.reshape(rows, len(self._rngs), self._width))
        else:
            for r in range(len(self._rngs)):
                self._rows[:, r] = self.take(r, rows * self._width).reshape(rows, *self._shape)
        self._left, self._read_rows = rows, None if read is None else read + rows
        self._ahead[:] = min(2 * ahead, _BLOCK)

    def _fill(self, run: int, out: Array) -> None:
        """Fill ``(n,)`` `out` with the next uniforms of a run's generator."""
        if (rng := self._rngs[run]) is None and self._words is not None:
            if len(out) <= _SHORT:
                draw(self._words[run : run + 1], out[None])
                return
            self._rngs[run] = rng = grown(self._words[run])
            self._data = False
        assert rng is not None
        rng.random(out=out)

    def take(self, run: int, width: int) -> Array:
        """Read the next `width` uniforms of one run."""
        self._settle()
        stored = self.block[run, self.at[run] : self.at[run] + width]
        self.at[run] += len(stored)
        fresh = np.empty(width - len(stored))
        self._fill(run, fresh)
        return np.concatenate([stored, fresh]) if len(stored) else fresh

    def ensure(self, width: int, run: int | None = None) -> None:
        """Have at least `width` unread uniforms in store for every run, or for one."""
        self._settle()
        short = np.flatnonzero(self.at + width > self.block.shape[1])
        for r in short if run is None else short[short == run]:
            rest = self.block[r, self.at[r] :].copy()
            more = max(width - len(rest), int(self._ahead[r]))
            self._ahead[r] = min(2 * self._ahead[r], _BLOCK)
            self._widen(len(rest) + more)
            self.at[r] = start = self.block.shape[1] - len(rest) - more
            self.block[r, start : start + len(rest)] = rest
            self._fill(int(r), self.block[r, start + len(rest) :])

    def reset(self, seeds: Sequence[np.random.SeedSequence], rows: Sequence[int] | Array, read: int = 0) -> Array:
        """Start the tapes of the runs `rows` anew; return the first `read` rows of each, ``(n, read, …)``."""
        first = np.empty((len(seeds), read * self._width))
        # Rows of all runs that are read already have those of the new tapes in them; the other runs' are not touched.
        ready = self._rows.reshape(len(self._rows), len(self._rngs), self._width)[len(self._rows) - self._left :]
        self.at[rows], self._ahead[rows] = self.block.shape[1], _FIRST
        if self._words is not None:
            begin_rows(sown(seeds, self._name), np.asarray(rows), self._words, first, ready)
            if not self._data:
                for row in rows:
                    self._rngs[row] = None
                self._data = not any(self._rngs)
        else:
            for row, rng, out in zip(rows, streams(seeds, self._name), first, strict=True):
                self._rngs[row] = rng
                rng.random(out=out)
                ready[:, row] = rng.random(ready[:, row].shape)
        return first.reshape(len(seeds), read, *self._shape)

    def __setitem__(self, rows: Sequence[int] | Array, fresh: Uniforms) -> None:
        """Start the tapes of the runs `rows` anew: those of `fresh`, of which rows alone have been read."""
        if fresh._read_rows is None:
            raise ValueError("a stream that has been read run by run cannot be put into another")
        self.reset(fresh._seeds, rows, fresh._read_rows - fresh._left)

    def _settle(self) -> None:
        """Put the rows that were read and not handed out back into the store."""
        if self._left:
            more = self._left * self._width
            self._widen(self.block.shape[1] + max(0, more - int(self.at.min())))
            for r, start in enumerate(self.at - more):
                self.block[r, start : start + more] = self._rows[-self._left :, r].ravel()
            self.at -= more
            self._left = 0
        self._read_rows = None

    def _widen(self, width: int) -> None:
        """Make room for `width` uniforms; what is unread stays at the end."""
        more = width - self.block.shape[1]
        if more > 0:
            self.block = np.concatenate([np.empty((len(self.block), more)), self.block], 1)
            self.at += more
