"""Compiled reductions of inboxes, which read posts from the ring buffer for each receiver.

Distances are symmetric, so an agent's slots are its receivers as well.  Sums run over the senders in index order, and
read a post once per hop distance.
"""

import numpy as np

from hushbandits.core import lean


@lean
def gather(value, mask, sender, delay, degree, t, out):
    """Copy the posts `value` that reach each agent in round t into the slots of `out`."""
    depth, runs, agents = mask.shape
    for r in range(runs):
        g = r % sender.shape[0]
        for m in range(agents):
            for s in range(degree[g, m]):
                posted = t - delay[g, m, s] + 1
                if posted < 1:  # slots come nearest first: messages of all further ones have not arrived yet
                    break
                i, w = posted % depth, sender[g, m, s]
                if mask[i, r, w]:
                    for f in range(value.shape[3]):
                        out[r, m, s, f] = value[i, r, w, f]


@lean
def tally(arm, reward, sent, receiver, shell, t, first, out):
    """Add pull counts and reward sums of the runs `first`, `first` + 1, … to `out`, ``(n, M, K, 2)``.

    Pulls and sums are adjacent in memory, in one cache line.
    """
    depth, _, agents = sent.shape
    # Unsigned indices spare Numba the test for negative ones.
    row = np.uint64(2 * out.shape[2])
    one = np.uint64(1)
    for r in range(first, first + out.shape[0]):
        g = r % receiver.shape[0]
        flat = out[r - first].reshape(-1)
        for w in range(agents):
            i = t % depth
            for d in range(1, min(depth, shell.shape[2] - 1, t) + 1):
                if sent[i, r, w]:
                    pull, x = np.uint64(2 * arm[i, r, w]), reward[i, r, w]
                    for s in range(np.uint64(shell[g, w, d - 1]), np.uint64(shell[g, w, d])):
                        at = np.uint64(receiver[g, w, s]) * row + pull
                        flat[at] += 1.0
                        flat[at + one] += x
                i = i - 1 if i > 0 else depth - 1


@lean
def total(value, mask, receiver, shell, t, out):
    """Add the values of a field that reach each agent in round t to `out`."""
    depth, runs, agents = mask.shape
    for r in range(runs):
        g = r % receiver.shape[0]
        for w in range(agents):
            i = t % depth
            for d in range(1, min(depth, shell.shape[2] - 1, t) + 1):
                if mask[i, r, w]:
                    for s in range(shell[g, w, d - 1], shell[g, w, d]):
                        to = receiver[g, w, s]
                        for f in range(value.shape[3]):
                            out[r, to, f] += value[i, r, w, f]
                i = i - 1 if i > 0 else depth - 1


@lean
def mix(value, sent, sender, degree, matrix, r, out):
    """Write ``Σ_w P_mw x_w`` over an agent and its neighbours to row r of `out`; a lost x_w is replaced by x_m.

    `value` and `out` are ``(R, M, F)``, `sent` is ``(R, M)``; slots hold neighbours alone.
    """
    g, at = r % matrix.shape[0], r % sender.shape[0]
    x, to = value[r].reshape(-1), out[r].reshape(-1)
    # Unsigned indices spare Numba the test for negative ones.
    width, row = np.uint64(value.shape[2]), np.uint64(0)
    for m in range(value.shape[1]):
        own = matrix[g, m, m]
        if degree[at, m] == 4:  # inside a grid: one pass, the same sum
            a, b, c, d = sender[at, m, 0], sender[at, m, 1], sender[at, m, 2], sender[at, m, 3]
            p, q, u, v = matrix[g, m, a], matrix[g, m, b], matrix[g, m, c], matrix[g, m, d]
            i = np.uint64(a) * width if sent[r, a] else row
            j = np.uint64(b) * width if sent[r, b] else row
            k = np.uint64(c) * width if sent[r, c] else row
            n = np.uint64(d) * width if sent[r, d] else row
            for f in range(width):
                to[row + f] = own * x[row + f] + p * x[i + f] + q * x[j + f] + u * x[k + f] + v * x[n + f]
        elif degree[at, m] == 2:  # on a cycle
            a, b = sender[at, m, 0], sender[at, m, 1]
            p, q = matrix[g, m, a], matrix[g, m, b]
            i = np.uint64(a) * width if sent[r, a] else row
            j = np.uint64(b) * width if sent[r, b] else row
            for f in range(width):
                to[row + f] = own * x[row + f] + p * x[i + f] + q * x[j + f]
        else:
            for f in range(width):
                to[row + f] = own * x[row + f]
            for s in range(degree[at, m]):
                w = sender[at, m, s]
                p, i = matrix[g, m, w], np.uint64(w) * width if sent[r, w] else row
                for f in range(width):
                    to[row + f] += p * x[i + f]
        row += width
