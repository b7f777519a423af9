"""Functions `world`, which writes the env's part of a cell's key, and `thaw`, the inverse of `plain`."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import fields
from typing import TYPE_CHECKING, Any

from hushbandits.core import Params, integer, shown
from hushbandits.core.random.seed_text import CLASSES, canonical, path_of, plain, standing

if TYPE_CHECKING:
    import networkx as nx

__all__ = ["canonical", "plain", "thaw", "world"]

_MOST_NODES = 100_000


def thaw(value: object) -> Any:
    """Return the object whose plain form is `value`, including distributions and graphs; number types may differ.

    Examples
    --------
    >>> thaw({"rewards": {"Gaussian": {"sigma": 0.1}}})
    {'rewards': Gaussian(sigma=0.1)}
    """
    if isinstance(value, list):
        return [thaw(v) for v in value]
    if not isinstance(value, dict):
        return value
    if len(value) == 1:
        ((name, inner),) = value.items()
        if name == "Graph":
            return _graph(inner)
        if name in CLASSES:
            try:
                return CLASSES[name](**inner)
            except TypeError:
                known = ", ".join(f.name for f in fields(CLASSES[name])) or "nothing"
                raise ValueError(
                    f"{name}={shown(inner)} must be a table whose only keys are the parameters of {name}: {known}"
                ) from None
    return {k: thaw(v) for k, v in value.items()}


def _graph(inner: object) -> nx.Graph:
    """Return the graph that `plain` wrote as `inner`, such as ``{"nodes": 3, "edges": [[0, 1], [1, 2]]}``."""
    if not isinstance(inner, dict) or set(inner) != {"nodes", "edges"} or not isinstance(inner["edges"], list):
        raise ValueError(f"Graph={shown(inner)} must be a table with nodes (a number) and edges (a list of pairs)")
    import networkx as nx

    graph = nx.empty_graph(integer("Graph: nodes", inner["nodes"], 1, _MOST_NODES))
    for edge in inner["edges"]:
        if not isinstance(edge, list) or len(edge) != 2:
            raise ValueError(f"Graph: edge {shown(edge)} must be a pair of nodes")
        graph.add_edge(*(integer(f"Graph: node of edge {shown(edge)}", v, 0, len(graph) - 1) for v in edge))
    return graph


def world(env: str | type, params: Params, paired: Collection[str] = (), seed_group: str = "") -> str:
    """Return the part of a cell's key that describes the env and determines the seeds.

    Parameters
    ----------
    env : str or class
        A name, or a class, which is written as its ``"module:Class"``.
    params : mapping
        Parameters of the env.  A value without a plain form (a law defined in a script, a function, an infinite number)
        is replaced by the name of its class, or by its name if it has one.
    paired : collection of str
        Parameters to leave out.
    seed_group : str
        A name that gives the runs other seeds.

    Examples
    --------
    >>> world("CoopNetwork-v0", {"n_agents": 4.0, "max_hops": 2}, paired=["max_hops"])
    '{"n_agents":4,"use":"CoopNetwork-v0"}'
    >>> world("Mine-v0", {}, seed_group="fresh")
    '{"of":{"use":"Mine-v0"},"seed_group":"fresh"}'
    >>> world("Mine-v0", {"graph": max})
    '{"graph":{"object":"builtins:max"},"use":"Mine-v0"}'
    """
    name = env if isinstance(env, str) else path_of(env)
    stated: Params = {"use": name, **{k: v for k, v in params.items() if k not in paired}}
    stated = {"seed_group": seed_group, "of": stated} if seed_group else stated
    try:
        return canonical(stated)
    except TypeError:
        return canonical(standing(stated))
