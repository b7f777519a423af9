"""What can go wrong with a run or its folder, told in one sentence."""

from __future__ import annotations

__all__ = ["RunError", "StoreError"]


class StoreError(RuntimeError):
    """The results cannot be used or written; the message says why and what to do."""


class RunError(RuntimeError):
    """A run cannot go on; the message says why and what to do."""
