"""Clusters: Dask, and Slurm through submitit; each package is asked for only where it is used."""

from __future__ import annotations

import contextlib
import logging
import math
import multiprocessing
import os
import platform
import shutil
import signal
import time
import uuid
from collections.abc import Iterable
from concurrent.futures import Future
from pathlib import Path
from typing import Protocol, cast

from hushbandits.bench.play.crew import Crew, workers
from hushbandits.bench.play.errors import RunError
from hushbandits.bench.play.worker import work
from hushbandits.core.ground.names import words
from hushbandits.core.ground.validate import shown
from hushbandits.interrupt import held_back

__all__ = ["Dask", "Slurm"]

_KNOCK = 20.0  # seconds in which a scheduler must answer
_UNGUARDED = (
    "Dask's workers import the script that starts them, so what it does must stand below "
    "if __name__ == '__main__':, or else each worker would do it again"
)
_SLURM_JOBS = 32  # at once, where --jobs does not say


class Dask(Crew):
    """Workers of the Dask scheduler at `address`, or of a cluster of our own on this machine."""

    def __init__(self, jobs: int, address: str | None):
        import distributed

        self._cluster = None
        self.deaths = (*Crew.deaths, distributed.KilledWorker)
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
        asked = jobs if jobs > 0 and address is not None else None
        slots = asked or max(1, sum(self._client.nthreads().values()))
        super().__init__("dask", slots, asked, self._client.get_executor(pure=False))

    def _close(self, pending: list[Future[bytes]]) -> None:
        super()._close(pending)
        for close in (self._client.close, getattr(self._cluster, "close", None)):
            with contextlib.suppress(Exception):
                if close is not None:
                    close(timeout=10)


class _Job(Protocol):
    """What submitit's futures have besides."""

    job_id: str

    def cancel(self, check: bool = True) -> object: ...


class Slurm(Crew):
    """Jobs of a batch system, one per chunk; they leave their files in `folder`, and what is made there is removed.

    `address` is ``"local"``, this machine, or options of submitit: ``"slurm_partition=short,timeout_min=90"``.
    """

    dear = True
    _POLL = 0.2

    def __init__(self, jobs: int, address: str | None, folder: Path):
        import submitit

        local = address == "local"
        jobs = _SLURM_JOBS if jobs == -1 and not local else workers(jobs)
        super().__init__("slurm", jobs, jobs)
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

    def _start(self, load: bytes) -> Future[bytes]:
        with held_back():
            return self._jobs.submit(work, load)

    def _done(self, futures: list[Future[bytes]], patience: float | None) -> Iterable[Future[bytes]]:
        end = time.monotonic() + (math.inf if patience is None else patience)
        while not (done := [job for job in futures if job.done()]) and time.monotonic() < end:
            time.sleep(self._POLL)
        return done

    def _result(self, future: Future[bytes]) -> bytes | None:
        try:
            answer: bytes = future.result()
        except self._errors.UncompletedJobError as error:
            if isinstance(error, self._errors.FailedJobError):
                raise
            return None
        return answer

    def _close(self, pending: list[Future[bytes]]) -> None:
        patience = time.monotonic() + 10
        while pending and time.monotonic() < patience:
            for job in cast("list[_Job]", pending):
                with contextlib.suppress(Exception):
                    # Locally its number is a process, which passes the signal on once it has got so far.
                    os.kill(int(job.job_id), signal.SIGTERM) if self.parent else job.cancel(check=False)
            if self.parent is None:
                break
            time.sleep(self._POLL)
            pending = [future for future in pending if not future.done()]
        shutil.rmtree(self._folder, ignore_errors=True)
