"""What an audit prints: per group of checks its worst, every failure, and what the run could have caught."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Protocol

from hushbandits.audits.suite import UNSEEN, Budget, checks
from hushbandits.audits.verdict import Verdict

__all__ = ["lines"]


def _line(v: Verdict) -> str:
    return f"{v.word:<8}  {v.subject}: {v.check} · {v.unit}: measured {v.measured:.4g}, claimed {v.claimed:.4g}"


class Shown(Protocol):
    """Whoever is told of the work."""

    def at(self, what: str, /) -> None:
        """It begins with this."""

    def advance(self, done: int, /) -> None:
        """So much more is done."""


class _Quiet:
    """Shows nothing."""

    def at(self, what: str) -> None: ...

    def advance(self, done: int) -> None: ...


def lines(
    names: Sequence[str],
    budget: Budget,
    verbose: bool = False,
    bar: Callable[[int], AbstractContextManager[Shown]] | None = None,
) -> Iterator[tuple[str, bool]]:
    """Run the audit; yield lines, and whether each tells of a failure.

    Parameters
    ----------
    names : sequence of str
    budget : Budget
    verbose : bool
        Every verdict, not only each group's closest, and the power of each.
    bar : callable, optional
        ``bar(total)``: a context whose ``at(text)`` and ``advance(1)`` are told of the work (`play.progress.Bar`).
    """
    todo = checks(names, budget)
    caught: list[Verdict] = []
    statistical = 0
    told: AbstractContextManager[Shown] = nullcontext(_Quiet()) if bar is None else bar(len(todo))
    with told as shown:
        for check in todo:
            shown.at(f"{check.subject}: {check.what}")
            found = list(check.run())
            shown.advance(1)
            statistical += sum(v.level > 0 for v in found)
            caught += [v for v in found if v.power]
            failed = [v for v in found if not v.passed]
            for v in found if verbose else failed:
                yield _line(v), not v.passed
            if not failed and not verbose:
                closest = max(found, key=lambda v: v.measured / v.claimed if v.claimed > 0 else 0.0, default=None)
                declared = sum(v.word == "declared" for v in found)
                note = f", {declared} declared by the promise" if declared else ""
                near = f"; closest: {closest.check}, {closest.measured:.4g} of {closest.claimed:.4g}" if closest else ""
                yield f"passes    {check.subject}: {check.what}, {len(found)} checks{note}{near}", False
    yield "", False
    yield "what this run could have caught, with 90 % power (white boxes are exact; all checks: --verbose):", False
    for v in caught:
        if verbose or v.check.startswith(("black box", "one run")) or v.check.endswith("blocks: the noise's law"):
            yield f"  {v.subject}: {v.check.partition(' (')[0]}: {v.power}", False
    yield "what no black box can see:", False
    for what, why in UNSEEN.items():
        yield f"  {what}: {why}", False
    yield f"an honest registry fails with probability at most {statistical * budget.level:.1g}", False
