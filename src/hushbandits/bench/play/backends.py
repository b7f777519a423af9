"""Who plays: this process, or an executor, by the name of its backend."""

from __future__ import annotations

import contextlib
from pathlib import Path

from hushbandits.bench.play.executors import Executor, checked, workers
from hushbandits.bench.play.processes import Processes
from hushbandits.core.ground.validate import integer

__all__ = ["executor"]


def executor(
    backend: str | None, jobs: int, address: str | None, folder: Path, most: int | None = None
) -> Executor | contextlib.nullcontext[None]:
    """Return who plays, for a ``with`` block; ``None`` in it: this process itself.

    Parameters
    ----------
    backend : str, optional
        Of `BACKENDS`; default: this process for one job, else processes.
    jobs : int
        Chunks at once; −1: as many as there are cores.
    address : str, optional
        Of a cluster.
    folder : Path
        Where a batch system may put its files; all machines see it.
    most : int, optional
        Tasks that there are: more processes are of no use.
    """
    checked(backend, address)
    if backend in ("dask", "ray", "slurm"):
        from hushbandits.bench.play import clusters

        return clusters.connect(backend, integer("jobs", jobs, -1), address, folder)
    jobs = workers(jobs)
    if backend == "serial" or (backend is None and min(jobs, most or jobs) == 1):
        return contextlib.nullcontext()
    return Processes(jobs)
