"""All pairs of configurations against each other: what `Results.compare` and `hushbandits.compare` return."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING

from hushbandits.bench.judge.pairs import Compared, Pair, against
from hushbandits.bench.judge.stats import STATISTICS
from hushbandits.bench.report.compared import heads, notes, rows
from hushbandits.bench.runner.configuration import Configuration
from hushbandits.core.ground.extras import extra
from hushbandits.core.ground.validate import choice, integer, real, shown

if TYPE_CHECKING:
    import pandas as pd

    from hushbandits.bench.report.figures import Picture

__all__ = ["Comparison", "comparison"]


@dataclass(frozen=True, eq=False, repr=False)
class Comparison(Compared):
    """All pairs of some lines; prints as a table, and shows itself in a notebook.

    ``.pairs`` has each pair as data (`Pair`), ``.profiles()`` the performance profiles.
    """

    def __repr__(self) -> str:
        table = [heads(self.level), *rows(self)]
        wide = [max(map(len, column)) for column in zip(*table, strict=True)]
        lines = ["  ".join(text.ljust(w) for text, w in zip(row, wide, strict=True)).rstrip() for row in table]
        return "\n".join([*lines, "", *notes(self)])

    def _repr_html_(self) -> str:
        from html import escape

        top = "".join(f"<th>{escape(head)}</th>" for head in heads(self.level))
        body = "".join(f"<tr>{''.join(f'<td>{escape(text)}</td>' for text in row)}</tr>" for row in rows(self))
        said = "".join(f"<p>{escape(note)}</p>" for note in notes(self))
        return f"<table><thead><tr>{top}</tr></thead><tbody>{body}</tbody></table>{said}"

    def to_frame(self) -> pd.DataFrame:
        """One row per pair, a ``pandas.DataFrame``; intervals as columns ``…_low`` and ``…_high``."""
        with extra("bench"):
            import pandas as pd

        table = []
        for pair in self.pairs:
            row: dict[str, object] = {}
            for f in fields(Pair):
                value = getattr(pair, f.name)
                ends = {"runs": ("_a", "_b")}.get(f.name, ("_low", "_high"))
                row |= (
                    dict(zip((f.name + e for e in ends), value, strict=True))
                    if isinstance(value, tuple)
                    else {f.name: value}
                )
            table.append(row)
        return pd.DataFrame(table)

    def plot(self) -> Picture:
        """Draw the performance profiles: the share of runs at or above each value, line by line."""
        from hushbandits.bench.report.figures import profiles

        thresholds, shares = self.profiles()
        return profiles(thresholds, shares, self.measure.label)


def comparison(
    found: Sequence[Configuration],
    metric: str,
    names: Sequence[str] | None = None,
    statistic: str = "mean",
    level: float = 0.95,
    seed: int = 0,
) -> Comparison:
    """Compare all pairs of configurations; parameters and errors as of `hushbandits.compare`."""
    choice("statistic", statistic, STATISTICS)
    level = real("level", level, 0, 1)
    seed = integer("seed", seed, 0)
    if len(found) < 2:
        raise ValueError(f"compare needs two configurations at least, not {len(found)}")
    labels = _labels([s.label for s in found]) if names is None else list(names)
    if len(labels) != len(found) or len(set(labels)) < len(labels):
        raise ValueError(f"names={shown(names)} must be {len(found)} different names, one for each configuration")
    named = [replace(s, label=label) for label, s in zip(labels, found, strict=True)]
    return Comparison(**vars(against(named, metric, statistic, level, seed)))


def _labels(labels: Sequence[str]) -> list[str]:
    """Each label once: namesakes are numbered."""
    return [
        label if labels.count(label) == 1 else f"{label} ({labels[: i + 1].count(label)})"
        for i, label in enumerate(labels)
    ]
