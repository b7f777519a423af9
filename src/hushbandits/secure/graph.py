"""Regular graphs for secret sharing, and the smallest safe degree k with its threshold t."""

import math
from collections.abc import Sequence
from functools import lru_cache
from itertools import accumulate

import numpy as np

from hushbandits.secure.primitives import keystream


def neighbourhoods(names: Sequence[int], k: int, seed: bytes) -> dict[int, list[int]]:
    """Return each user's neighbours, the next ⌈k/2⌉ users on each side in a random circle.

    Parameters
    ----------
    names : sequence of int
        Distinct.
    k : int
        An odd one counts as k + 1; from ``len(names) − 1`` on, all are joined.
    seed : bytes
        32, public; a party that can try many seeds chooses the graph.

    References
    ----------
    Bell et al. 2020, section 3 (the Harary graph under random names).
    """
    n, half = len(names), (k + 1) // 2
    if 2 * half >= n - 1:
        return {u: sorted(v for v in names if v != u) for u in names}
    order = np.argsort(np.frombuffer(keystream(seed, 8 * n), "<u8"), kind="stable")
    circle = [sorted(names)[i] for i in order]
    steps = [s for s in range(-half, half + 1) if s]
    return {u: sorted(circle[(i + s) % n] for s in steps) for i, u in enumerate(circle)}


def _tail(population: int, bad: int, k: int) -> list[float]:
    """Return P(at least j bad users in a sample of k users) for j = 0 … k + 1, exact up to one rounding."""
    counts = [math.comb(bad, j) * math.comb(population - bad, k - j) for j in range(k + 1)]
    whole, tails = math.comb(population, k), accumulate(reversed(counts), initial=0)
    return [tail / whole for tail in tails][::-1]  # Python rounds a quotient of integers once


@lru_cache(maxsize=256)
def neighbourhood(n: int, corrupt: float = 1 / 3, dropout: float = 1 / 3, security: int = 40) -> tuple[int, int]:
    """Return the smallest safe degree k (even, or n − 1), and its best threshold t, for a graph of n users.

    The graph is unsafe with probability at most ``2^(−security)``.

    Safe: nobody has t corrupt neighbours, and the honest survivors are connected (on the circle, no ⌈k/2⌉ in a row
    are corrupt or dropped).  Enough: everybody keeps t surviving neighbours.  A neighbourhood is a uniform sample, so
    each tail is hypergeometric and exact; the union over users is a bound.

    Parameters
    ----------
    n : int
    corrupt, dropout : float
        Fractions of the users, each below 1, together too.
    security : int

    Raises
    ------
    ValueError
        Not even the complete graph will do.

    References
    ----------
    Bell et al. 2020, section 3.

    Examples
    --------
    >>> neighbourhood(1000, 0.05, 0.05)
    (36, 18)
    """
    if min(corrupt, dropout) < 0 or corrupt + dropout >= 1:
        raise ValueError(f"corrupt={corrupt:g}, dropout={dropout:g}: both must be ≥ 0, and their sum below 1")
    others, taken, gone, risk = n - 1, math.ceil(corrupt * n), math.ceil(dropout * n), 2.0**-security
    for k in range(2, others, 2):
        gap = n * math.comb(min(taken + gone, n), k // 2) / math.comb(n, k // 2)
        if gap <= risk:
            seen, lost = _tail(others, taken, k), _tail(others, gone, k)
            each, t = min((seen[t] + lost[k - t + 1], t) for t in range(1, k + 1))
            if n * each + gap <= risk:
                return k, t
    if taken + 1 <= others - gone:  # everybody sees everybody: nothing is left to chance
        return others, taken + 1
    raise ValueError(f"corrupt={corrupt:g} and dropout={dropout:g} leave fewer than two honest, present users of n={n}")
