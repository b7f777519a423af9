"""Binomial noise on integer vectors, as in the shuffled vector-sum protocol.

Agarwal, Suresh, Yu, Kumar & McMahan 2018, "cpSGD: Communication-Efficient and Differentially-Private Distributed SGD",
theorem 1.
"""

import math

from hushbandits.privacy.divergence import until
from hushbandits.privacy.tree import sensitivity

#: A coin of the noise is 1 with this probability.
COIN = 0.25
_SPREAD = COIN * (1 - COIN)
_SQUARES = COIN**2 + (1 - COIN) ** 2
_B, _D = 2 / 3 * _SQUARES + 1 - 2 * COIN, 4 / 3 * _SQUARES
_C = math.sqrt(2) * (3 * COIN**3 + 3 * (1 - COIN) ** 3 + 2 * _SQUARES)


def binomial_epsilon(coins: float, delta: float, entries: int, l1: float, l2: float, largest: float) -> float:
    """Return ε at δ of Bin(`coins`, ¼) noise on each of `entries` integers (theorem 1); ∞ where it does not hold.

    A user moves the integers by at most `l1`, `l2` and `largest` in the norms 1, 2 and ∞.

    Examples
    --------
    >>> [round(binomial_epsilon(n, 1e-5, 20, 400.0, 100.0, 50.0), 3) for n in (1e4, 1e6, 1e8)]
    [17.685, 1.184, 0.113]
    """
    variance = coins * _SPREAD
    if variance < max(23 * math.log(10 * entries / delta), 2 * largest):
        return math.inf
    first = l2 * math.sqrt(2 * math.log(1.25 / delta) / variance)
    second = (l2 * _C * math.sqrt(math.log(10 / delta)) + l1 * _B) / (variance * (1 - delta / 10))
    third = 2 / 3 * math.log(1.25 / delta) + _D * math.log(20 * entries / delta) * math.log(10 / delta)
    return first + second + largest * third / variance


def vector_sum_epsilon(coins: float, delta: float, steps: int, entries: int, square: float) -> float:
    """Return ε at δ of a sum of vectors that are rounded at random to multiples of 1/`steps`, with binomial noise.

    A user moves the `entries` numbers, in [−1, 1], by at most √`square` in the norm 2.  Its integers are within 1 of
    what they round, so two users' differ by at most ``steps·√square + 2√entries``; given the roundings theorem 1
    holds, and so it does for their mixture.
    """
    l2 = steps * math.sqrt(square) + 2 * math.sqrt(entries)
    return binomial_epsilon(coins, delta, entries, l2 * math.sqrt(entries), l2, 2.0 * steps)


def least_coins(n: int, epsilon: float, delta: float, steps: int, d: int) -> int:
    """Return the least number of coins of each of `n` users, for an entry of (x xᵀ, r x), for (ε, δ)-privacy of a sum.

    Raises
    ------
    ValueError
        ε so small that a user would need 2⁴⁰ coins or more.
    """

    def dear(coins: float) -> bool:
        return vector_sum_epsilon(n * coins, delta, steps, d * (d + 3) // 2, sensitivity() ** 2) > epsilon

    if math.isinf(found := until(dear, 1.0, 1 << 40, 0.5)[1]):
        raise ValueError(f"epsilon={epsilon!r} of a sum is too small: each of {n} users would need 2^40 coins an entry")
    return math.ceil(found)


def released_coins(n: int, epsilon: float, delta: float, steps: int, d: int) -> int:
    """Return the number of coins in the code of Zhou & Chowdhury 2024, ``⌈g² ln²(d²/δ)/(ε²n)⌉``."""
    return math.ceil((steps * math.log(d * d / delta) / epsilon) ** 2 / n)
