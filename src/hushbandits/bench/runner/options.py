"""Options of a run (processes, progress, checkpoints, tolerance of invalid cells), and its expected cost as data."""

import importlib.util
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from hushbandits.core import choice, extra, integer, shown


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
        seconds, most = sum(c.seconds for c in known), max((c.bytes for c in known), default=0)
        return Cost(experiment, label, runs, batches, seconds, most)


@dataclass(frozen=True)
class RunOptions:
    """Options of `run` and `evaluate`; none of them changes the final metrics of a run.

    Parameters
    ----------
    jobs : int
        Number of processes; −1: one per core.
    backend : str, optional
        ``"serial"`` (this process), ``"loky"`` (processes of this machine) or ``"dask"``; default: ``"serial"`` for one
        job, else ``"loky"``.
    address : str, optional
        Address of Dask's scheduler; default: a cluster on this machine.
    progress : bool
        Show a progress bar on a terminal's stderr.
    notify : callable, optional
        Called with each message, such as skipped cells or edited files.  Default: a warning.
    mix : bool
        Continue in a folder although a user's module or data file changed since some of its rows were made.
    skip_invalid : bool
        Skip cells with incompatible env, wrappers and agent, unless all cells of an experiment are incompatible.
    checkpoints : int or sequence of int, optional
        For `evaluate` only, since an experiment declares its own: times at which curves are sampled, in the env's time
        unit.  A number of points, spaced evenly in the logarithm up to the horizon, or the times.  Default: 50; none if
        runs end by themselves.
    estimate : callable, optional
        Called with the expected cost, an `Estimate`, after probes of all cells and before the rest is played; this
        process plays what costs less than the start of workers.  Default: there are no probes.
    dry_run : bool
        Call `estimate`, play nothing but the probes, and write nothing; not for `evaluate`.

    Raises
    ------
    ValueError
        An unknown backend, a backend whose package is missing, or an address without Dask.

    Examples
    --------
    >>> import hushbandits as hb
    >>> options = RunOptions(checkpoints=[10, 50])
    >>> results = hb.evaluate("CoopNetwork-v0", "UCB1", runs=2, env={"horizon": 50}, options=options)
    >>> results.curve("regret")[0].tolist()
    [10, 50]
    """

    jobs: int = 1
    backend: str | None = None
    address: str | None = None
    progress: bool = True
    notify: Callable[[str], None] | None = None
    mix: bool = False
    skip_invalid: bool = False
    checkpoints: int | Sequence[int] | None = None
    estimate: Callable[[Estimate], None] | None = None
    dry_run: bool = False

    def __post_init__(self) -> None:
        workers(self.jobs)
        if self.backend is not None:
            choice("backend", self.backend, ("serial", "loky", "dask"))
        if self.address is not None and self.backend != "dask":
            raise ValueError(f"address={shown(self.address)} needs backend='dask'")
        if self.backend == "dask" and importlib.util.find_spec("distributed") is None:
            raise ValueError("backend='dask' needs distributed: pip install 'hushbandits[dask]'")


def chosen_of(options: RunOptions | None) -> RunOptions:
    """Return `options`, by default the default options."""
    if not isinstance(options, RunOptions | None):
        raise TypeError(f"options={shown(options)} must be RunOptions, such as RunOptions(jobs=2)")
    return options or RunOptions()


def workers(jobs: int) -> int:
    """Return the number of worker processes for the option `jobs`.

    Examples
    --------
    >>> workers(0)
    Traceback (most recent call last):
        ...
    ValueError: jobs=0 must be an integer ≥ 1, or -1 for one process per core
    """
    if jobs == -1:
        with extra("bench"):
            import joblib

        return int(joblib.cpu_count())
    try:
        return integer("jobs", jobs, 1)
    except ValueError as error:
        raise ValueError(f"{error}, or -1 for one process per core") from None
