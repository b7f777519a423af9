"""coop-UCB, DDUCB and Dec-TS by hand: sums that neighbours average once per round.

coop-UCB and DDUCB use the package's random numbers, so their regret is identical to the package's.  The posteriors of
Dec-TS are drawn by NumPy's generator: its regret is equal in law.
"""

import math
from functools import cache

import numba
import numpy as np

from benchmarks.loops.world import MEANS, neighbours, streams, uniforms
from hushbandits.baselines.gossip import gossip_matrix, second_eigenvalue
from hushbandits.baselines.landgren2016 import smallest_exploration
from hushbandits.baselines.martinez2019 import chebyshev, stage_length
from hushbandits.envs.network.graphs import adjacency


@numba.njit
def mix(x, first, neighbour, weight, out):
    """Write the averages of each agent's row with its neighbours' rows to `out`."""
    agents, width = x.shape
    for m in range(agents):
        own = 1.0 - (first[m + 1] - first[m]) * weight
        if first[m + 1] - first[m] == 2:
            a, b = neighbour[first[m]], neighbour[first[m] + 1]
            for f in range(width):
                out[m, f] = own * x[m, f] + weight * x[a, f] + weight * x[b, f]
        elif first[m + 1] - first[m] == 4:
            a, b, c, d = neighbour[first[m] : first[m] + 4]
            for f in range(width):
                out[m, f] = own * x[m, f] + weight * x[a, f] + weight * x[b, f] + weight * x[c, f] + weight * x[d, f]
        else:
            for f in range(width):
                out[m, f] = own * x[m, f]
            for w in neighbour[first[m] : first[m + 1]]:
                for f in range(width):
                    out[m, f] += weight * x[w, f]


@numba.njit
def coop_ucb(means, gaps, uniforms, first, neighbour, weight, extra, scale, regret):
    """Play one run of coop-UCB."""
    (rounds, agents), n_arms = uniforms.shape, means.size
    s, n = np.zeros((agents, n_arms)), np.zeros((agents, n_arms))
    s_next, n_next, index = np.empty_like(s), np.empty_like(s), np.empty(n_arms)
    for t in range(1, rounds + 1):
        level = scale * math.log(t)
        for m in range(agents):
            best, top = t - 1, -math.inf
            if t > n_arms:
                for k in range(n_arms):
                    index[k] = s[m, k] / n[m, k] + math.sqrt((n[m, k] + extra[m]) * level) / n[m, k]
                for k in range(n_arms):
                    if index[k] > top:
                        best, top = k, index[k]
            regret[m] += gaps[best]
            s[m, best] += uniforms[t - 1, m] < means[best]
            n[m, best] += 1.0
        if t > n_arms:
            mix(s, first, neighbour, weight, s_next)
            mix(n, first, neighbour, weight, n_next)
            s, s_next, n, n_next = s_next, s, n_next, n


@numba.njit
def ddu(s, n, level):
    """Return DDUCB's index."""
    return math.inf if n <= 0.0 else s / n + math.sqrt(level / n)


@numba.njit
def dducb(means, gaps, uniforms, first, neighbour, weight, steps, scale, regret):
    """Play one run of DDUCB, which chooses once per stage; `steps` has the coefficients of a stage's rounds."""
    (rounds, agents), n_arms, length = uniforms.shape, means.size, len(steps)
    shape = (2, agents, n_arms)  # sums and counts
    old, mixing, after = np.zeros(shape), np.zeros(shape), np.zeros(shape)
    mixed, fresh, usable = np.zeros(shape), np.zeros(shape), np.zeros(shape)
    arms, step, known = np.zeros(agents, np.int64), 0, float(n_arms)
    for t in range(1, rounds + 1):
        level = scale * math.log(known) / agents
        for m in range(agents):
            if t <= n_arms:
                arms[m] = t - 1
            elif step == 0:
                top = -math.inf
                for k in range(n_arms):
                    x = ddu(usable[0, m, k], usable[1, m, k], level)
                    if x > top:
                        arms[m], top = k, x
            k = arms[m]
            reward = 1.0 if uniforms[t - 1, m] < means[k] else 0.0
            regret[m] += gaps[k]
            if t <= n_arms:
                mixing[0, m, k], mixing[1, m, k] = reward, 1.0
                usable[0, m, k], usable[1, m, k] = reward / agents, 1.0 / agents
            else:
                fresh[0, m, k] += reward
                fresh[1, m, k] += 1.0
        if t <= n_arms:
            continue
        a, b = steps[step]
        for i in range(2):
            mix(mixing[i], first, neighbour, weight, after[i])
        for i in range(2):
            for m in range(agents):
                for k in range(n_arms):
                    after[i, m, k] = a * after[i, m, k] - b * old[i, m, k]
        old, mixing, after = mixing, after, old
        step += 1
        if step == length:
            step, known = 0, float((t - length) * agents)
            mixed += mixing
            usable[:] = mixed
            mixing[:] = fresh
            fresh[:] = 0.0


@numba.njit
def dec_ts(means, gaps, uniforms, first, neighbour, weight, rng, regret):
    """Play one run of Dec-TS."""
    (rounds, agents), n_arms = uniforms.shape, means.size
    wins, losses = np.ones((agents, n_arms)), np.ones((agents, n_arms))
    wins_next, losses_next = np.empty_like(wins), np.empty_like(wins)
    for t in range(rounds):
        for m in range(agents):
            best, top = 0, -1.0
            for k in range(n_arms):
                x = rng.beta(wins[m, k], losses[m, k])
                if x > top:
                    best, top = k, x
            regret[m] += gaps[best]
            if uniforms[t, m] < means[best]:
                wins[m, best] += agents
            else:
                losses[m, best] += agents
        mix(wins, first, neighbour, weight, wins_next)
        mix(losses, first, neighbour, weight, losses_next)
        wins, wins_next, losses, losses_next = wins_next, wins, losses_next, losses


@cache
def constants(agent, graph, n_agents):
    """Return what an agent's index needs to know of the graph."""
    matrix = gossip_matrix(adjacency(graph, n_agents)[None])
    if agent == "coop-UCB":
        return smallest_exploration(matrix[0]), 2.0 * 1.01 * 0.5**2 / n_agents
    second = float(second_eigenvalue(matrix)[0])
    return chebyshev(second, stage_length(n_agents, second, 1 / 22)), 2.0 * 2.0 * 0.5**2


def by_hand(agent, graph, n_agents, horizon, runs):
    """Play coop-UCB, DDUCB or Dec-TS; return the regret of every run and agent, ``(R, M)``."""
    means, near = np.array(MEANS), neighbours(graph, n_agents)
    rng, regret = streams("CoopNetwork-v0", graph, n_agents, horizon, runs), np.zeros((runs, n_agents))
    for r in range(runs):
        world = means, means.max() - means, uniforms(rng, horizon, n_agents, r), *near
        if agent == "Dec-TS":
            dec_ts(*world, np.random.default_rng(r), regret[r])
        else:
            {"coop-UCB": coop_ucb, "DDUCB": dducb}[agent](*world, *constants(agent, graph, n_agents), regret[r])
    return regret
