"""Random streams of R runs, in which each number is a function of key, run, name and step.

A run alone therefore equals its row of a batch to the bit, and no draw moves another.
"""

import functools
import hashlib
import math
from collections.abc import Mapping, Sequence

import numpy as np

from hushbandits.core.random import philox, samplers
from hushbandits.core.utils import Array, Seeds, integer

#: Longest horizon: a double counts every round.
LONGEST = 1 << 53
_BLOCK = 1 << 12  # uniforms that are read ahead, at most
_AHEAD = 128  # exponentials that a generator draws ahead

#: Names of streams that this process has opened, by their words.
_NAMES: dict[int, str] = {}


@functools.lru_cache(maxsize=4096)
def word(name: str) -> np.uint64:
    """Return the 64-bit number that identifies the stream `name`.

    Raises
    ------
    ValueError
        Another name that was used before has the same word.
    """
    number = int.from_bytes(hashlib.blake2b(name.encode(), digest_size=8).digest(), "little")
    if _NAMES.setdefault(number, name) != name:
        raise ValueError(f"name={name!r} shares its random stream with {_NAMES[number]!r}: choose another name")
    return np.uint64(number)


def spawn_seeds(seed: int, runs: int, first: int = 0, world: str = "") -> Seeds:
    """Return the seeds of `runs` runs, numbered from `first` on, under the master `seed`, ``(runs, 3)``.

    Parameters
    ----------
    seed : int
        s ≥ 0.
    runs : int
        How many.
    first : int
        Number of the first.
    world : str
        What decides rewards and world, as text: under one master seed each world has runs of its own.

    Returns
    -------
    (runs, 3) uint64 array
        Two words of the key, from a ``SeedSequence`` of `seed` and `world`, and the run's number.

    Examples
    --------
    >>> spawn_seeds(7, 2)[:, 2].tolist()
    [0, 1]
    """
    seeds = np.empty((integer("runs", runs, 0), 3), np.uint64)
    seeds[:, :2] = _key(seed, world)
    seeds[:, 2] = np.arange(first, first + runs, dtype=np.uint64)
    return seeds


@functools.lru_cache(maxsize=64)
def _key(seed: int, world: str) -> Array:
    digest = hashlib.blake2b(world.encode(), digest_size=16).digest() if world else b""
    return np.random.SeedSequence([seed, *np.frombuffer(digest, "<u4").tolist()]).generate_state(2, np.uint64)


class Streams:
    """The random streams of R runs.

    Parameters
    ----------
    seeds : (R, 3) uint64 array
        As `spawn_seeds` returns them.

    Examples
    --------
    >>> rng = Streams(spawn_seeds(7, 3))
    >>> u = rng.uniforms(5, (2,), "reward")
    >>> u.shape, bool((u[2] == Streams(spawn_seeds(7, 1, first=2)).uniforms(5, (2,), "reward")[0]).all())
    ((3, 2), True)
    """

    def __init__(self, seeds: Seeds):
        self._seeds = seeds

    def __len__(self) -> int:
        return len(self._seeds)

    def uniforms(self, step: int | Array, shape: tuple[int, ...] = (), part: str = "") -> Array:
        """Return uniform samples ``(R, *shape)`` on [0, 1), at one `step` of all runs or at one step per run."""
        n = len(self._seeds)
        out, steps = np.empty((1, n, math.prod(shape))), np.zeros((2, n), np.uint64)
        steps[0] = step
        philox.fill_ahead(self._seeds, word(part), *steps, out)
        return out.reshape(n, *shape)

    def reader(self, shape: tuple[int, ...] = (), part: str = "") -> "Uniforms":
        """Return a reader that yields uniform samples of shape `shape` per run and step."""
        return Uniforms(self._seeds.copy(), part, shape)

    def generator(self, run: int, seat: int = 0, part: str = "") -> np.random.Generator:
        """Return a NumPy generator for one run, or for the agent with index `seat` in this run."""
        return generator_at(np.array([*self._seeds[run], word(part), seat], np.uint64))

    def generators(self, part: str = "") -> list[np.random.Generator]:
        """Return a list with the NumPy generator of each run."""
        return [self.generator(r, part=part) for r in range(len(self))]

    def cursors(self, each: int = 1, part: str = "") -> Array:
        """Return `each` cursors per run for compiled code, ``(R·each, 10)`` words, as `philox.uniform` reads them."""
        cursors = np.zeros((len(self._seeds) * each, philox.CURSOR), np.uint64)
        philox.open_cursors(self._seeds, word(part), each, cursors)
        return cursors

    def below(self, name: str) -> "Streams":
        """Return streams with new keys derived from `name`; the new keys give no access to any other stream."""
        seeds = self._seeds.copy()
        philox.philox_rows(self._seeds, word(name), seeds)
        return Streams(seeds)


class Uniforms:
    """Reader of the uniform samples of R runs, step by step.

    Step t is row t of ``Generator(Philox(key=key, counter=[0, 2**64 - 1, run, name])).random((T, *shape))``: no word of
    a block goes unread.

    Parameters
    ----------
    seeds : (R, 3) uint64 array
    part : str
        The stream's name.
    shape : tuple of int
        What a run reads in a step.

    Attributes
    ----------
    step : (R,) int array
        The step of each run at which what is read ahead begins.

    Examples
    --------
    >>> reader, again = (Streams(spawn_seeds(0, 3)).reader((2,)) for _ in range(2))
    >>> rows = again.rows(2)
    >>> bool((reader.next() == rows[0]).all()), bool((reader.next() == rows[1]).all())
    (True, True)
    """

    def __init__(self, seeds: Seeds, part: str, shape: tuple[int, ...]):
        self.seeds, self.word, self._shape = seeds, word(part), shape
        self.step = np.zeros(len(seeds), np.uint64)
        self._width = math.prod(shape)
        self._section = ~self.step  # the counter's step where a reader reads
        self._read: Array = np.empty((0, len(seeds), *shape))  # the next steps, as far as they are read ahead
        self._at = 0

    def __setitem__(self, rows: Array, fresh: "Uniforms") -> None:
        fresh._forget()
        self._forget()
        self.seeds[rows], self.step[rows] = fresh.seeds, fresh.step

    def _ahead(self, count: int, at: slice = slice(None)) -> Array:
        """Return samples of `count` steps from `step` on of the runs `at`, ``(count, R, *shape)``."""
        seeds = self.seeds[at]
        out = np.empty((count, len(seeds), self._width))
        philox.fill_ahead(seeds, self.word, self._section[at], self.step[at] * np.uint64(self._width), out)
        return out.reshape(count, len(seeds), *self._shape)

    def next(self) -> Array:
        """Return the uniform samples of every run's next step, ``(R, *shape)``; the next call may invalidate them."""
        if self._at == len(self._read):
            ahead = min(2 * len(self._read), _BLOCK // max(1, self._width * len(self.seeds)))
            self._forget()
            self._read = self._ahead(max(1, ahead))
        row: Array = self._read[self._at]
        self._at += 1
        return row

    def _forget(self) -> None:
        """Forget what is read ahead, so that `step` is the next step."""
        if self._at:
            self.step += np.uint64(self._at)
        self._read, self._at = self._read[:0], 0

    def rows(self, count: int, runs: slice = slice(None)) -> Array:
        """Return the uniform samples of the next `count` steps of the `runs`, ``(count, R, *shape)``."""
        self._forget()
        rows = self._ahead(count, runs)
        self.step[runs] += np.uint64(count)
        return rows

    def take(self, run: int, count: int) -> Array:
        """Return the uniform samples of the next `count` steps of one run, ``(count, *shape)``."""
        return self.rows(count, slice(run, run + 1)).squeeze(1)


class Draws(Sequence[np.random.Generator]):
    """Random streams of R runs for samples that need a variable number of uniforms.

    Parameters
    ----------
    rng : Streams
    part : str
        The stream's name.

    Attributes
    ----------
    cursors : (R, 10) words
        What `samplers` draw from; the generators stand at another step.
    """

    def __init__(self, rng: "Streams", part: str = ""):
        self.cursors, self._words = (rng.cursors(part=part) for _ in range(2))
        self._words[:, philox.STEP] = 1  # compiled code reads a generator's first numbers there, until it is made
        self._made: dict[int, np.random.Generator] = {}
        #: Exponentials that each generator has drawn ahead, how many of them are used, and its state before.
        self._ahead, self._used = np.empty((0, _AHEAD)), np.full(len(self), _AHEAD)
        self._before: dict[int, Mapping[str, object]] = {}

    def __len__(self) -> int:
        return len(self.cursors)

    def __getitem__(self, run: int) -> np.random.Generator:  # type: ignore[override]
        if run not in self._made:
            self._made[run] = generator_at(self._words[run], int(self._words[run, philox.PLACE]))
        rng = self._made[run]
        if self._used[run] < _AHEAD:  # goes back to the first unused number
            rng.bit_generator.state = self._before.pop(run)
            rng.standard_exponential(self._used[run])
            self._used[run] = _AHEAD
        return rng

    def __setitem__(self, rows: Array, fresh: "Draws") -> None:
        self.cursors[rows], self._words[rows] = fresh.cursors, fresh._words
        for row in rows if self._made else ():
            self._made.pop(int(row), None)
            self._before.pop(int(row), None)
            self._used[row] = _AHEAD

    def uniforms(self, counts: Array) -> Array:
        """Return the next ``counts[r]`` uniform samples of each run's generator, run by run."""
        if self._made:
            return np.concatenate([self[run].random(n) for run, n in enumerate(counts.tolist())])
        out = np.empty(np.add.reduce(counts))
        philox.fill_in_turn(self._words, np.arange(len(counts)), counts, out)
        return out

    def geometric_differences(self, p: Array) -> Array:
        """Return differences of two samples ``geometric(p)`` of each run's generator, ``(R, C)``; 0 where p is 0."""
        out, most = np.zeros(p.shape, np.int64), 2 * p.shape[1]
        by_uniforms = np.count_nonzero(p >= 1 / 3)  # from 1/3 on, NumPy makes them of uniforms
        if by_uniforms == np.count_nonzero(p) and not self._made:
            samplers.searched_differences(self._words, p, out)
            return out
        if most > _AHEAD or by_uniforms:
            at = p.nonzero()
            for run, c, share in zip(*(each.tolist() for each in (*at, p[at])), strict=True):
                geometric = self[run].geometric
                out[run, c] = geometric(share) - geometric(share)
            return out
        if not len(self._ahead):  # few streams read ahead
            self._ahead = np.empty((len(self), _AHEAD))
        for run in (self._used + most > _AHEAD).nonzero()[0].tolist():
            rng = self[run]
            self._before[run] = rng.bit_generator.state
            rng.standard_exponential(out=self._ahead[run])
            self._used[run] = 0
        samplers.geometric_differences(self._ahead, self._used, p, out)
        return out

    def binomials(self, n: Array, p: Array) -> Array:
        """Return samples of Bin(n, p), ``(R, C)``."""
        out = np.empty(n.shape, np.int64)
        samplers.binomials(self.cursors, n, np.ascontiguousarray(p, float), out)
        return out

    def differences(self, a: Array, p: Array) -> Array:
        """Return differences of two samples of NB(a, p), or of Poisson(a) where p is NaN, ``(R, C)``."""
        out = np.empty(a.shape, np.int64)
        samplers.differences(self.cursors, a, p, out)
        return out


def generator_at(cursor: Array, place: int = 0) -> np.random.Generator:
    """Return a NumPy generator at a place of the cursor's step.

    What it samples from its uniforms may depend on NumPy's version.
    """
    counter = np.array([place // 4, cursor[philox.STEP], cursor[2], cursor[philox.NAME]], np.uint64)
    rng = np.random.Generator(np.random.Philox(key=cursor[:2], counter=counter))
    rng.random(place % 4)
    return rng
