"""Errors of a run and of a results folder."""

import errno
from pathlib import Path


class StoreError(RuntimeError):
    """Error raised if a results folder cannot be read or written; the message gives the reason and a remedy."""


class RunError(RuntimeError):
    """Error raised if a run cannot continue; the message gives the reason and a remedy."""


def unwritable(folder: Path, error: OSError) -> StoreError:
    """Return a `StoreError` that says why `folder` is not writable."""
    why = "no space left on the disk" if error.errno == errno.ENOSPC else (error.strerror or str(error)).lower()
    return StoreError(f"cannot write to {folder}: {why}. Finished batches are saved; run the same command again.")
