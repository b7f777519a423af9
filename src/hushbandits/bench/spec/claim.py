"""Claims of papers as data: a sentence, an effect computed from cells, and the claimed region.

`hushbandits.bench.stats.intervals` estimates an effect and its interval; `hushbandits.bench.stats.verdicts` judges a
claim.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field, fields, replace
from typing import ClassVar, Literal, Self

from hushbandits.bench.spec.parts import Component, Part, check, checked_table
from hushbandits.core import Params, choice, shown

#: A line of an experiment: one of its agents, its label, or ``{"agent": either, "env.max_hops": 2}`` to fix swept
#: values too.
Line = str | Component | Params


def line(agent: Component | str, **env: object) -> Params:
    """Return the mapping that names one line of an experiment: an agent, and values of the env's swept parameters.

    Examples
    --------
    >>> line("UCB1", n_agents=16)
    {'agent': 'UCB1', 'env.n_agents': 16}
    """
    return {"agent": agent, **{f"env.{key}": value for key, value in env.items()}}


@dataclass(frozen=True)
class Effect(Part):
    """Base class of effects, which are numbers computed from the runs of one or more lines.

    Parameters
    ----------
    metric : str
        A metric of the env.
    of : Component, str or mapping
        The line: an agent of the experiment's `agents`, a line's label, or ``{"agent": either, "env.max_hops": 2}``,
        which also fixes values of the sweep.
    over : Component, str or mapping
        The line that `of` is compared with: required by a difference and a ratio, optional for a slope.
    along : str
        For a slope: the swept parameter.
    statistic : str
        ``"mean"``, ``"median"`` or ``"iqm"`` over runs (for a rate: its mean).
    at : mapping
        Values of swept parameters; default: every point of the sweep.  A claim over several points holds if it holds
        at each of them, and does not hold if it fails at one.
    time : float, optional
        Time in the env's time unit at which the curve is read (linear between checkpoints); default: the end.
    per_time : bool
        Divide by `time` (time-averaged regret).

    Raises
    ------
    ValueError
        A field with an invalid value.
    """

    metric: str
    of: Line
    _: KW_ONLY
    statistic: Literal["mean", "median", "iqm"] = "mean"
    at: Mapping[str, Sequence[object]] = field(default_factory=dict)
    time: float | None = None
    per_time: bool = False

    #: Name of the effect in TOML files and stored specs.
    kind: ClassVar[str]

    def __init_subclass__(cls) -> None:
        cls.kind = cls.__name__.lower()

    def __post_init__(self) -> None:
        if isinstance(self.at, Mapping):
            object.__setattr__(self, "at", {k: v if isinstance(v, (list, tuple)) else [v] for k, v in self.at.items()})
        check(self, "of", "over")
        for key, line in zip(("of", "over"), self.lines, strict=False):
            if not isinstance(line, (Component, Mapping, str)):
                raise ValueError(f"{key}={shown(line)} must be an agent, a label or a table")
        if self.per_time and not self.time:
            raise ValueError(f"per_time={self.per_time} needs time=…")

    @property
    def lines(self) -> tuple[Line, ...]:
        """Return the lines of the effect: `of`, then `over` if there is one."""
        return tuple(line for key in ("of", "over") if (line := getattr(self, key, None)) is not None)

    @property
    def words(self) -> str:
        """Return the effect as text, such as ``ratio of medians``."""
        return f"{self.kind} of {self.statistic}s"

    def naming(self, line: Callable[[Line], Line]) -> Self:
        """Return a copy of the effect in which the function `line` is applied to each line."""
        named: Params = dict(zip(("of", "over"), map(line, self.lines), strict=False))
        return replace(self, **named)


@dataclass(frozen=True)
class Value(Effect):
    """Effect of one line: a statistic of its runs.

    Examples
    --------
    >>> Value("correct", "DP-MASE", at={"env.n_agents": 64}).words
    'mean'
    """

    @property
    def words(self) -> str:
        return self.statistic


@dataclass(frozen=True)
class Difference(Effect):
    """Difference of two lines: the statistic of `of` minus that of `over`.

    Examples
    --------
    >>> Difference("regret", of="Multi-UCB", over="UCB1").words
    'difference of means'
    """

    over: Line


@dataclass(frozen=True)
class Ratio(Effect):
    """Ratio of two lines: the statistic of `of` divided by that of `over`.

    Examples
    --------
    >>> Ratio("regret", of="Multi-UCB", over="UCB1", statistic="median").words
    'ratio of medians'
    """

    over: Line


@dataclass(frozen=True)
class Slope(Effect):
    """Slope of log statistic against log `along`, by least squares; linear growth has slope 1.

    With `over`, the logarithm is that of `of` divided by `over`; a negative slope means that `of` scales better.

    Examples
    --------
    >>> Slope("regret", "UCB1", along="env.n_agents").words
    'slope of log mean'
    """

    over: Line | None = None
    along: str = field(kw_only=True)

    @property
    def words(self) -> str:
        """Return the effect as text, such as ``slope of log mean``."""
        of = self.statistic if self.over is None else f"ratio of {self.statistic}s"
        return f"slope of log {of}"


#: Effects by their names in TOML files and stored specs.
EFFECTS: Mapping[str, type[Effect]] = {kind.kind: kind for kind in (Value, Difference, Ratio, Slope)}

#: Origins of a claim.
Origin = Literal["paper", "reading", "own"]
#: Origins in the order of pages, with their headings there.
ORIGINS: Mapping[Origin, str] = {"paper": "the paper's", "reading": "our reading", "own": "own addition"}


@dataclass(frozen=True)
class Claim(Part):
    """A claim: an effect, and the region in which the paper places it.

    Parameters
    ----------
    sentence : str
        The sentence of the paper.
    effect : Value, Difference, Ratio or Slope
        The number that the claim is about.
    above, below : float, optional
        The region.  The claim holds if the effect's interval lies inside, does not hold if it lies outside, and is
        undecided if it contains an end of the region.
    source : str
        Place in the paper; default: the experiment's source.
    origin : str
        Origin of the claim.  ``"paper"``: the paper says it.  ``"reading"``: the paper leaves something open that
        decides its meaning, such as a size or a setting, and we chose it.  ``"own"``: the paper does not say it.
        Pages count the three separately; their headline counts the paper's claims only.

    Raises
    ------
    ValueError
        No region, an empty region, an unknown origin, or an invalid effect.

    Examples
    --------
    >>> from hushbandits.bench.spec.claim import Ratio
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
            if self.above is not None and self.below is not None and self.above >= self.below:
                raise ValueError(f"above={self.above:g} must be less than below={self.below:g}")
        except ValueError as error:
            raise ValueError(f"claim {shown(self.sentence)}: {error}") from None

    def to_dict(self) -> dict[str, object]:
        """Return the claim as in a TOML file: one flat table without fields at their defaults.

        Examples
        --------
        >>> from hushbandits.bench.spec.claim import Value
        >>> Claim("Few.", Value("messages", of="UCB1"), below=1).to_dict()
        {'sentence': 'Few.', 'below': 1, 'metric': 'messages', 'of': 'UCB1'}
        """
        flat = {**super().to_dict(), **self.effect.to_dict(), "effect": self.effect.kind}
        return {key: value for key, value in flat.items() if (key, value) != ("effect", "value")}

    @classmethod
    def from_dict(cls, table: Params) -> "Claim":
        """Return the claim that `to_dict` wrote; unknown or missing fields raise ``ValueError``."""
        own = [f.name for f in fields(cls)]
        of_effects = [f.name for kind in EFFECTS.values() for f in fields(kind)]
        given = {"effect": "value", **checked_table("claim", table, own + of_effects, ("sentence", "metric", "of"))}
        try:
            kind = EFFECTS[choice("effect", given.pop("effect"), EFFECTS)]
            effect = kind.from_dict({key: given.pop(key) for key in of_effects if key in given})
        except ValueError as error:
            raise ValueError(f"claim {shown(given['sentence'])}: {error}") from None
        return cls(effect=effect, **given)
