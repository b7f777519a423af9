"""Parts of a declaration: dataclasses validated by msgspec, the tables that represent them, and `thaw` of a table."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from copy import copy
from dataclasses import MISSING, dataclass, field, fields
from functools import cache, partial
from typing import TYPE_CHECKING, Annotated, Any, Literal, Self, cast, get_args, get_origin, get_type_hints

from hushbandits.core import Params, extra, integer, nearest, shown
from hushbandits.core.random.seed_text import CLASSES, plain
from hushbandits.core.utils import told

if TYPE_CHECKING:
    import networkx as nx
    from _typeshed import DataclassInstance

with extra("bench"):
    import msgspec

#: A non-empty text, and a positive count.
Name = Annotated[str, msgspec.Meta(min_length=1)]
Count = Annotated[int, msgspec.Meta(ge=1)]


class Part:
    """A part of a declaration: a dataclass, written in TOML as a table of its fields."""

    def to_dict(self) -> dict[str, object]:
        """Return the part as a TOML table, without fields at their defaults."""
        found = {}
        for f in fields(self):  # type: ignore[arg-type]  # every part is a dataclass
            default = f.default if f.default_factory is MISSING else f.default_factory()
            if f.compare and (value := getattr(self, f.name)) != default:
                found[f.name] = plain(value)
        return found

    @classmethod
    def from_dict(cls, table: Params) -> Self:
        """Return the part that a TOML table describes; unknown names raise ``ValueError`` with the nearest names."""
        own = [f for f in fields(cls) if f.compare]  # type: ignore[arg-type]
        needed = [f.name for f in own if f.default is MISSING and f.default_factory is MISSING]
        return cls(**checked_table(cls.__name__.lower(), table, [f.name for f in own], needed))

    @classmethod
    def read(cls, key: str, given: object) -> Self:
        """Return `given` if it is a part, else the part that it describes; error messages use the name `key`."""
        try:
            return given if isinstance(given, cls) else cls.from_dict(cast(Params, given))
        except ValueError as error:
            raise ValueError(f"{key}: {error}") from None

    @classmethod
    def several(cls, key: str, given: object) -> tuple[Self, ...]:
        """Return the parts in the list `given`, built where necessary; error messages call the list `key`."""
        if not isinstance(given, (list, tuple)):
            raise ValueError(f"{key}={shown(given)} must be a list")
        return tuple(cls.read(f"{key}[{i}]", part) for i, part in enumerate(given))


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
                raise ValueError(f"{name}={shown(inner)} must be a table of parameters of {name}: {known}") from None
    return {k: thaw(v) for k, v in value.items()}


def _graph(inner: object) -> nx.Graph:
    """Return the graph that `plain` wrote as `inner`, such as ``{"nodes": 3, "edges": [[0, 1], [1, 2]]}``."""
    if not isinstance(inner, dict) or set(inner) != {"nodes", "edges"} or not isinstance(inner["edges"], list):
        raise ValueError(f"Graph={shown(inner)} must be a table with nodes (a number) and edges (a list of pairs)")
    import networkx as nx

    graph = nx.empty_graph(integer("Graph: nodes", inner["nodes"], 1, 100_000))
    for edge in inner["edges"]:
        if not isinstance(edge, list) or len(edge) != 2:
            raise ValueError(f"Graph: edge {shown(edge)} must be a pair of nodes")
        graph.add_edge(*(integer(f"Graph: node of edge {shown(edge)}", v, 0, len(graph) - 1) for v in edge))
    return graph


_annotations = cache(partial(get_type_hints, include_extras=True))


def check(part: DataclassInstance, *but: str) -> None:
    """Convert the fields of a dataclass by their annotations with msgspec, except the fields in `but`.

    Raises
    ------
    ValueError
        A field has an invalid value; the message names the allowed ones.
    """
    for name in (f.name for f in fields(part) if f.name not in but):
        kind, value = _annotations(part.__class__)[name], getattr(part, name)
        try:
            found = thaw(msgspec.convert(plain(value), kind))
        except (TypeError, msgspec.ValidationError) as error:
            why = f"it must be one of {', '.join(map(repr, get_args(kind)))}" if get_origin(kind) is Literal else error
            words = str(why).replace("`array`", "a list").replace(" - at `$[...]`", " as one of its values")
            raise ValueError(f"{name}={shown(value)} is invalid: {words}") from None
        object.__setattr__(part, name, tuple(found) if isinstance(found, list) else found)


def checked_table(what: str, given: object, known: Collection[str], needed: Iterable[str]) -> Params:
    """Return `given` if it is a table of `known` fields with all `needed` fields; else raise ``ValueError``."""
    if not isinstance(given, Mapping):
        raise ValueError(f"{what}: {shown(given)} must be a table")
    if strange := [key for key in given if key not in known]:
        raise ValueError(f"{what}: there is no field {shown(strange[0])}{nearest(str(strange[0]), known)}")
    for key in needed:
        if key not in given:
            inside = [name for name, value in given.items() if isinstance(value, Mapping) and key in value]
            where = f"; the table [{inside[0]}] contains this field: move the field above the table" if inside else ""
            raise ValueError(f"{what}: the field {key!r} is missing{where}")
    return given


_LONGEST = 100
_SPECIAL = r'<>:"/\\|?*'  # some system reads these as a path, a wildcard or a stream
_DEVICE = r"(con|prn|aux|nul|com\d|lpt\d)\s*(\.|$)"  # Windows reads these as devices, with any extension
_FILE = re.compile(rf"(?!{_DEVICE})[^-\s.{_SPECIAL}]([^{_SPECIAL}]*[^\s.{_SPECIAL}])?", re.IGNORECASE)


def plain_name(what: str, name: object) -> str:
    """Return `name` if it is a plain file name on every system; else raise ``ValueError``."""
    if isinstance(name, str) and name.isprintable() and _FILE.fullmatch(name) and len(name.encode()) <= _LONGEST:
        return name
    raise ValueError(
        f"{what}={shown(name)} must be a plain file name: 1 to {_LONGEST} bytes of printable characters, "
        f"no < > : \" / \\ | ? *, no device name, no space or dot at either end, no leading '-'"
    )


@dataclass(frozen=True, init=False)
class Component(Part):
    """A registered env, agent or wrapper with its parameters.

    Parameters
    ----------
    name : str
        A registered name, or a user-defined class: ``"my_module:MyAgent"``.
    label : str, optional
        Name in legends and tables; default: the name, with the parameters that differ from lines of the same name.
    on : str, optional
        Agents only: the env id on which this agent plays instead of the experiment's env.  Its runs keep the
        experiment's seeds, so it faces the same arms and rewards.
    **params
        Parameters of the env, agent or wrapper.

    Raises
    ------
    ValueError
        A name, label or env that is empty or not a text.

    Examples
    --------
    >>> Component("DP-MASE", epsilon=0.1).params
    {'epsilon': 0.1}
    """

    name: Name
    params: Params
    label: Name | None
    on: Name | None

    @told
    def __init__(self, name: str, /, *, label: str | None = None, on: str | None = None, **params: object):
        for key, value in (("name", name), ("params", params), ("label", label), ("on", on)):
            object.__setattr__(self, key, value)
        check(self)

    @property
    def called(self) -> str:
        """Return the label; without a label, return the name."""
        return self.label or self.name

    def having(self, /, **params: object) -> Component:
        """Return a copy with `params` added; raise ``ValueError`` if a parameter has the name of a field."""
        if own := [key for key in params if key in ("type", "label", "on")]:  # a TOML file has these in the same table
            raise ValueError(f"{self.name}.{own[0]} is a field, not a parameter: declare a component with {own[0]} = …")
        made = copy(self)
        object.__setattr__(made, "params", {**self.params, **thaw(plain(params))})
        return made

    def to_dict(self) -> dict[str, object]:
        """Return the component as a TOML table: ``{"type": name, "epsilon": 0.1, …}``."""
        extra = {k: v for k, v in (("label", self.label), ("on", self.on)) if v is not None}
        return {"type": self.name, **extra, **plain(self.params)}

    @classmethod
    def from_dict(cls, table: Params | str) -> Component:
        """Return the component that a table or a name describes; anything else raises ``ValueError``."""
        given = {"type": table} if isinstance(table, str) else table
        if not isinstance(given, Mapping) or "type" not in given:
            raise ValueError(f"{shown(table)} must be a name, or a table such as {{type = 'UCB1', label = 'alone'}}")
        return cls(given["type"], **{str(k): v for k, v in given.items() if k != "type"})


@dataclass(frozen=True, kw_only=True)
class Figure(Part):
    """One panel of an experiment's figure.

    Parameters
    ----------
    y : str
        A metric.
    x : str
        ``"time"``: the curve.  A swept parameter such as ``"env.n_agents"``: a point per value.  ``"runs"``: the
        distribution of the final value over runs (an ECDF with medians).  A metric such as ``"epsilon"``: a point
        for each value of the swept parameter of that name (``agent.epsilon``), else of the first swept parameter.
    log : str
        Axes on a logarithmic scale: ``""``, ``"x"``, ``"y"`` or ``"xy"``.
    center : str
        Centre of a line: ``"mean"`` or ``"median"``.
    band : str
        ``"interval"``: 95 % confidence interval of the centre; ``"quantiles"``: 2.5 % to 97.5 % of the runs.
    per_time : bool
        Divide by the time (time-averaged regret).
    since : float, optional
        First time to draw.
    lines : sequence of str
        Draw only the lines whose label begins with one of these; default: all.
    by : str
        A swept parameter: one panel per value of it.
    at : mapping
        Values of swept parameters: draw only there.
    title : str, optional
        Title of the panel; default: none.  ``None``: only the value of `by`; if all panels have ``None``, the figure
        has no title either, since a paper has a caption.
    xlabel, ylabel : str
        Labels of the axes; default: the quantities in words.
    width : float, optional
        Width of the panel in inches, labels included, from 1 to 40; the widest of several panels counts.  Default: 6
        for a single panel, less in a row.
    bounds : mapping of str to str
        Dashed lines of theory: a label and ``"package.module:function"``.  The function gets the cell's env parameters,
        its agent's parameters and the x values (times, or values of the swept parameter) as ``(env, agent, x)``.  It
        returns the y values (NaN: draw nothing).  Your run calls your functions; a page built again from a folder
        calls built-in functions only.
    reading : str
        What the figure shows, in one or two sentences; the page prints it below the figure.  Its numbers refer to the
        runs as declared, so name these runs.

    Examples
    --------
    >>> Figure(y="regret", x="env.n_agents", log="xy", by="env.graph", title=None).band
    'interval'
    """

    y: str
    x: str = "time"
    log: Literal["", "x", "y", "xy"] = "x"
    center: Literal["mean", "median"] = "mean"
    band: Literal["interval", "quantiles"] = "interval"
    per_time: bool = False
    since: float | None = None
    lines: Sequence[str] = ()
    by: str = ""
    at: Params = field(default_factory=dict)
    title: str | None = ""
    xlabel: str = ""
    ylabel: str = ""
    width: Annotated[float, msgspec.Meta(ge=1, le=40)] | None = None
    bounds: Mapping[str, str] = field(default_factory=dict)
    reading: str = ""

    def __post_init__(self) -> None:
        check(self)
