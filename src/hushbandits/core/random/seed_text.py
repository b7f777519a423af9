"""The canonical text of an env's parameters, from which the seeds of runs are derived."""

import json
import math
import sys
import unicodedata
from collections.abc import Collection, Mapping
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np

from hushbandits.core.random.rewards import LAWS, Law, UniformMeans
from hushbandits.core.utils import Params, parameters, shown

#: Value classes that may stand in an experiment, by the name under which they are written.
CLASSES: dict[str, type] = {"UniformMeans": UniformMeans} | {law.__name__: law for law in LAWS.values()}
_LONGEST = 1_000_000  # values of a list


def plain(value: object) -> Any:
    r"""Return `value` in types that JSON can represent, so that equal values have equal JSON.

    A whole float becomes an int, an array a list, a reward law ``{"Gaussian": {"sigma": 0.5}}`` (a user-defined
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
    TypeError: '\x1b[2J' cannot be a value in an experiment: a text has no control characters
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
    raise TypeError(f"{shown(value)} cannot be a value in an experiment: {why}")


def _written(kind: type) -> str:
    """Return a built-in class's name, the path ``"module:Class"`` of an importable user-defined class, or ``""``."""
    if CLASSES.get(kind.__name__) is kind:
        return kind.__name__
    local = kind.__module__ == "__main__" or "." in kind.__qualname__ or "<" in kind.__qualname__
    return "" if local else path_of(kind)


def canonical(value: object) -> str:
    """Return the canonical JSON of `value`, with sorted keys and no spaces."""
    return json.dumps(plain(value), sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)


def seed_text(env: Any, params: Params, paired: Collection[str] = (), group: str = "") -> str:
    """Return a JSON text of `group`, the env's class and all parameters that affect rewards, except those in `paired`.

    Parameters
    ----------
    env : class
        Its `seed_fields` name the parameters that count; where it names none, all of its own do.
    params : mapping
        Those that it is given; the others are at their defaults.
    paired : collection of str
        Parameters that are left out.
    group : str
        A name under which the runs are others.

    Examples
    --------
    >>> import hushbandits as hb
    >>> one, other = (hb.make_batched("DistDP-v0", horizon=99, epsilon=e).seed_text for e in (0.5, 1.0))
    >>> one == other == hb.make_batched("CentralDP-v0", horizon=99).seed_text
    True
    """
    stated: dict[str, object] = {"env": env.__name__}
    known = parameters(env)
    aside = "wrappers", "extra_fields", "fields", "runs"  # of every env: they decide neither rewards nor world
    counting = env.seed_fields or {name: name for name in known if name not in aside}
    for field, parameter in counting.items():
        if parameter not in paired:
            default = known[parameter].default if parameter in known else None
            stated[field] = standing(params.get(parameter, default))
    return json.dumps({"group": group, **stated}, sort_keys=True, separators=(",", ":"))


def standing(value: object) -> object:
    """Return `value` in JSON's types; any other object is replaced by the import path of itself or of its class."""
    try:
        return plain(value)
    except TypeError:
        if isinstance(value, Mapping):
            return {str(k): standing(v) for k, v in value.items()}
        if isinstance(value, (list, tuple)):
            return [standing(v) for v in value]
        return {"object": path_of(value if hasattr(value, "__qualname__") else type(value))}


def path_of(named: object) -> str:
    """Return the import path ``"module:name"`` of a class or function."""
    return f"{getattr(named, '__module__', '')}:{getattr(named, '__qualname__', '')}"
