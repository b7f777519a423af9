"""Policies for rewards that a local mechanism has privatized (Ren, Zhou, Liu & Shroff 2020).

The policies give no guarantee; the mechanism does, before a reward reaches them (`LocalDPNetwork-v0`).
"""

import math

from hushbandits.core import Array, divisor, jit
from hushbandits.policies.policy import Policy, Tuned, add, by_index, sums
from hushbandits.policies.ucb import UCB1


@jit
def _laplace_index(state, r, k, log_t):
    n = state.n[r, k]
    if n <= 4.0 * math.log(state.t[r] + 2.0):  # before play t: N ≤ 4 ln(t + 1)
        return math.inf
    return state.s[r, k] / n + math.sqrt(2.0 * log_t / n) + math.sqrt(32.0 * log_t / (state.parameter**2 * n))


class LDPUCBL(Policy):
    """LDP-UCB-L, with index ``μ̂ + √(2 ln t/N) + √(32 ln t/(ε²N))`` on rewards with Lap(1/ε) noise.

    An arm with ``N ≤ 4 ln(t + 1)`` plays comes before all others.

    Policy and mechanism share ε: a value given to either holds for both; different values raise an error.

    Source: Ren, Zhou, Liu & Shroff 2020, "Multi-Armed Bandits with Local Differential Privacy", LDP-UCB-L.

    Parameters
    ----------
    epsilon : float, optional
        ε of the mechanism; default: that of the env's mechanism, or 1 without one.
    """

    name = "LDP-UCB-L"
    choose = staticmethod(by_index(_laplace_index))
    update = staticmethod(add)

    shared = ("epsilon",)

    def __init__(self, epsilon: float | None = None):
        self.epsilon = epsilon if epsilon is None else divisor("epsilon", epsilon)

    def state(self, learners: int, n_arms: int, plays: float, cursors: Array | None = None) -> Tuned:
        return Tuned(*sums(learners, n_arms), 1.0 if self.epsilon is None else self.epsilon)


class LDPUCBB(UCB1):
    """UCB1 on bits of the Bernoulli mechanism: reward x gives 1 with probability ``(x(e^ε − 1) + 1)/(e^ε + 1)``.

    The replaced rewards are in {0, 1}, and their means are in the order of the arms', nearer to ½ by
    ``(e^ε − 1)/(e^ε + 1)``; its index has no ε, which is the mechanism's alone.  Source: Ren, Zhou, Liu & Shroff 2020,
    LDP-UCB-B.
    """

    name = "LDP-UCB-B"
