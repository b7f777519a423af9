"""Pools of users with identically distributed rewards; only the sum of their rewards is sampled."""

from collections.abc import Callable
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from hushbandits.core import Array, Bernoulli, Law, Noise, lean
from hushbandits.core.random.btpe import add_binomials, add_multinomials
from hushbandits.core.random.philox import CURSOR, fill_in_turn
from hushbandits.core.random.samplers import binomials
from hushbandits.core.random.streams import Draws
from hushbandits.envs.feedback.users import Cohort, Rngs, blocks, encoded, fits, in_turn, not_encoded
from hushbandits.privacy.ledger import Noises

_CHUNK = 1 << 14  # users simulated at once if a law has no shortcut
_PIPED = 1 << 16  # the same if their rewards are changed before they are encoded: noise is drawn by the chunk
_AT_ONCE = 1 << 16  # cells of roundings computed at once, which saves calls but makes more copies


@lean
def _add_up(x, sizes, total):
    """Add the next ``sizes[b]`` values to each ``total[b]``, one by one: a float sum must not depend on chunks."""
    at = 0
    for b in range(sizes.size):
        for _ in range(sizes[b]):
            total[b] += x[at]
            at += 1


@lean
def _number(at, where, g, kind, location, levels):
    """Number the kinds of the blocks `at`, in which equal blocks are adjacent, and return how many kinds there are."""
    count = 0
    for i in range(at.size):
        b = at[i]
        if count == 0 or where[b] != location[count - 1] or g[b] != levels[count - 1]:
            location[count], levels[count] = where[b], g[b]
            count += 1
        kind[i] = count - 1
    return count


class _Part(NamedTuple):
    """A group of users with the same reward law: their number per run and server, and the law."""

    n: Array
    law: Law
    location: Array


#: Noise by the planned size of a block, and what it is drawn from.
_Added = tuple[Callable[[int], Noise], Rngs]
#: One step of a user's pipeline: ``(x, r, m) → x``.
_Step = Callable[[Array, int, int], Array]


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

    def __init__(self, planned: Array, law: Law, location: Array, cursors: Array):
        self.planned, self.n = planned, planned
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
        return folded._with(_before=(*folded._before, lambda x, r, m: function(x)))

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
            plain = [isinstance(part.law, Bernoulli) for part in self._parts]
            self._total = self._sum_parts() if self._before or not all(plain) else self._sum_binomials()
            for noise, rngs in self._noises:
                self._add_noise(noise, rngs, self._total)
        return self._total

    def _sum_binomials(self) -> Array:
        cursors, drawn = self._cursors.reshape(-1, CURSOR), np.empty((self.planned.size, 1), np.int64)
        total = np.zeros(drawn.shape, float if self._grid is None else np.int64)
        for part in self._parts:
            binomials(cursors, part.n.reshape(-1, 1), part.location.reshape(-1, 1), drawn)
            total += drawn
        sums: Array = total.reshape(self.planned.shape)
        return sums if self._grid is None else sums * self._grid

    def _sum_parts(self) -> Array:
        total = np.zeros(self.planned.size, np.int64 if self.encoded else np.float64)
        there = self.planned.ravel().nonzero()[0]
        for at in [there] if len(self._parts) == 1 else there[:, None]:  # parts of a block read its stream in turn
            for part in self._parts:
                self._add_part(part, at[part.n.ravel()[at] > 0], total)
        return total.reshape(self.planned.shape)

    def _add_part(self, part: _Part, at: Array, total: Array) -> None:
        """Add the sums of a part of the blocks `at`, indices of all runs' servers, to `total`, ``(R·M,)``."""
        n, where, cursors = part.n.ravel(), part.location.ravel(), self._cursors.reshape(-1, CURSOR)
        g = np.ones(n.size, np.int64) if self._grid is None else self._grid.ravel()
        if isinstance(part.law, Bernoulli) and not self._before:
            add_binomials(cursors, at, n, where, g, total)
            return
        alone = at
        if self._grid is not None and not self._before:
            small = (2 * g > n)[at]
            alone, many = at[small], at[~small]
            if many.size and not _add_rounded(part.law, cursors, many, n, where, g, total):
                alone = at
        if alone.size:
            self._simulate(part.law, cursors, alone, n, where, total)

    def _simulate(self, law: Law, cursors: Array, at: Array, n: Array, where: Array, total: Array) -> None:
        """Add to the totals of the blocks `at`, whose users are simulated one by one: small blocks together."""
        chunk, servers = _PIPED if self._before else _CHUNK, self.planned.shape[1]
        for some in _groups(n[at], 1 if self._before else chunk):
            here = at[some]
            users, runs, sums = n[here], here // servers, np.zeros(len(here), total.dtype)
            for start in range(0, int(np.maximum.reduce(users)), chunk):
                sizes = np.minimum(users - start, chunk)
                u = np.empty(np.add.reduce(sizes))
                fill_in_turn(cursors, here, sizes, u)
                x = law.quantile(u, np.repeat(where[here], sizes))
                for step in self._before:
                    x = step(x, runs[0], here[0] % servers)
                if self._grid is not None:
                    coins = in_turn(self._coins, np.bincount(runs, sizes).astype(int))
                    x = encoded(x, coins, sizes, self._grid.ravel()[here])
                _add_up(x, sizes, sums)
            total[here] += sums

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

    def values(self) -> Array:
        """Raise ``ValueError``, because a pool has no individual rewards."""
        raise ValueError('pooled users have no individual rewards, only a sum; set simulate_users="individual"')


def _add_rounded(law: Law, cursors: Array, at: Array, n: Array, where: Array, g: Array, total: Array) -> bool:
    """Add sums of rounded rewards to the totals of the blocks `at`; return whether the law has a rounding."""
    at = at[np.lexsort((g[at], where[at]))]
    kind, location, levels = np.empty(at.size, np.int64), np.empty(at.size), np.empty(at.size, np.int64)
    count = _number(at, where, g, kind, location, levels)  # equal blocks share a rounding
    for some in _groups(levels[:count], _AT_ONCE):
        pmf = law.roundings(location[some], levels[some])
        if pmf is None:
            return False
        add_multinomials(cursors, at, n, kind, some.start, levels[some], pmf, total)
    return True


def _groups(sizes: Array, most: int) -> list[slice]:
    """Return consecutive groups of the `sizes`, of which those of several add up to at most ``2 · most``."""
    if np.add.reduce(sizes) <= most:
        return [slice(0, len(sizes))]
    apart = (np.diff(np.cumsum(sizes) // most) > 0) | (sizes[:-1] > most)
    return [slice(*ends) for ends in pairwise([0, *(np.flatnonzero(apart) + 1).tolist(), len(sizes)])]


def _thin(n: Array, rate: Array, rngs: Rngs) -> Array:
    if isinstance(rngs, Draws):
        return rngs.binomials(n, rate)
    out = np.zeros_like(n)
    for r, m, count in blocks(n):
        out[r, m] = rngs[r].binomial(count, rate[r, m])
    return out


def _noise_step(noise: Callable[[int], Noise], rngs: Rngs, planned: Array) -> _Step:
    return lambda x, r, m: x + noise(int(planned[r, m])).draw(rngs[r], len(x))
