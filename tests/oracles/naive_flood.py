"""A flood over a graph, edge by edge."""

import networkx as nx
from twin_streams import generator

from hushbandits.envs.network.graphs import adjacency


def naive_flood(graph, m, max_hops, loss, pace, rounds, seed, lost=lambda s, w: False):
    """Return, per round, each agent's first receptions (codes 1000 s + w for post s of agent w), and transmissions."""
    net = nx.from_numpy_array(adjacency(graph, m))
    edges = sorted(tuple(sorted(e)) for e in net.edges)
    uniforms = generator(seed, "edges")
    knows = {}  # post → {holder: round in which it was received}
    heard, sends = [], 0
    for t in range(1, rounds + 1):
        for w in range(m):
            if not lost(t, w):
                knows[t, w] = {w: 0}  # 0 hops
        down = {e for e, u in zip(edges, uniforms.random(len(edges)), strict=True) if u < loss}
        new = [[] for _ in range(m)]
        for (s, w), hops in knows.items():
            hop, rest = divmod(t - s + 1, pace)
            if rest or hop > max_hops:
                continue
            for u in [u for u, h in hops.items() if h == hop - 1]:
                for v in net[u]:
                    sends += 1
                    if tuple(sorted((u, v))) not in down and v not in hops:
                        hops[v] = hop
                        new[v].append(1000 * s + w)
        heard.append([sorted(codes) for codes in new])
    return heard, sends
