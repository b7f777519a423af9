"""QuACK-UCB and QuACK-TS by hand: the leader's queues, and followers that repeat its arms a few rounds later.

QuACK-UCB uses the package's random numbers, so its regret is identical to the package's.  The posteriors of QuACK-TS
are drawn by NumPy's generator: its regret is equal in law.
"""

import math
from functools import cache

import numba
import numpy as np

from benchmarks.loops.world import MEANS, streams, uniforms
from hushbandits.core.random.names import agent as stream_of
from hushbandits.envs.network.graphs import adjacency, graph_median, hop_distances


@numba.njit
def best_bound(bound, n, s, rng):
    """Return the arm with the largest bound."""
    best, top = 0, -math.inf
    for k in range(bound.size):
        if bound[k] > top:
            best, top = k, bound[k]
    return best


@numba.njit
def best_draw(bound, n, s, rng):
    """Return the arm with the largest draw from Beta(wins + 1, losses + 1)."""
    best, top = 0, -math.inf
    for k in range(bound.size):
        x = rng.beta(s[k] + 1.0, n[k] - s[k] + 1.0)
        if x > top:
            best, top = k, x
    return best


def game(choose):
    """Return the compiled game around a choice of the leader's arm."""

    @numba.njit
    def play(means, gaps, uniforms, guesses, late, order, level, rng, regret):
        rounds, agents = uniforms.shape
        leader = order[0]
        n, s, bound = np.zeros(means.size), np.zeros(means.size), np.full(means.size, math.inf)
        queue = np.empty((means.size, rounds * agents), np.bool_)
        head, tail = np.zeros(means.size, np.int64), np.zeros(means.size, np.int64)
        arms, rewards = np.empty((rounds, agents), np.uint8), np.empty((rounds, agents), np.bool_)
        for t in range(rounds):
            k = choose(bound, n, s, rng)
            while head[k] < tail[k]:
                n[k] += 1.0
                s[k] += queue[k, head[k]]
                bound[k] = s[k] / n[k] + 0.5 * math.sqrt(2.0 * level / n[k])
                head[k] += 1
                k = choose(bound, n, s, rng)
            arms[t, leader] = k
            for w in range(agents):
                arm = arms[t - late[w], leader] if t >= late[w] else guesses[t, w]
                arms[t, w], rewards[t, w] = arm, uniforms[t, w] < means[arm]
                regret[w] += gaps[arm]
            n[k] += 1.0
            s[k] += rewards[t, leader]
            bound[k] = s[k] / n[k] + 0.5 * math.sqrt(2.0 * level / n[k])
            for w in order[1:]:
                posted = t - late[w] + 1
                if posted < 0:  # nearest first
                    break
                arm = arms[posted, w]
                queue[arm, tail[arm]] = rewards[posted, w]
                tail[arm] += 1

    return play


GAMES = {"QuACK-UCB": game(best_bound), "QuACK-TS": game(best_draw)}


@cache
def lead(graph, n_agents):
    """Return the rounds from each agent to the leader, and the agents in the order of their distance."""
    distance = hop_distances(adjacency(graph, n_agents))
    late = distance[int(graph_median(distance[None])[0])]
    return late, np.argsort(late, kind="stable")


def by_hand(agent, graph, n_agents, horizon, runs):
    """Play QuACK-UCB or QuACK-TS; return the regret of every run and agent, ``(R, M)``."""
    means, (late, order) = np.array(MEANS), lead(graph, n_agents)
    rng, regret = streams("CoopNetwork-v0", graph, n_agents, horizon, runs), np.zeros((runs, n_agents))
    own = rng.below(stream_of(agent)).generators()
    for r in range(runs):
        guesses = own[r].integers(means.size, size=(min(horizon, int(late.max())), n_agents))
        GAMES[agent](
            means, means.max() - means, uniforms(rng, horizon, n_agents, r), guesses, late, order,
            2.0 * math.log(n_agents * horizon), np.random.default_rng(r), regret[r],
        )  # fmt: skip
    return regret
