"""Robust means of samples that grow: one sample per run, agent and arm, estimated anew in every round.

`follow` chooses the structure:

``Sums``  for the plain mean: O(1) per arrival and per estimate.
``Tails`` for the trimmed means: they need the B lowest and the B highest of the Y exactly, of the X those beyond
    them, and of everything between (which lies in 𝒵 at all times to come) only its sum and count.  B is the most
    that any round until the horizon can ask for, ``N − q + 1`` at the largest N and t: about 2ϵN, and where ϵ is
    small about 9 ln T (of 2α, the root and L).  An arrival in the bulk costs two comparisons and an addition; those
    in the tails are sorted and merged once per round, O(B) for an arm that got some; an estimate walks the tails,
    O(B), where they or the number of points left out have changed, and is O(1) elsewhere.  Nothing is ever sorted
    anew, and memory is O(B) per arm.
``Log``   for all others: the samples in order; an estimate reads all of them.

Sums are kept in double-double, so that they equal those of the naive estimator whatever the order of arrival.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod

import numpy as np

from hushbandits.core.ground.jit import jit
from hushbandits.core.ground.types import Array
from hushbandits.estimators.robust import Estimator, LugosiMendelson, Mean, Trimming
from hushbandits.estimators.rules import add, clipped_points, evaluate, kept_points
from hushbandits.estimators.tails import absorb, trim

__all__ = ["Log", "Samples", "Sums", "Tails", "follow", "values_kept"]


class Samples(ABC):
    """Samples ``S^m_k`` of all runs, agents and arms, and their means.

    Parameters
    ----------
    estimator : Estimator
    shape : (R, M, K)
    """

    def __init__(self, estimator: Estimator, shape: tuple[int, int, int]):
        self.estimator = estimator
        self.shape = shape
        #: (R, M, K) int: samples so far.
        self.n = np.zeros(shape, np.int64)

    @abstractmethod
    def add(self, arm: Array, reward: Array, arrived: Array) -> None:
        """Add what `arrived`, slot by slot in order: arms and rewards ``(R, M, S)``."""

    @abstractmethod
    def estimates(self, log_inverse_delta: float, out: Array) -> None:
        """Write the means at confidence δ to `out` ``(R, M, K)``; entries without a sample are left alone."""


class Sums(Samples):
    """Plain means."""

    def __init__(self, estimator: Estimator, shape: tuple[int, int, int]):
        super().__init__(estimator, shape)
        self._sum = np.zeros((*shape, 2))

    def add(self, arm: Array, reward: Array, arrived: Array) -> None:
        _add_up(arm, reward, arrived, self.n, self._sum)

    def estimates(self, log_inverse_delta: float, out: Array) -> None:
        np.divide(self._sum.sum(3), self.n, out=out, where=self.n > 0)


class Log(Samples):
    """All samples, in their order."""

    def __init__(self, estimator: Estimator, shape: tuple[int, int, int]):
        super().__init__(estimator, shape)
        self._lists = _Lists(self.n.size)

    def add(self, arm: Array, reward: Array, arrived: Array) -> None:
        self._lists.reserve(self.n.ravel() + _arrivals(arm, arrived, self.shape))
        _append(arm, reward, arrived, self.n, self._lists.start, self._lists.data)

    def estimates(self, log_inverse_delta: float, out: Array) -> None:
        lists = self._lists
        parameters = self.estimator.parameters
        _evaluate(self.estimator.kind, lists.start, lists.data, self.n, log_inverse_delta, *parameters, out)


class Tails(Samples):
    """Trimmed means (`TrimmedMean`, `LugosiMendelson`) from the tails of the samples.

    Parameters
    ----------
    most : int
        No arm's sample will ever be larger.
    log_inverse_delta : float
        ln(1/δ) will never be larger.
    """

    def __init__(self, estimator: Estimator, shape: tuple[int, int, int], most: int, log_inverse_delta: float):
        super().__init__(estimator, shape)
        self._epsilon = estimator.parameters[0]
        self._clips = isinstance(estimator, LugosiMendelson)
        #: B: order statistics kept at either end.
        self.keep = _ends(estimator, most, log_inverse_delta)
        self._lists = _Lists(2 * self.n.size)  # Y and X of an arm, side by side
        self._pending = np.zeros(shape)
        self._bulk = np.zeros((*shape, 3))  # of the X between the tails: count, and sum in double-double
        self._changed = np.zeros(shape, bool)
        self._memo = np.zeros((*shape, 7))  # the last estimate and what it was made of

    def add(self, arm: Array, reward: Array, arrived: Array) -> None:
        new = (_arrivals(arm, arrived, self.shape) + 1) // 2
        lists = self._lists
        lists.reserve(lists.size + np.repeat(new, 2))
        state = self.n, self._pending, lists.start, lists.size, lists.data, self._bulk, self._changed
        absorb(arm, reward, arrived, self.keep, *state)

    def estimates(self, log_inverse_delta: float, out: Array) -> None:
        lists = self._lists
        state = self.n, self._pending, lists.start, lists.size, lists.data, self._bulk, self._changed, self._memo
        trim(self._clips, log_inverse_delta, self._epsilon, *state, out)


def follow(estimator: Estimator, shape: tuple[int, int, int], most: int, log_inverse_delta: float) -> Samples:
    """Return the structure for that estimator; parameters as in `Tails`."""
    if isinstance(estimator, Mean):
        return Sums(estimator, shape)
    if isinstance(estimator, Trimming):
        return Tails(estimator, shape, most, log_inverse_delta)
    return Log(estimator, shape)


def values_kept(estimator: Estimator, most: int, log_inverse_delta: float) -> int:
    """About how many values `follow` holds of an arm at the end; parameters as in `Tails`."""
    if isinstance(estimator, Mean):
        return 2
    if isinstance(estimator, Trimming):
        return 4 * _ends(estimator, most, log_inverse_delta)
    return most


def _ends(estimator: Estimator, most: int, log_inverse_delta: float) -> int:
    n, epsilon = max(1, most // 2), estimator.parameters[0]
    if isinstance(estimator, LugosiMendelson):
        points = clipped_points(n, log_inverse_delta, epsilon)
    else:
        points = n - kept_points(n, log_inverse_delta, epsilon) + 1
    return min(n, points + 1)  # + 1: against rounding in the count


class _Lists:
    """Growing lists of floats in one array: list i is ``data[start[i] : start[i] + size[i]]``."""

    def __init__(self, lists: int):
        self.start, self.size, self._room = np.zeros((3, lists), np.int64)
        self.data = np.zeros(0)
        self._used = 0

    def reserve(self, need: Array) -> None:
        """Give every list room for `need` values; a list that moves doubles its room."""
        short = need > self._room
        if not short.any():
            return
        room = np.where(short, np.maximum(2 * self._room, np.maximum(need, 8)), self._room)
        if self._used + int(room[short].sum()) > self.data.size:  # pack anew: leave no holes behind
            start, self._used = np.cumsum(room) - room, int(room.sum())
            data = np.zeros(math.ceil(1.5 * self._used))
        else:
            fresh = np.where(short, room, 0)
            start = np.where(short, self._used + np.cumsum(fresh) - fresh, self.start)
            data, self._used = self.data, self._used + int(fresh.sum())
        _move(self.data, self.start, self._room, data, start)
        self.data, self.start, self._room = data, start, room


@jit
def _move(old, old_start, length, new, new_start):
    for i in range(length.size):
        if new is not old or new_start[i] != old_start[i]:
            for j in range(length[i]):
                new[new_start[i] + j] = old[old_start[i] + j]


def _arrivals(arm: Array, arrived: Array, shape: tuple[int, int, int]) -> Array:
    counts = np.zeros(shape, np.int64)
    _count(arm, arrived, counts)
    return counts.ravel()


@jit
def _count(arm, arrived, counts):
    runs, agents, slots = arm.shape
    for r in range(runs):
        for m in range(agents):
            for s in range(slots):
                if arrived[r, m, s]:
                    counts[r, m, arm[r, m, s]] += 1


@jit
def _add_up(arm, reward, arrived, n, total):
    runs, agents, slots = arm.shape
    for r in range(runs):
        for m in range(agents):
            for s in range(slots):
                if arrived[r, m, s]:
                    k = arm[r, m, s]
                    n[r, m, k] += 1
                    at = total[r, m, k]
                    at[0], at[1] = add(at[0], at[1], reward[r, m, s])


@jit
def _append(arm, reward, arrived, n, start, data):
    runs, agents, slots = arm.shape
    arms = n.shape[2]
    for r in range(runs):
        for m in range(agents):
            for s in range(slots):
                if arrived[r, m, s]:
                    k = arm[r, m, s]
                    data[start[(r * agents + m) * arms + k] + n[r, m, k]] = reward[r, m, s]
                    n[r, m, k] += 1


@jit
def _evaluate(kind, start, data, n, log_inverse_delta, a, b, out):
    size, values = n.ravel(), out.reshape(-1)
    for i in range(size.size):
        if size[i]:
            values[i] = evaluate(kind, data[start[i] : start[i] + size[i]], log_inverse_delta, a, b)
