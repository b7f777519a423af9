"""Effects: what number of which cells a claim is about.

How an effect is estimated, and between which ends, is in `hushbandits.bench.judge.procedures`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field, replace
from typing import ClassVar, Self, TypedDict

from hushbandits.bench.declare import shapes
from hushbandits.bench.declare.parts import Use
from hushbandits.core.ground.types import Params
from hushbandits.core.ground.validate import choice

__all__ = ["EFFECTS", "STATISTICS", "Difference", "Effect", "Line", "Looked", "Ratio", "Slope", "Value"]

#: Names a line of an experiment: one of its agents, its label, or ``{"agent": either, "env.life": 2}`` to fix swept
#: values too.
Line = str | Use | Params
STATISTICS = ("mean", "median", "iqm")


class Looked(TypedDict, total=False):
    """Where an effect is looked at, and by which statistic: fields of `Effect` by name."""

    statistic: str
    at: Mapping[str, Sequence[object]]
    time: float | None
    per_time: bool


@dataclass(frozen=True)
class Effect:
    """What all effects share.

    Parameters
    ----------
    metric : str
        A metric of the env.
    of : Use, str or mapping
        The line that it is about: an agent, as it stands in the experiment's `agents`; a line's label; or ``{"agent":
        either, "env.life": 2}``, which fixes values of the sweep as well.
    statistic : str
        ``"mean"``, ``"median"`` or ``"iqm"`` over runs (of a rate: its mean).
    at : mapping
        Values of swept parameters to look at; default: every point of the sweep.  A claim over several points holds
        if it holds at each of them, and does not hold if it fails at one.
    time : float, optional
        Look at the curve there (in the env's clock; between checkpoints: linear), instead of at the end.
    per_time : bool
        Divide by `time` (time-averaged regret).
    """

    metric: str
    _: KW_ONLY
    of: Line
    statistic: str = "mean"
    at: Mapping[str, Sequence[object]] = field(default_factory=dict)
    time: float | None = None
    per_time: bool = False

    #: What it is called in TOML files and stored specs.
    kind: ClassVar[str] = ""

    def __post_init__(self) -> None:
        shapes.check(type(self), vars(self), self.kind)
        choice(f"{self.kind}: statistic", self.statistic, STATISTICS)
        if self.per_time and not self.time:
            raise ValueError(f"{self.kind}: per_time= needs a time=")
        at = {k: list(v) if isinstance(v, (list, tuple)) else [v] for k, v in self.at.items()}
        object.__setattr__(self, "at", at)

    @property
    def lines(self) -> tuple[Line, ...]:
        """The lines that it is made of, the denominator last."""
        return (self.of,)

    @property
    def words(self) -> str:
        """What it is, as in ``ratio of medians``."""
        return f"{self.kind} of {self.statistic}s"

    def naming(self, line: Callable[[Line], Line]) -> Self:
        """Return it with other names for its lines."""
        return replace(self, of=line(self.of))


@dataclass(frozen=True)
class Value(Effect):
    """The statistic itself.

    Examples
    --------
    >>> Value("regret", of="UCB1").words
    'mean'
    """

    kind: ClassVar[str] = "value"

    @property
    def words(self) -> str:
        return self.statistic


@dataclass(frozen=True)
class _Against(Effect):
    _: KW_ONLY
    over: Line

    @property
    def lines(self) -> tuple[Line, ...]:
        return (self.of, self.over)

    def naming(self, line: Callable[[Line], Line]) -> Self:
        return replace(self, of=line(self.of), over=line(self.over))


@dataclass(frozen=True)
class Difference(_Against):
    """`of` minus `over`; fields as in `Effect`.

    Parameters
    ----------
    over : Use, str or mapping
        The line that `of` is compared with.

    Examples
    --------
    >>> Difference("regret", of="Multi-UCB", over="UCB1", statistic="median").words
    'difference of medians'
    """

    kind: ClassVar[str] = "difference"


@dataclass(frozen=True)
class Ratio(_Against):
    """`of` divided by `over`; fields as in `Effect`.

    Parameters
    ----------
    over : Use, str or mapping
        The line that `of` is compared with.

    Examples
    --------
    >>> Ratio("regret", of="Multi-UCB", over="UCB1", time=100).words
    'ratio of means'
    """

    kind: ClassVar[str] = "ratio"


@dataclass(frozen=True)
class Slope(Effect):
    """Of the statistic's logarithm on that of a swept parameter, by least squares: 1 where it grows linearly.

    Parameters
    ----------
    along : str
        The swept parameter.
    over : Use, str or mapping, optional
        With it, the slope is that of the logarithm of `of` divided by `over`: below 0, `of` scales better.

    Examples
    --------
    >>> Slope("regret", of="UCB1", along="env.n_agents").words
    'slope of log mean'
    """

    _: KW_ONLY
    along: str
    over: Line | None = None

    kind: ClassVar[str] = "slope"

    @property
    def lines(self) -> tuple[Line, ...]:
        return (self.of,) if self.over is None else (self.of, self.over)

    @property
    def words(self) -> str:
        """With the logarithm."""
        of = self.statistic if self.over is None else f"ratio of {self.statistic}s"
        return f"slope of log {of}"

    def naming(self, line: Callable[[Line], Line]) -> Self:
        return replace(self, of=line(self.of), over=None if self.over is None else line(self.over))


#: Effects by what they are called in TOML files and stored specs.
EFFECTS: Mapping[str, type[Effect]] = {kind.kind: kind for kind in (Value, Difference, Ratio, Slope)}
