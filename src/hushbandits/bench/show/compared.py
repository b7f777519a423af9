"""A comparison in words: the rows of its table, and what they say."""

from __future__ import annotations

import math
from collections.abc import Sequence

from hushbandits.bench.declare.vocabulary import smaller_is_better
from hushbandits.bench.judge.line import Line
from hushbandits.bench.judge.pairs import Compared
from hushbandits.bench.show.tables import interval, number

__all__ = ["heads", "notes", "rows"]


def heads(level: float = 0.95) -> tuple[str, ...]:
    """Heads of the table's columns."""
    span = f"{100 * level:g} %"
    return "A", "B", "runs", "A − B", f"{span} of A − B", "P(A > B)", f"{span} of P", "p", "p (Holm)"


def rows(compared: Compared) -> list[tuple[str, ...]]:
    """One row of texts per pair, under `heads`."""
    return [
        (
            pair.a,
            pair.b,
            f"{pair.runs[0]} pairs" if pair.paired else f"{pair.runs[0]} + {pair.runs[1]}",
            number(pair.difference),
            interval(pair.interval),
            number(pair.improvement),
            interval(pair.improvement_interval),
            _p(pair.p),
            _p(pair.p_holm),
        )
        for pair in compared.pairs
    ]


def _p(p: float) -> str:
    return "–" if math.isnan(p) else "< .001" if p < 0.001 else f"{p:.3f}".removeprefix("0")


def _apart(lines: Sequence[Line]) -> str:
    """Say in which parameters the envs of lines differ; empty: in none that is known."""
    known = [line for line in lines if line.faced]
    told = []
    for key in dict.fromkeys(k for line in known for k in line.faced):
        by: dict[str, list[str]] = {}
        for line in known:
            by.setdefault(line.faced.get(key, "by default"), []).append(line.label)
        if len(by) > 1:
            told.append(f"{key} " + "; ".join(f"{value} ({', '.join(labels)})" for value, labels in by.items()))
    if not told:
        return ""
    return f"Not all lines faced the same env, so that a difference may be the envs': {', and '.join(told)}."


def notes(compared: Compared | Sequence[Compared]) -> list[str]:
    """What the columns are, and which sign is whose; of several comparisons of one metric, once."""
    several = [compared] if isinstance(compared, Compared) else list(compared)
    first = several[0]
    pairs = [pair for one in several for pair in one.pairs]
    what = first.measure.label
    better = {True: "less is better: below 0 speaks for A", False: "more is better: above 0 speaks for A"}
    direction = better.get(smaller_is_better(first.metric), "nothing here says whether less or more of it is better")  # type: ignore[arg-type]
    said = [f"A − B: the {first.statistic} of A minus that of B, of {first.metric} ({what}); {direction}."]
    said += [text for one in several if (text := _apart(one.lines))][:1]
    if any(pair.paired for pair in pairs):
        said.append(
            "“n pairs”: runs of one seed are compared with each other (common random numbers); p: exchange of A and B "
            "within pairs."
        )
    if any(not pair.paired for pair in pairs):
        said.append(
            "“n + m”: no seeds are shared, or they are not known, so the runs count as independent; p: exchange of "
            "all runs."
        )
    said.append(
        "P(A > B): a run of A exceeds one of B, ties counted half. Intervals hold one by one; Holm's p are adjusted "
        "for all pairs of a table."
    )
    if out := sum(pair.left_out for pair in pairs):
        said.append(f"{out} values were left out: runs without one, or without a partner.")
    if left := sum(one.left for one in several):
        said.append(f"{left} more pairs are not compared here: hushbandits compare.")
    return said
