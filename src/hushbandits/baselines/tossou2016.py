"""Tossou & Dimitrakakis 2016, "Algorithms for Differentially Private Multi-Armed Bandits" (AAAI)."""

from hushbandits.agents.dubey2020 import PrivateUCB
from hushbandits.core.random.streams import LONGEST


class DPUCBInt(PrivateUCB):
    """DP-UCB-INT (Tossou & Dimitrakakis 2016), played by each agent alone, without messages.

    ⌈1/ε⌉ pulls of each arm, then ``argmax_k v̂_k + √(2 ln t / n_k)`` on the agent's *own* noised mean, refreshed at the
    release counts only (`PrivateMeans` with ``own_feedback="private"``): what an observer of its actions sees is
    private.  It sends nothing and hears nothing.
    """

    quiet = LONGEST

    def __init__(self, epsilon: float = 1.0, release_exponent: float = 1.1):
        super().__init__(epsilon, release_exponent, own_feedback="private")
