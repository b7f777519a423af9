"""Robust means of growing samples; every run, agent and arm has a sample of its own.

`follow` chooses the structure:

``Sums``  for the plain mean: O(1) per arrival and per estimate.
``Tails`` for the trimmed means: they need the B lowest and the B highest of the Y exactly, of the X those beyond
    them, and of everything between (which lies in 𝒵 at all times to come) only its sum and count.  B is the most
    that any round until the horizon can ask for, ``N − q + 1`` at the largest N of that agent and t: about 2ϵN, and
    where ϵ is small about 9 ln T (of 2α, the root and L).  An arrival in the bulk costs two comparisons and an
    addition; one in the tails is put aside.  An estimate is O(1), unless a Y has arrived beyond 𝒵 or the number of
    points left out has changed: then what was put aside finds its place, O(B) each, and what is left out is walked,
    O(B).  Nothing is ever sorted anew, and memory is O(B) per arm.
``Log``   for all others: the samples in order; an estimate reads all of them.

Sums are kept in double-double, so that they equal those of the naive estimator whatever the order of arrival.
"""

import math
from collections.abc import Callable
from functools import lru_cache
from typing import ClassVar, NamedTuple

import numpy as np

from hushbandits.core import Array, jit, lean
from hushbandits.estimators.robust import Estimator, LugosiMendelson, Mean, Trimming
from hushbandits.estimators.rules import add, clipped_points, evaluate, kept_points
from hushbandits.estimators.tails import Ends, take, trim


class Rules(NamedTuple):
    """Compiled functions for one kind of samples, which take `Samples.state` as the first argument."""

    take: Callable[..., None]  # (r, m, values, counts): an agent's next values, the first ``counts[k]`` of row k
    estimate: Callable[..., None]  # (r, ln(1/δ), means, counts): write run r's, (R, M, K)


class Samples:
    """Base of classes that store the samples of all runs, agents and arms, and estimate the means.

    Parameters
    ----------
    estimator : Estimator
    shape : (R, M, K)
    most : int or (R, M) array
        No sample of an agent's arms will ever be larger.
    log_inverse_delta : float
        ln(1/δ) will never be larger.
    """

    rules: ClassVar[Rules]
    #: The arrays that compiled code reads and writes; `reserve` may replace them.
    state: NamedTuple

    def __init__(self, estimator: Estimator, shape: tuple[int, int, int], most: int | Array, log_inverse_delta: float):
        """Create empty samples."""

    def reserve(self, most: int) -> None:
        """Make room for `most` more values of each arm."""

    def add(self, arm: Array, reward: Array, arrived: Array) -> None:
        """Add the arms and rewards ``(R, M, S)`` of the slots marked in `arrived`, in order."""
        self.reserve(arm.shape[2])
        _adding(self.rules.take)(self.state, arm, reward, arrived)


@lru_cache
def _adding(take: Callable[..., None]) -> Callable[..., None]:
    @jit
    def add_all(own, arm, reward, arrived):
        runs, agents, slots = arm.shape
        values, counts = np.empty((own.n.shape[2], slots)), np.empty(own.n.shape[2], np.int64)
        for r in range(runs):
            for m in range(agents):
                counts[:] = 0
                for s in range(slots):
                    if arrived[r, m, s]:
                        k = arm[r, m, s]
                        values[k, counts[k]] = reward[r, m, s]
                        counts[k] += 1
                take(own, r, m, values, counts)

    return add_all


class _Summed(NamedTuple):
    n: Array  # (R, M, K)
    sum: Array  # (R, M, K, 2) in double-double


@lean
def _add(own, r, m, values, counts):
    for k in range(counts.size):
        own.n[r, m, k] += counts[k]
        at = own.sum[r, m, k]
        for s in range(counts[k]):
            at[0], at[1] = add(at[0], at[1], values[k, s])


@jit
def _mean(own, r, log_inverse_delta, out, n):
    n[r] = own.n[r]
    for m in range(out.shape[1]):
        for k in range(out.shape[2]):
            if own.n[r, m, k]:
                out[r, m, k] = (own.sum[r, m, k, 0] + own.sum[r, m, k, 1]) / own.n[r, m, k]


class Sums(Samples):
    """Samples stored as sums, for empirical means."""

    rules = Rules(_add, _mean)

    def __init__(self, estimator: Estimator, shape: tuple[int, int, int], most: int | Array, log_inverse_delta: float):
        self.state = _Summed(np.zeros(shape, np.int64), np.zeros((*shape, 2)))


class _Logged(NamedTuple):
    n: Array  # (R, M, K)
    start: Array  # (RMK,) of an arm's samples in `data`
    data: Array
    kind: int
    a: float
    b: float


@lean
def _append(own, r, m, values, counts):
    first = (r * own.n.shape[1] + m) * own.n.shape[2]
    for k in range(counts.size):
        for s in range(counts[k]):
            own.data[own.start[first + k] + own.n[r, m, k] + s] = values[k, s]
        own.n[r, m, k] += counts[k]


@jit
def _evaluate(own, r, log_inverse_delta, out, n):
    n[r] = own.n[r]
    for m in range(out.shape[1]):
        for k in range(out.shape[2]):
            if own.n[r, m, k]:
                start = own.start[(r * own.n.shape[1] + m) * own.n.shape[2] + k]
                sample = own.data[start : start + own.n[r, m, k]]
                out[r, m, k] = evaluate(own.kind, sample, log_inverse_delta, own.a, own.b)


class Log(Samples):
    """Samples stored in full, in the order of arrival."""

    rules = Rules(_append, _evaluate)
    state: _Logged

    def __init__(self, estimator: Estimator, shape: tuple[int, int, int], most: int | Array, log_inverse_delta: float):
        self._lists = lists = _Lists(math.prod(shape))
        self.state = _Logged(np.zeros(shape, np.int64), lists.start, lists.data, estimator.kind, *estimator.parameters)

    def reserve(self, most: int) -> None:
        self._lists.reserve(self.state.n.ravel(), most)
        self.state = self.state._replace(start=self._lists.start, data=self._lists.data)


#: Values of a list that wait, at most, until they are sorted.
_UNSORTED = 64


class Tails(Samples):
    """Samples stored as sums and tails, for trimmed means (`TrimmedMean`, `LugosiMendelson`)."""

    rules = Rules(take, trim)
    state: Ends

    def __init__(self, estimator: Estimator, shape: tuple[int, int, int], most: int | Array, log_inverse_delta: float):
        sizes, of = np.unique(np.broadcast_to(most, shape[:2]), return_inverse=True)
        ends = [_ends(estimator, int(size), log_inverse_delta) for size in sizes]
        #: (R, M) B: order statistics kept at either end.
        self.keep: Array = np.array(ends, np.int64)[of].reshape(shape[:2])
        self._lists = lists = _Lists(2 * math.prod(shape))  # Y and X of an arm, side by side
        head = np.zeros((*shape, 8))
        head[..., 1:3] = math.inf, -math.inf
        memo = np.zeros((*shape, 10))
        memo[..., 3:5] = -math.inf, math.inf
        self.state = Ends(
            np.zeros(shape, np.int64), head, lists.start, lists.size, np.zeros_like(lists.size), lists.data, memo,
            np.zeros(_UNSORTED), self.keep, isinstance(estimator, LugosiMendelson), estimator.parameters[0],
        )  # fmt: skip

    def reserve(self, most: int) -> None:
        lists = self._lists
        lists.reserve(lists.size, (most + 1) // 2, int(2 * self.keep.max()) + _UNSORTED)
        self.state = self.state._replace(start=lists.start, data=lists.data)


def kind(estimator: Estimator) -> type[Samples]:
    """Return the subclass of `Samples` that stores samples for `estimator`."""
    if isinstance(estimator, Mean):
        return Sums
    return Tails if isinstance(estimator, Trimming) else Log


def follow(estimator: Estimator, shape: tuple[int, int, int], most: int | Array, log_inverse_delta: float) -> Samples:
    """Return empty `Samples` of shape `shape` for `estimator`; `most` and `log_inverse_delta` are as in `Samples`."""
    return kind(estimator)(estimator, shape, most, log_inverse_delta)


def values_kept(estimator: Estimator, most: int, log_inverse_delta: float) -> int:
    """Return roughly how many values per arm the samples from `follow` hold at the end of a run."""
    if isinstance(estimator, Mean):
        return 2
    if isinstance(estimator, Trimming):
        return 4 * _ends(estimator, most, log_inverse_delta)
    return most


def _ends(estimator: Estimator, most: int, log_inverse_delta: float) -> int:
    n, epsilon = max(1, most // 2), estimator.parameters[0]
    if isinstance(estimator, LugosiMendelson):  # one more, against rounding in the count
        return min(n, clipped_points(n, log_inverse_delta, epsilon) + 1)
    return min(n, n - kept_points(n, log_inverse_delta, epsilon) + 2)


class _Lists:
    """Growing lists of floats in one array, where list i is ``data[start[i] : start[i] + size[i]]``."""

    def __init__(self, lists: int):
        self.start, self.size, self._room = np.zeros((3, lists), np.int64)
        self.data = np.zeros(0)
        self._used = 0

    def reserve(self, size: Array, more: int, usual: int = 0) -> None:
        """Reserve memory for `more` values in each list i, which holds ``size[i]``, or soon the `usual` number.

        A list that has too little memory gets at least twice as much.
        """
        need = np.maximum(size, usual) + more
        short = need > self._room
        if not short.any():
            return
        room = np.where(short, np.maximum(2 * self._room, np.maximum(need, 8)), self._room)
        if self._used + int(room[short].sum()) > self.data.size:  # pack anew: leave no holes behind
            start, self._used = np.cumsum(room) - room, int(room.sum())
            data = np.empty(math.ceil(1.5 * self._used))
        else:
            fresh = np.where(short, room, 0)
            start = np.where(short, self._used + np.cumsum(fresh) - fresh, self.start)
            data, self._used = self.data, self._used + int(fresh.sum())
        _move(self.data, self.start, size, data, start)
        self.data, self.start, self._room = data, start, room


@lean
def _move(old, old_start, length, new, new_start):
    for i in range(length.size):
        if new is not old or new_start[i] != old_start[i]:
            for j in range(length[i]):
                new[new_start[i] + j] = old[old_start[i] + j]
