"""The tails of growing samples, compiled (see `hushbandits.estimators.running`).

Per arm: ``n`` samples, the ``pending`` odd one, the sorted lists Y (at 2i) and X (at 2i + 1) in ``data``, and the
``bulk``.  Y holds all of N values up to 2B, then the B lowest and the B highest; X what lies beyond the inner ends of
those; the bulk the count and the double-double sum of the other X.
"""

from __future__ import annotations

import numpy as np

from hushbandits.core.ground.jit import jit
from hushbandits.estimators.rules import add, clipped_points, kept_points, shortest_window

__all__ = ["absorb", "trim"]


@jit
def _merge(data, start, size, new):
    # sorted `new` into the sorted list, from the back
    end = start + size
    for j in range(new.size - 1, -1, -1):
        at = start + np.searchsorted(data[start:end], new[j], "right")
        for p in range(end - 1, at - 1, -1):
            data[p + j + 1] = data[p]
        data[at + j] = new[j]
        end = at
    return size + new.size


@jit
def _cut(data, start, size, low, high):
    # take positions low … high − 1 out of the list
    for j in range(high, size):
        data[start + low + j - high] = data[start + j]
    return size - (high - low)


@jit
def absorb(arm, reward, arrived, keep, n, pending, start, size, data, bulk, changed):
    """Split arrivals by turns into X and Y; merge what falls into the tails (then `changed`), add up the rest."""
    runs, agents, slots = arm.shape
    arms = n.shape[2]
    new = np.empty((2, arms, slots // 2 + 1))  # this round's Y and X, arm by arm
    fresh = np.zeros(arms, np.int64)
    for r in range(runs):
        for m in range(agents):
            fresh[:] = 0
            for s in range(slots):
                if arrived[r, m, s]:
                    k = arm[r, m, s]
                    if n[r, m, k] % 2:
                        new[0, k, fresh[k]] = reward[r, m, s]
                        new[1, k, fresh[k]] = pending[r, m, k]
                        fresh[k] += 1
                    else:
                        pending[r, m, k] = reward[r, m, s]
                    n[r, m, k] += 1
            for k in range(arms):
                if fresh[k]:
                    i = 2 * ((r * agents + m) * arms + k)
                    y, x = new[0, k, : fresh[k]], new[1, k, : fresh[k]]
                    if _grow(y, x, keep, i, start, size, data, bulk[r, m, k]):
                        changed[r, m, k] = True


@jit
def _outside(new, low, high, bulk):
    # move what lies beyond [low, high] to the front; add up the rest if there is a bulk to add it to
    kept = 0
    for x in new:
        if x < low or x > high:
            new[kept] = x
            kept += 1
        elif bulk.size:
            bulk[0] += 1.0
            bulk[1], bulk[2] = add(bulk[1], bulk[2], x)
    return kept


@jit
def _grow(y, x, keep, i, start, size, data, bulk):
    # take in new values of one arm; say whether its tails have changed
    full = size[i] == 2 * keep
    kept = y.size
    if full:
        kept = _outside(y, data[start[i] + keep - 1], data[start[i] + keep], bulk[:0])
    if kept:
        y[:kept].sort()
        size[i] = _merge(data, start[i], size[i], y[:kept])
        if size[i] > 2 * keep:
            size[i] = _cut(data, start[i], size[i], keep, size[i] - keep)
    if size[i] < 2 * keep:
        x.sort()
        size[i + 1] = _merge(data, start[i + 1], size[i + 1], x)
        return True
    low, high = data[start[i] + keep - 1], data[start[i] + keep]
    if kept or not full:  # the tails have shrunk: X that no longer lie in them join the bulk
        tail = data[start[i + 1] : start[i + 1] + size[i + 1]]
        a, b = np.searchsorted(tail, low), np.searchsorted(tail, high, "right")
        _outside(tail[a:b], low, high, bulk)
        size[i + 1] = _cut(data, start[i + 1], size[i + 1], a, b)
    outside = _outside(x, low, high, bulk)
    if outside:
        x[:outside].sort()
        size[i + 1] = _merge(data, start[i + 1], size[i + 1], x[:outside])
    return kept > 0 or outside > 0 or not full


@jit
def _middle(y, x, pending, n):
    # median of two sorted lists and, where n is odd, one more value
    spare = n % 2 == 1
    i = j = 0
    before = now = 0.0
    for _ in range(n // 2 + 1):
        before = now
        if i < y.size and (j == x.size or y[i] <= x[j]) and not (spare and pending < y[i]):
            now = y[i]
            i += 1
        elif j < x.size and not (spare and pending < x[j]):
            now = x[j]
            j += 1
        else:
            now = pending
            spare = False
    return now if n % 2 else 0.5 * (before + now)


@jit
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


@jit
def _inside(x, low, high, clips):
    # count and double-double sum of the sorted X in [low, high], or of all X clipped to it
    a, b = np.searchsorted(x, low), np.searchsorted(x, high, "right")
    total, rest = _sum(x[a:b])
    if not clips:
        return float(b - a), total, rest
    for _ in range(a):
        total, rest = add(total, rest, low)
    for _ in range(x.size - b):
        total, rest = add(total, rest, high)
    return float(x.size), total, rest


@jit
def trim(clips, log_inverse_delta, epsilon, n, pending, start, size, data, bulk, changed, memo, out):
    """Write the trimmed (or clipped) means.

    ``memo`` holds, per arm, n and the cut of the last estimate, the X of the tails that it counted (number, sum) and
    the middle of its interval, and the estimate.  The cut (how many points are left out) fixes 𝒵 as long as the tails
    stay as they are, and what falls between them enters by the bulk.
    """
    runs, agents, arms = n.shape
    for r in range(runs):
        for m in range(agents):
            for k in range(arms):
                if n[r, m, k] == 0:
                    continue
                half = n[r, m, k] // 2
                if clips:
                    q = clipped_points(half, log_inverse_delta, epsilon)
                    cut = q if 2 * q <= half else -1
                else:
                    q = kept_points(half, log_inverse_delta, epsilon) if half else 0
                    cut = half - q if q > 0 else -1
                known = memo[r, m, k]
                same = known[1] == cut
                if same and known[0] == n[r, m, k]:
                    out[r, m, k] = known[6]
                    continue
                i = 2 * ((r * agents + m) * arms + k)
                y = data[start[i] : start[i] + size[i]]
                x = data[start[i + 1] : start[i + 1] + size[i + 1]]
                if cut < 0:
                    known[6] = _middle(y, x, pending[r, m, k], n[r, m, k])
                else:
                    if changed[r, m, k] or not same:
                        if clips:
                            low, high = y[q - 1], y[y.size - q]
                        else:
                            low, high = shortest_window(y, half, q, half - y.size)
                        known[2], known[3], known[4] = _inside(x, low, high, clips)
                        known[5] = low + 0.5 * (high - low)
                        changed[r, m, k] = False
                    count = bulk[r, m, k, 0] + known[2]
                    total, rest = add(bulk[r, m, k, 1], bulk[r, m, k, 2] + known[4], known[3])
                    known[6] = (total + rest) / count if count else known[5]
                known[0], known[1] = n[r, m, k], cut
                out[r, m, k] = known[6]
