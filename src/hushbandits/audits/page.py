"""What an audit prints: per group of checks its worst, every failure, and what the run could have caught."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from typing import Any

from hushbandits.audits.suite import UNSEEN, Budget, Check, checks
from hushbandits.audits.verdict import Verdict

__all__ = ["lines"]


def _line(v: Verdict) -> str:
    return f"{v.word:<8}  {v.subject}: {v.check} · {v.unit}: measured {v.measured:.4g}, claimed {v.claimed:.4g}"


def lines(
    names: Sequence[str],
    budget: Budget,
    verbose: bool,
    bar: Callable[[int], AbstractContextManager[Any]],
) -> Iterator[tuple[str, bool]]:
    """Run the audit; yield lines, and whether each tells of a failure.

    `verbose`: every verdict and its power, not only each group's closest; ``bar(total)``: a context whose ``at(text)``
    and ``advance(1)`` are told of the work.
    """
    todo = checks(names, budget)
    found: list[Verdict] = []
    with bar(len(todo)) as shown:
        for check in todo:
            shown.at(f"{check.subject}: {check.what}")
            now = list(check.run())
            shown.advance(1)
            found += now
            yield from _of(check, now, verbose)
    yield "", False
    yield "the smallest true ε that would have been refuted, with 90 % power where it is statistical:", False
    for line in _least(found):
        yield f"  {line}", False
    if verbose:
        yield "what every check could have caught:", False
        for v in found:
            if v.power and not v.untested:
                yield f"  {v.subject}: {_short(v)}: {v.power}", False
    yield "what no black box can see:", False
    for what, why in UNSEEN.items():
        yield f"  {what}: {why}", False
    statistical = sum(v.level > 0 for v in found)
    yield f"an honest registry fails with probability at most {statistical * budget.level:.1g}", False
    if untested := [v for v in found if v.word == "not tested"]:
        yield f"{len(untested)} of {len(found)} checks could not have found anything: not tested", False


def _of(check: Check, found: Sequence[Verdict], verbose: bool) -> Iterator[tuple[str, bool]]:
    """One check's lines: all of it, or what failed, what was not tested, and how close the rest came."""
    failed = [v for v in found if not v.passed]
    other = [v for v in found if v.word == "other law"]
    untested = [v for v in found if v.word == "not tested"]
    for v in found if verbose else [*failed, *other[:1]]:
        yield _line(v), not v.passed
    if verbose:
        return
    for why in dict.fromkeys(v.untested for v in untested):
        some = [v for v in untested if v.untested == why]
        what = _short(some[0]) + (f", and {len(some) - 1} more" if len(some) > 1 else "")
        yield f"not tested  {some[0].subject}: {what} · {why}", False
    tested = [v for v in found if v not in untested and v not in other]
    if failed or not tested:
        return
    closest = max(tested, key=lambda v: v.measured / v.claimed if v.claimed > 0 else 0.0)
    declared = sum(v.word == "declared" for v in found)
    note = f", {declared} declared by the promise" if declared else ""
    note += f", {len(other)} of another law than planned" if other else ""
    near = f"; closest: {closest.check}, {closest.measured:.4g} of {closest.claimed:.4g}"
    yield f"passes    {check.subject}: {check.what}, {len(tested)} checks{note}{near}", False


def _short(v: Verdict) -> str:
    return v.check.partition(" (")[0]


def _least(found: Sequence[Verdict]) -> Iterator[str]:
    """Per promise, the least over its checks of each kind."""
    by: dict[tuple[str, float], dict[str, float]] = {}
    for v in found:
        if not math.isnan(v.least) and (v.promise is not None or v.unit == "ε"):
            epsilon = v.promise.epsilon if v.promise is not None else v.claimed
            kind = v.check.partition(",")[0].partition(":")[0]
            kinds = by.setdefault((v.subject, epsilon), {})
            kinds[kind] = min(kinds.get(kind, math.inf), v.least)
    for (subject, epsilon), kinds in by.items():
        words = [
            f"{kind} " + ("none" if math.isinf(x) else "any larger" if x <= epsilon else f"{x:.3g}")
            for kind, x in kinds.items()
        ]
        yield f"{subject}: of ε = {epsilon:.4g}: {', '.join(words)}"
