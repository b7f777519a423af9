"""Leader election and shortest paths in a network (Howson et al. 2024, appendix A), message by message.

Each algorithm is played round by round: in a round everyone sends one message to each neighbour (or to its parent), and
knows of the others only what has arrived.  All come with the number of rounds and of messages.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from hushbandits.core import Array


class Ways(NamedTuple):
    distance: Array
    parent: Array
    rounds: int
    messages: int


class Election(NamedTuple):
    leader: int
    rounds: int
    messages: int


def _forward(parent, before, known):
    # every agent's set goes to its parent, for each source v
    for v in range(parent.shape[0]):
        for w in range(parent.shape[1]):
            p = parent[v, w]
            if p >= 0:
                known[v, p] |= before[v, w]


def bellman_ford(adjacency: Array, sources: Array) -> Ways:
    """Distributed Bellman–Ford (algorithm 2), for several sources at once: a message carries a distance for each.

    Everyone starts at d = ∞, sources at 0.  For M − 1 rounds everyone tells its neighbours its distances, and takes the
    least of its own and theirs plus one; an agent that gets nearer takes it as its parent (the lowest on ties).
    At the end everyone tells its parents, who so learn their children.
    """
    agents, sources = len(adjacency), np.asarray(sources)
    distance = np.full((len(sources), agents), agents)  # infinite: no path is so long
    distance[np.arange(len(sources)), sources] = 0
    parent = np.full(distance.shape, -1)
    for _ in range(agents - 1):
        heard = distance.copy()
        for w in range(agents):
            near = np.flatnonzero(adjacency[w])
            shown = heard[:, near] + 1
            best = shown.argmin(1)
            least = shown[np.arange(len(sources)), best]
            nearer = least < heard[:, w]
            distance[nearer, w] = least[nearer]
            parent[nearer, w] = near[best[nearer]]
    # The last message names the parents: one to each of them, for any number of sources that it serves.
    last = sum(len(set(parent[parent[:, w] >= 0, w].tolist())) for w in range(agents))
    return Ways(distance, parent, agents, int(adjacency.sum()) * (agents - 1) + last)


def elect(adjacency: Array, cost: Array) -> Election:
    """Leader election (algorithm 3): in M rounds every agent forwards the least (cost, name) that it knows.

    States are compared as pairs; as printed, a tie takes the smaller of two *names*, which may be that of an agent with
    another cost.
    """
    agents = len(adjacency)
    state = [(float(cost[v]), v) for v in range(agents)]
    near = [np.flatnonzero(row).tolist() for row in adjacency]
    for _ in range(agents):
        state = [min([state[v], *(state[w] for w in near[v])]) for v in range(agents)]
    leader = next(v for v in range(agents) if state[v] == (float(cost[v]), v))
    return Election(leader, agents, int(adjacency.sum()) * agents)


def best_leader(adjacency: Array) -> Election:
    """The graph median by messages alone (algorithm 4): Bellman–Ford, distances back to their sources, an election.

    All sources at once, where the paper takes them one after the other: 3M rounds instead of some 2M².
    """
    agents = len(adjacency)
    ways = bellman_ford(adjacency, np.arange(agents))
    # What w knows for source v is a set of (name, distance); it goes to w's parent on the way to v, M times.
    known = np.zeros((agents, agents, agents), bool)  # [v, w, of whom]
    known[:, np.arange(agents), np.arange(agents)] = True
    messages = 0
    links = {(w, int(p)) for w in range(agents) for p in ways.parent[:, w] if p >= 0}
    for _ in range(agents):
        _forward(ways.parent, known.copy(), known)
        messages += len(links)
    own = known[np.arange(agents), np.arange(agents)]  # [v, of whom]
    cost = (own * ways.distance).sum(1)
    chosen = elect(adjacency, cost)
    rounds = ways.rounds + agents + chosen.rounds
    return Election(chosen.leader, rounds, ways.messages + messages + chosen.messages)
