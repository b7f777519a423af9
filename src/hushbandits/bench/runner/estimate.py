"""Expected costs of cells, as data."""

import math
from typing import NamedTuple


class Cost(NamedTuple):
    """Expected cost of the missing runs of a cell.

    Parameters
    ----------
    experiment, label : str
        Name of the experiment, and label of the cell.
    runs, batches : int
        Missing runs, and batches with such runs.
    seconds : float
        CPU seconds of all runs; NaN if the probe failed.
    bytes : float
        Most memory that a batch allocates in its first moments; NaN if this was not asked for.
    """

    experiment: str
    label: str
    runs: int
    batches: int
    seconds: float
    bytes: float


class Estimate(NamedTuple):
    """Expected cost of cells, and the CPU seconds that were used up to then, imports included.

    Parameters
    ----------
    costs : list of Cost
        The expected cost of each cell.
    spent : float
        CPU seconds of this process and its workers so far.

    Examples
    --------
    >>> cells = [Cost("mine", name, runs=10, batches=1, seconds=2.0, bytes=0.0) for name in ("Multi-UCB", "UCB1")]
    >>> Estimate(cells, spent=0.5).summed("all").seconds
    4.0
    """

    costs: list[Cost]
    spent: float

    def summed(self, experiment: str) -> Cost:
        """Return the cost of all cells of an experiment, or of ``"all"``; cells whose probe failed are only counted."""
        mine = [c for c in self.costs if experiment in ("all", c.experiment)]
        known = [c for c in mine if not math.isnan(c.seconds)]
        label = f"{len(mine):,} cells" + (f", {unknown} of unknown cost" if (unknown := len(mine) - len(known)) else "")
        runs, batches = sum(c.runs for c in mine), sum(c.batches for c in mine)
        return Cost(
            experiment, label, runs, batches, sum(c.seconds for c in known), max((c.bytes for c in known), default=0)
        )
