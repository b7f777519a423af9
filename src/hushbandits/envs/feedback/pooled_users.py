"""Pools of users with identically distributed rewards; only the sum of their rewards is sampled."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from hushbandits.core import Array, Bernoulli, Law, Noise, jit, lean
from hushbandits.core.random.philox import fill
from hushbandits.core.random.rewards import ClippedGaussian
from hushbandits.core.random.samplers import binomial
from hushbandits.core.random.streams import Draws, generator_at
from hushbandits.envs.feedback.users import Cohort, Rngs, blocks, fits, not_encoded, round_at_random
from hushbandits.privacy.ledger import Noises

Rounded = dict[tuple[int, float, int], tuple[Law, Array | None]]

_CHUNK = 1 << 14  # users simulated at once if a law has no shortcut
_PIPED = 1 << 16  # the same if their rewards are changed before they are encoded: noise is drawn by the chunk
_AT_ONCE = 1 << 16  # cells of roundings computed at once, which saves calls but makes more copies
#: The state of a Philox generator that has read nothing.
_BLANK = {"bit_generator": "Philox", "buffer": (0,) * 4, "buffer_pos": 4, "has_uint32": 0, "uinteger": 0}


@jit
def _add_binomials(cursors, n, p, total):
    """Add a sample of Bin(n, p) from each block's cursor to `total`, ``(R, M)``."""
    for r in range(total.shape[0]):
        for m in range(total.shape[1]):
            if n[r, m] > 0:
                total[r, m] += binomial(cursors[r], m, n[r, m], p[r, m])


@lean
def _add_up(total, x):
    for value in x:  # in order, whatever the chunks
        total += value
    return total


class _Part(NamedTuple):
    """A group of users with the same reward law: their number per run and server, and the law."""

    n: Array
    law: Law
    location: Array


#: Noise by the planned size of a block, and what it is drawn from.
_Added = tuple[Callable[[int], Noise], Rngs]
#: One step of a user's pipeline: ``(x, r, m, rng) → x``.
_Step = Callable[[Array, int, int, np.random.Generator], Array]


class Pooled(Cohort):
    """A cohort of pools of users, whose sum is sampled once, by the first call of `total`.

    Bernoulli rewards sum to a Binomial.  Encoded rewards of a law with a `rounding` are i.i.d. on {0..g}: one
    Multinomial.  Some sums have no such shortcut: raw sums of a continuous law, and rewards that are mapped or noised
    before they are encoded.  For these, and where the shortcut costs more (g > n/2), users are simulated in chunks:
    the same distribution, slower.

    Parameters
    ----------
    planned : (R, M) int
    law : Law
    location : (R, M) array
        The location of the law for the block's arm.
    cursors : (R, M, 10) words
        The position in the random stream at which each block's rewards start.
    rounded : dict
        A cache of roundings (`Law.rounding`), shared by all blocks.

    Examples
    --------
    >>> from hushbandits.core import Streams, spawn_seeds
    >>> n, cursors = np.array([[1_000_000]]), Streams(spawn_seeds(7, 1)).cursors()[None]
    >>> crowd = Pooled(n, Bernoulli(), np.array([[0.5]]), cursors)
    >>> bool(abs(crowd.total() - 500_000).item() < 3_000)
    True
    >>> crowd.values()
    Traceback (most recent call last):
        ...
    ValueError: pooled users have no individual rewards, only a sum; set simulate_users="individual"
    """

    def __init__(self, planned: Array, law: Law, location: Array, cursors: Array, rounded: Rounded | None = None):
        self.planned, self.n = planned, planned
        self._rounded = {} if rounded is None else rounded
        self._parts: tuple[_Part, ...] = (_Part(planned, law, location),)
        self._cursors = cursors
        self._before: tuple[_Step, ...] = ()  # steps applied to a reward before it is encoded
        self._grid: Array | None = None
        self._coins: Rngs = ()
        self._noises: tuple[_Added, ...] = ()  # added at the end: a sum of noises is the noise of the sum
        self._total: Array | None = None

    def _with(self, **changes: object) -> "Pooled":
        if self._total is not None:
            raise RuntimeError("the sum of this cohort has been drawn already, so no reward of the cohort can change")
        crowd = object.__new__(Pooled)
        crowd.__dict__.update(self.__dict__, **changes)
        return crowd

    def map(self, function: Callable[[Array], Array]) -> "Pooled":
        """Apply `function` to every user's reward when the sum is sampled."""
        not_encoded(self)
        folded = self._fold()
        return folded._with(_before=(*folded._before, lambda x, r, m, rng: function(x)))

    def inside(self) -> bool:
        """Return whether the reward laws keep all rewards in [0, 1]; False after a function or noise was applied."""
        return not (self._before or self._noises) and all(part.law.inside(part.location) for part in self._parts)

    def drop(self, rate: Array | float, rngs: Rngs) -> "Pooled":
        """Drop a binomial number of users from every pool."""
        keep = 1.0 - np.broadcast_to(np.asarray(rate, float), self.planned.shape)
        parts = tuple(part._replace(n=_thin(part.n, keep, rngs)) for part in self._parts)
        return self._with(_parts=parts, n=sum(part.n for part in parts))

    def replace(self, rate: Array | float, law: Law, location: float, rngs: Rngs) -> "Pooled":
        """Move a binomial number of users from every pool to a new pool with reward law `law`."""
        if self._before or self._noises or self.encoded:
            raise ValueError("rewards can be replaced only before noise or encoding: put this wrapper first")
        rates = np.broadcast_to(np.asarray(rate, float), self.planned.shape)
        moved = [_thin(part.n, rates, rngs) for part in self._parts]
        stay = [part._replace(n=part.n - gone) for part, gone in zip(self._parts, moved, strict=True)]
        there = np.full(self.planned.shape, float(location))
        return self._with(_parts=(*stay, _Part(sum(moved[1:], moved[0]), law, there)))

    def add(self, noise: Callable[[int], Noise], rngs: Rngs) -> "Pooled":
        """Add a sample of the remaining users' total noise to the sum when the sum is sampled."""
        return self._with(_noises=(*self._noises, (noise, rngs)))

    def encode(self, g: Array, rngs: Rngs) -> "Pooled":
        """Encode rewards as integers when the sum is sampled."""
        not_encoded(self)
        return self._fold()._with(_grid=g, _coins=rngs, encoded=True)

    def modulo(self, m: Array) -> "Pooled":
        """Return the cohort unchanged: the unreduced sum is correct mod `m` as well."""
        return self

    def _fold(self) -> "Pooled":
        # Noise before another step is no longer a summand: it becomes a step of every user's pipeline.
        if not self._noises:
            return self
        steps = tuple(_noise_step(noise, rngs, self.planned) for noise, rngs in self._noises)
        return self._with(_before=(*self._before, *steps), _noises=())

    def total(self) -> Array:
        """Return the sum of each block, which the first call samples."""
        if self._total is None:
            plain = not self._before and all(isinstance(part.law, Bernoulli) for part in self._parts)
            self._total = self._sum_binomials() if plain else self._sum_parts()
            for noise, rngs in self._noises:
                self._add_noise(noise, rngs, self._total)
        return self._total

    def _sum_binomials(self) -> Array:
        total = np.zeros(self.planned.shape, float if self._grid is None else np.int64)
        for part in self._parts:
            _add_binomials(self._cursors, part.n, part.location, total)
        return total if self._grid is None else total * self._grid

    def _sum_parts(self) -> Array:
        total = np.zeros(self.planned.shape, np.int64 if self.encoded else np.float64)
        parts = [(part.law, part.n.tolist(), part.location.tolist()) for part in self._parts]
        grid = None if self._before else self._grid
        if grid is not None:
            for n, law, where in self._parts:
                due = (n > 0) & (2 * grid <= n)
                pairs = {*zip(where[due].tolist(), grid[due].tolist(), strict=True)}
                new = [pair for pair in pairs if (id(law), *pair) not in self._rounded]
                at_once = max(1, _AT_ONCE // int(grid.max()))
                for i in range(0, len(new), at_once):
                    for pair, pmf in zip(new[i:], roundings(law, new[i : i + at_once]), strict=False):
                        self._rounded[id(law), *pair] = law, pmf  # held, so that no other law gets its id
        rng = generator_at(self._cursors[0, 0])
        for r, m, _ in blocks(self.planned):
            k0, k1, run, name, step, *_ = self._cursors[r, m].tolist()
            # takes a tenth of the time of a new generator
            rng.bit_generator.state = {**_BLANK, "state": {"counter": (0, step, run, name), "key": (k0, k1)}}
            for law, n, location in parts:
                if n[r][m]:
                    total[r, m] += self._part_sum(n[r][m], law, location[r][m], r, m, rng)
        return total

    def _add_noise(self, noise: Callable[[int], Noise], rngs: Rngs, total: Array) -> None:
        rest = self.n
        if isinstance(noise, Noises) and isinstance(rngs, Draws):
            known, *pair = noise.pair(self.planned, self.n)
            total += rngs.differences(*pair)
            if known.all():
                return
            rest = self.n * ~known
        fits(self, noise)
        for r, m, left in blocks(rest):
            total[r, m] += noise(int(self.planned[r, m])).total(rngs[r], left)

    def _part_sum(self, n: int, law: Law, location: float, r: int, m: int, rng: np.random.Generator) -> float:
        g = None if self._grid is None else int(self._grid[r, m])
        if not self._before:
            if isinstance(law, Bernoulli):
                return rng.binomial(n, location) * (1 if g is None else g)
            # For g > n/2 cells it is cheaper to simulate the n users.
            pmf = None if g is None or 2 * g > n else self._rounded[id(law), location, g][1]
            if pmf is not None:
                return int(rng.multinomial(n, pmf) @ np.arange(len(pmf)))
        where, chunk = np.asarray(location), _PIPED if self._before else _CHUNK
        here = self._cursors[r, m : m + 1].copy()
        total: float = 0 if g else 0.0
        for start in range(0, n, chunk):
            u = np.empty(min(chunk, n - start))
            if len(self._parts) == 1 and not self._before:
                fill(here, 0, u)  # the same samples in half the time
            else:
                rng.random(out=u)
            x = law.quantile(u, where)
            for step in self._before:
                x = step(x, r, m, rng)
            if g is None:
                total = _add_up(total, x)
            else:
                total += int(round_at_random(x, g, self._coins[r].random(len(x))).sum())
        return total

    def values(self) -> Array:
        """Raise ``ValueError``, because a pool has no individual rewards."""
        raise ValueError('pooled users have no individual rewards, only a sum; set simulate_users="individual"')


def roundings(law: Law, blocks: Sequence[tuple[float, int]]) -> list[Array | None]:
    """Return ``law.rounding(location, g)`` of each of the `blocks`, computed together for a clipped Gaussian."""
    if type(law) is not ClippedGaussian or len(blocks) == 1:
        return [law.rounding(location, g) for location, g in blocks]
    location, g = np.array(blocks, float).T
    widths = g.astype(int) + 3  # of a segment with 0, the shortfalls at 0 … 1, and the one beyond
    ends = np.cumsum(widths)
    first, cells = ends - widths, np.repeat(g, widths)
    x = (np.arange(ends[-1]) - np.repeat(first + 1, widths)) / cells
    under = law.ramp(x, np.repeat(location, widths)) - np.repeat(law.ramp(0.0, location), widths)
    under[first], under[ends - 1] = 0.0, (g + 1) / g - law.mean(location)
    pmf = np.concatenate([[0.0], np.maximum(cells[:-2] * np.diff(under, 2), 0.0)])
    pmf[first] = 0.0  # one 0 before each segment, and its sum is to the bit that of the segment alone
    pmf[1:] /= np.repeat(np.add.reduceat(pmf, np.stack([first, ends - 1], 1).ravel()[:-1])[::2], widths)[:-2]
    return [pmf[start + 1 : end - 1] for start, end in zip(first.tolist(), ends.tolist(), strict=True)]


def _thin(n: Array, rate: Array, rngs: Rngs) -> Array:
    if isinstance(rngs, Draws):
        return rngs.binomials(n, rate)
    out = np.zeros_like(n)
    for r, m, count in blocks(n):
        out[r, m] = rngs[r].binomial(count, rate[r, m])
    return out


def _noise_step(noise: Callable[[int], Noise], rngs: Rngs, planned: Array) -> _Step:
    return lambda x, r, m, rng: x + noise(int(planned[r, m])).draw(rngs[r], len(x))
