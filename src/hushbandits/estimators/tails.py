"""Compiled rules that update the tails of growing samples and compute trimmed means from them."""

from typing import NamedTuple

import numpy as np

from hushbandits.core import Array, lean
from hushbandits.estimators.rules import add, clipped_points, kept_points, shortest_window


class Ends(NamedTuple):
    """The state of `Tails`: sums and sorted tails of the samples of all runs, agents and arms.

    Y holds all of N values up to 2B, then the B lowest and the B highest; X what lies beyond the inner ends of those.
    """

    n: Array  # (R, M, K) samples
    #: (R, M, K, 8), a cache line an arm: the odd sample; the inner ends of Y's tails, (∞, −∞) until they are full; the
    #: sum of all X in double-double; whether the tails have changed since the last estimate.
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
    _sort(new)
    end = start + size
    for j in range(new.size - 1, -1, -1):
        p = end
        if p > start and data[p - 1] > new[j]:
            p = start + np.searchsorted(data[start:end], new[j], "right")
        low, up = data[p:end], data[p + j + 1 : end + j + 1]
        for i in range(low.size - 1, -1, -1):
            up[i] = low[i]
        data[p + j] = new[j]
        end = p
    return size + new.size


@lean
def _sort(x):
    for j in range(1, x.size):
        value, p = x[j], j
        while p > 0 and x[p - 1] > value:
            x[p] = x[p - 1]
            p -= 1
        x[p] = value


@lean
def _cut(data, start, size, low, high):
    # take positions low … high − 1 out of the list
    up, down = data[start + high : start + size], data[start + low : start + size - high + low]
    for i in range(up.size):
        down[i] = up[i]
    return size - (high - low)


_ODD, _LOW, _HIGH, _SUM, _REST, _CHANGED = range(6)
_CUT, _MEAN, _BOTTOM, _TOP, _BELOW, _ABOVE, _OUT, _MORE, _FIRST = range(1, 10)  # of `memo`, whose first is n


@lean
def take(own, r, m, arm, reward, count):
    """Add agent m's first `count` values to the halves X and Y in turn, and update the sum of X and the tails."""
    n, head, new, fresh, keep = own.n[r, m], own.head[r, m], own.new, own.fresh, own.keep[r, m]
    for s in range(count):
        k, y = np.uint64(arm[s]), reward[s]  # unsigned: Numba then checks no sign
        n[k] += 1
        if n[k] & 1:
            head[k, _ODD] = y
            continue
        x, low, high = head[k, _ODD], head[k, _LOW], head[k, _HIGH]
        head[k, _SUM], head[k, _REST] = add(head[k, _SUM], head[k, _REST], x)
        if not (low <= y <= high and low <= x <= high):  # most pairs are between the tails
            new[0, k, fresh[k]], new[1, k, fresh[k]] = y, x
            fresh[k] += 1
    for a in range(fresh.size):
        if fresh[a]:
            y, x, known = new[0, a, : fresh[a]], new[1, a, : fresh[a]], own.memo[r, m, a]
            i = 2 * ((r * own.head.shape[1] + m) * fresh.size + a)
            _grow(y, x, keep, i, own.start, own.size, own.data, head[a], known)
            fresh[a] = 0


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
def _grow(y, x, keep, i, start, size, data, head, known):
    # take in new values of one arm
    full, low, high = size[i] == 2 * keep, head[_LOW], head[_HIGH]
    y = y[: _outside(y, low, high)]
    for value in y:
        if value < known[_BOTTOM] or value > known[_TOP]:  # 𝒵 may have changed
            head[_CHANGED] = 1.0
    size[i] = _merge(data, start[i], size[i], y)
    if size[i] >= 2 * keep:
        size[i] = _cut(data, start[i], size[i], keep, size[i] - keep)
        low, high = data[start[i] + keep - 1], data[start[i] + keep]
        head[_LOW], head[_HIGH] = low, high
        if y.size or not full:  # some X lie in the tails no longer
            tail = data[start[i + 1] : start[i + 1] + size[i + 1]]
            _move(known, tail, min(low, known[_BOTTOM]), max(high, known[_TOP]))
            a, b = np.searchsorted(tail, low), np.searchsorted(tail, high, "right")
            size[i + 1] = _cut(data, start[i + 1], size[i + 1], a, b)
    x = x[: _outside(x, low, high)]
    for value in x:
        if value < known[_BOTTOM] or value > known[_TOP]:
            known[_BELOW if value < known[_BOTTOM] else _ABOVE] += 1.0
            known[_OUT], known[_MORE] = add(known[_OUT], known[_MORE], value)
    size[i + 1] = _merge(data, start[i + 1], size[i + 1], x)


@lean
def _move(known, x, low, high):
    # move 𝒵 to [low, high]: number and sum of the X below and above it, of which `x` are the sorted ends
    a, total, rest = _walk(x, int(known[_BELOW]), low, 1.0, known[_OUT], known[_MORE])
    b, total, rest = _walk(x, x.size - int(known[_ABOVE]), np.nextafter(high, np.inf), -1.0, total, rest)
    known[_BOTTOM], known[_TOP], known[_BELOW], known[_ABOVE] = low, high, a, x.size - b
    known[_OUT], known[_MORE] = total, rest


@lean
def _walk(x, p, low, sign, total, rest):
    # walk from rank p to the first value of at least `low`, and add what is passed on the way up to the sum
    while p < x.size and x[p] < low:
        total, rest = add(total, rest, sign * x[p])
        p += 1
    while p > 0 and x[p - 1] >= low:
        p -= 1
        total, rest = add(total, rest, -sign * x[p])
    return p, total, rest


@lean
def _times(high, low, count, x):
    # high + low + count · x in double-double: the halves of x have 26 bits, their products are exact
    part = x * 134217729.0
    part -= part - x
    high, low = add(high, low, count * part)
    return add(high, low, count * (x - part))


@lean
def trim(own, r, log_inverse_delta, out, counts):
    """Write the trimmed or clipped means of run r to `out`, and the sizes of its samples to `counts`.

    `memo` holds, per arm, n, the cut and the value of the last estimate, the ends of 𝒵, number below and above and sum
    of the X beyond it, and its first rank.  The cut (how many points are left out) fixes 𝒵 as long as no Y beyond it
    arrives.
    """
    _, agents, arms, _ = own.head.shape
    for m in range(agents):
        for k in range(arms):
            n = own.n[r, m, k]
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
            same = known[_CUT] == cut
            if not (same and known[0] == n):
                known[_MEAN] = _estimate(own, r, m, k, n, q, cut, same, known)
                known[0], known[_CUT] = n, cut
            out[r, m, k] = known[_MEAN]


@lean
def _median(x, y, odd, more):
    # of two sorted halves of one size, and of `odd` if there is `more`: i of the lower half are from x
    i, end = 0, x.size
    while i < end:
        middle = (i + end) // 2
        if x[middle] < y[y.size - 1 - middle]:
            i = middle + 1
        else:
            end = middle
    j = x.size - i
    low = max(x[i - 1] if i else -np.inf, y[j - 1] if j else -np.inf)
    high = min(x[i] if j else np.inf, y[j] if i else np.inf)
    return min(max(odd, low), high) if more else (low + high) / 2.0


@lean
def _estimate(own, r, m, k, n, q, cut, same, known):
    head, i, half = own.head[r, m, k], 2 * ((r * own.head.shape[1] + m) * own.head.shape[2] + k), n // 2
    if cut < 0 or head[_CHANGED] or not same:
        y = own.data[own.start[i] : own.start[i] + own.size[i]]
        x = own.data[own.start[i + 1] : own.start[i + 1] + own.size[i + 1]]
        if cut < 0:
            return _median(x, y, head[_ODD], n % 2)
        if own.clips:
            low, high = y[q - 1], y[y.size - q]
        else:
            best = shortest_window(y, half, q, half - y.size, int(known[_FIRST]))
            low, high, known[_FIRST] = y[best], y[q - 1 + best - (half - y.size)], best
        _move(known, x, low, high)
        head[_CHANGED] = 0.0
    total, rest = add(head[_SUM], head[_REST] - known[_MORE], -known[_OUT])
    count = float(half)
    if own.clips:
        total, rest = _times(total, rest, known[_BELOW], known[_BOTTOM])
        total, rest = _times(total, rest, known[_ABOVE], known[_TOP])
    else:
        count -= known[_BELOW] + known[_ABOVE]
    return (total + rest) / count if count else known[_BOTTOM] + 0.5 * (known[_TOP] - known[_BOTTOM])
