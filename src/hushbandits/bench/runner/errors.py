"""Errors of a run and of its folder."""

from __future__ import annotations

import errno
from pathlib import Path

__all__ = ["RunError", "StoreError", "unwritable"]


class StoreError(RuntimeError):
    """Raised if a results folder cannot be read or written; the message gives the reason and a remedy."""


class RunError(RuntimeError):
    """Raised if a run cannot continue; the message gives the reason and a remedy."""


def unwritable(folder: Path, error: OSError) -> StoreError:
    """Return the error for a folder that is not writable."""
    why = "no space left on the disk" if error.errno == errno.ENOSPC else (error.strerror or str(error)).lower()
    return StoreError(f"cannot write to {folder}: {why}. Finished batches are saved; run the same command again.")
