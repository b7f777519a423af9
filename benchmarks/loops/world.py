"""What loops take from outside: the package's random numbers, and a graph as flat arrays."""

from functools import cache

import numpy as np

import hushbandits as hb
from hushbandits.core.random.names import REWARD, wrapper
from hushbandits.core.random.streams import Streams, spawn_seeds
from hushbandits.envs.network.graphs import adjacency, hop_distances

MEANS = (0.5, *[0.45] * 9)


@cache
def slots(graph, n_agents, hears=True):
    """Return the start of each agent's slots, the receivers, and the delays; empty without communication."""
    distance = hop_distances(adjacency(graph, n_agents)) * hears
    sender, receiver = np.nonzero(distance)
    return np.searchsorted(sender, np.arange(n_agents + 1)), receiver, distance[sender, receiver]


@cache
def neighbours(graph, n_agents):
    """Return the start of each agent's neighbours, the neighbours, and the weight of a neighbour in gossip."""
    edges = adjacency(graph, n_agents)
    agent, other = np.nonzero(edges)
    return np.searchsorted(agent, np.arange(n_agents + 1)), other, 1.0 / (1.0 + edges.sum(1).max())


@cache
def streams(env_id, graph, n_agents, horizon, runs, means=MEANS, rewards="bernoulli"):
    """Return the random streams of an env's runs."""
    env = {"n_agents": n_agents, "graph": graph, "means": means, "permute_arms": False, "horizon": horizon}
    world = hb.make_batched(env_id, rewards=rewards, **env).seed_text
    return Streams(spawn_seeds(0, runs, world=world))


def uniforms(rng, horizon, n_agents, r):
    """Return the uniforms that decide the rewards of run r, ``(horizon, M)``."""
    return rng.reader((n_agents,), REWARD).take(r, horizon)


def of_wrapper(rng, name, horizon, shape, r, part=""):
    """Return the uniforms of a wrapper in run r, ``(horizon, *shape)``."""
    return rng.below(wrapper(name)).reader(shape, part).take(r, horizon)
