"""Options of a run that change no number: who plays, what is shown, what is put up with."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from hushbandits.core import choice, integer, shown
from hushbandits.core.utils import extra

__all__ = ["BACKENDS", "RunOptions", "workers"]

#: Backends, and the package that each needs beside the harness's own.
BACKENDS = {"serial": "", "loky": "", "dask": "distributed"}


@dataclass(frozen=True)
class RunOptions:
    """Options of `run` and `evaluate`; none of them changes a number.

    Parameters
    ----------
    jobs : int
        Processes; −1: one per core.
    backend : str, optional
        ``"serial"`` (this process), ``"loky"`` (processes of this machine) or ``"dask"``; default: this process for
        one job, else processes.
    address : str, optional
        Address of Dask's scheduler; default: a cluster of this machine.
    progress : bool
        Show a progress bar on a terminal's stderr.
    notify : callable, optional
        Called with each remark in words: skipped cells, edited files.  Default: a warning.
    mix : bool
        Go on in a folder although a user's module or data file was edited since rows of it were made.
    skip_invalid : bool
        Leave out cells whose env, wrappers and agent cannot be combined, as long as some of their experiment can.
    checkpoints : int or sequence of int, optional
        Of `evaluate` alone, since an experiment declares its own: where curves are sampled, in the env's time unit;
        that many points, evenly spaced in the logarithm up to the horizon, or these.  Default: 50; none where runs end
        by themselves.

    Raises
    ------
    ValueError
        An unknown backend, one whose package is missing, or an address without Dask.
    """

    jobs: int = 1
    backend: str | None = None
    address: str | None = None
    progress: bool = True
    notify: Callable[[str], None] | None = None
    mix: bool = False
    skip_invalid: bool = False
    checkpoints: int | Sequence[int] | None = None

    def __post_init__(self) -> None:
        workers(self.jobs)
        if self.backend is not None:
            choice("backend", self.backend, BACKENDS)
        if self.address is not None and self.backend != "dask":
            raise ValueError(f"address={shown(self.address)} needs backend='dask'")
        package = BACKENDS[self.backend or "serial"]
        if package and importlib.util.find_spec(package) is None:
            raise ValueError(f"backend={self.backend!r} needs {package}: pip install 'hushbandits[{self.backend}]'")

    def serial(self, tasks: int) -> bool:
        """Whether this process plays so many tasks itself."""
        return self.backend == "serial" or (self.backend is None and min(workers(self.jobs), tasks) <= 1)


def workers(jobs: int) -> int:
    """Return the number of processes that `jobs` stands for.

    Examples
    --------
    >>> workers(0)
    Traceback (most recent call last):
        ...
    ValueError: jobs=0 must be an integer ≥ 1, or -1: one process per core
    """
    if jobs == -1:
        with extra("bench"):
            import joblib

        return int(joblib.cpu_count())
    try:
        return integer("jobs", jobs, 1)
    except ValueError as error:
        raise ValueError(f"{error}, or -1: one process per core") from None
