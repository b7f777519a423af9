"""Blocks of users, one per run and server: individual users, pooled users, or sums alone.

Two forms share one interface.  `Individuals` hold an array ``(R, M, U)``.  A `Pooled` describes *n like users of one
arm* and draws only their sum, so a block of a million users costs microseconds; reading a pool's individuals raises.
Once a secure function has summed a block, it is `Sealed` and holds the sum alone.

The operations of wrappers (`map`, `drop`, `replace`, `add`, `encode`) work in both forms and return a new `Cohort`.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import NoReturn

import numpy as np

from hushbandits.core import Array, Inbox, Law, Noise, handed, jit, lean
from hushbandits.core.random.streams import Draws

Rngs = Sequence[np.random.Generator]


def blocks(n: Array) -> list[tuple[int, int, int]]:
    """Return a list with run, server and size of every non-empty block."""
    at = n.nonzero()
    return list(zip(at[0].tolist(), at[1].tolist(), n[at].tolist(), strict=True))


def in_turn(rngs: Rngs, counts: Array) -> Array:
    """Return the next ``counts[r]`` uniform samples of each run r, run by run."""
    if isinstance(rngs, Draws):
        return rngs.uniforms(counts)
    return np.concatenate([np.empty(0), *(rngs[r].random(int(n)) for r, n in enumerate(counts.tolist()) if n)])


def encoded(x: Array, coins: Array, sizes: Array, g: Array) -> Array:
    """Return ``⌊xg⌋ + Ber(xg − ⌊xg⌋)`` for rewards x clipped to [0, 1], of which ``sizes[i]`` in turn have ``g[i]``.

    `coins` are uniform samples.
    """
    code = np.empty(x.size, np.int64)
    _encode(x, coins, sizes, g, code)
    return code


@lean
def _encode(x, coins, sizes, g, code):
    at = 0
    for i in range(sizes.size):
        for j in range(at, at + sizes[i]):
            scaled = min(max(x[j], 0.0), 1.0) * g[i]
            whole = math.floor(scaled)
            code[j] = int(whole) + (coins[j] < scaled - whole)
        at += sizes[i]


class Cohort(ABC):
    """A block of users for each of R runs and M servers.

    Attributes
    ----------
    n : (R, M) int
        Users whose message is not lost.
    planned : (R, M) int
        Users to whom the server prescribed an arm.
    encoded : bool
        Whether messages have been encoded as integers.
    """

    n: Array
    planned: Array
    encoded: bool = False

    @abstractmethod
    def map(self, function: Callable[[Array], Array]) -> Cohort:
        """Apply `function` elementwise to every user's reward."""

    def inside(self) -> bool:
        """Return whether all rewards certainly lie in [0, 1]."""
        return False

    @abstractmethod
    def drop(self, rate: Array | float, rngs: Rngs) -> Cohort:
        """Drop each user with probability `rate`, a number or an array ``(R, M)``."""

    @abstractmethod
    def replace(self, rate: Array | float, law: Law, location: float, rngs: Rngs) -> Cohort:
        """Replace each reward with probability `rate` by a sample from `law` at `location`."""

    @abstractmethod
    def add(self, noise: Callable[[int], Noise], rngs: Rngs) -> Cohort:
        """Add noise to every user's reward; ``noise(n)`` is the distribution for a block planned for n users."""

    @abstractmethod
    def encode(self, g: Array, rngs: Rngs) -> Cohort:
        """Clip every reward to [0, 1] and encode it as ``⌊xg⌋ + Ber(xg − ⌊xg⌋)``; `g` is ``(R, M)``."""

    @abstractmethod
    def modulo(self, m: Array) -> Cohort:
        """Reduce every integer message mod `m`, ``(R, M)``; their sum is then correct mod `m` only."""

    def shuffle(self, rngs: Rngs) -> Cohort:
        """Shuffle the users of every block uniformly; pooled users have no order, so a pool is returned unchanged."""
        return self

    @abstractmethod
    def total(self) -> Array:
        """Return the sum over each block's users, ``(R, M)``: int64 if encoded, else float64.  It is drawn once."""

    @abstractmethod
    def values(self) -> Array:
        """Return individual rewards ``(R, M, U)``, NaN for lost users; raise ``ValueError`` if only sums exist."""

    def seal(self, total: Array, keep: Array, by: str) -> Sealed:
        """Return a cohort with the sums `total` alone; where `keep` is false, the sum is 0 and no user is left."""
        return Sealed(np.where(keep, self.n, 0), self.planned, np.where(keep, total, 0), by)


@jit
def _sums(values, present, modulus, out):
    # Sequential: a float sum must not depend on the padding of the rows.
    for r in range(values.shape[0]):
        for m in range(values.shape[1]):
            for u in range(values.shape[2]):
                if present[r, m, u]:
                    out[r, m] += values[r, m, u]
                    if modulus[r, m]:
                        out[r, m] %= modulus[r, m]


class Individuals(Cohort):
    """A cohort that holds every user's reward.

    Parameters
    ----------
    x : (R, M, U) array
        Rewards; column u is user u of the block.
    planned : (R, M) int
        How many columns hold users.
    """

    def __init__(self, x: Array, planned: Array, present: Array | None = None, modulus: Array | None = None):
        self.planned = planned
        self._modulus = modulus
        self._x = x
        self._present = self._asked if present is None else present
        self.n = self._present.sum(2)
        self.encoded = x.dtype.kind == "i"

    @property
    def _asked(self) -> Array:
        return np.arange(self._x.shape[2]) < self.planned[:, :, None]

    def map(self, function: Callable[[Array], Array]) -> Individuals:
        not_encoded(self)
        return Individuals(function(self._x), self.planned, self._present)

    def inside(self) -> bool:
        return not self.encoded and bool(((self._x >= 0.0) & (self._x <= 1.0)).all())

    def drop(self, rate: Array | float, rngs: Rngs) -> Individuals:
        """Drop each user with probability `rate`, with one uniform sample per planned user."""
        rates = np.broadcast_to(rate, self.planned.shape)
        present = self._present.copy()
        present[self._asked] &= in_turn(rngs, self.planned.sum(1)) >= np.repeat(rates, self.planned.ravel())
        return Individuals(self._x, self.planned, present, self._modulus)

    def replace(self, rate: Array | float, law: Law, location: float, rngs: Rngs) -> Individuals:
        """Replace each reward with probability `rate` by a sample from `law`; each planned user takes two uniforms."""
        not_encoded(self)
        rates = np.broadcast_to(rate, self.planned.shape)
        x = self._x.copy()
        for r, m, n in blocks(self.planned):
            hit, drawn = rngs[r].random(n) < rates[r, m], law.quantile(rngs[r].random(n), np.array(location))
            x[r, m, :n] = np.where(hit, drawn, x[r, m, :n])
        return Individuals(x, self.planned, self._present)

    def add(self, noise: Callable[[int], Noise], rngs: Rngs) -> Individuals:
        """Add one noise sample to the reward of each planned user."""
        fits(self, noise)
        x = self._x.copy()
        for r, m, n in blocks(self.planned):
            x[r, m, :n] += noise(n).draw(rngs[r], n)
        return Individuals(x, self.planned, self._present, self._modulus)

    def encode(self, g: Array, rngs: Rngs) -> Individuals:
        """Encode every reward as an integer, with one uniform sample per planned user."""
        not_encoded(self)
        code, asked = np.zeros(self._x.shape, np.int64), self._asked
        coins = in_turn(rngs, self.planned.sum(1))
        code[asked] = encoded(self._x[asked], coins, self.planned.ravel(), g.ravel())
        return Individuals(code, self.planned, self._present)

    def modulo(self, m: Array) -> Individuals:
        return Individuals(self._x % m[:, :, None], self.planned, self._present, m)

    def messages(self, r: int, m: int) -> Array:
        """Return the messages of the remaining users to server `m` in run `r`, ``(n,)``."""
        return self._x[r, m, self._present[r, m]]

    def shuffle(self, rngs: Rngs) -> Individuals:
        """Permute the planned users of each block uniformly, lost users included."""
        x, present = self._x.copy(), self._present.copy()
        for r, m, n in blocks(self.planned):
            order = rngs[r].permutation(n)
            x[r, m, :n], present[r, m, :n] = x[r, m, order], present[r, m, order]
        return Individuals(x, self.planned, present, self._modulus)

    def arranged(self, order: Callable[[int, Sequence[bytes]], Array]) -> Individuals:
        """Return a cohort with each block's messages in the order ``order(run, messages)``, lost users removed."""
        x, present = self._x.copy(), np.zeros_like(self._present)
        for r, m, n in blocks(self.n):
            messages = self.messages(r, m)
            x[r, m, :n] = messages[order(r, [message.tobytes() for message in messages])]
            present[r, m, :n] = True
        return Individuals(x, self.planned, present, self._modulus)

    def total(self) -> Array:
        """Return each block's sum, added in the users' order.

        If messages are reduced mod m, each partial sum is reduced mod m.
        """
        out = np.zeros(self.planned.shape, self._x.dtype)
        modulus = np.zeros(out.shape, np.int64) if self._modulus is None else self._modulus
        _sums(self._x, self._present, modulus, out)
        return out

    def values(self) -> Array:
        """Return rewards, or the integers that encode them, as floats; NaN for lost users and padding."""
        return np.where(self._present, self._x, np.nan)


class Sealed(Cohort):
    """A cohort that has only the sums that a secure function released.

    Parameters
    ----------
    n, planned : (R, M) int
    total : (R, M) array
    by : str
        The wrapper that summed it, for the error message.

    Examples
    --------
    >>> Sealed(np.array([[5]]), np.array([[5]]), np.array([[17]]), "SecAgg").values()
    Traceback (most recent call last):
        ...
    ValueError: SecAgg hides individual messages: only their sum can be read
    """

    encoded = True

    def __init__(self, n: Array, planned: Array, total: Array, by: str):
        self.n, self.planned, self._total, self._by = n, planned, total, by

    def _closed(self, *_: object, **__: object) -> NoReturn:
        raise ValueError(f"{self._by} hides individual messages: only their sum can be read")

    map = drop = replace = add = encode = modulo = values = _closed

    def total(self) -> Array:
        return self._total


class BlockInbox(Inbox):
    """A server's inbox: one slot with the sum of its block and the number of users in the sum.

    Fields: ``reward`` (the sum; divide it by ``n`` for the mean), ``n``, and, unless a wrapper hides them, ``users``:
    the individual rewards ``(R, M, 1, U)``, NaN for lost users and padding.

    Parameters
    ----------
    total, n : (R, M) arrays
        0 where nothing arrived; they are read-only from here on.
    arrived : (R, M) bool
    individuals : callable, optional
        Returns ``(R, M, U)``.
    """

    def __init__(self, total: Array, n: Array, arrived: Array, individuals: Callable[[], Array] | None = None):
        self._slots, self._arrived = {"reward": total, "n": n}, arrived
        for array in (total, n, arrived):
            array.setflags(False)  # type: ignore[call-arg]  # takes half as long as `write=False`
        self._individuals = individuals

    @property
    def fields(self) -> tuple[str, ...]:  # type: ignore[override]
        """Names of the inbox's fields: ``reward``, ``n`` and, if messages are individual, ``users``."""
        return ("reward", "n") if self._individuals is None else ("reward", "n", "users")

    @property
    def arrived(self) -> Array:
        """``(R, M, 1)`` bool: whether a report arrived."""
        return self._arrived[:, :, None]

    def __getitem__(self, field: str) -> Array:
        if field in self._slots:
            return self._slots[field][:, :, None]
        if field == "users" and self._individuals is not None:
            return handed(self._individuals())[:, :, None]
        raise KeyError(f"no field {field!r} in this inbox; its fields: {', '.join(self.fields)}")

    def total(self, field: str, weight: str | None = None) -> Array:
        """Return the slot's ``reward`` or ``n``, ``(R, M)``."""
        return self._slots[field] if field in self._slots and weight is None else super().total(field)

    def decoded(self, total: Array) -> BlockInbox:
        """Return a copy of the inbox with the sums `total` and without individual rewards."""
        return BlockInbox(np.where(self._arrived, total, 0), self._slots["n"], self._arrived)


def not_encoded(crowd: Cohort) -> None:
    """Raise ``ValueError`` if the rewards of `crowd` are already encoded as integers."""
    if crowd.encoded:
        raise ValueError("rewards have been encoded as integers already: put this wrapper before the encoding wrapper")


def fits(crowd: Cohort, noise: Callable[[int], Noise]) -> None:
    """Raise ``ValueError`` if `noise` is continuous and the rewards of `crowd` are encoded as integers."""
    if crowd.encoded and not noise(max(1, int(crowd.planned.max()))).integer:
        raise ValueError("rewards have been encoded as integers: only integer noise can be added to them")
