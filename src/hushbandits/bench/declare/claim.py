"""A claim: one sentence of a paper as data.

How it is judged is in `hushbandits.bench.judge.verdicts`; here is only what it says.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, fields
from types import MappingProxyType
from typing import Final, Literal

from hushbandits.bench.declare import shapes
from hushbandits.bench.declare.canonical import lean
from hushbandits.bench.declare.effects import EFFECTS, Effect
from hushbandits.core.ground.types import Params
from hushbandits.core.ground.validate import choice, real, shown

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
class Claim:
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
        what = f"claim {shown(self.sentence)}:"
        if type(self.effect) not in EFFECTS.values():
            raise ValueError(f"{what} effect={shown(self.effect)} must be a Value, Difference, Ratio or Slope")
        if self.above is None and self.below is None:
            raise ValueError(f"{what} give above=, below= or both")
        choice(f"{what} origin", self.origin, ORIGINS)
        for end in ("above", "below"):
            if getattr(self, end) is not None:
                object.__setattr__(self, end, real(f"{what} {end}", getattr(self, end)))
        shapes.check(Claim, vars(self), what.removesuffix(":"))

    def to_dict(self) -> dict[str, object]:
        """As in a TOML file: one flat table, without what is at its default.

        Examples
        --------
        >>> from hushbandits.bench.declare.effects import Value
        >>> Claim("Few.", Value("messages", of="UCB1"), below=1).to_dict()
        {'sentence': 'Few.', 'metric': 'messages', 'of': 'UCB1', 'below': 1}
        """
        kind = self.effect.kind
        flat = {**({} if kind == "value" else {"effect": kind}), **lean(self, "effect"), **lean(self.effect)}
        return {key: flat[key] for key in _FLAT if key in flat}

    @classmethod
    def from_dict(cls, table: Params) -> Claim:
        """Inverse of `to_dict`; what belongs to another effect in `table`, or is missing, raises ``ValueError``."""
        shapes.table("claims", table, _FLAT, ("sentence", "metric", "of"))
        what = f"claim {shown(table['sentence'])}:"
        kind = EFFECTS[choice(f"{what} effect", table.get("effect", "value"), tuple(EFFECTS))]
        try:
            effect = kind(**{f.name: table[f.name] for f in fields(kind) if f.name in table})
        except ValueError as error:
            raise ValueError(f"{what} {error}") from None
        return cls(
            effect=effect, **{k: v for k, v in table.items() if k in ("sentence", "above", "below", "source", "origin")}
        )
