"""Text form of a comparison: the rows of a table, and notes that explain the rows."""

from __future__ import annotations

import math
from collections.abc import Sequence

from hushbandits.bench.report.tables import interval, number
from hushbandits.bench.runner.configuration import Configuration
from hushbandits.bench.spec.vocabulary import smaller_is_better
from hushbandits.bench.stats.pairs import Compared
from hushbandits.core import shown

__all__ = ["heads", "notes", "rows"]


def heads(level: float = 0.95) -> tuple[str, ...]:
    """Return the column names of the comparison table."""
    span = f"{100 * level:g} %"
    return "A", "B", "runs", "A − B", f"{span} of A − B", "P(A > B)", f"{span} of P", "p", "p (Holm)"


def rows(compared: Compared) -> list[tuple[str, ...]]:
    """Return the table's rows as texts, one row per pair of configurations, in the order of `heads`."""
    found: list[tuple[str, ...]] = []
    for pair in compared.pairs:
        runs = f"{pair.runs[0]} pairs" if pair.paired else f"{pair.runs[0]} + {pair.runs[1]}"
        size = number(pair.difference), interval(pair.interval)
        chance = number(pair.improvement), interval(pair.improvement_interval)
        found.append((pair.a, pair.b, runs, *size, *chance, _p(pair.p), _p(pair.p_holm)))
    return found


def _p(p: float) -> str:
    return "–" if math.isnan(p) else "< .001" if p < 0.001 else f"{p:.3f}".removeprefix("0")


def _apart(lines: Sequence[Configuration]) -> list[str]:
    """Return a list with a note on the parameters in which the known envs of `lines` differ, or an empty list."""
    known = [
        {"env": name, **{k: shown(list(v) if isinstance(v, tuple) else v) for k, v in params.items()}}
        for name, params in (line.env for line in lines if line.env is not None)
    ]
    values = {key: dict.fromkeys(faced.get(key, "by default") for faced in known) for faced in known for key in faced}
    stated = [f"{key} ({'; '.join(some)})" for key, some in values.items() if len(some) > 1]
    return [f"The lines have different envs, which may explain a difference: {', '.join(stated)}."] if stated else []


def notes(compared: Compared | Sequence[Compared]) -> list[str]:
    """Return notes on the columns and on the sign of a difference, once for all comparisons of a metric."""
    several = [compared] if isinstance(compared, Compared) else list(compared)
    first, pairs = several[0], [pair for one in several for pair in one.pairs]
    less = smaller_is_better(first.metric)
    better = "whether less or more of it is better is not declared"
    if less is not None:
        better = "less is better: below 0 speaks for A" if less else "more is better: above 0 speaks for A"
    said = [f"A − B: the {first.statistic} of A minus that of B, of {first.metric} ({first.measure.label}); {better}."]
    said += [text for one in several for text in _apart(one.lines)][:1]
    said.append(
        "“n pairs”: runs of one seed, compared with each other; p: exchange of A and B within pairs. “n + m”: runs "
        "that share no known seeds; p: exchange of all runs. P(A > B): a run of A exceeds one of B, ties counted half. "
        "Intervals hold one by one; Holm's p are adjusted for all pairs of a table."
    )
    if out := sum(pair.left_out for pair in pairs):
        said.append(f"{out} values were left out: runs without one, or without a partner.")
    if left := sum(one.left for one in several):
        said.append(f"{left} more pairs are not compared here: hushbandits compare.")
    return said
