"""Random streams: one tape per name per run.

A tape is named (``"reward"``, ``"activation"``, ``"graph"``, ``"agent/DP-MASE"``, ``"wrapper/Huber"``) and
belongs to one run.  What a run draws depends on that run alone, so a run by itself equals its row in a
batch bit for bit, and adding a reader changes no other tape.  NumPy's global state is never touched.
"""

from __future__ import annotations

import copy
import hashlib
import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import numpy as np

from hushbandits.core.ground.types import Array

__all__ = ["LONGEST", "TAPES", "Ragged", "Uniforms", "own_stream", "reading_ahead", "run_seeds", "stream", "streams"]

_BLOCK = 1 << 14  # doubles read ahead per run (128 KiB)
#: Bytes that a run's tape takes.
TAPES = 8 * _BLOCK + 4096
#: Longest horizon: a double counts every round.
LONGEST = 1 << 53


@contextmanager
def reading_ahead(doubles: int) -> Iterator[None]:
    """Let tapes that are opened meanwhile read so few doubles ahead: for many short runs.  No number depends on it.

    Examples
    --------
    >>> with reading_ahead(2):
    ...     tape = Uniforms(run_seeds(0, 3), "reward", (2,))
    >>> bool((tape.next() == Uniforms(run_seeds(0, 3), "reward", (2,)).next()).all())
    True
    """
    global _BLOCK
    before, _BLOCK = _BLOCK, doubles
    try:
        yield
    finally:
        _BLOCK = before


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
    """Return a fresh generator at the start of the tape `name` of one run.

    Examples
    --------
    >>> seed = run_seeds(0, 1)[0]
    >>> stream(seed, "reward").random() == stream(seed, "reward").random()
    True
    """
    child = np.random.SeedSequence(seed.entropy, spawn_key=(*seed.spawn_key, *name.encode()))
    return np.random.Generator(np.random.PCG64(child))


def streams(seeds: Sequence[np.random.SeedSequence], name: str) -> list[np.random.Generator]:
    """Return the tape `name` of every run, as generators (for draws that are rare or not uniform)."""
    return [stream(seed, name) for seed in seeds]


def own_stream(seed: np.random.SeedSequence, name: str) -> np.random.Generator:
    """Return `stream`'s numbers from a generator whose ancestry says nothing about the run's other tapes.

    It is for strangers: its seed sequence is a hash of the tape's own name, so that what it spawns is its own, and
    no other tape can be drawn again from it.

    Examples
    --------
    >>> seed = run_seeds(0, 1)[0]
    >>> own_stream(seed, "agent/A").random() == stream(seed, "agent/A").random()
    True
    """
    original = stream(seed, name)
    key = repr((seed.entropy, seed.spawn_key, name)).encode()
    bits = np.random.PCG64(np.random.SeedSequence(int.from_bytes(hashlib.sha256(key).digest(), "big")))
    source = original.bit_generator
    assert isinstance(source, np.random.PCG64)
    bits.state = source.state
    return np.random.Generator(bits)


class Uniforms:
    """The tape `name` of every run as uniforms on [0, 1), read one row per step.

    Parameters
    ----------
    seeds : sequence of R SeedSequences
        The runs.
    name : str
        The tape's name.
    shape : tuple of int
        What one run reads per step; it must not depend on the other runs of the batch.

    Examples
    --------
    >>> tape = Uniforms(run_seeds(0, 3), "reward", (2,))
    >>> tape.next().shape
    (3, 2)
    """

    def __init__(self, seeds: Sequence[np.random.SeedSequence], name: str, shape: tuple[int, ...]):
        self._name = name
        self._rngs = streams(seeds, name)
        self._shape = shape
        # The block's length changes the memory, not the numbers: a generator's doubles come in sequence.
        self._rows = max(1, _BLOCK // max(1, math.prod(shape)))
        self._block = np.empty((self._rows, len(self._rngs), *shape))
        self._at = self._rows

    def next(self) -> Array:
        """Return the next row of every run, ``(R, *shape)``; valid until the next call."""
        if self._at == self._rows:
            self._fill()
        row: Array = self._block[self._at]
        self._at += 1
        return row

    def some(self, most: int) -> Array:
        """Read the next rows of every run, from 1 to `most` of them, ``(rows, R, *shape)``; valid until the next call.

        Examples
        --------
        >>> tape, again = (Uniforms(run_seeds(0, 3), "reward", (2,)) for _ in range(2))
        >>> rows = tape.some(5)
        >>> all((row == again.next()).all() for row in rows)
        True
        """
        if self._at == self._rows:
            self._fill()
        rows: Array = self._block[self._at : self._at + most]
        self._at += len(rows)
        return rows

    def _fill(self) -> None:
        for r, rng in enumerate(self._rngs):
            self._block[:, r] = rng.random((self._rows, *self._shape))
        self._at = 0

    def restart(self, rows: Sequence[int] | Array, seeds: Sequence[np.random.SeedSequence]) -> None:
        """Give the runs `rows` fresh tapes of `seeds`; the others read on.

        Examples
        --------
        >>> tape, fresh = Uniforms(run_seeds(0, 3), "reward", ()), Uniforms(run_seeds(7, 1), "reward", ())
        >>> before = tape.next()
        >>> tape.restart([1], run_seeds(7, 1))
        >>> bool(tape.next()[1] == fresh.next()[0])
        True
        """
        for row, rng in zip(rows, streams(seeds, self._name), strict=True):
            self._begin(row, rng)

    def put_rows(self, fresh: Uniforms, rows: Sequence[int] | Array) -> None:
        """Put the tapes of `fresh`, as far as they are read, into the runs `rows`."""
        ahead = (fresh._rows - fresh._at) * math.prod(fresh._shape)
        for row, rng in zip(rows, fresh._rngs, strict=True):
            rng = copy.deepcopy(rng)
            bits = rng.bit_generator
            assert isinstance(bits, np.random.PCG64)  # one step per double
            bits.advance(-ahead)  # back to the first that is unread
            self._begin(row, rng)

    def _begin(self, row: int, rng: np.random.Generator) -> None:
        self._rngs[row] = rng
        self._block[self._at :, row] = rng.random((self._rows - self._at, *self._shape))


class Ragged:
    """The tape `name` of every run as uniforms, each run reading at its own pace.

    A reader takes ``block[r, at[r] : at[r] + width]`` and moves ``at[r]``; `ensure` keeps that many in store.

    Parameters
    ----------
    seeds : sequence of R SeedSequences
        The runs.
    name : str
        The tape's name.

    Attributes
    ----------
    block : (R, L) float
    at : (R,) int

    Examples
    --------
    >>> tape = Ragged(run_seeds(0, 2), "agent/A")
    >>> tape.ensure(3)
    >>> tape.take(1, 3).shape
    (3,)
    """

    _LENGTH = 1 << 12

    def __init__(self, seeds: Sequence[np.random.SeedSequence], name: str):
        self._name = name
        self._rngs = streams(seeds, name)
        self.block = np.empty((len(self._rngs), self._LENGTH))
        self.at = np.full(len(self._rngs), self._LENGTH)

    def ensure(self, width: int, run: int | None = None) -> None:
        """Have at least `width` unread uniforms in store for every run, or for one."""
        if width > self.block.shape[1]:
            self._widen(width)
        short = np.flatnonzero(self.at + width > self.block.shape[1])
        for r in short if run is None else short[short == run]:
            rest = self.block[r, self.at[r] :].copy()
            self.block[r, : len(rest)] = rest
            self.block[r, len(rest) :] = self._rngs[r].random(self.block.shape[1] - len(rest))
            self.at[r] = 0

    def take(self, run: int, width: int) -> Array:
        """Read the next `width` uniforms of one run."""
        self.ensure(width, run)
        self.at[run] += width
        return self.block[run, self.at[run] - width : self.at[run]].copy()

    def restart(self, rows: Sequence[int] | Array, seeds: Sequence[np.random.SeedSequence]) -> None:
        """Give the runs `rows` fresh tapes of `seeds`; the others read on.

        Examples
        --------
        >>> tape = Ragged(run_seeds(0, 2), "agent/A")
        >>> tape.restart([1], run_seeds(0, 1))
        >>> bool(tape.take(1, 1) == tape.take(0, 1))
        True
        """
        for row, rng in zip(rows, streams(seeds, self._name), strict=True):
            self._rngs[row] = rng
            self.at[row] = self.block.shape[1]

    def put_rows(self, fresh: Ragged, rows: Sequence[int] | Array) -> None:
        """Put the tapes of `fresh`, as far as they are read, into the runs `rows`."""
        self._widen(fresh.block.shape[1])
        for i, row in enumerate(rows):
            rest = fresh.block[i, fresh.at[i] :]
            self._rngs[row] = copy.deepcopy(fresh._rngs[i])
            self.at[row] = self.block.shape[1] - len(rest)
            self.block[row, self.at[row] :] = rest

    def _widen(self, width: int) -> None:
        """Make room for `width` uniforms; what is unread stays at the end."""
        more = width - self.block.shape[1]
        if more > 0:
            self.block = np.concatenate([np.empty((len(self.block), more)), self.block], 1)
            self.at += more
