"""Clusters as executors: Dask, Ray, and Slurm through submitit; each package is asked for only where it is used."""

from __future__ import annotations

import contextlib
import logging
import multiprocessing
import os
import platform
import shutil
import signal
import time
import uuid
from collections.abc import Iterable
from pathlib import Path
from typing import Protocol

from hushbandits.bench.play.errors import RunError
from hushbandits.bench.play.executors import Executor, Future, Lost, needed, workers
from hushbandits.bench.play.worker import work
from hushbandits.core.ground.names import words
from hushbandits.core.ground.validate import shown
from hushbandits.interrupt import held_back

__all__ = ["Dask", "Ray", "Slurm", "connect"]

_KNOCK = 20.0  # seconds in which a scheduler must answer
_UNGUARDED = (
    "Dask's workers import the script that starts them, so what it does must stand below "
    "if __name__ == '__main__':, or else each worker would do it again"
)
_SLURM_JOBS = 32  # at once, where --jobs does not say


class Dask(Executor[Future]):
    """Workers of a Dask scheduler, or of a cluster of our own on this machine.

    Parameters
    ----------
    jobs : int
        Chunks at once; −1: one per thread of the cluster (one per core on this machine).
    address : str, optional
        Of a scheduler, such as ``"tcp://host:8786"``.
    """

    def __init__(self, jobs: int, address: str | None):
        distributed = needed("dask")
        self._distributed, self._cluster = distributed, None
        if address is None:
            self.parent = platform.node(), os.getpid()
            if getattr(multiprocessing.current_process(), "_inheriting", False):  # as Python's own check asks
                raise RunError(_UNGUARDED)
            try:
                with held_back():  # workers inherit it: ctrl-C is the parent's business
                    self._cluster = distributed.LocalCluster(
                        n_workers=workers(jobs), threads_per_worker=1, processes=True, dashboard_address=None,
                        silence_logs=logging.CRITICAL,
                    )  # fmt: skip
            except RuntimeError as error:
                raise RunError(f"Dask's workers could not start ({words(error)}). In a script: {_UNGUARDED}") from None
        try:
            self._client = distributed.Client(self._cluster or address, timeout=_KNOCK, set_as_default=False)
        except (OSError, ValueError) as error:
            raise RunError(f"no Dask scheduler answers at address={shown(address)} ({words(error)})") from None
        slots = sum(self._client.nthreads().values())
        super().__init__(*((jobs, jobs) if jobs > 0 and address is not None else (max(1, slots), 2 * max(1, slots))))

    def _start(self, load: bytes) -> Future:
        return self._client.submit(work, load, pure=False)

    def _done(self, futures: list[Future]) -> Iterable[Future]:
        with self._client.as_current():
            return self._distributed.wait(futures, return_when="FIRST_COMPLETED").done

    def _result(self, future: Future) -> bytes:
        from concurrent.futures import CancelledError

        try:
            return future.result()
        except (self._distributed.KilledWorker, CancelledError):
            raise Lost from None

    def _close(self, pending: list[Future], failed: bool) -> None:
        with contextlib.suppress(Exception):
            self._client.cancel(pending, force=True)
        with contextlib.suppress(Exception):
            self._client.close(timeout=5)
        if self._cluster is not None:
            with contextlib.suppress(Exception):
                self._cluster.close(timeout=10)


class Ray(Executor[object]):
    """Workers of a Ray cluster, or of one of our own on this machine.

    Parameters
    ----------
    jobs : int
        Chunks at once; −1: one per processor of the cluster.
    address : str, optional
        ``"auto"``, ``"host:6379"`` or ``"ray://host:10001"``.
    """

    def __init__(self, jobs: int, address: str | None):
        ray = needed("ray")
        self._ray, self._began = ray, not ray.is_initialized()
        if self._began:
            own = {"num_cpus": workers(jobs), "include_dashboard": False} if address is None else {}
            try:
                with held_back():
                    ray.init(address or "local", log_to_driver=False, logging_level=logging.CRITICAL, **own)
            except (OSError, ValueError, RuntimeError) as error:
                raise RunError(f"no Ray cluster answers at address={shown(address)} ({words(error)})") from None
        if address is None and self._began:
            self.parent = platform.node(), os.getpid()
        slots = max(1, int(ray.cluster_resources().get("CPU", 1)))
        super().__init__(*((jobs, jobs) if jobs > 0 and address is not None else (slots, 2 * slots)))
        self._work = ray.remote(work).options(max_retries=0, num_cpus=1)

    def _start(self, load: bytes) -> object:
        return self._work.remote(load)

    def _done(self, futures: list[object]) -> Iterable[object]:
        return self._ray.wait(futures, num_returns=1)[0]

    def _result(self, future: object) -> bytes:
        errors = self._ray.exceptions
        try:
            answer: bytes = self._ray.get(future)
        except errors.RayTaskError:
            raise
        except errors.RayError:  # the worker, its node, or the object is gone
            raise Lost from None
        return answer

    def _close(self, pending: list[object], failed: bool) -> None:
        for future in pending:
            with contextlib.suppress(Exception):
                self._ray.cancel(future, force=True)
        if self._began:
            self._ray.shutdown()


class _Job(Future, Protocol):
    """A job as submitit knows it."""

    job_id: str

    def cancel(self, check: bool = True) -> None: ...


class Slurm(Executor[_Job]):
    """Jobs of a batch system, one per chunk.

    Parameters
    ----------
    jobs : int
        Jobs at once; −1: 32.
    address : str, optional
        ``"local"``: this machine, to try it; or options of submitit: ``"slurm_partition=short,timeout_min=90"``.
    folder : Path
        Where jobs leave their files, seen by all machines; what is made there is removed.
    """

    dear = True
    _POLL = 0.2

    def __init__(self, jobs: int, address: str | None, folder: Path):
        submitit = needed("slurm")
        local = address == "local"
        jobs = _SLURM_JOBS if jobs == -1 and not local else workers(jobs)
        super().__init__(jobs, jobs)
        self._folder = folder / f"slurm-{uuid.uuid4().hex[:8]}"
        self._errors = submitit.core.utils
        if local:
            self.parent = platform.node(), os.getpid()
        options: dict[str, object] = {"timeout_min": 24 * 60}
        for pair in address.split(",") if address and not local else ():
            key, equals, value = pair.partition("=")
            if not equals:
                raise RunError(f"address={shown(address)} must be 'local', or submitit's options as OPTION=VALUE,…")
            options[key.strip()] = int(value) if value.strip().isdigit() else value.strip()
        try:
            self._jobs = submitit.AutoExecutor(self._folder, cluster="local" if local else "slurm")
            self._jobs.update_parameters(**options)
        except (RuntimeError, NameError, TypeError, ValueError) as error:
            raise RunError(f"Slurm cannot be used with address={shown(address)} ({words(error)})") from None

    def _start(self, load: bytes) -> _Job:
        with held_back():
            return self._jobs.submit(work, load)

    def _done(self, futures: list[_Job]) -> Iterable[_Job]:
        while not (done := [job for job in futures if job.done()]):
            time.sleep(self._POLL)
        return done

    def _result(self, future: _Job) -> bytes:
        try:
            return future.result()
        except self._errors.FailedJobError as error:
            raise error
        except self._errors.UncompletedJobError:
            raise Lost from None

    def _close(self, pending: list[_Job], failed: bool) -> None:
        patience = time.monotonic() + 10
        while pending and time.monotonic() < patience:
            for job in pending:
                with contextlib.suppress(Exception):
                    # Locally its number is a process, which passes the signal on once it has got so far.
                    os.kill(int(job.job_id), signal.SIGTERM) if self.parent else job.cancel(check=False)
            if self.parent is None:
                break
            time.sleep(self._POLL)
            pending = [job for job in pending if not job.done()]
        shutil.rmtree(self._folder, ignore_errors=True)


def connect(backend: str, jobs: int, address: str | None, folder: Path) -> Dask | Ray | Slurm:
    """Return the executor of a cluster.

    Raises
    ------
    RunError
        It does not answer.
    """
    if backend == "slurm":
        return Slurm(jobs, address, folder)
    return Dask(jobs, address) if backend == "dask" else Ray(jobs, address)
