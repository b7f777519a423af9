"""UCB1 and Multi-UCB as hand-written loops over scalars, for one run and nothing else.

Python runs the loop over lists, Numba the same code over arrays.  It uses the package's random numbers, so its regret
is identical to the package's.
"""

import math
from functools import cache

import numba
import numpy as np

import hushbandits as hb
from hushbandits.core.random.names import REWARD
from hushbandits.core.random.streams import Streams, spawn_seeds
from hushbandits.envs.network.graphs import adjacency, hop_distances

MEANS = (0.5, *[0.45] * 9)


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


@cache
def slots(graph, n_agents, hears):
    """Return the start of each agent's slots, the receivers, and the delays; empty without communication."""
    distance = hop_distances(adjacency(graph, n_agents)) * hears
    sender, receiver = np.nonzero(distance)
    return np.searchsorted(sender, np.arange(n_agents + 1)), receiver, distance[sender, receiver]


def rng_of(graph, n_agents, horizon, runs):
    """Return the random streams of the env's runs."""
    env = {"n_agents": n_agents, "graph": graph, "means": MEANS, "permute_arms": False, "horizon": horizon}
    world = hb.make_batched("CoopNetwork-v0", **env).seed_text
    return Streams(spawn_seeds(0, runs, world=world))


def by_hand(agent, graph, n_agents, horizon, runs, compile=True):
    """Play UCB1 or Multi-UCB; return the regret of every run and agent, ``(R, M)``."""
    means, heard = np.array(MEANS), slots(graph, n_agents, agent == "Multi-UCB")
    regret = np.zeros((runs, n_agents))
    rewards = rng_of(graph, n_agents, horizon, runs).reader((n_agents,), REWARD).rows(horizon)
    for r in range(runs):
        uniforms = rewards[:, r].ravel()
        n, s = np.zeros((2, n_agents * len(means)))
        arrays = (
            means,
            means.max() - means,
            uniforms,
            *heard,
            n,
            s,
            np.zeros(uniforms.size, int),
            np.zeros(uniforms.size),
            regret[r],
        )
        if compile:
            compiled(game)(horizon, *arrays)
        else:
            lists = [array.tolist() for array in arrays]
            game(horizon, *lists)
            regret[r] = lists[-1]
    return regret


@numba.njit
def least_of_dp_mase(seed, n_agents):
    """Run the minimum work of DP-MASE for 1,403 activations of five agents: select one, draw its rewards, add up."""
    np.random.seed(seed)
    sums, pulls, rounds, done = np.zeros((n_agents, 10)), np.zeros(n_agents), 0.0, 0
    while done < 5:
        n = np.random.randint(n_agents)
        for k in range(10):
            sums[n, k] += np.random.random() < (0.7 if k == 0 else 0.5 if k == 1 else 0.3 if k == 2 else 0.1)
        pulls[n] += 1
        rounds += 1
        done += pulls[n] == 1403
    return rounds
