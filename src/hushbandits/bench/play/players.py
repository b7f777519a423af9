"""Who plays: this process, processes of this machine, a cluster, or whatever executor the user brings."""

from __future__ import annotations

import contextlib
import importlib.util
from concurrent.futures import Executor
from dataclasses import dataclass
from pathlib import Path

from hushbandits.bench.play.crew import Crew, workers
from hushbandits.core.ground.validate import choice, real, shown

__all__ = ["BACKENDS", "Players"]

#: Backends, and of those beyond the standard ones the package that each needs.
BACKENDS = {"serial": "", "processes": "", "dask": "distributed", "slurm": "submitit"}

_UNTOLD = 16  # chunks at once, where neither the user nor the executor says


@dataclass(frozen=True)
class Players:
    """Who plays, checked when it is made.

    Parameters
    ----------
    jobs : int
        Processes, or chunks at once; −1: as many as there are cores, or workers.
    backend : str, optional
        Of `BACKENDS`; default: this process for one job, else processes.
    address : str, optional
        Of a cluster.
    executor : concurrent.futures.Executor, optional
        In the place of a backend; it stays open.
    patience : float, optional
        Seconds without any answer after which those who play are taken for hung.

    Raises
    ------
    ValueError
        There is no such backend here, or it cannot be at such an address.
    """

    jobs: int = 1
    backend: str | None = None
    address: str | None = None
    executor: Executor | None = None
    patience: float | None = None

    def __post_init__(self) -> None:
        workers(self.jobs)
        if self.backend is not None:
            choice("backend", self.backend, BACKENDS)
        package = BACKENDS[self.backend or "serial"]
        if self.address is not None and not package:
            raise ValueError(f"address={shown(self.address)} is for backend 'dask' or 'slurm'")
        if package and importlib.util.find_spec(package) is None:
            raise ValueError(f"backend={self.backend!r} needs {package}: pip install 'hushbandits[{self.backend}]'")
        if self.executor is not None:
            if self.backend is not None:
                raise ValueError(f"backend={self.backend!r} beside executor=: give one of the two")
            if not callable(getattr(self.executor, "submit", None)):
                raise ValueError(
                    f"executor={shown(self.executor)} must be a concurrent.futures.Executor, as a "
                    f"ProcessPoolExecutor is, or Dask's Client.get_executor()"
                )
        if self.patience is not None:
            real("patience", self.patience, 0)
            if self.backend == "serial":
                raise ValueError("patience= is for workers, and backend 'serial' is this process itself")

    def crew(self, folder: Path, tasks: int) -> Crew | contextlib.nullcontext[None]:
        """Return those who play, for a ``with`` block; ``None`` in it: this process itself.

        Parameters
        ----------
        folder : Path
            Where a batch system may put its files; all machines see it.
        tasks : int
            How many there are: more processes are of no use.
        """
        if self.executor is not None:
            return Crew(type(self.executor).__name__, self._width(), pool=self.executor)
        # Each backend's code, and its package, is read where it plays.
        if self.backend == "dask":
            from hushbandits.bench.play.clusters import Dask

            return Dask(self.jobs, self.address)
        if self.backend == "slurm":
            from hushbandits.bench.play.clusters import Slurm

            return Slurm(self.jobs, self.address, folder)
        jobs = workers(self.jobs)
        here = self.backend is None and self.patience is None and min(jobs, tasks) == 1
        if here or self.backend == "serial":
            return contextlib.nullcontext()
        from hushbandits.bench.play.processes import Processes

        return Processes(jobs)

    def _width(self) -> int:
        """Chunks at once: what was asked for, else the workers that an executor says it has."""
        if self.jobs > 1:
            return self.jobs
        told = (getattr(self.executor, name, None) for name in ("_max_workers", "num_workers"))
        return next((n for n in told if isinstance(n, int) and n > 0), _UNTOLD)
