"""``hushbandits audit``: test whether privacy mechanisms keep their guarantees."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Annotated

from tyro.conf import Positional, arg

from hushbandits.audits.cases import Budget, Verdict
from hushbandits.audits.suite import UNSEEN, Check, checks
from hushbandits.bench.runner.progress import progress_bar
from hushbandits.core import integer, real

_WORST = 3  # failed checks of a group that are printed without --verbose


def audit(
    names: Annotated[Positional[tuple[str, ...]], arg(metavar="[NAME|MODULE:CLASS ...]")] = (),
    level: float = 1e-6,
    seed: int = 0,
    samples: int = 6000,
    thorough: bool = False,
    verbose: bool = False,
) -> int:
    """Check privacy guarantees against exact laws, drawn noise, and runs on neighbouring inputs.

    The exit code is 1 if a guarantee is refuted, or an env, agent or wrapper cannot be built. docs/privacy-audits.md
    describes what each check can and cannot detect. Examples:

      hushbandits audit
      hushbandits audit DistDP-v0 --verbose
      hushbandits audit my_module:MyMechanism --thorough

    Parameters
    ----------
    names
        Envs, agents and wrappers, registered or user-defined; default: all with a guarantee, SecAgg and Shuffle.
    level
        Probability that a correct mechanism fails a statistical check.
    seed
        Seed of the runs.
    samples
        Number of runs on each of the two inputs of a black-box check.
    thorough
        Run all checks at six values of ε, with longer runs; this takes hours instead of minutes.
    verbose
        Print one line per check instead of one line per group of checks.
    """
    budget = Budget(real("level", level, 0, 1), integer("seed", seed, 0), integer("samples", samples, 100))
    if thorough:
        budget = replace(budget, full=budget.grid, largest=512, runs=48)
    failed, todo = 0, checks(names, budget)
    found: list[Verdict] = []
    with progress_bar(len(todo)) as bar:
        for check in todo:
            bar(description=f"{check.subject}: {check.what}")
            now = list(check.run())
            bar(advance=1)
            found += now
            for line, bad in _of(check, now, verbose):
                print(line)
                failed += bad
    print("\nwhat no black-box check can detect:", *(f"  {what}: {why}" for what, why in UNSEEN.items()), sep="\n")
    print(f"a correct registry fails with probability at most {sum(v.level > 0 for v in found) * level:.1g}")
    result = f"{failed} failed" if failed else "nothing was refuted"
    if untested := sum(v.word == "not tested" for v in found):
        stated = f"{untested} of {len(found)} checks have no power at this size: not tested"
        print(stated)
        result += f", {stated}"
    print(result)
    return 1 if failed else 0


def _of(check: Check, found: Sequence[Verdict], verbose: bool) -> Iterator[tuple[str, bool]]:
    """Yield the output lines of one check, and whether each reports a failure.

    These are all verdicts if `verbose`, otherwise the failures, the untested claims and the closest passing check.
    """
    by = {word: [v for v in found if v.word == word] for word in ("FAILS", "other law", "not tested", "passes")}
    worst = sorted(by["FAILS"], key=lambda v: -v.measured)
    for v in found if verbose else [*worst[:_WORST], *by["other law"][:1]]:
        values = f"measured {v.measured:.4g}, claimed {v.claimed:.4g}"
        values += f"; would have shown: {v.power}" if verbose and v.power and not v.why else ""
        yield f"{v.word:<8}  {v.subject}: {v.check} · {v.unit}: {values}", not v.passed
    if (more := len(worst) - _WORST) > 0 and not verbose:
        yield f"FAILS     {check.subject}: {check.what}, {more} more checks, less far off; --verbose prints them", True
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
    event = ", if one event shows it" if any(v.promise and v.promise.delta for v in by["passes"]) else ""
    near += f"; a true ε of {min(least):.3g} would have been refuted{event}" if least else ""
    yield f"passes    {check.subject}: {check.what}, {len(by['passes'])} checks{note}{near}", False
