"""A block of users per run and server, before anyone has added their rewards up.

Two forms share one interface.  `Individuals` hold an array ``(R, M, U)``.  A `Pooled` (core/pool.py) is a description,
*n like users of one arm*, from which only a sum is ever drawn, so a block of a million users costs microseconds;
asking a pool for its individuals raises.  Once a secure function has summed a block it is `Sealed`: the sum is all
there is.

What wrappers do to users (`map`, `drop`, `replace`, `add`, `encode`) returns a new crowd and works in both forms.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import NoReturn

import numpy as np

from hushbandits.core import Array, Inbox, Law, Noise, handed, jit

Rngs = Sequence[np.random.Generator]


def blocks(n: Array) -> list[tuple[int, int, int]]:
    """Return run, server and size of every block that is not empty."""
    at = n.nonzero()
    return list(zip(at[0].tolist(), at[1].tolist(), n[at].tolist(), strict=True))


def round_at_random(x: Array, g: Array | int, coins: Array) -> Array:
    """Fixed-point code ``⌊xg⌋ + Ber(xg − ⌊xg⌋)`` of rewards clipped to [0, 1]; a uniform each is its coin."""
    scaled = np.clip(x, 0.0, 1.0) * g
    whole = np.floor(scaled)
    return whole.astype(np.int64) + (coins < scaled - whole)


class Cohort(ABC):
    """A block of users for each of R runs and M servers.

    Attributes
    ----------
    n : (R, M) int
        Users whose message is still there.
    planned : (R, M) int
        Users that the server asked.
    encoded : bool
        Whether messages are integers by now.
    """

    n: Array
    planned: Array
    encoded: bool = False

    @abstractmethod
    def map(self, function: Callable[[Array], Array]) -> Cohort:
        """Every user's reward through `function` (elementwise)."""

    def inside(self) -> bool:
        """Whether every reward is known to lie in [0, 1]."""
        return False

    @abstractmethod
    def drop(self, rate: Array | float, rngs: Rngs) -> Cohort:
        """Every user is lost with probability `rate`, a number or ``(R, M)``."""

    @abstractmethod
    def replace(self, rate: Array | float, law: Law, location: float, rngs: Rngs) -> Cohort:
        """With probability `rate` a user's reward becomes a draw from ``law`` at `location`."""

    @abstractmethod
    def add(self, noise: Callable[[int], Noise], rngs: Rngs) -> Cohort:
        """Every user adds noise; ``noise(n)`` is the law for a block planned for n users."""

    @abstractmethod
    def encode(self, g: Array, rngs: Rngs) -> Cohort:
        """Every reward, clipped to [0, 1], becomes the integer ``⌊xg⌋ + Ber(xg − ⌊xg⌋)``; `g` is ``(R, M)``."""

    @abstractmethod
    def modulo(self, m: Array) -> Cohort:
        """Every integer message mod `m` ``(R, M)``; a sum of them is right mod `m` only."""

    def shuffle(self, rngs: Rngs) -> Cohort:
        """Every block in a uniform order; a pool of like users has none."""
        return self

    @abstractmethod
    def total(self) -> Array:
        """Sum over the users, ``(R, M)``: int64 once encoded, else float64.  Drawn once."""

    @abstractmethod
    def values(self) -> Array:
        """Return individuals, ``(R, M, U)``, NaN where a user has dropped out; ``ValueError`` where only sums exist."""

    def seal(self, total: Array, keep: Array, by: str) -> Sealed:
        """Nothing but `total` from now on, and not even that where `keep` is false."""
        return Sealed(np.where(keep, self.n, 0), self.planned, np.where(keep, total, 0), by)


@jit
def _sums(values, present, out):
    # In sequence: a float sum must not depend on how far the rows are padded.
    for r in range(values.shape[0]):
        for m in range(values.shape[1]):
            for u in range(values.shape[2]):
                if present[r, m, u]:
                    out[r, m] += values[r, m, u]


@jit
def _modular_sums(values, present, modulus, out):
    for r in range(values.shape[0]):
        for m in range(values.shape[1]):
            for u in range(values.shape[2]):
                if present[r, m, u]:
                    out[r, m] = (out[r, m] + values[r, m, u]) % modulus[r, m]


class Individuals(Cohort):
    """Users one by one.

    Parameters
    ----------
    x : (R, M, U) array
        Rewards, user u of a block in column u.
    planned : (R, M) int
        Columns that are users.
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

    def _coins(self, rngs: Rngs) -> Array:
        """One uniform per planned user, block by block."""
        return np.concatenate([np.empty(0), *(rngs[r].random(n) for r, _, n in blocks(self.planned))])

    def map(self, function: Callable[[Array], Array]) -> Individuals:
        not_encoded(self)
        return Individuals(function(self._x), self.planned, self._present)

    def inside(self) -> bool:
        return not self.encoded and bool(((self._x >= 0.0) & (self._x <= 1.0)).all())

    def drop(self, rate: Array | float, rngs: Rngs) -> Individuals:
        """One coin per planned user."""
        rates = np.broadcast_to(rate, self.planned.shape)
        present = self._present.copy()
        present[self._asked] &= self._coins(rngs) >= np.repeat(rates, self.planned.ravel())
        return Individuals(self._x, self.planned, present, self._modulus)

    def replace(self, rate: Array | float, law: Law, location: float, rngs: Rngs) -> Individuals:
        """One coin and one draw per planned user."""
        not_encoded(self)
        rates = np.broadcast_to(rate, self.planned.shape)
        x = self._x.copy()
        for r, m, n in blocks(self.planned):
            hit, drawn = rngs[r].random(n) < rates[r, m], law.quantile(rngs[r].random(n), np.array(location))
            x[r, m, :n] = np.where(hit, drawn, x[r, m, :n])
        return Individuals(x, self.planned, self._present)

    def add(self, noise: Callable[[int], Noise], rngs: Rngs) -> Individuals:
        """One draw per planned user."""
        fits(self, noise)
        x = self._x.copy()
        for r, m, n in blocks(self.planned):
            x[r, m, :n] += noise(n).draw(rngs[r], n)
        return Individuals(x, self.planned, self._present, self._modulus)

    def encode(self, g: Array, rngs: Rngs) -> Individuals:
        """One coin per planned user."""
        not_encoded(self)
        code, asked = np.zeros(self._x.shape, np.int64), self._asked
        code[asked] = round_at_random(self._x[asked], np.repeat(g, self.planned.ravel()), self._coins(rngs))
        return Individuals(code, self.planned, self._present)

    def modulo(self, m: Array) -> Individuals:
        return Individuals(self._x % m[:, :, None], self.planned, self._present, m)

    def messages(self, r: int, m: int) -> Array:
        """What server `m` of run `r` would get, ``(n,)``: for a secure function behind the users."""
        return self._x[r, m, self._present[r, m]]

    def shuffle(self, rngs: Rngs) -> Individuals:
        """One permutation of the planned users per block; who is gone moves along."""
        x, present = self._x.copy(), self._present.copy()
        for r, m, n in blocks(self.planned):
            order = rngs[r].permutation(n)
            x[r, m, :n], present[r, m, :n] = x[r, m, order], present[r, m, order]
        return Individuals(x, self.planned, present, self._modulus)

    def arranged(self, order: Callable[[int, Sequence[bytes]], Array]) -> Individuals:
        """Each block's messages in the order that ``order(run, messages)`` says; nothing tells who is gone."""
        x, present = self._x.copy(), np.zeros_like(self._present)
        for r, m, n in blocks(self.n):
            messages = self.messages(r, m)
            x[r, m, :n] = messages[order(r, [message.tobytes() for message in messages])]
            present[r, m, :n] = True
        return Individuals(x, self.planned, present, self._modulus)

    def total(self) -> Array:
        """In the users' order; reduced on the way where messages are."""
        out = np.zeros(self.planned.shape, self._x.dtype)
        if self._modulus is not None:
            _modular_sums(self._x, self._present, self._modulus, out)
            return out
        _sums(self._x, self._present, out)
        return out

    def values(self) -> Array:
        """Rewards or codes as floats, NaN where nobody is (left)."""
        return np.where(self._present, self._x, np.nan)


class Sealed(Cohort):
    """A block that a secure function has summed.

    Parameters
    ----------
    n, planned : (R, M) int
    total : (R, M) array
    by : str
        Who sealed it, for the error message.

    Examples
    --------
    >>> Sealed(np.array([[5]]), np.array([[5]]), np.array([[17]]), "SecAgg").values()
    Traceback (most recent call last):
        ...
    ValueError: SecAgg hides individual messages: only their sum is to be had
    """

    encoded = True

    def __init__(self, n: Array, planned: Array, total: Array, by: str):
        self.n, self.planned, self._total, self._by = n, planned, total, by

    def _closed(self, *_: object, **__: object) -> NoReturn:
        raise ValueError(f"{self._by} hides individual messages: only their sum is to be had")

    map = _closed
    drop = _closed
    replace = _closed
    add = _closed
    encode = _closed
    modulo = _closed
    values = _closed

    def total(self) -> Array:
        return self._total


class BlockInbox(Inbox):
    """What a server hears of its block: one slot with the sum and how many users it stands for.

    Fields: ``reward`` (the sum; divide it by ``n`` for the mean), ``n``, and ``users``, the individual rewards
    ``(R, M, 1, U)`` (NaN where nobody is), which is there only where nothing hides them.

    Parameters
    ----------
    total, n : (R, M) arrays
    arrived : (R, M) bool
    individuals : callable, optional
        Returns ``(R, M, U)``.
    """

    def __init__(self, total: Array, n: Array, arrived: Array, individuals: Callable[[], Array] | None = None):
        self._slots = {"reward": np.where(arrived, total, 0), "n": np.where(arrived, n, 0)}
        self._arrived = arrived.copy()
        for array in (*self._slots.values(), self._arrived):
            array.setflags(write=False)
        self._individuals = individuals

    @property
    def fields(self) -> tuple[str, ...]:  # type: ignore[override]
        """What it offers."""
        return ("reward", "n") if self._individuals is None else ("reward", "n", "users")

    @property
    def arrived(self) -> Array:
        """``(R, M, 1)``."""
        return self._arrived[:, :, None]

    def __getitem__(self, field: str) -> Array:
        if field in self._slots:
            return self._slots[field][:, :, None]
        if field == "users" and self._individuals is not None:
            return handed(self._individuals())[:, :, None]
        raise KeyError(f"no field {field!r} in this inbox; it offers: {', '.join(self.fields)}")

    def total(self, field: str, weight: str | None = None) -> Array:
        """The slot's ``reward`` or ``n``, ``(R, M)``."""
        if field not in self._slots or weight is not None:
            return super().total(field)
        return self._slots[field]

    def decoded(self, total: Array) -> BlockInbox:
        """Return this inbox with another sum, and without individuals."""
        inbox = object.__new__(BlockInbox)
        inbox._slots = {**self._slots, "reward": np.where(self._arrived, total, 0)}
        inbox._slots["reward"].setflags(write=False)
        inbox._arrived, inbox._individuals = self._arrived, None
        return inbox


def not_encoded(crowd: Cohort) -> None:
    """Raise ``ValueError`` where rewards are integers already."""
    if crowd.encoded:
        raise ValueError("rewards have been encoded as integers already: put this wrapper before the one that does it")


def fits(crowd: Cohort, noise: Callable[[int], Noise]) -> None:
    """Raise an error unless `noise` is what can be added to a crowd."""
    if crowd.encoded and not noise(max(1, *crowd.planned.ravel().tolist())).integer:
        raise ValueError("rewards have been encoded as integers: only integer noise can be added to them")
