"""Plain values, canonical JSON and content hashes: what a cell's key is made of."""

from __future__ import annotations

import hashlib
import json
import math
import sys
from collections.abc import Mapping
from dataclasses import MISSING, fields, is_dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from hushbandits.core.ground.validate import integer, shown
from hushbandits.core.luck.rewards import LAWS, Law, UniformMeans

if TYPE_CHECKING:
    import networkx as nx

__all__ = ["canonical", "digest", "lean", "plain", "thaw"]

#: Value classes that may stand in an experiment, by the name under which they are written.
_CLASSES: dict[str, type[Law | UniformMeans]] = {
    "UniformMeans": UniformMeans,
    **{law.__name__: law for law in LAWS.values()},
}
_MOST_NODES = 100_000
_LARGE = 2**4096


def plain(value: object) -> Any:
    """Return `value` as what JSON can hold: equal values become equal texts.

    A whole float becomes an int, an array a list, a reward law ``{"Gaussian": {"sigma": 0.5}}`` (one's own
    ``{"my_module:MyLaw": {…}}``, which only a run imports), a graph its sorted edges.

    Raises
    ------
    TypeError
        A value that has no such form, or a float that is not finite.

    Examples
    --------
    >>> plain({"epsilon": 1.0, "means": UniformMeans(0.25, 0.75)})
    {'epsilon': 1, 'means': {'UniformMeans': {'low': 0.25, 'high': 0.75}}}
    """
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str):
        if not value.isascii() and value.encode("utf-8", "replace").decode() != value:
            raise TypeError(f"{value!r} cannot stand in an experiment: half a character cannot be written")
        return value
    if isinstance(value, np.generic):
        return plain(value.item())
    if isinstance(value, int):
        if not -_LARGE < value < _LARGE:
            raise TypeError(f"{shown(value)} cannot stand in an experiment: it has too many digits")
        return value
    if isinstance(value, float):
        if not math.isfinite(value):
            raise TypeError(f"{value!r} cannot stand in an experiment: numbers must be finite")
        return int(value) if value.is_integer() else value
    if isinstance(value, np.ndarray):
        return plain(value.tolist())
    if isinstance(value, (list, tuple)):
        return [plain(v) for v in value]
    if isinstance(value, Mapping):
        return {str(k): plain(v) for k, v in value.items()}
    networkx = sys.modules.get("networkx")  # before somebody imports it, nothing is a graph
    if networkx is not None and isinstance(value, networkx.Graph):
        labels = {node: i for i, node in enumerate(value.nodes)}
        edges = sorted(sorted((labels[a], labels[b])) for a, b in value.edges)
        return {"Graph": {"nodes": len(labels), "edges": edges}}
    if isinstance(value, (UniformMeans, Law)) and is_dataclass(value) and (name := _written(type(value))):
        return {name: {f.name: plain(getattr(value, f.name)) for f in fields(value)}}
    raise TypeError(
        f"{shown(value)} cannot stand in an experiment: use numbers, strings, lists, reward laws or networkx graphs"
    )


def lean(part: Any, *but: str) -> dict[str, Any]:
    """Return the fields of a dataclass's instance as `plain` has them, without those at their defaults and `but`.

    Examples
    --------
    >>> lean(UniformMeans(0.25, 1.0))
    {'low': 0.25}
    """
    found = {}
    for f in fields(part):
        value = getattr(part, f.name)
        default = f.default_factory() if f.default_factory is not MISSING else f.default
        if f.name not in but and (default is MISSING or value != default):
            found[f.name] = plain(value)
    return found


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
            return _law(_CLASSES[name], inner)
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


def _law(kind: type, inner: object) -> object:
    """The law of that class; ``{"Gaussian": {"sigma": 0.5}}``."""
    known = [f.name for f in fields(kind)]
    if not isinstance(inner, dict) or not set(inner) <= set(known):
        takes = f"a table of {', '.join(known)}" if known else "an empty table"
        raise ValueError(f"{kind.__name__}={shown(inner)} must be {takes}")
    return kind(**inner)


def canonical(value: object) -> str:
    """Return the canonical JSON of `value`: sorted keys, no spaces.

    Examples
    --------
    >>> canonical({"b": 1.0, "a": (True, None)})
    '{"a":[true,null],"b":1}'
    """
    return json.dumps(plain(value), sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)


def digest(value: object) -> str:
    """Return the SHA-256 of the canonical JSON, 64 hex digits.

    Examples
    --------
    >>> digest({"a": 1, "b": 2}) == digest({"b": 2.0, "a": 1})
    True
    """
    return hashlib.sha256(canonical(value).encode()).hexdigest()
