"""Compare lines: what `hushbandits.compare` and ``hushbandits compare`` show."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING

from hushbandits.bench.judge.line import Held
from hushbandits.bench.judge.pairs import Compared, Pair, against, ends
from hushbandits.bench.judge.stats import STATISTICS
from hushbandits.bench.opened import RunFolder
from hushbandits.bench.results import Results
from hushbandits.bench.show.compared import heads, notes, rows
from hushbandits.core.ground.validate import choice, integer, real, shown

if TYPE_CHECKING:
    import pandas as pd

    from hushbandits.bench.show.picture import Picture

__all__ = ["Comparison", "compare"]


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
        from hushbandits.bench.show.picture import profiles

        thresholds, shares = self.profiles()
        return profiles(thresholds, shares, self.measure.label)


def compare(
    *lines: Results | RunFolder,
    metric: str = "regret",
    names: Sequence[str] | None = None,
    statistic: str = "mean",
    level: float = 0.95,
    seed: int = 0,
) -> Comparison:
    """Compare results, lines of run folders, or both: all pairs, A − B.

    Runs that drew from the same seeds are compared run by run, others as independent ones; the table says which.

    Parameters
    ----------
    *lines : Results or RunFolder
        Of `evaluate` and of `open_run`; a folder with several lines stands for all of them.
    metric : str
        What is compared, at the end of each run.
    names : sequence of str, optional
        What to call them; default: their agents' names, or labels.
    statistic : str
        ``"mean"``, ``"median"`` or ``"iqm"``.
    level : float
        Of each interval by itself.
    seed : int
        Of the resampling.

    Returns
    -------
    Comparison

    Raises
    ------
    ValueError, TypeError
        Fewer than two lines, or no such metric.

    Examples
    --------
    >>> import hushbandits as hb
    >>> env = {"n_agents": 4, "horizon": 200}
    >>> together, alone = (hb.evaluate("CoopNetwork-v0", a, runs=12, env=env) for a in ("Multi-UCB", "UCB1"))
    >>> (pair,) = compare(together, alone).pairs
    >>> pair.paired, pair.difference < 0
    (True, True)
    """
    choice("statistic", statistic, STATISTICS)
    level = real("level", level, 0, 1)
    seed = integer("seed", seed, 0)
    _known(metric, [line for line in lines if isinstance(line, Results)])
    found: list[Held] = []
    for i, line in enumerate(lines):
        if isinstance(line, RunFolder):
            found += line.held(metric)
        elif isinstance(line, Results):
            found.append(ends(line.line, metric, line.played[1] or f"results {i + 1}"))
        else:
            raise TypeError(f"compare takes Results and RunFolders, not {shown(line)}")
    if len(found) < 2:
        raise ValueError(f"compare needs two lines at least, not {len(found)}")
    labels = _labels([s.label for s in found]) if names is None else list(names)
    if len(labels) != len(found) or len(set(labels)) < len(labels):
        raise ValueError(f"names={shown(names)} must be {len(found)} different names, one for each line")
    named = [replace(s, label=label) for label, s in zip(labels, found, strict=True)]
    return Comparison(**vars(against(named, metric, statistic, level, seed)))


def _known(metric: str, lines: Sequence[Results]) -> None:
    """Raise ``ValueError`` unless all lines have a metric, of one number a run; the sentence lists those they have."""
    if lines and not all(metric in line.finals and line.finals[metric].ndim == 1 for line in lines):
        known = [
            name
            for name, value in lines[0].finals.items()
            if value.ndim == 1 and all(name in line.finals for line in lines)
        ]
        raise ValueError(f"metric={shown(metric)} must be one number a run that all lines have: {', '.join(known)}")


def _labels(labels: Sequence[str]) -> list[str]:
    """Each label once: namesakes are numbered."""
    return [
        label if labels.count(label) == 1 else f"{label} ({labels[: i + 1].count(label)})"
        for i, label in enumerate(labels)
    ]
