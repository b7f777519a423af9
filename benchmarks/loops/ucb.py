"""UCB1 and Multi-UCB by hand.

Python runs the loop over lists, Numba the same code over arrays.  It uses the package's random numbers, so its regret
is identical to the package's.
"""

import math
from functools import cache

import numba
import numpy as np

from benchmarks.loops.world import MEANS, slots, streams, uniforms


def game(rounds, means, gaps, uniforms, first, receiver, delay, n, s, arms, rewards, regret):
    """Play one run: every agent pulls the arm with the largest index, then takes in the messages that arrive.

    All arrays are flat: arm k of agent m has index ``m K + k``, and its round t has ``t M + m``.  It is received by
    ``receiver[i]``, ``delay[i]`` rounds late, for i from ``first[m]`` up to but not including ``first[m + 1]``.
    """
    agents, n_arms = len(regret), len(means)
    for t in range(rounds):
        log_t = math.log(t + 1.0)
        for m in range(agents):
            best, highest = 0, -math.inf
            for k in range(n_arms):
                i = m * n_arms + k
                index = math.inf if n[i] == 0.0 else s[i] / n[i] + math.sqrt(2.0 * log_t / n[i])
                if index > highest:
                    best, highest = k, index
            now, i = t * agents + m, m * n_arms + best
            arms[now], rewards[now] = best, 1.0 if uniforms[now] < means[best] else 0.0
            regret[m] += gaps[best]
            n[i] += 1.0
            s[i] += rewards[now]
        for m in range(agents):
            for slot in range(first[m], first[m + 1]):
                posted = t + 1 - delay[slot]
                if posted >= 0:
                    at = posted * agents + m
                    i = receiver[slot] * n_arms + arms[at]
                    n[i] += 1.0
                    s[i] += rewards[at]


compiled = cache(numba.njit)


def by_hand(agent, graph, n_agents, horizon, runs, compile=True):
    """Play UCB1 or Multi-UCB; return the regret of every run and agent, ``(R, M)``."""
    means, heard = np.array(MEANS), slots(graph, n_agents, agent == "Multi-UCB")
    regret, rng = np.zeros((runs, n_agents)), streams("CoopNetwork-v0", graph, n_agents, horizon, runs)
    for r in range(runs):
        rewards = uniforms(rng, horizon, n_agents, r).ravel()
        n, s = np.zeros((2, n_agents * len(means)))
        arrays = (
            means,
            means.max() - means,
            rewards,
            *heard,
            n,
            s,
            np.zeros(rewards.size, int),
            np.zeros(rewards.size),
            regret[r],
        )
        if compile:
            compiled(game)(horizon, *arrays)
        else:
            lists = [array.tolist() for array in arrays]
            game(horizon, *lists)
            regret[r] = lists[-1]
    return regret
