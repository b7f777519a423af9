"""Effects: what number of which cells a claim is about.

How an effect is estimated, and between which ends, is in `hushbandits.bench.judge.procedures`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field, replace
from typing import ClassVar, Literal, Self

from hushbandits.bench.declare.parts import Use
from hushbandits.bench.declare.shapes import Part, check
from hushbandits.core.ground.types import Params
from hushbandits.core.ground.validate import shown

__all__ = ["EFFECTS", "Difference", "Effect", "Line", "Ratio", "Slope", "Value", "line"]

#: Names a line of an experiment: one of its agents, its label, or ``{"agent": either, "env.life": 2}`` to fix swept
#: values too.
Line = str | Use | Params


def line(agent: Use | str, **env: object) -> Params:
    """Return the name of an agent's line at values of swept parameters of the env.

    Examples
    --------
    >>> line("UCB1", n_agents=16)
    {'agent': 'UCB1', 'env.n_agents': 16}
    """
    return {"agent": agent, **{f"env.{key}": value for key, value in env.items()}}


@dataclass(frozen=True)
class Effect(Part):
    """What all effects are made of.

    Parameters
    ----------
    metric : str
        A metric of the env.
    of : Use, str or mapping
        The line that it is about: an agent, as it stands in the experiment's `agents`; a line's label; or ``{"agent":
        either, "env.life": 2}``, which fixes values of the sweep as well.
    over : Use, str or mapping, optional
        The line that `of` is compared with.
    along : str, optional
        Of a slope: the swept parameter.
    statistic : str
        ``"mean"``, ``"median"`` or ``"iqm"`` over runs (of a rate: its mean).
    at : mapping
        Values of swept parameters to look at; default: every point of the sweep.  A claim over several points holds
        if it holds at each of them, and does not hold if it fails at one.
    time : float, optional
        Look at the curve there (in the env's clock; between checkpoints: linear), instead of at the end.
    per_time : bool
        Divide by `time` (time-averaged regret).

    Raises
    ------
    ValueError
        A field of another shape, one that this kind of effect does not have, or none where it needs one.
    """

    metric: str
    of: Line
    over: Line | None = None
    _: KW_ONLY
    along: str | None = None
    statistic: Literal["mean", "median", "iqm"] = "mean"
    at: Mapping[str, Sequence[object]] = field(default_factory=dict)
    time: float | None = None
    per_time: bool = False

    #: What it is called in TOML files and stored specs.
    kind: ClassVar[str] = ""
    #: Which of `over` and `along` it has, and whether it needs them.
    takes: ClassVar[Mapping[str, bool]] = {}

    def __post_init__(self) -> None:
        if isinstance(self.at, Mapping):
            object.__setattr__(self, "at", {k: v if isinstance(v, (list, tuple)) else [v] for k, v in self.at.items()})
        check(self, "of", "over")
        for key, line in zip(("of", "over"), self.lines, strict=False):
            if not isinstance(line, (Use, Mapping, str)):
                raise ValueError(f"{key}={shown(line)} must be an agent, a label or a table")
        for key in ("over", "along"):
            given = getattr(self, key)
            if given is not None and key not in self.takes:
                kinds = " or ".join(f"a {kind}" for kind, effect in EFFECTS.items() if key in effect.takes)
                raise ValueError(f"{key}={shown(given)} belongs to {kinds}, and only there")
            if given is None and self.takes.get(key):
                raise ValueError(f"a {self.kind} needs {key}=")
        if self.per_time and not self.time:
            raise ValueError(f"per_time={self.per_time} needs a time=")

    @property
    def lines(self) -> tuple[Line, ...]:
        """The lines that it is made of, the denominator last."""
        return (self.of,) if self.over is None else (self.of, self.over)

    @property
    def words(self) -> str:
        """What it is, as in ``ratio of medians``."""
        return f"{self.kind} of {self.statistic}s"

    def naming(self, line: Callable[[Line], Line]) -> Self:
        """Return it with other names for its lines."""
        return replace(self, of=line(self.of), over=None if self.over is None else line(self.over))


class Value(Effect):
    """The statistic itself."""

    kind = "value"

    @property
    def words(self) -> str:
        return self.statistic


class Difference(Effect):
    """`of` minus `over`; fields as in `Effect`."""

    kind = "difference"
    takes: ClassVar[Mapping[str, bool]] = {"over": True}


class Ratio(Effect):
    """`of` divided by `over`; fields as in `Effect`."""

    kind = "ratio"
    takes: ClassVar[Mapping[str, bool]] = {"over": True}


class Slope(Effect):
    """Of the statistic's logarithm on that of `along`, by least squares: 1 where it grows linearly.

    With `over`, the logarithm is that of `of` divided by `over`: below 0, `of` scales better.

    Examples
    --------
    >>> Slope("regret", "UCB1", along="env.n_agents").words
    'slope of log mean'
    """

    kind = "slope"
    takes: ClassVar[Mapping[str, bool]] = {"along": True, "over": False}

    @property
    def words(self) -> str:
        """With the logarithm."""
        of = self.statistic if self.over is None else f"ratio of {self.statistic}s"
        return f"slope of log {of}"


#: Effects by what they are called in TOML files and stored specs.
EFFECTS: Mapping[str, type[Effect]] = {kind.kind: kind for kind in (Value, Difference, Ratio, Slope)}
