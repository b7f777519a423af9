"""A claim: one sentence of a paper as data.

How it is judged is in `hushbandits.bench.judge.verdicts`; here is only what it says.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, fields
from types import MappingProxyType
from typing import Final, Literal

from hushbandits.bench.declare.effects import EFFECTS, Effect
from hushbandits.bench.declare.shapes import Part, check, checked_table
from hushbandits.core.ground.types import Params
from hushbandits.core.ground.validate import choice, shown

__all__ = ["ORIGINS", "Claim", "Origin"]

#: Whose a claim is.
Origin = Literal["paper", "reading", "own"]
#: Origins in the order of pages, and what they are called there.
ORIGINS: Final[Mapping[Origin, str]] = MappingProxyType(
    {"paper": "the paper's", "reading": "our reading", "own": "own addition"}
)

#: Keys of the flat form, in which TOML files and stored specs have a claim.
_FLAT = (
    "sentence", "metric", "of", "effect", "over", "along", "statistic", "above", "below", "at", "time", "per_time",
    "source", "origin",
)  # fmt: skip


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
    >>> from hushbandits.bench.declare.effects import Ratio
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
        >>> from hushbandits.bench.declare.effects import Value
        >>> Claim("Few.", Value("messages", of="UCB1"), below=1).to_dict()
        {'sentence': 'Few.', 'metric': 'messages', 'of': 'UCB1', 'below': 1}
        """
        flat = {**super().to_dict(), **self.effect.to_dict(), "effect": self.effect.kind}
        return {key: flat[key] for key in _FLAT if key in flat and (key, flat[key]) != ("effect", "value")}

    @classmethod
    def from_dict(cls, table: Params) -> Claim:
        """Inverse of `to_dict`; what belongs to another effect in `table`, or is missing, raises ``ValueError``."""
        given = {"effect": "value", **checked_table("claim", table, _FLAT, ("sentence", "metric", "of"))}
        try:
            kind = EFFECTS[choice("effect", given.pop("effect"), EFFECTS)]
            effect = kind(**{f.name: given.pop(f.name) for f in fields(kind) if f.name in given})
        except ValueError as error:
            raise ValueError(f"claim {shown(given['sentence'])}: {error}") from None
        return cls(effect=effect, **given)
