"""Plain values, canonical JSON and content hashes, of which a cell's key is made, and the seeds of runs.

A run's seed comes from the master seed, the env part of what is played, and the run's number.
"""

from __future__ import annotations

import hashlib
import json
import math
import sys
import unicodedata
from collections.abc import Collection, Mapping
from dataclasses import fields, is_dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from hushbandits.core import Params, Seeds, integer, shown
from hushbandits.core.luck.rewards import LAWS, Law, UniformMeans

if TYPE_CHECKING:
    import networkx as nx

__all__ = ["canonical", "digest", "plain", "seeds", "thaw", "world"]

#: Value classes that may stand in an experiment, by the name under which they are written.
_CLASSES: dict[str, Any] = {"UniformMeans": UniformMeans} | {law.__name__: law for law in LAWS.values()}
_MOST_NODES = 100_000
_LONGEST = 1_000_000  # values of a list


def plain(value: object) -> Any:
    r"""Return `value` as what JSON can hold: equal values become equal texts.

    A whole float becomes an int, an array a list, a reward law ``{"Gaussian": {"sigma": 0.5}}`` (one's own
    ``{"my_module:MyLaw": {…}}``, which only a run imports), a graph its sorted edges, a part of a declaration its
    table.

    Raises
    ------
    TypeError
        A value that has no such form: a float that is not finite, a text with half characters or with what steers a
        terminal.

    Examples
    --------
    >>> plain({"epsilon": 1.0, "means": UniformMeans(0.25, 0.75)})
    {'epsilon': 1, 'means': {'UniformMeans': {'low': 0.25, 'high': 0.75}}}
    >>> plain("\x1b[2J")
    Traceback (most recent call last):
        ...
    TypeError: '\x1b[2J' cannot stand in an experiment: a text has no control characters
    """
    why = "use numbers, strings, lists, reward laws or networkx graphs"
    if isinstance(value, str):
        if value.isprintable() or not any(unicodedata.category(c) in ("Cc", "Cs") for c in value if c not in "\n\t"):
            return str(value)
        why = "a text has no control characters"
    if value is None or isinstance(value, int):
        return value
    if isinstance(value, float):
        if math.isfinite(value):
            return int(value) if value.is_integer() else float(value)
        why = "numbers must be finite"
    if isinstance(value, (np.generic, np.ndarray)):
        return plain(value.tolist())
    if isinstance(value, (list, tuple, range)):
        if len(value) <= _LONGEST:
            return [plain(v) for v in value]
        why = f"a list has at most {_LONGEST:,} values"
    if isinstance(value, Mapping):
        return {plain(str(k)): plain(v) for k, v in value.items()}
    networkx = sys.modules.get("networkx")  # before somebody imports it, nothing is a graph
    if networkx is not None and isinstance(value, networkx.Graph):
        labels = {node: i for i, node in enumerate(value.nodes)}
        edges = sorted(sorted((labels[a], labels[b])) for a, b in value.edges)
        return {"Graph": {"nodes": len(labels), "edges": edges}}
    if is_dataclass(value) and hasattr(value, "to_dict"):
        return value.to_dict()
    if isinstance(value, (UniformMeans, Law)) and is_dataclass(value) and (name := _written(type(value))):
        return {name: {f.name: plain(getattr(value, f.name)) for f in fields(value)}}
    raise TypeError(f"{shown(value)} cannot stand in an experiment: {why}")


def _written(kind: type) -> str:
    """The name of a class that ships; of one's own ``"module:Class"``, where a worker can import that."""
    if _CLASSES.get(kind.__name__) is kind:
        return kind.__name__
    if kind.__module__ == "__main__" or "." in kind.__qualname__ or "<" in kind.__qualname__:
        return ""
    return f"{kind.__module__}:{kind.__qualname__}"


def thaw(value: object) -> Any:
    """Return what `plain` was given, up to number types: the inverse for laws and graphs.

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
        if name in _CLASSES:
            try:
                return _CLASSES[name](**inner)
            except TypeError:
                known = ", ".join(f.name for f in fields(_CLASSES[name])) or "nothing"
                raise ValueError(f"{name}={shown(inner)} must be a table of {known}") from None
    return {k: thaw(v) for k, v in value.items()}


def _graph(inner: object) -> nx.Graph:
    """The graph that `plain` wrote; ``{"Graph": {"nodes": 3, "edges": [[0, 1], [1, 2]]}}`` in a file may say less."""
    if not isinstance(inner, dict) or set(inner) != {"nodes", "edges"} or not isinstance(inner["edges"], list):
        raise ValueError(f"Graph={shown(inner)} must be a table of nodes, a number, and edges, a list of pairs")
    import networkx as nx

    graph = nx.empty_graph(integer("Graph: nodes", inner["nodes"], 1, _MOST_NODES))
    for edge in inner["edges"]:
        if not isinstance(edge, list) or len(edge) != 2:
            raise ValueError(f"Graph: edge {shown(edge)} must be a pair of nodes")
        graph.add_edge(*(integer(f"Graph: node of edge {shown(edge)}", v, 0, len(graph) - 1) for v in edge))
    return graph


def canonical(value: object) -> str:
    """Return the canonical JSON of `value`: sorted keys, no spaces."""
    return json.dumps(plain(value), sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)


def digest(value: object) -> str:
    """Return the SHA-256 of the canonical JSON, 64 hex digits.

    Examples
    --------
    >>> digest({"a": 1, "b": 2}) == digest({"b": 2.0, "a": 1})
    True
    """
    return hashlib.sha256(canonical(value).encode()).hexdigest()


# -- seeds ---------------------------------------------------------------------------------------------------------


def world(env: str | type, params: Params, paired: Collection[str] = (), luck: str = "") -> str:
    """Return the env part that run seeds come from, as text: all who play in one world face the same runs.

    Parameters
    ----------
    env : str or class
        A name, or a class, which stands for its ``"module:Class"``.
    params : mapping
        The env's parameters.  One that has no plain form (a law defined in a script, a function, an infinite number)
        is stood for by its class's name, or its own if it has one: two of a kind then share seeds.
    paired : collection of str
        Parameters that are left out.
    luck : str
        A name under which the runs are others.

    Examples
    --------
    >>> world("CoopNetwork-v0", {"n_agents": 4.0, "life": 2}, paired=["life"])
    '{"n_agents":4,"use":"CoopNetwork-v0"}'
    >>> world("Mine-v0", {}, luck="fresh")
    '{"luck":"fresh","of":{"use":"Mine-v0"}}'
    >>> world("Mine-v0", {"graph": max})
    '{"graph":{"object":"builtins:max"},"use":"Mine-v0"}'
    """
    name = env if isinstance(env, str) else _path(env)
    told: Params = {"use": name, **{k: v for k, v in params.items() if k not in paired}}
    told = {"luck": luck, "of": told} if luck else told
    try:
        return canonical(told)
    except TypeError:
        return canonical(_standing(told))


def seeds(seed: int, world: str, first: int, runs: int) -> Seeds:
    """Return the seeds of runs `first`, `first` + 1, … of a world.

    Examples
    --------
    >>> [s.spawn_key for s in seeds(7, world("CoopNetwork-v0", {}), first=2, runs=2)]
    [(2,), (3,)]
    """
    entropy = int(digest({"seed": seed, "world": world})[:32], 16)
    return [np.random.SeedSequence(entropy, spawn_key=(r,)) for r in range(first, first + runs)]


def _standing(value: object) -> object:
    """The value as JSON can hold it; what it cannot hold, by name."""
    try:
        return plain(value)
    except TypeError:
        if isinstance(value, Mapping):
            return {str(k): _standing(v) for k, v in value.items()}
        if isinstance(value, (list, tuple)):
            return [_standing(v) for v in value]
        return {"object": _path(value if hasattr(value, "__qualname__") else type(value))}


def _path(named: object) -> str:
    return f"{getattr(named, '__module__', '')}:{getattr(named, '__qualname__', '')}"
