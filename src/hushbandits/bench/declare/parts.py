"""Parts of a declaration: dataclasses that msgspec checks, and tables that stand for them."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from copy import copy
from dataclasses import MISSING, dataclass, field, fields
from functools import cache
from typing import TYPE_CHECKING, Annotated, Any, Literal, Self, get_args, get_origin, get_type_hints

from hushbandits.bench.declare.canonical import plain, thaw
from hushbandits.core import Params, shown
from hushbandits.core.utils import extra, nearest

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

with extra("bench"):
    import msgspec

__all__ = ["Count", "Figure", "Part", "Use", "check", "checked_table", "plain_name"]


#: A text that is not empty, and how many there are of something.
Name = Annotated[str, msgspec.Meta(min_length=1)]
Count = Annotated[int, msgspec.Meta(ge=1)]


class Part:
    """A part of a declaration: a dataclass, which a TOML file has as a table of its fields."""

    def to_dict(self) -> dict[str, object]:
        """As in a TOML file; fields at their defaults are left out."""
        found = {}
        for f in fields(self):  # type: ignore[arg-type]  # every part is a dataclass
            default = f.default if f.default_factory is MISSING else f.default_factory()
            if f.compare and (value := getattr(self, f.name)) != default:
                found[f.name] = plain(value)
        return found

    @classmethod
    def from_dict(cls, table: Params) -> Self:
        """Inverse of `to_dict`; unknown names in `table` raise ``ValueError`` with the nearest ones."""
        own = [f for f in fields(cls) if f.compare]  # type: ignore[arg-type]
        needed = [f.name for f in own if f.default is MISSING and f.default_factory is MISSING]
        return cls(**checked_table(cls.__name__.lower(), table, [f.name for f in own], needed))

    @classmethod
    def read(cls, key: str, given: Any) -> Self:
        """Return `given` if it is such a part, else the one that it stands for; `key` is where it is."""
        try:
            return given if isinstance(given, cls) else cls.from_dict(given)
        except ValueError as error:
            raise ValueError(f"{key}: {error}") from None

    @classmethod
    def several(cls, key: str, given: object) -> tuple[Self, ...]:
        """Return a list of such parts, or of what stands for them; `key` is where it is."""
        if not isinstance(given, (list, tuple)):
            raise ValueError(f"{key}={shown(given)} must be a list")
        return tuple(cls.read(f"{key}[{i}]", part) for i, part in enumerate(given))


@cache
def _annotations(kind: type) -> Params:
    return get_type_hints(kind, include_extras=True)


def check(part: DataclassInstance, *but: str) -> None:
    """Set the fields of a dataclass, those of `but` apart, to what msgspec makes of them by their annotations.

    Raises
    ------
    ValueError
        A field holds something else; the sentence says what its annotation lets in.
    """
    for name in (f.name for f in fields(part) if f.name not in but):
        kind, value = _annotations(part.__class__)[name], getattr(part, name)
        try:
            found = thaw(msgspec.convert(plain(value), kind))
        except (TypeError, msgspec.ValidationError) as error:
            why = f"one of {', '.join(map(repr, get_args(kind)))}" if get_origin(kind) is Literal else error
            raise ValueError(f"{name}={shown(value)} is not allowed: {why}") from None
        object.__setattr__(part, name, tuple(found) if isinstance(found, list) else found)


def checked_table(what: str, given: object, known: Collection[str], needed: Iterable[str]) -> Params:
    """Return `given` if it is a table of `known` fields that has the `needed` ones, else raise ``ValueError``."""
    if not isinstance(given, Mapping):
        raise ValueError(f"{what}: {shown(given)} must be a table")
    for key in given:
        if key not in known:
            raise ValueError(f"{what}: there is no field {shown(key)}{nearest(str(key), known)}")
    for key in needed:
        if key not in given:
            inside = [name for name, value in given.items() if isinstance(value, Mapping) and key in value]
            where = f"; it stands in the table [{inside[0]}], before which it belongs" if inside else ""
            raise ValueError(f"{what}: the field {key!r} is missing{where}")
    return given


_LONGEST = 100
_SPECIAL = r'<>:"/\\|?*'  # what some system takes for a path, a wildcard or a stream
_DEVICE = r"(con|prn|aux|nul|com\d|lpt\d)\s*(\.|$)"  # on Windows, whatever comes after a dot
_FILE = re.compile(rf"(?!{_DEVICE})[^-\s.{_SPECIAL}]([^{_SPECIAL}]*[^\s.{_SPECIAL}])?", re.IGNORECASE)


def plain_name(what: str, name: object) -> str:
    """Return `name` if it is a file name, on every system, that stays in its folder; else raise ``ValueError``."""
    if isinstance(name, str) and name.isprintable() and _FILE.fullmatch(name) and len(name.encode()) <= _LONGEST:
        return name
    raise ValueError(
        f"{what}={shown(name)} must be a plain file name: 1 to {_LONGEST} bytes of characters that print, "
        f"no < > : \" / \\ | ? *, no device's name, no space or dot at either end, no '-' in front"
    )


@dataclass(frozen=True, init=False)
class Use(Part):
    """A registered env, agent or wrapper with its parameters.

    Parameters
    ----------
    name : str
        As registered, or one's own: ``"my_module:MyAgent"``.
    label : str, optional
        For legends and tables; default: the name and whatever tells it from its neighbours.
    on : str, optional
        Agents only: the env id that this agent plays on instead of the experiment's.  Its runs keep the
        experiment's seeds, so it meets the same arms and rewards.
    **params
        Its parameters.

    Raises
    ------
    ValueError
        A name, a label or an env that is no text, or an empty one.

    Examples
    --------
    >>> Use("DP-MASE", epsilon=0.1).params
    {'epsilon': 0.1}
    """

    name: Name
    params: Params
    label: Name | None
    on: Name | None

    def __init__(self, name: str, /, *, label: str | None = None, on: str | None = None, **params: object):
        for key, value in (("name", name), ("params", params), ("label", label), ("on", on)):
            object.__setattr__(self, key, value)
        check(self)

    @property
    def called(self) -> str:
        """Its label, else its name."""
        return self.label or self.name

    def having(self, /, **params: object) -> Use:
        """Return a copy with other parameters besides; ``ValueError`` where one is a field of its own."""
        for key in params:
            if key in ("use", "label", "on"):  # these say who plays; a TOML file has them in the same table
                raise ValueError(f"{self.name}.{key} is no parameter; declare another line with {key} = …")
        made = copy(self)
        object.__setattr__(made, "params", {**self.params, **thaw(plain(params))})
        return made

    def to_dict(self) -> dict[str, object]:
        """As in a TOML file: ``{"use": name, "epsilon": 0.1, …}``."""
        extra = {k: v for k, v in (("label", self.label), ("on", self.on)) if v is not None}
        return {"use": self.name, **extra, **plain(self.params)}

    @classmethod
    def from_dict(cls, table: Params | str) -> Use:
        """Inverse of `to_dict`: `table` is one, or a name without parameters; ``ValueError`` for anything else."""
        given = {"use": table} if isinstance(table, str) else table
        if not isinstance(given, Mapping) or "use" not in given:
            raise ValueError(
                f"{shown(table)} must be a name, or a table whose key 'use' is a name, such as "
                f"{{use = 'UCB1', label = 'alone'}}"
            )
        return cls(given["use"], **{str(k): v for k, v in given.items() if k != "use"})


@dataclass(frozen=True, kw_only=True)
class Figure(Part):
    """One panel of an experiment's picture.

    Parameters
    ----------
    y : str
        A metric.
    x : str
        ``"time"``: the curve; a swept parameter such as ``"env.n_agents"``; ``"runs"``: the distribution over runs of
        the final value (an ECDF with medians); or a metric such as ``"epsilon"``: each line has a point for every value
        of a swept parameter, of the metric's name (``agent.epsilon``) if there is one, else of the first.
    log : str
        Axes on a logarithmic scale: ``""``, ``"x"``, ``"y"`` or ``"xy"``.
    center : str
        ``"mean"`` or ``"median"``: the line.
    band : str
        ``"interval"``: 95 % confidence interval of the centre; ``"quantiles"``: 2.5 % to 97.5 % of the runs.
    per_time : bool
        Divide by the time (time-averaged regret).
    since : float, optional
        First time that is drawn.
    lines : sequence of str
        Draw only the lines whose label begins with one of these; default: all.
    by : str
        A swept parameter: one panel per value of it.
    at : mapping
        Values of swept parameters: draw only there.
    title : str, optional
        Above the panel; default: none.  ``None``: nothing but the value of its `by` stands there, and where all panels
        say so, no heading above the picture either, since a paper has a caption.
    xlabel, ylabel : str
        Along the axes; default: what is shown, in words.
    width : float, optional
        Inches of paper that the panel takes, its labels included, from 1 to 40; of several panels the widest counts.
        Default: 6 alone in its row, less beside others.
    bounds : mapping of str to str
        Dashed lines of theory: a label and ``"package.module:function"``, called with the cell's env parameters,
        its agent's parameters and the x values (times, or the swept parameter's values) as ``(env, agent, x)``,
        returning the y values (NaN: nothing to draw).  Only your own run calls your own; a page that is written
        anew from a folder calls those that hushbandits ships and no other.
    reading : str
        What there is to see, in a sentence or two: the page shows it below the picture.  Numbers in it are of the
        runs as declared, so it says which.
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
