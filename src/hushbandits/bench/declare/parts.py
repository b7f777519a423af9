"""Parts of an experiment: what is used with which parameters, and what a panel of its picture shows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from hushbandits.bench.declare.canonical import plain
from hushbandits.bench.declare.shapes import Part, check
from hushbandits.core.ground.keywords import keywords
from hushbandits.core.ground.types import Params
from hushbandits.core.ground.validate import real, shown

__all__ = ["Figure", "Use"]


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

    name: str
    params: Params
    label: str | None
    on: str | None

    def __init__(self, name: str, /, *, label: str | None = None, on: str | None = None, **params: object):
        for key, value in (("name", name), ("params", params), ("label", label), ("on", on)):
            if value == "":
                raise ValueError(f"{key}='' of a Use must be a text that is not empty")
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
        return Use(self.name, label=self.label, on=self.on, **{**self.params, **params})

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


@keywords
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
    width: float | None = None
    bounds: Mapping[str, str] = field(default_factory=dict)
    reading: str = ""

    def __post_init__(self) -> None:
        if self.width is not None:
            real("width", self.width, 1, 40, closed="both")
        check(self)
