"""Effects: what number of which cells a claim is about.

How an effect is estimated, and between which ends, is in `hushbandits.bench.judge.procedures`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field, replace
from typing import ClassVar, Self

from hushbandits.bench.declare import shapes
from hushbandits.bench.declare.parts import Use
from hushbandits.core.ground.types import Params
from hushbandits.core.ground.validate import choice

__all__ = ["EFFECTS", "STATISTICS", "Difference", "Effect", "Line", "Ratio", "Slope", "Value", "line"]

#: Names a line of an experiment: one of its agents, its label, or ``{"agent": either, "env.life": 2}`` to fix swept
#: values too.
Line = str | Use | Params
STATISTICS = ("mean", "median", "iqm")


def line(agent: Use | str, **env: object) -> Params:
    """Return the name of an agent's line at values of swept parameters of the env.

    Examples
    --------
    >>> line("UCB1", n_agents=16)
    {'agent': 'UCB1', 'env.n_agents': 16}
    """
    return {"agent": agent, **{f"env.{key}": value for key, value in env.items()}}


@dataclass(frozen=True)
class Effect:
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
    statistic: str = "mean"
    at: Mapping[str, Sequence[object]] = field(default_factory=dict)
    time: float | None = None
    per_time: bool = False

    #: What it is called in TOML files and stored specs.
    kind: ClassVar[str] = ""
    #: Which of `over` and `along` it has, and whether it needs them.
    takes: ClassVar[Mapping[str, bool]] = {}

    def __post_init__(self) -> None:
        shapes.check(type(self), vars(self), self.kind)
        for key in ("over", "along"):
            given = getattr(self, key) is not None
            if given and key not in self.takes:
                *some, last = (f"a {kind}" for kind, effect in EFFECTS.items() if key in effect.takes)
                has = f"{', '.join(some)} or {last}" if some else last
                raise ValueError(f"{key}= belongs to {has}, and only there")
            if not given and self.takes.get(key):
                raise ValueError(f"a {self.kind} needs {key}=")
        choice(f"{self.kind}: statistic", self.statistic, STATISTICS)
        if self.per_time and not self.time:
            raise ValueError(f"{self.kind}: per_time= needs a time=")
        at = {k: list(v) if isinstance(v, (list, tuple)) else [v] for k, v in self.at.items()}
        object.__setattr__(self, "at", at)

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
    """The statistic itself.

    Examples
    --------
    >>> Value("regret", "UCB1").words
    'mean'
    """

    kind = "value"

    @property
    def words(self) -> str:
        return self.statistic


class Difference(Effect):
    """`of` minus `over`; fields as in `Effect`.

    Examples
    --------
    >>> Difference("regret", "Multi-UCB", "UCB1", statistic="median").words
    'difference of medians'
    """

    kind = "difference"
    takes: ClassVar[Mapping[str, bool]] = {"over": True}


class Ratio(Effect):
    """`of` divided by `over`; fields as in `Effect`.

    Examples
    --------
    >>> Ratio("regret", of="Multi-UCB", over="UCB1", time=100).words
    'ratio of means'
    """

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
