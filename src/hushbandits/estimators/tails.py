"""Compiled rules that update the tails of growing samples and compute trimmed means from them."""

from typing import NamedTuple

import numpy as np

from hushbandits.core import Array, lean
from hushbandits.core.utils.jit import inlined
from hushbandits.estimators.rules import add, clipped_points, kept_points, shortest_window


class Ends(NamedTuple):
    """The state of `Tails`: sums and tails of the samples of all runs, agents and arms.

    Y holds all of N values up to 2B, then the B lowest and the B highest; X what lies beyond the inner ends of those.
    Both end with values that are not sorted yet, because no estimate has depended on their ranks.
    """

    n: Array  # (R, M, K) samples
    #: (R, M, K, 8), a cache line an arm: the odd sample; the inner ends of Y's tails, (∞, −∞) until they are full; the
    #: sum of all X in double-double; whether a Y has arrived beyond 𝒵 since the last estimate.
    head: Array
    start: Array  # (2RMK,) of the lists Y (at 2i) and X (at 2i + 1) in `data`
    size: Array
    tidy: Array  # (2RMK,) how many of their values are sorted
    data: Array
    memo: Array  # (R, M, K, 10) the last estimate and what it was made of
    new: Array  # room for a list's values that are not sorted, as many as there may be
    keep: Array  # (R, M) B of each agent's arms
    clips: bool
    epsilon: float


@lean
def _merge(data, start, size, tidy, new):
    # sort the list, of which the first `tidy` are sorted
    new = new[: size - tidy]
    for j in range(new.size):
        new[j] = data[start + tidy + j]
    _sort(new)
    end = start + tidy
    for j in range(new.size - 1, -1, -1):
        p = end
        if p > start and data[p - 1] > new[j]:
            p = start + np.searchsorted(data[start:end], new[j], "right")
        low, up = data[p:end], data[p + j + 1 : end + j + 1]
        for i in range(low.size - 1, -1, -1):
            up[i] = low[i]
        data[p + j] = new[j]
        end = p


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
def take(own, r, m, values, counts):
    """Add the values of each of agent m's arms to the halves X and Y in turn, and update the sum of X and the tails."""
    for k in range(counts.size):
        n, count, head = own.n[r, m, k], counts[k], own.head[r, m, k]
        x, total, rest, s = head[_ODD], head[_SUM], head[_REST], 0
        own.n[r, m, k] = n + count
        while s + 1 < count + n % 2:  # a pair is left; while n is odd, its first value has waited since the last call
            if n % 2 == 0:
                x, s = values[k, s], s + 1
            y, s, n = values[k, s], s + 1, 0
            total, rest = add(total, rest, x)
            if not (head[_LOW] <= y <= head[_HIGH] and head[_LOW] <= x <= head[_HIGH]):  # few pairs
                _append(own, r, m, k, x, y)
        head[_SUM], head[_REST] = total, rest
        if s < count:
            head[_ODD] = values[k, s]


@inlined
def _append(own, r, m, k, x, y):
    # append what lies beyond the inner ends, and sort when there is no more room
    head, known, i = own.head[r, m, k], own.memo[r, m, k], 2 * _place(own, r, m, k)
    if not head[_LOW] <= y <= head[_HIGH]:
        own.data[own.start[i] + own.size[i]] = y
        own.size[i] += 1
        if y < known[_BOTTOM] or y > known[_TOP]:  # 𝒵 may have changed
            head[_CHANGED] = 1.0
    if not head[_LOW] <= x <= head[_HIGH]:
        own.data[own.start[i + 1] + own.size[i + 1]] = x
        own.size[i + 1] += 1
        if x < known[_BOTTOM] or x > known[_TOP]:
            known[_BELOW if x < known[_BOTTOM] else _ABOVE] += 1.0
            known[_OUT], known[_MORE] = add(known[_OUT], known[_MORE], x)
    if max(own.size[i] - own.tidy[i], own.size[i + 1] - own.tidy[i + 1]) == own.new.size:
        _sort_tails(own, r, m, k)


@inlined
def _place(own, r, m, k):
    return (r * own.n.shape[1] + m) * own.n.shape[2] + k


@inlined
def _sort_tails(own, r, m, k):
    # sort an arm's lists, and cut them to the tails
    head, known, i, keep = own.head[r, m, k], own.memo[r, m, k], 2 * _place(own, r, m, k), own.keep[r, m]
    data, start, size, tidy, grown = own.data, own.start, own.size, own.tidy, own.size[i] > own.tidy[i]
    for j in range(i, i + 2):
        _merge(data, start[j], size[j], tidy[j], own.new)
    if grown and size[i] >= 2 * keep:
        size[i] = _cut(data, start[i], size[i], keep, size[i] - keep)
        low, high = data[start[i] + keep - 1], data[start[i] + keep]
        x = data[start[i + 1] : start[i + 1] + size[i + 1]]
        _move(known, x, min(low, known[_BOTTOM]), max(high, known[_TOP]))
        a, b = np.searchsorted(x, low), np.searchsorted(x, high, "right")  # these X lie in the tails no longer
        size[i + 1] = _cut(data, start[i + 1], x.size, a, b)
        head[_LOW], head[_HIGH] = low, high
    tidy[i], tidy[i + 1] = size[i], size[i + 1]


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


@inlined
def _estimate(own, r, m, k, n, q, cut, same, known):
    head, i, half = own.head[r, m, k], 2 * _place(own, r, m, k), n // 2
    if cut < 0 or head[_CHANGED] or not same:
        _sort_tails(own, r, m, k)
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
