"""What can go wrong with a run or its folder, told in one sentence."""

from __future__ import annotations

import sqlite3
from pathlib import Path

__all__ = ["DamagedError", "RunError", "StoreError", "damaged", "in_words"]


class StoreError(RuntimeError):
    """The results cannot be used or written; the message says why and what to do."""


class DamagedError(StoreError):
    """The results are not what was written."""


class RunError(RuntimeError):
    """A run cannot go on; the message says why and what to do."""


def damaged(path: Path, why: str) -> DamagedError:
    """Return the error that says so."""
    return DamagedError(f"{path} is corrupted ({why}); restore a copy or choose another folder")


#: What SQLite says of a file whose bytes are not what was written.
_BROKEN = ("malformed", "not a database", "no such", "decode", "corrupt", "unsupported file format", "encoding")


def in_words(error: sqlite3.Error, path: Path) -> StoreError:
    """Return SQLite's error as a sentence that says what to do."""
    text = str(error)
    if getattr(error, "sqlite_errorcode", None) == sqlite3.SQLITE_READONLY_ROLLBACK:
        return StoreError(f"the writer of {path} was killed while it was read; read it again")
    saved = "everything committed before is safe, and the same command resumes"
    if "locked" in text or "busy" in text:
        return StoreError(f"{path} is locked by another program; close it and try again: {saved}")
    if "full" in text:
        return StoreError(f"no room is left to write {path} ({text}); make room: {saved}")
    if "readonly" in text or "unable to open" in text:
        return StoreError(f"{path} cannot be opened for writing ({text})")
    if any(word in text for word in _BROKEN):
        return damaged(path, text)
    return StoreError(f"{path}: {text}")
