"""``hushbandits audit``: does each privacy mechanism keep its word?"""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated

from tyro.conf import Positional, arg

from hushbandits.audits.cases import Budget
from hushbandits.audits.suite import lines
from hushbandits.bench.runner.progress import Bar
from hushbandits.core import integer, real

__all__ = ["audit"]


def audit(
    names: Annotated[Positional[tuple[str, ...]], arg(metavar="[NAME|MODULE:CLASS ...]")] = (),
    level: float = 1e-6,
    seed: int = 0,
    samples: int = 6000,
    thorough: bool = False,
    verbose: bool = False,
) -> int:
    """Audit promises of privacy: exact laws, noise as it is drawn, runs on neighbouring inputs.

    Ends with 1 if a promise is refuted, or something cannot be built. What each check can and cannot catch:
    docs/privacy-audits.md. Examples:

      hushbandits audit
      hushbandits audit DistDP-v0 --verbose
      hushbandits audit my_module:MyMechanism --thorough

    Parameters
    ----------
    names
        Envs, agents and wrappers, registered or your own; default: all that promise or hide something.
    level
        Probability that an honest mechanism fails a statistical check.
    seed
        Seeds the runs.
    samples
        Runs a side of a black box.
    thorough
        All checks in full at every ε of the grid, and longer runs: hours rather than minutes.
    verbose
        A line per check, not only per group.
    """
    real("level", level, 0, 1)
    integer("samples", samples, 100)
    integer("seed", seed, 0)
    failed, untested, budget = 0, "", Budget(level, seed, samples)
    if thorough:
        budget = replace(budget, full=budget.grid, largest=512, runs=48)
    for line, bad in lines(names, budget, verbose, Bar):
        print(line)
        failed += bad
        untested = f", {line}" if line.endswith(": not tested") else untested
    print((f"{failed} failed" if failed else "nothing was refuted") + untested)
    return 1 if failed else 0
