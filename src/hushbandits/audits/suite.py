"""The audit: which checks every promise gets, and what it prints of them."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from hushbandits.audits.black import actions, on_blocks, on_graph, routes
from hushbandits.audits.cases import Budget, Case, Verdict, everything, hider, named
from hushbandits.audits.drawn import DRAWN
from hushbandits.audits.laws import EXACT
from hushbandits.audits.one_run import one_run
from hushbandits.wrappers.mechanism import Mechanism

#: What passes every audit from outside, and why.
UNSEEN = {
    "a trigger that is never played": "noise missing at one size that is not played, or after more blocks than any run",
    "a secret trigger": "honest in all runs without the key: a certain seed, a certain sequence of rewards",
    "a rare fault": "noise missing in fewer blocks than a check's stated share is within its error",
    "another channel": "time taken, files, memory: the audit sees messages and inboxes",
    "randomness that only its maker knows": "seeded noise has its law for all who do not know the seed",
}


@dataclass(frozen=True)
class Check:
    """One group of verdicts, not yet run; `promises` names the classes that it checks, and who observes each."""

    subject: str
    what: str
    promises: tuple[tuple[str, str], ...]
    run: Callable[[], Iterator[Verdict]]


def checks(names: Sequence[str] = (), budget: Budget | None = None) -> list[Check]:
    """Return all checks of what is named (default: of everything registered that promises or hides something)."""
    budget = budget or Budget()
    found: list[Check] = []
    for name in names or everything():
        if (secure := hider(name)) is not None:
            found.append(Check(name, "secure function", (), partial(routes, secure[0], name, secure[1], budget)))
        for it in named(name):
            if isinstance(it, Verdict):
                found.append(Check(it.subject, "what it is", (), partial(iter, [it])))
                continue
            case = replace(it, budget=budget)
            about = tuple((type(case.owner).__name__, g.view) for g in case.promises)
            for what, check in _kinds(case).items():
                found.append(Check(case.subject, what, about, partial(_guarded, check, what, case)))
    return found


def _kinds(case: Case) -> dict[str, Callable[[Case], Iterator[Verdict]]]:
    kinds = {
        what: check for what, checks in (("white box", EXACT), ("drawn law", DRAWN)) for kind, check in checks.items()
        if isinstance(case.owner, kind) and (kind is Mechanism or case.watched == "agents")
    }  # fmt: skip
    kinds["black box"] = {"users": on_blocks, "agents": on_graph, "actions": actions}[case.watched]
    return {**kinds, "one run": one_run}


def _guarded(check: Callable[[Case], Iterator[Verdict]], what: str, case: Case) -> Iterator[Verdict]:
    """A check of a stranger's code may raise anything: that is shown, and the others go on."""
    try:
        yield from check(case)
    except Exception as error:
        yield Verdict(case.subject, f"{what}: {type(error).__name__}: {error}", 0, 1, "errors")


# -- what is printed --------------------------------------------------------------------------------------------------


def lines(
    names: Sequence[str], budget: Budget, verbose: bool, bar: Callable[[int], AbstractContextManager[Any]]
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
    level = sum(v.level > 0 for v in found) * budget.level
    told = ["", "what no black box can see:", *(f"  {what}: {why}" for what, why in UNSEEN.items())]
    told.append(f"an honest registry fails with probability at most {level:.1g}")
    if untested := sum(v.word == "not tested" for v in found):
        told.append(f"{untested} of {len(found)} checks could not have found anything: not tested")
    yield from ((line, False) for line in told)


def _of(check: Check, found: Sequence[Verdict], verbose: bool) -> Iterator[tuple[str, bool]]:
    """One check's lines: all of it, or what failed, what was not tested, and how close the rest came."""
    by = {word: [v for v in found if v.word == word] for word in ("FAILS", "other law", "not tested", "passes")}
    for v in found if verbose else [*by["FAILS"], *by["other law"][:1]]:
        values = f"measured {v.measured:.4g}, claimed {v.claimed:.4g}"
        values += f"; would have shown: {v.power}" if verbose and v.power and not v.why else ""
        yield f"{v.word:<8}  {v.subject}: {v.check} · {v.unit}: {values}", not v.passed
    for why in () if verbose else dict.fromkeys(v.why for v in by["not tested"]):
        some = [v for v in by["not tested"] if v.why == why]
        what = some[0].check.partition(" (")[0] + (f", and {len(some) - 1} more" if len(some) > 1 else "")
        yield f"not tested  {some[0].subject}: {what} · {why}", False
    if verbose or by["FAILS"] or not by["passes"]:
        return
    closest = max(by["passes"], key=lambda v: v.measured / v.claimed if v.claimed > 0 else 0.0)
    note = f", {len(by['other law'])} of another law than planned" if by["other law"] else ""
    near = f"; closest: {closest.check}, {closest.measured:.4g} of {closest.claimed:.4g}"
    least = [v.least for v in by["passes"] if not math.isnan(v.least)]
    near += f"; a true ε of {min(least):.3g} would have been refuted" if least else ""
    yield f"passes    {check.subject}: {check.what}, {len(by['passes'])} checks{note}{near}", False
