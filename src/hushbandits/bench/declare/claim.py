"""A claim: one sentence of a paper as data.

How it is judged is in `hushbandits.bench.judge.verdicts`; here is only what it says.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from hushbandits.core.types import Params
from hushbandits.core.validate import choice, real

__all__ = ["Claim"]

#: Names a line of an experiment: an agent's label, or ``{"agent": label, "env.life": 2}`` to fix swept values too.
Line = str | Params


@dataclass(frozen=True, kw_only=True)
class Claim:
    """An effect, and the region in which a paper says that it lies.

    Parameters
    ----------
    sentence : str
        What the paper says.
    metric : str
        A metric of the env.
    of : str or mapping
        The line that it is about: an agent's label, or ``{"agent": label, "env.life": 2}``, which fixes values of
        the sweep as well.
    effect : str
        ``"value"``: the statistic itself (for a metric of 0 and 1: a rate, with Clopper–Pearson's interval);
        ``"difference"``: `of` minus `over`; ``"ratio"``: `of` divided by `over`; ``"slope"``: of the statistic's
        logarithm on that of the swept parameter `along`, by least squares (1: grows linearly); with `over`, of the
        logarithm of `of` divided by `over` (below 0: `of` scales better).
    over : str or mapping, optional
        The other line of a difference or a ratio, which need it, or of a slope.
    along : str, optional
        The swept parameter of a slope.
    statistic : str
        ``"mean"``, ``"median"`` or ``"iqm"`` over runs.
    above, below : float, optional
        The region: the claim holds where the effect's interval lies inside, does not where it lies outside, and is
        undecided where it straddles an end.
    at : mapping
        Values of swept parameters to look at; default: every point of the sweep.  A claim over several points holds
        if it holds at each of them, and does not hold if it fails at one.
    time : float, optional
        Look at the curve there (in the env's clock; between checkpoints: linear), instead of at the end.
    per_time : bool
        Divide by `time` (time-averaged regret).
    source : str
        Where the paper says it; default: the experiment's source.

    Examples
    --------
    >>> Claim(sentence="Sharing pays.", metric="regret", effect="ratio", of="Multi-UCB", over="UCB1", below=1).below
    1.0
    """

    sentence: str
    metric: str
    of: Line
    effect: str = "value"
    over: Line | None = None
    along: str | None = None
    statistic: str = "mean"
    above: float | None = None
    below: float | None = None
    at: Mapping[str, Sequence[object]] = field(default_factory=dict)
    time: float | None = None
    per_time: bool = False
    source: str = ""

    def __post_init__(self) -> None:
        what = f"claim {self.sentence!r}:"
        choice(f"{what} effect", self.effect, ("value", "difference", "ratio", "slope"))
        choice(f"{what} statistic", self.statistic, ("mean", "median", "iqm"))
        if self.over is None and self.effect in ("difference", "ratio"):
            raise ValueError(f"{what} a {self.effect} needs over=, the line that it is taken against")
        if self.over is not None and self.effect == "value":
            raise ValueError(f"{what} over= belongs to a difference, a ratio or a slope, and only there")
        if (self.effect == "slope") != (self.along is not None):
            raise ValueError(f"{what} along= belongs to a slope, and only there")
        if self.per_time and not self.time:
            raise ValueError(f"{what} per_time= needs a time=")
        if self.above is None and self.below is None:
            raise ValueError(f"{what} give above=, below= or both")
        for end in ("above", "below"):
            if getattr(self, end) is not None:
                object.__setattr__(self, end, real(f"{what} {end}", getattr(self, end)))
        at = {k: list(v) if isinstance(v, (list, tuple)) else [v] for k, v in self.at.items()}
        object.__setattr__(self, "at", at)
