"""Claims: sentences of a paper as data, each with an effect: what number of which cells it is about.

How an effect is estimated, and between which ends, is in `hushbandits.bench.judge.procedures`; how a claim is judged,
in `hushbandits.bench.judge.verdicts`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field, fields, replace
from typing import ClassVar, Literal, Self

from hushbandits.bench.declare.parts import Part, Use, check, checked_table
from hushbandits.core import Params, choice, shown

__all__ = ["EFFECTS", "ORIGINS", "Claim", "Difference", "Effect", "Line", "Origin", "Ratio", "Slope", "Value", "line"]

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
    over : Use, str or mapping
        The line that `of` is compared with: of a difference, a ratio, and, if one is given, a slope.
    along : str
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
        A field of another shape.
    """

    metric: str
    of: Line
    _: KW_ONLY
    statistic: Literal["mean", "median", "iqm"] = "mean"
    at: Mapping[str, Sequence[object]] = field(default_factory=dict)
    time: float | None = None
    per_time: bool = False

    #: What it is called in TOML files and stored specs.
    kind: ClassVar[str] = ""

    def __post_init__(self) -> None:
        if isinstance(self.at, Mapping):
            object.__setattr__(self, "at", {k: v if isinstance(v, (list, tuple)) else [v] for k, v in self.at.items()})
        check(self, "of", "over")
        for key, line in zip(("of", "over"), self.lines, strict=False):
            if not isinstance(line, (Use, Mapping, str)):
                raise ValueError(f"{key}={shown(line)} must be an agent, a label or a table")
        if self.per_time and not self.time:
            raise ValueError(f"per_time={self.per_time} needs a time=")

    @property
    def lines(self) -> tuple[Line, ...]:
        """The lines that it is made of, the denominator last."""
        return tuple(line for key in ("of", "over") if (line := getattr(self, key, None)) is not None)

    @property
    def words(self) -> str:
        """What it is, as in ``ratio of medians``."""
        return f"{self.kind} of {self.statistic}s"

    def naming(self, line: Callable[[Line], Line]) -> Self:
        """Return it with other names for its lines."""
        named: Params = dict(zip(("of", "over"), map(line, self.lines), strict=False))
        return replace(self, **named)


@dataclass(frozen=True)
class Value(Effect):
    """The statistic itself."""

    kind = "value"

    @property
    def words(self) -> str:
        return self.statistic


@dataclass(frozen=True)
class Difference(Effect):
    """`of` minus `over`; other fields as in `Effect`."""

    over: Line
    kind = "difference"


@dataclass(frozen=True)
class Ratio(Effect):
    """`of` divided by `over`; other fields as in `Effect`."""

    over: Line
    kind = "ratio"


@dataclass(frozen=True)
class Slope(Effect):
    """Of the statistic's logarithm on that of `along`, by least squares: 1 where it grows linearly.

    With `over`, the logarithm is that of `of` divided by `over`: below 0, `of` scales better.

    Examples
    --------
    >>> Slope("regret", "UCB1", along="env.n_agents").words
    'slope of log mean'
    """

    over: Line | None = None
    along: str = field(kw_only=True)
    kind = "slope"

    @property
    def words(self) -> str:
        """With the logarithm."""
        of = self.statistic if self.over is None else f"ratio of {self.statistic}s"
        return f"slope of log {of}"


#: Effects by what they are called in TOML files and stored specs.
EFFECTS: Mapping[str, type[Effect]] = {kind.kind: kind for kind in (Value, Difference, Ratio, Slope)}

#: Whose a claim is.
Origin = Literal["paper", "reading", "own"]
#: Origins in the order of pages, and what they are called there.
ORIGINS: Mapping[Origin, str] = {"paper": "the paper's", "reading": "our reading", "own": "own addition"}


@dataclass(frozen=True)
class Claim(Part):
    """An effect, and the region in which a paper says that it lies.

    Parameters
    ----------
    sentence : str
        What the paper says.
    effect : Value, Difference, Ratio or Slope
        What number it is about.
    above, below : float, optional
        The region: the claim holds where the effect's interval lies inside, does not where it lies outside, and is
        undecided where it straddles an end.
    source : str
        Where the paper says it; default: the experiment's source.
    origin : str
        Whose it is: ``"paper"``: the paper says it; ``"reading"``: a choice of ours decides what its sentence means,
        such as a size, a setting or a number that it does not state; ``"own"``: the paper does not say it.  Pages count
        the three apart, and their headline counts the paper's alone.

    Raises
    ------
    ValueError
        No region, an empty one, another origin, or something else as its effect.

    Examples
    --------
    >>> from hushbandits.bench.declare.claim import Ratio
    >>> Claim("Sharing pays.", Ratio("regret", of="Multi-UCB", over="UCB1"), below=1).below
    1.0
    """

    sentence: str
    effect: Effect
    _: KW_ONLY
    above: float | None = None
    below: float | None = None
    source: str = ""
    origin: Origin = "paper"

    def __post_init__(self) -> None:
        try:
            check(self, "effect")
            if type(self.effect) not in EFFECTS.values():
                raise ValueError(f"effect={shown(self.effect)} must be a Value, Difference, Ratio or Slope")
            if self.above is None and self.below is None:
                raise ValueError("give above=, below= or both")
        except ValueError as error:
            raise ValueError(f"claim {shown(self.sentence)}: {error}") from None

    def to_dict(self) -> dict[str, object]:
        """As in a TOML file: one flat table, without what is at its default.

        Examples
        --------
        >>> from hushbandits.bench.declare.claim import Value
        >>> Claim("Few.", Value("messages", of="UCB1"), below=1).to_dict()
        {'sentence': 'Few.', 'below': 1, 'metric': 'messages', 'of': 'UCB1'}
        """
        flat = {**super().to_dict(), **self.effect.to_dict(), "effect": self.effect.kind}
        return {key: value for key, value in flat.items() if (key, value) != ("effect", "value")}

    @classmethod
    def from_dict(cls, table: Params) -> Claim:
        """Inverse of `to_dict`; what belongs to another effect in `table`, or is missing, raises ``ValueError``."""
        own = [f.name for f in fields(cls)]
        of_effects = [f.name for kind in EFFECTS.values() for f in fields(kind)]
        given = {"effect": "value", **checked_table("claim", table, own + of_effects, ("sentence", "metric", "of"))}
        try:
            kind = EFFECTS[choice("effect", given.pop("effect"), EFFECTS)]
            effect = kind.from_dict({key: given.pop(key) for key in of_effects if key in given})
        except ValueError as error:
            raise ValueError(f"claim {shown(given['sentence'])}: {error}") from None
        return cls(effect=effect, **given)
