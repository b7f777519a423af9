"""Compiled rules that update the tails of growing samples and compute trimmed means from them."""

from typing import NamedTuple

import numpy as np

from hushbandits.core import Array, jit, lean
from hushbandits.estimators.rules import add, clipped_points, kept_points, shortest_window


class Ends(NamedTuple):
    """The state of `Tails`: sums and sorted tails of the samples of all runs, agents and arms.

    Y holds all of N values up to 2B, then the B lowest and the B highest; X what lies beyond the inner ends of those.
    """

    #: (R, M, K, 8), a cache line an arm: samples; the odd one; the inner ends of Y's tails, (∞, −∞) until they are
    #: full; the sum of all X in double-double; whether the tails have changed since the last estimate.
    head: Array
    start: Array  # (2RMK,) of the sorted lists Y (at 2i) and X (at 2i + 1) in `data`
    size: Array
    data: Array
    memo: Array  # (R, M, K, 7) the last estimate and what it was made of
    new: Array  # (2, K, …) one agent's new Y and X
    fresh: Array  # (K,) how many
    keep: Array  # (R, M) B of each agent's arms
    clips: bool
    epsilon: float


@lean
def _merge(data, start, size, new):
    # put values into the sorted list
    for x in new:
        p = start + size
        while p > start and data[p - 1] > x:
            data[p] = data[p - 1]
            p -= 1
        data[p] = x
        size += 1
    return size


@lean
def _cut(data, start, size, low, high):
    # take positions low … high − 1 out of the list
    for j in range(high, size):
        data[start + low + j - high] = data[start + j]
    return size - (high - low)


_N, _ODD, _LOW, _HIGH, _SUM, _REST, _CHANGED = range(7)


@lean
def take(own, r, m, arm, reward, count):
    """Add agent m's first `count` values to the halves X and Y in turn, and update the sum of X and the tails."""
    head, new, fresh, keep = own.head[r, m], own.new, own.fresh, own.keep[r, m]
    for s in range(count):
        k, y = arm[s], reward[s]
        head[k, _N] += 1.0
        if int(head[k, _N]) & 1:  # several times as fast as a remainder of floats
            head[k, _ODD] = y
            continue
        x, low, high = head[k, _ODD], head[k, _LOW], head[k, _HIGH]
        head[k, _SUM], head[k, _REST] = add(head[k, _SUM], head[k, _REST], x)
        if not (low <= y <= high and low <= x <= high):  # most pairs are between the tails
            new[0, k, fresh[k]], new[1, k, fresh[k]] = y, x
            fresh[k] += 1
    first = (r * own.head.shape[1] + m) * fresh.size
    for k in range(fresh.size):
        if fresh[k]:
            i = 2 * (first + k)
            if _grow(new[0, k, : fresh[k]], new[1, k, : fresh[k]], keep, i, own.start, own.size, own.data):
                head[k, _CHANGED] = 1.0
            fresh[k] = 0
            if own.size[i] == 2 * keep:
                inner = own.start[i] + keep
                head[k, _LOW], head[k, _HIGH] = own.data[inner - 1], own.data[inner]


@lean
def _placed(tails, keep, y):
    # put y into the tail where it lies, whose inner end falls out; say whether it lies in one
    if y < tails[keep - 1]:
        p = keep - 1
        while p > 0 and tails[p - 1] > y:
            tails[p] = tails[p - 1]
            p -= 1
    elif y > tails[keep]:
        p = keep
        while p < 2 * keep - 1 and tails[p + 1] < y:
            tails[p] = tails[p + 1]
            p += 1
    else:
        return False
    tails[p] = y
    return True


@lean
def _outside(new, low, high):
    # move what lies beyond [low, high] to the front
    kept = 0
    for x in new:
        if x < low or x > high:
            new[kept] = x
            kept += 1
    return kept


@lean
def _grow(y, x, keep, i, start, size, data):
    # take in new values of one arm; say whether its tails have changed
    full = size[i] == 2 * keep
    shrunk = False
    if full:
        tails = data[start[i] : start[i] + 2 * keep]
        for value in y:
            shrunk |= _placed(tails, keep, value)
    else:
        size[i] = _merge(data, start[i], size[i], y)
        if size[i] > 2 * keep:
            size[i] = _cut(data, start[i], size[i], keep, size[i] - keep)
        if size[i] < 2 * keep:
            size[i + 1] = _merge(data, start[i + 1], size[i + 1], x)
            return True
    low, high = data[start[i] + keep - 1], data[start[i] + keep]
    if shrunk or not full:  # some X lie in the tails no longer
        tail = data[start[i + 1] : start[i + 1] + size[i + 1]]
        a, b = np.searchsorted(tail, low), np.searchsorted(tail, high, "right")
        size[i + 1] = _cut(data, start[i + 1], size[i + 1], a, b)
    outside = _outside(x, low, high)
    if outside:
        size[i + 1] = _merge(data, start[i + 1], size[i + 1], x[:outside])
    return shrunk or outside > 0 or not full


@lean
def _sum(x):
    # in double-double, along four lanes: an addition need not wait for the one before
    a = b = c = d = 0.0
    e = f = g = h = 0.0
    whole = x.size - x.size % 4
    for j in range(0, whole, 4):
        a, e = add(a, e, x[j])
        b, f = add(b, f, x[j + 1])
        c, g = add(c, g, x[j + 2])
        d, h = add(d, h, x[j + 3])
    for j in range(whole, x.size):
        a, e = add(a, e, x[j])
    a, e = add(a, e + f, b)
    c, g = add(c, g + h, d)
    return add(a, e + g, c)


@lean
def _beyond(x, low, high, clips):
    # what is to be added to the sum of all X, of which `x` are the sorted ends, for that of those in [low, high] or of
    # all clipped to it; and how many fewer they are
    a, b = np.searchsorted(x, low), np.searchsorted(x, high, "right")
    (total, rest), (above, more) = _sum(x[:a]), _sum(x[b:])
    total, rest = add(-total, -rest - more, -above)
    if not clips:
        return total, rest, float(a + x.size - b)
    for _ in range(a):
        total, rest = add(total, rest, low)
    for _ in range(x.size - b):
        total, rest = add(total, rest, high)
    return total, rest, 0.0


@lean
def trim(own, r, log_inverse_delta, out, counts):
    """Write the trimmed or clipped means of run r to `out`, and the sizes of its samples to `counts`.

    `memo` holds, per arm, n and the cut of the last estimate, what the X beyond its interval take from their sum and
    number, the middle of the interval, and the estimate.  The cut (how many points are left out) fixes 𝒵 as long as the
    tails stay as they are, and what falls between them enters by the sum.
    """
    _, agents, arms, _ = own.head.shape
    for m in range(agents):
        for k in range(arms):
            n = int(own.head[r, m, k, _N])
            counts[r, m, k] = n
            if n == 0:
                continue
            half = n // 2
            if own.clips:
                q = clipped_points(half, log_inverse_delta, own.epsilon)
                cut = q if 2 * q <= half else -1
            else:
                q = kept_points(half, log_inverse_delta, own.epsilon) if half else 0
                cut = half - q if q > 0 else -1
            known = own.memo[r, m, k]
            same = known[1] == cut
            if not (same and known[0] == n):
                known[6] = _estimate(own, r, m, k, n, q, cut, same, known)
                known[0], known[1] = n, cut
            out[r, m, k] = known[6]


@jit
def _median(x, y, odd, more):
    held = np.concatenate((y, x))
    return np.median(np.append(held, odd) if more else held)


@lean
def _estimate(own, r, m, k, n, q, cut, same, known):
    head, i = own.head[r, m, k], 2 * ((r * own.head.shape[1] + m) * own.head.shape[2] + k)
    if cut < 0 or head[_CHANGED] or not same:
        y = own.data[own.start[i] : own.start[i] + own.size[i]]
        x = own.data[own.start[i + 1] : own.start[i + 1] + own.size[i + 1]]
        if cut < 0:
            return _median(x, y, head[_ODD], n % 2)
        if own.clips:
            low, high = y[q - 1], y[y.size - q]
        else:
            low, high = shortest_window(y, n // 2, q, n // 2 - y.size)
        known[2], known[3], known[4] = _beyond(x, low, high, own.clips)
        known[5] = low + 0.5 * (high - low)
        head[_CHANGED] = 0.0
    count = n // 2 - known[4]
    total, rest = add(head[_SUM], head[_REST] + known[3], known[2])
    return (total + rest) / count if count else known[5]
