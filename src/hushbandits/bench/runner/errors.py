"""Errors of a run and of its folder."""

from __future__ import annotations

import errno
from pathlib import Path

__all__ = ["RunError", "StoreError", "unwritable"]


class StoreError(RuntimeError):
    """A results folder cannot be read or written; the message says why and what to do."""


class RunError(RuntimeError):
    """A run cannot continue; the message says why and what to do."""


def unwritable(folder: Path, error: OSError) -> StoreError:
    """Return the error for a folder that cannot be written."""
    why = "no space left on the disk" if error.errno == errno.ENOSPC else (error.strerror or str(error)).lower()
    return StoreError(f"cannot write to {folder}: {why}. Finished batches are saved; run the same command again.")
